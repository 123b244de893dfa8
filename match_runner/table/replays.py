"""Matches that are over, turn by turn: those of the table, and records and series of its folder.

They are replayed by a worker, and the last few of them are kept.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ggp.errors import GGPError
from match_runner.match.records import MatchRecord
from match_runner.pictures.frames import Json
from match_runner.table import worker_tasks
from match_runner.table.held_match import ALL, HeldMatch, seat_of
from match_runner.table.match_folder import MatchFolder
from match_runner.table.stored_files import StoredFiles

MOST_REPLAYS = 16
"""Most matches whose frames are kept in memory."""


class Replays:
    """Frames of matches.

    Args:
        folder: the matches of the table.
        stored: what others have put into its folder.
        ask: has a worker do something, and returns what comes of it.
    """

    def __init__(
        self, folder: MatchFolder, stored: StoredFiles, ask: Callable[..., Awaitable[Any]]
    ) -> None:
        self._folder, self._stored, self._ask = folder, stored, ask
        self._replays: OrderedDict[str, Any] = OrderedDict()

    def keep(self, match: HeldMatch, turns: int) -> None:
        """Keep what was seen of a match that ends, of which so many turns were played."""
        texts = match.frames.get(ALL, [])
        if len(texts) == turns + 1:
            self._keep(match.setup.id, texts)
        if match.people:
            seats = map(seat_of, match.people)
            self._keep(_seats_of(match), {seat: match.frames.get(seat, []) for seat in seats})

    async def frames(self, match: HeldMatch, audience: str) -> list[str]:
        """Frames that an audience may see, one a turn, as JSON texts; all if the match is over.

        Raises:
            GGPError: the record cannot be replayed.
        """
        if not match.is_over:
            return match.frames.get(audience, [])
        key = match.setup.id
        if key not in self._replays:
            record = self._record_of(match)
            frames = await self._ask(worker_tasks.replay, *record)
            self._keep(key, _texts(frames))
        found: list[str] = self._kept(key)
        return found

    def seen(self, match: HeldMatch, role: str) -> list[str]:
        """Frames that a person in a seat has seen, as far as they are kept after the end."""
        kept = self._replays.get(_seats_of(match), match.frames)
        found: list[str] = kept.get(seat_of(role), [])
        return found

    async def replay_file(self, name: str) -> tuple[worker_tasks.Shown, list[str]]:
        """A record or a log of the folder, and its frames as JSON texts.

        Raises:
            GGPError: there is none of that name, or it cannot be replayed.
        """
        path = self._stored.path(name)
        key = f"{path}:{path.stat().st_mtime_ns}"
        if key not in self._replays:
            shown, frames = await self._ask(worker_tasks.replay_file, path)
            self._keep(key, (shown, _texts(frames)))
        found: tuple[worker_tasks.Shown, list[str]] = self._kept(key)
        return found

    async def series(self) -> list[Json]:
        """Standings of all series that are kept in the folder."""
        found = []
        for name, path, stamp in self._stored.series():
            key = f"series {path}:{stamp}"
            if key not in self._replays:
                try:
                    told = await self._ask(worker_tasks.standings, path)
                except GGPError as error:
                    told = {"error": str(error)}
                self._keep(key, told)
            found.append({"name": name, **self._replays[key]})
        return found

    # ---------------------------------------------------------------- private

    def _record_of(self, match: HeldMatch) -> tuple[MatchRecord, Path | None]:
        side_file = match.setup.side_file
        return self._folder.record(match.setup.id), None if side_file is None else Path(side_file)

    def _keep(self, key: str, value: object) -> None:
        self._replays[key] = value
        while len(self._replays) > MOST_REPLAYS:
            self._replays.popitem(last=False)

    def _kept(self, key: str) -> Any:
        self._replays.move_to_end(key)
        return self._replays[key]


def _seats_of(match: HeldMatch) -> str:
    return f"seats {match.setup.id}"


def _texts(frames: list[Json]) -> list[str]:
    return [json.dumps(frame) for frame in frames]
