"""Records of matches, as values and as JSON (`docs/reference/records.md` describes the fields).

A record holds terms as canonical KIF only, never ids, and the rules of its game, so that it can
be read by any process anywhere and checked against the rules again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from ggp.errors import MatchError
from ggp.players import Decision
from ggp.players.elsewhere.decision_json import LATER_FIELDS
from ggp.players.elsewhere.from_json import read
from ggp.run.clocks import Clock

FORMAT = 3
"""Number of the format that is written. Format 1 lacks `remote` and `times_s`, formats 1 and 2
lack `rules` and have a number for every goal."""

READABLE_FORMATS = (1, 2, 3)
"""Formats that are read; readers refuse others."""

FAULTS: Mapping[str, str] = {
    "illegal": "submitted a move that is not legal",
    "late": "answered after its clock had run out, or not at all",
    "unreachable": "could not be connected to, or broke the connection off",
    "raised": "raised an exception, could not be made, or ended its process",
    "fallback": "could not decide and played a fallback",
}
"""Every kind of fault. All but the last cost a player its move, unless no move was asked for:
`raised` in `observe`, `late` and `unreachable` at the start."""

_LATER = {*LATER_FIELDS, "clock"}
_MAY_LACK = {1: {*_LATER, "remote", "times_s", "rules"}, 2: {*_LATER, "rules"}, 3: _LATER}
"""Fields that a record of a format may be without."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something a player did wrong.

    Attributes:
        turn: index of the turn, from 0.
        role: role of the player.
        kind: one of `FAULTS`.
        text: the details, on one line.
    """

    turn: int
    role: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"turn {self.turn + 1}, {self.role}: {self.text}"


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn; `random` is in `joint_move` and `percepts` only.

    Attributes:
        joint_move: executed move of every role.
        submitted: what each player asked for; None where it gave no answer.
        percepts: percepts of every role after this turn, sorted; players are not told those of
            the last turn.
        decisions: decision of each player; roles that gave no answer are missing.
        faults: in role order.
    """

    joint_move: Mapping[str, str]
    submitted: Mapping[str, str | None]
    percepts: Mapping[str, tuple[str, ...]]
    decisions: Mapping[str, Decision]
    faults: tuple[Fault, ...] = ()


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


@dataclass(frozen=True, slots=True)
class MatchRecord:
    """Record of one match.

    Attributes:
        game: name or path of the rulesheet, as it was given.
        digest: digest of the program, see `Program.digest`.
        backend: backend of the machines.
        seed: reproduces the match, unless decisions depended on a clock.
        play_clock_s: None where counts decided.
        roles: in the order of the rulesheet.
        players: spec of each role's player; `random` is not among them.
        turns: first to last.
        goals: goal value of every role in the last state; None where the rules give no number.
        states_visited: number of states that every role's player visited; 0 for `random`.
        error: why the match ended before the game was over, else None.
        remote: None where no player was remote.
        times_s: seconds since 1970 at which each state was reached, the initial one first;
            empty if not known.
        rules: text of the rulesheet as it was read; empty if not known.
        clock: the clock for the time of decisions, and for the play clock if there is one. Remote
            players and people are on the wall clock, whatever it says.
    """

    game: str
    digest: str
    backend: str
    seed: int
    play_clock_s: float | None
    roles: tuple[str, ...]
    players: Mapping[str, str]
    turns: tuple[TurnRecord, ...]
    goals: Mapping[str, float | None]
    states_visited: Mapping[str, int]
    error: str | None = None
    remote: RemoteSide | None = None
    times_s: tuple[float, ...] = ()
    rules: str = ""
    clock: Clock = Clock.WALL

    @property
    def failed(self) -> bool:
        """Whether the match came to no result: it counts for nobody's score."""
        return self.error is not None

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Faults of all turns, in order."""
        return tuple(fault for turn in self.turns for fault in turn.faults)

    @property
    def errors(self) -> tuple[str, ...]:
        """Faults of players and what ended the match early, one line each."""
        ended = () if self.error is None else (f"after turn {len(self.turns)}: {self.error}",)
        return (*map(str, self.faults), *ended)

    def _repr_html_(self) -> str:
        """The match as a notebook shows it."""
        # By its name: it draws records, so it imports this module.
        html: str = import_module("match_runner.notebook").record_html(self)
        return html

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values; `record_from_json` is the inverse."""
        return {"format": FORMAT, **asdict(self)}


@dataclass(frozen=True, slots=True)
class _Format:
    """The part of a record that is read first."""

    format: int


def as_number(value: float) -> int | float:
    """An int where that is exact: GDL's goal values are whole numbers."""
    return int(value) if value == int(value) else float(value)


def record_from_json(data: object) -> MatchRecord:
    """A record from JSON values.

    Raises:
        MatchError: a field is missing or is not what it must be; says which.
    """
    version = read(_Format, data, "", MatchError).format
    if version not in READABLE_FORMATS:
        known = " and ".join(map(str, READABLE_FORMATS))
        raise MatchError(f"format {version} is not known; this version reads {known}")
    record = read(MatchRecord, data, "", MatchError, _MAY_LACK[version])
    _check_roles(record)
    return record


def _check_roles(record: MatchRecord) -> None:
    """Refuse a record in which a map does not have exactly the roles it should have."""
    every = set(record.roles)
    players = set(record.players)
    maps: list[tuple[str, Mapping[str, object], set[str]]] = [
        ("goals", record.goals, every),
        ("states_visited", record.states_visited, every),
    ]
    for i, turn in enumerate(record.turns):
        maps.append((f"turns[{i}].joint_move", turn.joint_move, every))
        maps.append((f"turns[{i}].percepts", turn.percepts, every))
        maps.append((f"turns[{i}].submitted", turn.submitted, players))
    for where, found, expected in maps:
        if set(found) != expected:
            raise MatchError(f"field {where} must have the roles {', '.join(sorted(expected))}")
    if not players <= every:
        raise MatchError(f"field players has roles that are not in {', '.join(record.roles)}")


def turn_from_json(data: object, where: str) -> TurnRecord:
    """A turn from JSON values.

    Raises:
        MatchError: a field is missing or is not what it must be; says which, after `where`.
    """
    return read(TurnRecord, data, where, MatchError, LATER_FIELDS)
