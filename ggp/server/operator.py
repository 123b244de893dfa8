"""What the operator of a server sees of its matches: where moves come from, and `ggp status`.

Each match counts its moves in a `MoveTally`, whose text completes the log line that reports the end
of the match. The server keeps a `StatusFile` in the user's state folder: a snapshot of its matches,
replaced after each answer. `ggp status` reads the files of all of this user's servers that still
run. A file needs no extra port or type of message, so outsiders cannot ask for it, and the server
never waits for a reader.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from platformdirs import user_state_path

from ggp.errors import GGPError
from ggp.run.whole_files import write_whole
from ggp.server.workers.pair import THINKER, MoveToSend

SOURCES = ("search", "understudy", "guess", "last resort")
"""Where a move came from: the player (`search`) or its `understudy`, on particles; a `guess` of
either in states that may disagree with our percepts; or neither, as no decision was ready."""

_log = logging.getLogger(__name__)


class MoveTally:
    """Counts the moves of a match.

    Attributes:
        sources: number of moves by source, see `SOURCES`.
        slowest_s: the longest time from a question to its answer; 0 without moves.
    """

    def __init__(self) -> None:
        self.sources: Counter[str] = Counter()
        self.slowest_s = 0.0

    def add(self, choice: MoveToSend, seconds: float) -> None:
        """Count a move that took `seconds`."""
        self.sources[source_of(choice)] += 1
        self.slowest_s = max(self.slowest_s, seconds)

    @property
    def with_particles(self) -> int:
        """Number of moves decided on particles that agree with our percepts."""
        return self.sources["search"] + self.sources["understudy"]

    def text(self, kills: int) -> str:
        """One line, no newline, such as `3 moves (2 search, 1 guess), 2 with particles, ...`.

        Args:
            kills: number of workers that died or were killed.
        """
        num_moves = self.sources.total()
        counts = ", ".join(f"{self.sources[s]} {s}" for s in SOURCES if self.sources[s])
        moves = f"{num_moves} move{'' if num_moves == 1 else 's'}"
        kills_text = f"{kills or 'no'} kill{'' if kills == 1 else 's'}"
        if not num_moves:
            return f"{moves}, {kills_text}"
        slowest = f"slowest {self.slowest_s:.2f} s"
        return f"{moves} ({counts}), {self.with_particles} with particles, {slowest}, {kills_text}"

    def to_json(self) -> dict[str, Any]:
        """The same data as JSON values; sources without moves have the count 0."""
        return {
            "sources": {source: self.sources[source] for source in SOURCES},
            "with_particles": self.with_particles,
            "slowest_s": round(self.slowest_s, 4),
        }


def source_of(choice: MoveToSend) -> str:
    """Where a move came from: one of `SOURCES`."""
    decision = choice.decision
    if decision is None:
        return "last resort"
    if decision.particles <= decision.guessed:
        return "guess"
    return "search" if choice.source == THINKER else "understudy"


class StatusFile:
    """The snapshot of one server.

    Args:
        port: where the server listens.
        player: the spec of its player.
    """

    def __init__(self, port: int, player: str) -> None:
        self._server = {"port": port, "player": player, "pid": os.getpid()}
        self._path = _folder() / f"{port}.json"

    def write(self, matches: Iterable[Mapping[str, Any]]) -> None:
        """Replace the snapshot. A folder that cannot be written must not disturb the match."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(self._path, json.dumps({**self._server, "matches": [*matches]}))
        except (OSError, GGPError) as error:
            _log.debug("no status for `ggp status`: %s", error)

    def remove(self) -> None:
        """Remove the snapshot, when the server shuts down."""
        with suppress(OSError):
            self._path.unlink()


def running_servers() -> list[dict[str, Any]]:
    """The snapshots of all running servers of this user, sorted by port."""
    servers = []
    for path in _folder().glob("*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            snapshot = json.loads(path.read_text(encoding="utf-8"))
            if _runs(snapshot["pid"]):
                servers.append(snapshot)
    return sorted(servers, key=lambda server: int(server["port"]))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):  # the number may be another user's now
        return False
    return True


def _folder() -> Path:
    return user_state_path("ggp", appauthor=False) / "servers"
