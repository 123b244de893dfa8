"""Scripted players, a clock that only players move, and arenas of real players."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from ggp.gdl.normalize import load
from ggp.machine import Machine, role_index
from ggp.players import Decision, Player
from ggp.search.anytime import Deadline
from match_runner.match.records import MatchRecord
from match_runner.match.seats import Arena, Seat, read_roles, set_up
from tests.support.games import machine_of_game


class Clock:
    """Time that stands still unless somebody moves it."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Script:
    """A player that makes scripted moves and records its observations.

    Attributes:
        moves: its answers, turn by turn; an exception is raised.
        clock, takes_s: its clock, and the seconds of each answer.
        fails_to_observe: the exception that `observe` raises.
        told: keyword and other arguments of every `observe`.
        deadlines: the deadline of every `choose`.
    """

    moves: Iterable[str | Exception]
    clock: Clock | None = None
    takes_s: Sequence[float] = ()
    fails_to_observe: Exception | None = None
    states_visited: int = 0
    told: list[dict[str, Any]] = field(default_factory=list)
    deadlines: list[Deadline | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._moves = iter(self.moves)

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        *,
        submitted: str | None = None,
        in_time: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        self.told.append(
            {"move": move, "percepts": percepts, "submitted": submitted, "in_time": in_time}
        )
        if self.fails_to_observe is not None:
            raise self.fails_to_observe

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        turn = len(self.deadlines)
        self.deadlines.append(deadline)
        if self.clock is not None and turn < len(self.takes_s):
            self.clock.now_s += self.takes_s[turn]
        move = next(self._moves)
        if isinstance(move, Exception):
            raise move
        return Decision(move, (), particles=0, exact=False, states_visited=0, seconds=0.0)


def scripted_arena(
    machine: Machine, players: Mapping[str, Player], clock: Callable[[], float] | None = None
) -> Arena:
    """An arena of players made beforehand, for a single match."""
    seats = {
        role_index(machine, role): Seat("script", lambda rng, player=player: player)  # type: ignore[misc]
        for role, player in players.items()
    }
    return Arena("scripted", load("kuhn_poker"), machine, seats, clock or Clock())


def script_arena(game: str, clock: Clock | None = None, **scripts: Player) -> Arena:
    """An arena of scripted players for a game of ours."""
    return scripted_arena(machine_of_game(game), scripts, clock)


@cache
def arena_of(game: str, *players: str) -> Arena:
    """An arena of real players, given as `ROLE=SPEC`, else random; built once in a process."""
    program = load(game)
    named = read_roles(players, program.roles)
    by_lot = {role: "random" for role in program.roles if role != "random"}
    return set_up(game, program, by_lot | named)


def timeless(record: MatchRecord) -> MatchRecord:
    """A record without what differs each time: clock times, and how long decisions took."""
    turns = tuple(
        replace(
            turn, decisions={role: replace(d, seconds=0.0) for role, d in turn.decisions.items()}
        )
        for turn in record.turns
    )
    return replace(record, turns=turns, times_s=())
