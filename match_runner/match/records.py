"""What happened in a match, as values and as JSON (`docs/records.md` describes the fields).

A record holds terms as canonical KIF only, never ids, and the rules of its game, so that it can
be read by any process anywhere and checked against the rules again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from ggp.clocks import Clock
from ggp.errors import MatchError
from ggp.players import Decision, MoveValue
from ggp.players.player import Told

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
"""Every kind of fault. All but the last cost a player its move, unless they are about what it
was only told: `raised` in `observe`, `late` and `unreachable` at the start."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something a player did wrong.

    Attributes:
        turn: index of the turn, from 0.
        role: whose player.
        kind: one of `FAULTS`.
        text: what exactly, as one line.
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
        percepts: what every role sees of this turn, sorted; players are not told those of
            the last turn.
        decisions: what each player thought; roles that gave no answer are missing.
        faults: in role order.
    """

    joint_move: Mapping[str, str]
    submitted: Mapping[str, str | None]
    percepts: Mapping[str, tuple[str, ...]]
    decisions: Mapping[str, Decision]
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoteSide:
    """How remote players were spoken to.

    Attributes:
        match_id: of the match in messages; a role's own where one player has several.
        dialect: of the messages, a value of `ggp.protocol.messages.Dialect`.
        start_clock_s: what they had before the first turn.
        scrambled: whether names were changed.
    """

    match_id: str
    dialect: str
    start_clock_s: float
    scrambled: bool


@dataclass(frozen=True, slots=True)
class MatchRecord:
    """One match.

    Attributes:
        game: name or path of the rulesheet, as it was given.
        digest: of the program, see `Program.digest`.
        backend: of the machines.
        seed: plays the match again, unless a clock had a say.
        play_clock_s: None where counts decided.
        roles: in the order of the rulesheet.
        players: spec of each role's player; `random` is not among them.
        turns: first to last.
        goals: of every role, in the last state; None where the rules give no number.
        states_visited: by every role's player; 0 for `random`.
        error: why the match ended before the game was over, else None.
        remote: None where no player was remote.
        times_s: seconds since 1970 at which each state was reached, the initial one first;
            empty if not known.
        rules: text of the rulesheet as it was read; empty if not known.
        clock: tells the time of decisions, and of the play clock if there is one. Remote players
            and people are on the wall's, whatever it says.
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
        """Whether the match came to no result: it scores nothing for anybody."""
        return self.error is not None

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Of all turns, in order."""
        return tuple(fault for turn in self.turns for fault in turn.faults)

    @property
    def errors(self) -> tuple[str, ...]:
        """Faults of players and what ended the match early, one line each."""
        ended = () if self.error is None else (f"after turn {len(self.turns)}: {self.error}",)
        return (*map(str, self.faults), *ended)

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values; `record_from_json` is the inverse."""
        return {"format": FORMAT, **asdict(self)}


def as_number(value: float) -> int | float:
    """An int where that is exact: GDL's goal values are whole numbers."""
    return int(value) if value == int(value) else float(value)


def record_from_json(data: object) -> MatchRecord:
    """A record from JSON values.

    Raises:
        MatchError: a field is missing or is not what it must be; says which.
    """
    fields = _Fields(data, "")
    version = fields.get("format", _whole)
    if version not in READABLE_FORMATS:
        known = " and ".join(map(str, READABLE_FORMATS))
        raise MatchError(f"format {version} is not known; this version reads {known}")
    record = MatchRecord(
        game=fields.get("game", _text),
        digest=fields.get("digest", _text),
        backend=fields.get("backend", _text),
        seed=fields.get("seed", _whole),
        play_clock_s=fields.get("play_clock_s", _optional(_number)),
        roles=fields.get("roles", _list_of(_text)),
        players=fields.get("players", _map_of(_text)),
        turns=fields.get("turns", _list_of(turn_from_json)),
        goals=fields.get("goals", _map_of(_optional(_number))),
        states_visited=fields.get("states_visited", _map_of(_whole)),
        error=fields.get("error", _optional(_text)),
        remote=fields.get("remote", _optional(_remote)) if version > 1 else None,
        times_s=fields.get("times_s", _list_of(_number)) if version > 1 else (),
        rules=fields.get("rules", _text) if version > 2 else "",
        # Records made before there was a choice are without it.
        clock=fields.get_if_there("clock", _clock) or Clock.WALL,
    )
    _check_roles(record)
    return record


def _check_roles(record: MatchRecord) -> None:
    """Every map must have just the roles it should have."""
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


# A reader turns a JSON value and its place into one of ours, or raises MatchError.
_Reader = Callable[[object, str], _T]


