"""What browsers are told as it happens: a log that each of them follows at its own pace.

A match has one log for all its audiences: those who see everything, those who see the board, and
every seat. An entry is kept, and has a number: whoever was away asks for those after the last it
has seen. News that only count while they are new (what a player thinks at the moment) are not
kept: there is a place for each, and followers get what it holds when they look.

A slow reader holds nobody up: it reads the log when its socket has room, and that is all.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

BEAT_S = 1.5
"""A reader hears something at least so often. Who is gone is noticed by the server then, and pages
notice after three beats without one that the server is gone."""

_MOST_DIGITS = 15


class Entry(NamedTuple):
    """Something that was said.

    Attributes:
        audience: whom it is for.
        kind: name of the event.
        text: JSON.
    """

    audience: str
    kind: str
    text: str


class EventLog:
    """A log, and the news of the moment.

    Attributes:
        epoch: tells this log from those that a server before this one kept of the same match.
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
        """What to ask for to get only what comes from now on."""
        return f"{self.epoch}-{len(self._entries)}"

    def add(self, audience: str, kind: str, data: Any) -> None:
        """Say something that stays."""
        text = data if isinstance(data, str) else json.dumps(data)
        self._entries.append(Entry(audience, kind, text))
        self._wake()

    def show(self, audience: str, place: str, kind: str, data: Any) -> None:
        """Say something that counts until the same place holds something else."""
        self._num_news += 1
        self._news[audience, place] = self._num_news, Entry(audience, kind, json.dumps(data))
        self._wake()

    def clear(self, place: str) -> None:
        """Nothing is new in that place any more, for nobody."""
        for key in [key for key in self._news if key[1] == place]:
            del self._news[key]

    def close(self) -> None:
        """Nothing more will be said; readers end when they have it all."""
        self._closed = True
        self._wake()

    async def follow(self, audience: str, after: str) -> AsyncIterator[str]:
        """Everything for an audience after a place, as server-sent events, for ever.

        Args:
            after: see `last`. Where it is of another log, there is an event `reset` first: what
                the reader has is to be read again.
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
        """How many entries there were at a place; None if it is none of this log."""
        epoch, _, number = after.partition("-")
        if epoch != self.epoch or not number.isdecimal() or len(number) > _MOST_DIGITS:
            return None
        return at if (at := int(number)) <= len(self._entries) else None

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
