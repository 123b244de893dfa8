"""Records of matches: values, JSON, files (`docs/reference/records.md` describes the fields).

The referee makes records. A record holds the rules of its game, and terms as canonical KIF, never
ids: so any process anywhere can read it, check it against the rules, and show it in a notebook.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ggp.errors import ConfigError, GGPError, MatchError
from ggp.gdl.games import game_that_comes, title_of
from ggp.gdl.source import printable
from ggp.machine import Machine, build_machine
from ggp.machine.base import States
from ggp.machine.definition import GameDefinition
from ggp.machine.games import find_file, load_program, read_program
from ggp.players import Decision
from ggp.players.elsewhere.from_json import LATER_FIELDS, read
from ggp.report import Table
from ggp.run.clocks import Clock
from ggp.run.whole_files import read_json, write_whole
from ggp.search.moves import is_legal
from match_runner.remote.wire import RemoteSide

FORMAT = 3
"""Number of the format that we write. Format 2 lacks `rules` and has a number for every goal."""

FAULTS: Mapping[str, str] = {
    "illegal": "submitted a move that is not legal",
    "late": "answered after its clock had run out, or not at all",
    "unreachable": "could not be connected to, or broke the connection off",
    "raised": "raised an exception, could not be made, or ended its process",
    "fallback": "could not decide and played a fallback",
}
"""Every kind of fault. All but the last cost a player its move, unless it had no move to make:
`raised` in `observe`, `late` and `unreachable` at the start."""

_LATER = {*LATER_FIELDS, "clock", "taken_back"}
_MAY_LACK = {2: {*_LATER, "rules"}, 3: _LATER}
"""The formats that we read, each with the fields that its records may lack."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a player did wrong.

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
        submitted: the move that each player answered; None where it gave no answer.
        percepts: percepts of every role after this turn, sorted; players do not get the percepts
            of the last turn.
        decisions: decision of each player; roles that gave no answer are missing.
        faults: in role order.
    """

    joint_move: Mapping[str, str]
    submitted: Mapping[str, str | None]
    percepts: Mapping[str, tuple[str, ...]]
    decisions: Mapping[str, Decision]
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A move that a person took back: the match went on from before it, on another course.

    Attributes:
        turn: index of the turn, from 0.
        role: role of the person.
        move: the move.
    """

    turn: int
    role: str
    move: str


@dataclass(frozen=True, slots=True)
class MatchRecord:
    """Record of one match.

        >>> import ggp
        >>> record = ggp.play_match("monty_hall", {"candidate": "legal"}, seed=1)
        >>> record.turns[0].joint_move, record.goals
        ({'candidate': '(choose 1)', 'random': '(hide 3)'}, {'candidate': 0, 'random': 0})
        >>> record_from_json(record.to_json()) == record
        True

    Attributes:
        game: name or path of the rulesheet, as the command or caller gave it.
        digest: digest of the program, see `Program.digest`.
        backend: backend of the machines.
        seed: reproduces the match, unless decisions depended on a clock.
        play_clock_s: seconds for each decision; None where the players' counts limited it.
        roles: in the order of the rulesheet.
        players: spec of each role's player; `random` is not among them.
        turns: first to last.
        goals: goal value of every role in the last state; None where the rules give no number.
        states_visited: number of states that every role's player visited; 0 for `random`.
        error: why the match ended before the game was over, else None.
        remote: how remote players were addressed; None where no player was remote.
        times_s: when the match reached each state, in seconds since 1970, the initial state first;
            empty if unknown.
        rules: text of the rulesheet, unchanged; empty if unknown.
        clock: the clock for the time of decisions, and for the play clock if there is one. Remote
            players and people always have the wall clock.
        taken_back: moves that a person at the table took back, in order.
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
    taken_back: tuple[TakenBack, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the match has no result: it counts for nobody's score."""
        return self.error is not None

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Faults of all turns, in order."""
        return tuple(fault for turn in self.turns for fault in turn.faults)

    @property
    def errors(self) -> tuple[str, ...]:
        """Faults of players and the reason for an early end, one line each."""
        ended = () if self.error is None else (f"after turn {len(self.turns)}: {self.error}",)
        return (*map(str, self.faults), *ended)

    def _repr_html_(self) -> str:
        """The match as a notebook shows it: the players, the scores, and all turns, folded."""
        from match_runner.pictures.html import block, line  # draws boards: rarely needed

        players = [
            (role, self.players.get(role, "played by chance"), self.goals[role])
            for role in self.roles
        ]
        conditions = f"{title_of(self.game)}, seed {self.seed}, on {self.backend}, "
        conditions += clock_text(self.play_clock_s, self.clock)
        table = Table(("role", "player", ("#score", "g")), players, conditions).html()
        ended = [] if self.error is None else [line(f"The match ended early: {self.error}")]
        return block([table, *ended, *_turns_html(self)])

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values; `record_from_json` is the inverse."""
        return {"format": FORMAT, **asdict(self)}


