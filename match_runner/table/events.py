"""Events for browsers: a log that each of them follows at its own pace.

A match has one log for all its audiences: those who see everything, those who see the board, and
every seat. An entry is kept, and has a number: a browser that was away asks for those after the
last it has seen. News that matter only while they are new (what a player thinks at the moment) are
not kept: there is a place for each, and followers get what it holds when they look.

A slow reader holds nobody up: it reads the log whenever its socket has room.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

BEAT_S = 1.5
"""Seconds between heartbeats, so that the server notices readers that are gone. Pages notice after
three missing heartbeats that the server is gone."""

_MOST_DIGITS = 15


class Entry(NamedTuple):
    """An entry of a log: one event.

    Attributes:
        audience: who may see it.
        kind: name of the event.
        text: its data as JSON.
    """

    audience: str
    kind: str
    text: str


class EventLog:
    """A log of events, and the news of the moment.

    Attributes:
        epoch: distinguishes this log from those of the same match that earlier servers kept.
    """

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(4)
        self._entries: list[Entry] = []
        self._news: dict[tuple[str, str], tuple[int, Entry]] = {}
        self._num_news = 0
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def last(self) -> str:
        """Place of the last entry: whoever asks for what comes after it gets only new entries."""
        return f"{self.epoch}-{len(self._entries)}"

    def add(self, audience: str, kind: str, data: Any) -> None:
        """Add an entry that is kept."""
        text = data if isinstance(data, str) else json.dumps(data)
        self._entries.append(Entry(audience, kind, text))
        self._wake()

    def show(self, audience: str, place: str, kind: str, data: Any) -> None:
        """Publish news that hold until the same place holds something else."""
        self._num_news += 1
        self._news[audience, place] = self._num_news, Entry(audience, kind, json.dumps(data))
        self._wake()

    def clear(self, place: str) -> None:
        """Remove the news in a place, for all audiences."""
        for key in [key for key in self._news if key[1] == place]:
            del self._news[key]

    def close(self) -> None:
        """Close the log: there will be no more entries, and readers end when they have them all."""
        self._closed = True
        self._wake()

    async def follow(self, audience: str, after: str) -> AsyncIterator[str]:
        """Yield everything for an audience after a place, as server-sent events, until it closes.

        Args:
            after: see `last`. If it is of another log, an event `reset` comes first: the reader
                must read again what it has.
        """
        at = self._place(after) if after else 0
        if at is None:
            yield f"id: {self.last}\nevent: reset\ndata: {{}}\n\n"
            at = len(self._entries)
        shown = 0
        while True:
            changed = self._changed
            while at < len(self._entries):
                entry = self._entries[at]
                at += 1
                if entry.audience == audience:
                    yield f"id: {self.epoch}-{at}\nevent: {entry.kind}\ndata: {entry.text}\n\n"
            fresh = sorted(
                (number, entry)
                for (whom, _), (number, entry) in self._news.items()
                if whom == audience and number > shown
            )
            for number_, entry in fresh:
                shown = max(shown, number_)
                yield f"event: {entry.kind}\ndata: {entry.text}\n\n"
            if self._closed:
                return
            try:
                await asyncio.wait_for(changed.wait(), BEAT_S)
            except TimeoutError:
                yield "event: beat\ndata: {}\n\n"

    def _place(self, after: str) -> int | None:
        """Number of entries before a place; None if it is not a place of this log."""
        epoch, _, number = after.partition("-")
        if epoch != self.epoch or not number.isdecimal() or len(number) > _MOST_DIGITS:
            return None
        return at if (at := int(number)) <= len(self._entries) else None

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
