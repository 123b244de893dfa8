"""How servers treat their players: time, grace, and what becomes of a bad move.

The numbers are those of servers in the field; `docs/tournaments.md` has the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

DRESDEN_PAUSE_S = 0.5
"""What the Dresden controller waits before each step."""


class Replacement(StrEnum):
    """What is played instead of a move that is late or illegal: a legal one."""

    FIRST = "first"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Server:
    """The habits of one family of servers.

    Attributes:
        name: as `--server` takes it.
        connect_s: time to connect; clocks start only then.
        connect_pool_s: more time to connect, to one player in a whole match.
        start_grace_s: added to the start clock.
        play_grace_s: added to the play clock, and to that of the last message.
        replacement: of bad moves.
        reads_to_end: whether a reply lasts until the player closes; else its length counts.
        any_case: whether a move may come in another letter case than it was sent in.
    """

    name: str
    connect_s: float
    connect_pool_s: float
    start_grace_s: float
    play_grace_s: float
    replacement: Replacement
    reads_to_end: bool
    any_case: bool


DRESDEN = Server("dresden", 2.0, 30.0, 1.0, 1.0, Replacement.FIRST, True, True)
GGP_BASE = Server("ggp-base", 5.0, 0.0, 0.0, 1.0, Replacement.RANDOM, False, False)

SERVERS: Mapping[str, Server] = {server.name: server for server in (DRESDEN, GGP_BASE)}
"""The servers that a match runner can act like."""


class ConnectingTime:
    """The time one player of a match may take to accept connections."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._pool_s = server.connect_pool_s

    @property
    def limit_s(self) -> float:
        """For the next connection."""
        return self._server.connect_s + self._pool_s

    def spend(self, seconds: float) -> None:
        """Note how long a connection took."""
        self._pool_s -= min(max(0.0, seconds - self._server.connect_s), self._pool_s)