@dataclass(frozen=True, slots=True)
class _Format:
    """The first field of a record that we read."""

    format: int


def as_number(value: float) -> int | float:
    """The value as an int where that is exact: GDL's goal values are whole numbers."""
    return int(value) if value == int(value) else float(value)


def record_from_json(data: object) -> MatchRecord:
    """A record from JSON values.

    Raises:
        MatchError: a field is missing or wrong; says which.
    """
    version = read(_Format, data, "", MatchError).format
    if version not in _MAY_LACK:
        formats = " and ".join(map(str, _MAY_LACK))
        raise MatchError(f"format {version} is not known; this version reads {formats}")
    record = read(MatchRecord, data, "", MatchError, _MAY_LACK[version])
    _check_roles(record)
    return record


def _check_roles(record: MatchRecord) -> None:
    """Check that each map of a record has exactly the roles that it must have."""
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
    for field, by_role, expected in maps:
        if set(by_role) != expected:
            raise MatchError(f"field {field} must have the roles {', '.join(sorted(expected))}")
    if not players <= every:
        raise MatchError(f"field players has roles that are not in {', '.join(record.roles)}")


# ------------------------------------------------------------------------
# Records as files: one JSON file for each match.


def record_name(record: MatchRecord) -> str:
    """File name of a record: equal for replays of the same match, different for other matches."""
    setting = [record.digest, dict(record.players), record.play_clock_s]
    if record.clock is not Clock.WALL:
        setting.append(record.clock)
    digest = hashlib.blake2b(json.dumps(setting).encode(), digest_size=3).hexdigest()
    return f"{Path(record.game).stem}-seed{record.seed}-{digest}.json"


def make_folder(folder: Path) -> None:
    """Make a folder for records, unless it exists.

    Raises:
        ConfigError: it cannot be made, or is not writable.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot make {folder}: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"cannot write into {folder}: permission denied")


def write_record(record: MatchRecord, folder: Path) -> Path:
    """Write a record into a folder and return the file's path; it replaces a file of that name.

    Raises:
        GGPError: the file cannot be written; see `write_whole`.
    """
    path = folder / record_name(record)
    write_whole(path, record_text(record))
    return path


def record_text(record: MatchRecord) -> str:
    """Contents of a record's file."""
    return json.dumps(record.to_json(), indent=1) + "\n"


def read_record(path: Path) -> MatchRecord:
    """Read the record in a file.

    Raises:
        ConfigError: there is no such file, it cannot be read, or it holds no match record.
    """
    if path.is_dir():
        names = ", ".join(sorted(p.name for p in path.glob("*.json"))[:5]) or "none"
        raise ConfigError(f"{path} is a folder; give one of its records: {names}")
    data = read_json(path)
    try:
        return record_from_json(data)
    except MatchError as error:
        raise ConfigError(f"{path}: {error}") from error


# ------------------------------------------------------------------------
# Checking a record against the rules of its game.


def rules_of(record: MatchRecord) -> GameDefinition:
    """The rules in a record, or the present rules of its game if the record has none.

    Raises:
        ConfigError: it has none, and there is no such game, or its game is a file.
        GDLError: the rules cannot be used.
    """
    if record.rules:
        return read_program(record.rules, record.game)
    # The name comes from whoever wrote the record, so it must not make us read a file.
    if game_that_comes(record.game) is None and find_file(record.game) is not None:
        raise ConfigError(
            f"the record has no rules, and we do not open files that a record names "
            f"({printable(record.game)}): put the rulesheet's text into its field rules"
        )
    return load_program(record.game, files=False)


