"""How servers treat their players: clocks, grace periods, and the replacement of bad moves.

The numbers are those of servers in the field; `docs/use/tournaments.md` has the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

DRESDEN_PAUSE_S = 0.5
"""Seconds that the Dresden controller waits before each step."""


class Replacement(StrEnum):
    """Which legal move is played instead of a late or illegal one."""

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
        replacement: which move replaces a bad one.
        reads_to_end: whether a reply lasts until the player closes the connection; else it is as
            long as its header says.
        any_case: whether a move may be answered in another letter case than that of the rules.
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
"""The servers that a match runner can imitate."""


class ConnectingTime:
    """The time one player of a match may take to accept connections."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._pool_s = server.connect_pool_s

    @property
    def limit_s(self) -> float:
        """Time limit of the next connection, in seconds."""
        return self._server.connect_s + self._pool_s

    def spend(self, seconds: float) -> None:
        """Note how long a connection took."""
        self._pool_s -= min(max(0.0, seconds - self._server.connect_s), self._pool_s)


@dataclass(frozen=True, slots=True)
class RemoteSide:
    """How remote players were addressed.

    Attributes:
        match_id: id of the match in messages; each role has its own if one player has several.
        dialect: dialect of the messages, a value of `ggp.protocol.messages.Dialect`.
        start_clock_s: time that they had before the first turn.
        scrambled: whether names were changed.
    """

    match_id: str
    dialect: str
    start_clock_s: float
    scrambled: bool