class _Fields:
    """A JSON object whose fields are read one by one."""

    def __init__(self, data: object, where: str) -> None:
        if not isinstance(data, dict):
            raise MatchError(f"{where or 'the file'} must be an object")
        self._data, self._where = data, where

    def get(self, name: str, read: _Reader[_T]) -> _T:
        where = f"{self._where}.{name}" if self._where else name
        if name not in self._data:
            raise MatchError(f"field {where} is missing")
        return read(self._data[name], where)

    def get_if_there(self, name: str, read: _Reader[_T]) -> _T | None:
        return self.get(name, read) if name in self._data else None


def _text(data: object, where: str) -> str:
    if not isinstance(data, str):
        raise MatchError(f"field {where} must be a string")
    return data


def _flag(data: object, where: str) -> bool:
    if not isinstance(data, bool):
        raise MatchError(f"field {where} must be true or false")
    return data


def _clock(data: object, where: str) -> Clock:
    name = _text(data, where)
    if name not in tuple(Clock):
        raise MatchError(f"field {where} must be one of {', '.join(Clock)}")
    return Clock(name)


def _whole(data: object, where: str) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise MatchError(f"field {where} must be a whole number")
    return data


def _number(data: object, where: str) -> float:
    if not isinstance(data, int | float) or isinstance(data, bool):
        raise MatchError(f"field {where} must be a number")
    return data


def _optional(read: _Reader[_T]) -> _Reader[_T | None]:
    return lambda data, where: None if data is None else read(data, where)


def _list_of(read: _Reader[_T]) -> _Reader[tuple[_T, ...]]:
    def read_list(data: object, where: str) -> tuple[_T, ...]:
        if not isinstance(data, list | tuple):
            raise MatchError(f"field {where} must be a list")
        return tuple(read(item, f"{where}[{i}]") for i, item in enumerate(data))

    return read_list


def _map_of(read: _Reader[_T]) -> _Reader[Mapping[str, _T]]:
    def read_map(data: object, where: str) -> Mapping[str, _T]:
        if not isinstance(data, dict):
            raise MatchError(f"field {where} must be an object")
        return {key: read(item, f"{where}.{key}") for key, item in data.items()}

    return read_map


def _remote(data: object, where: str) -> RemoteSide:
    fields = _Fields(data, where)
    return RemoteSide(
        match_id=fields.get("match_id", _text),
        dialect=fields.get("dialect", _text),
        start_clock_s=fields.get("start_clock_s", _number),
        scrambled=fields.get("scrambled", _flag),
    )


def turn_from_json(data: object, where: str) -> TurnRecord:
    """A turn from JSON values.

    Raises:
        MatchError: a field is missing or is not what it must be; says which, after `where`.
    """
    fields = _Fields(data, where)
    return TurnRecord(
        joint_move=fields.get("joint_move", _map_of(_text)),
        submitted=fields.get("submitted", _map_of(_optional(_text))),
        percepts=fields.get("percepts", _map_of(_list_of(_text))),
        decisions=fields.get("decisions", _map_of(decision_from_json)),
        faults=fields.get("faults", _list_of(_fault)),
    )


def _fault(data: object, where: str) -> Fault:
    fields = _Fields(data, where)
    return Fault(
        turn=fields.get("turn", _whole),
        role=fields.get("role", _text),
        kind=fields.get("kind", _text),
        text=fields.get("text", _text),
    )


def decision_from_json(data: object, where: str) -> Decision:
    """A decision from JSON values.

    Raises:
        MatchError: a field is missing or is not what it must be; says which, after `where`.
    """
    fields = _Fields(data, where)
    return Decision(
        move=fields.get("move", _text),
        values=fields.get("values", _list_of(_move_value)),
        particles=fields.get("particles", _whole),
        exact=fields.get("exact", _flag),
        states_visited=fields.get("states_visited", _whole),
        seconds=fields.get("seconds", _number),
        fault=fields.get("fault", _optional(_text)),
        # Records made before players could tell are without these.
        probabilities=fields.get_if_there("probabilities", _optional(_map_of(_number))),
        guessed=fields.get_if_there("guessed", _whole) or 0,
        quality=fields.get_if_there("quality", _optional(_map_of(_told))),
    )


def _told(data: object, where: str) -> Told:
    if data is None or isinstance(data, (str, int, float)):
        return data
    raise MatchError(f"{where} must be a text, a number, true, false or null")


def _move_value(data: object, where: str) -> MoveValue:
    fields = _Fields(data, where)
    return MoveValue(
        move=fields.get("move", _text),
        value=fields.get("value", _optional(_number)),
        stderr=fields.get("stderr", _optional(_number)),
        visits=fields.get("visits", _whole),
    )