def check_record(record: MatchRecord, program: GameDefinition) -> list[tuple[str, ...]]:
    """Play the moves of a record again, and compare percepts and goals with the rules.

    Returns:
        the fluents of the initial state and of the state after each turn, as canonical KIF.

    Raises:
        MatchError: the record differs from the rules; names the first difference and its turn.
        MachineError: the rules cannot be played.
    """
    if program.roles != record.roles:
        raise MatchError(
            f"the rules have the roles {', '.join(program.roles)}, "
            f"the record {', '.join(record.roles)}"
        )
    machine = build_machine(program)
    state = machine.initial(1)
    fluents = machine.fluents(state)
    for number, turn in enumerate(record.turns, start=1):
        try:
            state = _next(machine, state, turn)
        except MatchError as error:
            cause = "" if record.digest == program.digest else "the rules have changed since; "
            raise MatchError(f"turn {number} differs from the rules: {cause}{error}") from error
        fluents += machine.fluents(state)
    if record.error is None:
        _check_end(machine, state, record)
    return fluents


def _next(machine: Machine, state: States, turn: TurnRecord) -> States:
    if machine.terminal(state)[0]:
        raise MatchError("the game is over before it")
    moves = []
    for role, name in enumerate(machine.roles):
        text = turn.joint_move[name]
        move = machine.move_id(text)
        if move is None or not is_legal(machine, state, role, np.array([move]))[0]:
            raise MatchError(f"{text} is not legal for {name}")
        moves.append(move)
    stepped = machine.step(state, np.array([moves], dtype=np.int64))
    for role, name in enumerate(machine.roles):
        seen = machine.percept_texts(int(stepped.percepts[0, role]))
        if seen != turn.percepts[name]:
            raise MatchError(
                f"{name} sees {' '.join(seen) or 'nothing'}, "
                f"not {' '.join(turn.percepts[name]) or 'nothing'}"
            )
    return stepped.states


def _check_end(machine: Machine, state: States, record: MatchRecord) -> None:
    if not machine.terminal(state)[0]:
        raise MatchError(f"the game is not over after turn {len(record.turns)}")
    goals = dict(zip(machine.roles, machine.goals(state)[0].tolist(), strict=True))
    for role, goal in goals.items():
        if goal != record.goals[role]:
            recorded = record.goals[role]
            score = "none" if recorded is None else f"{recorded:g}"
            raise MatchError(f"the rules give {role} {goal:g} points, not {score}")


# ------------------------------------------------------------------------
# Records in notebooks: every turn with its board, percepts and decisions.

MAX_BOARDS = 60
"""Most states of a match that we draw; later turns are only in words."""


def clock_text(play_clock_s: float | None, clock: Clock) -> str:
    """Limit of decisions: `no clock`, or `play clock 0.3 s` and which clock that is."""
    if play_clock_s is None:
        return "no clock"
    return f"play clock {play_clock_s:g} s ({clock.words})"


def _turns_html(record: MatchRecord) -> Iterator[str]:
    from match_runner.pictures.html import folded

    boards = _boards_html(record)
    if boards:
        yield folded("at the start", boards[:1])
    for number, turn in enumerate(record.turns, start=1):
        moves = ", ".join(f"{role} {move}" for role, move in turn.joint_move.items())
        parts = [*boards[number : number + 1], *_turn_html(turn)]
        yield folded(f"turn {number}: {moves}", parts)


def _boards_html(record: MatchRecord) -> list[str]:
    """Pictures of the first states of a match; none where it cannot be played again."""
    from match_runner.pictures.html import states_html

    try:
        program = rules_of(record)
        return states_html(record.game, program, check_record(record, program)[:MAX_BOARDS])
    except GGPError:
        return []


def _turn_html(turn: TurnRecord) -> Iterator[str]:
    """Percepts, faults and decisions of a turn."""
    from match_runner.pictures.html import line

    seen = {role: " ".join(percepts) for role, percepts in turn.percepts.items() if percepts}
    if seen:
        yield Table(("role", "sees"), list(seen.items())).html()
    for fault in turn.faults:
        yield line(f"{fault.role}: {fault.text}")
    for role, decision in turn.decisions.items():
        if len(decision.values) > 1:
            yield line(role) + decision._repr_html_()
