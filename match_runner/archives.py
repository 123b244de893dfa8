"""Matches in the formats of other programs: reads them into records of ours, and writes records.

It reads the JSON of ggp.org and the XML of the Dresden GameController; `match-runner import` writes
the records. Each match is played again by the rules, which give the percepts and check the rest.
`match-runner export` writes records in such formats.

A file of JSON has a match or a list of matches, a file of JSON Lines a match a line, a file of XML
a match. Archives are large, so only one line of JSON Lines is in memory at a time; and a match that
cannot be read does not stop the others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from string import whitespace
from typing import Any, BinaryIO, NamedTuple
from xml.etree import ElementTree

import numpy as np

from ggp.errors import ConfigError, GDLError, MatchError
from ggp.gdl import Compound, Term, parse_term, parse_terms, to_kif
from ggp.gdl.program import RANDOM, TRUE
from ggp.gdl.source import printable
from ggp.gdl.syntax.reading import MAX_NESTING, UNNAMED, spelled
from ggp.gdl.terms import signature
from ggp.machine import Machine, build_machine
from ggp.machine.base import States
from ggp.machine.definition import GameDefinition
from ggp.protocol.messages import Dialect
from match_runner.match.records import Fault, MatchRecord, TurnRecord
from match_runner.remote.wire import RemoteSide

MAX_MB = 100
"""Most megabytes of a match or of a list of matches. A file of JSON Lines may have any size."""

_MAX_BYTES = MAX_MB << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_Line = tuple[int, bytes]
"""The number of a line, from 1, and its text, which is not blank."""


class Unread(NamedTuple):
    """A match in a file, before it is read.

    Attributes:
        location: the file, and the place in it if there are several.
        suffix: suffix of its record's name: empty, or `-7` for the match of line 7.
        read: reads it; raises `MatchError` if that fails.
    """

    location: str
    suffix: str
    read: Callable[[], Archived]


def matches_in(file: Path) -> Iterator[Unread]:
    """Yield the matches in a file, in order.

    Raises:
        ConfigError: it cannot be read, or holds no matches.
    """
    try:
        with file.open("rb") as stream:
            yield from _matches(file, stream)
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror or error}") from error
    except MatchError as error:
        raise ConfigError(f"{file}: {error}") from error


def _matches(file: Path, stream: BinaryIO) -> Iterator[Unread]:
    lines = iter(partial(stream.readline, _MAX_BYTES), b"")
    numbered = _not_blank(lines, 1)
    head = list(islice(numbered, 2))
    first = head[0][1].removeprefix(_BYTE_ORDER_MARK).lstrip() if head else b""
    if first[:1] not in (b"{", b"[", b"<"):
        raise ConfigError(f"{file} is neither JSON nor XML, so it cannot be imported")
    if len(head) > 1 and _is_object(first):
        yield from _of_lines(file, chain(head, numbered))
        return
    rest = stream.read(_MAX_BYTES)
    try:
        yield from _of_whole(file, b"".join(line for _, line in head) + rest)
    except MatchError:
        if first[:1] != b"{" or len(head) < 2 or not _is_object(head[1][1]):
            raise
        # These are JSON Lines, and the first line is damaged.
        rest += stream.readline()
        later_lines = _not_blank(chain(BytesIO(rest), lines), head[1][0] + 1)
        yield from _of_lines(file, chain(head, later_lines))


def _not_blank(lines: Iterable[bytes], first: int) -> Iterator[_Line]:
    blank = _BYTE_ORDER_MARK + whitespace.encode()
    return ((number, line) for number, line in enumerate(lines, first) if line.strip(blank))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _of_lines(file: Path, lines: Iterable[_Line]) -> Iterator[Unread]:
    for number, line in lines:
        yield Unread(f"{file}, line {number}", f"-{number}", partial(read_json, line))


def _of_whole(file: Path, data: bytes) -> Iterator[Unread]:
    """Yield the matches of a file that is read as a whole.

    Raises:
        MatchError: it is too large, not JSON, or an empty list; raised before the first match.
    """
    if len(data) >= _MAX_BYTES:
        raise MatchError(f"it is larger than {MAX_MB} MB; give a larger archive as JSON Lines")
    if data.removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] == b"<":
        yield Unread(str(file), "", partial(read_xml, data))
        return
    value = parsed(data)
    if not isinstance(value, list):
        yield Unread(str(file), "", partial(from_json, value))
        return
    if not value:
        raise MatchError("it is an empty list of matches")
    for number, match in enumerate(value, start=1):
        yield Unread(f"{file}, match {number}", f"-{number}", partial(from_json, match))


# ------------------------------------------------------------------------
# Matches as ggp-base writes them and ggp.org publishes them: JSON.
#
# {"matchId": ..., "gameMetaURL": ..., "gameRoleNames": [...],
#      "states": ["( (cell 1 1 b) )", ...], "moves": [["(mark 1 1)", "noop"], ...],
#      "errors": [["", ""], ["", "TO"], ...], "goalValues": [100, 0]}
#
# Fields that a version lacks count as unknown. Chance is the role `random` there too. The first of
# `errors` is about the start, in which no role loses a move; the errors of turns follow it.
# Archives also have matches as `{"url": ..., "data": MATCH}`.

_KINDS = {"TO": "late", "CE": "unreachable", "IL": "illegal"}
"""Kinds of faults by the first letters of an error."""


def read_json(data: bytes) -> Archived:
    """Read a match from JSON.

    Raises:
        MatchError: it is not JSON, or not a match; says which field is wrong.
    """
    return from_json(parsed(data))


def parsed(data: bytes) -> object:
    """Read a JSON value.

    Raises:
        MatchError: it is not JSON.
    """
    try:
        value: object = json.loads(data)
        json.dumps(value, ensure_ascii=False).encode()  # a record could not hold half a character
    except (ValueError, RecursionError) as error:
        raise MatchError(f"it is not JSON: {error}") from error
    return value


def from_json(match: object) -> Archived:
    """Read a match from a JSON value.

    Raises:
        MatchError: it is not a match; says which field is wrong.
    """
    if isinstance(match, dict) and isinstance(match.get("data"), dict):
        match = match["data"]
    if not isinstance(match, dict) or "moves" not in match:
        raise MatchError("it is not a match of ggp-base: it has no field moves")
    moves = [_texts(entry, "moves") for entry in _list(match, "moves")]
    states = [_state(text) for text in _texts(match.get("states", []), "states")]
    scores = [_number(entry, "goalValues") for entry in _list(match, "goalValues")]
    is_completed = match.get("isCompleted", True)
    unfinished = None if is_completed else "the match was not completed"
    return Archived(
        match_id=str(match.get("matchId", "")),
        game=str(match.get("gameMetaURL") or ""),
        roles=_texts(match["gameRoleNames"], "gameRoleNames") if "gameRoleNames" in match else None,
        players=_texts(
            [name or "" for name in _list(match, "playerNamesFromHost")], "playerNamesFromHost"
        ),
        moves=moves,
        states=dict(enumerate(states)),
        scores=scores if is_completed and scores else None,
        lost=_lost_of_turns(_list(match, "errors"), len(moves)),
        times_s=[_number(entry, "stateTimes") / 1000 for entry in _list(match, "stateTimes")],
        start_clock_s=_clock(match, "startClock"),
        play_clock_s=_clock(match, "playClock"),
        scrambled=bool(match.get("scrambled", False)),
        unfinished="the match was aborted" if match.get("isAborted") else unfinished,
    )


def _list(match: Mapping[str, Any], name: str) -> list[Any]:
    value = match.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise MatchError(f"the field {name} must be a list")
    return value


def _texts(value: object, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise MatchError(f"the field {name} must hold texts")
    return value


def _number(value: object, name: str) -> float:
    number = finite(value) if isinstance(value, str | int | float) else None
    if number is None or isinstance(value, bool):
        raise MatchError(f"the field {name} must hold numbers")
    return number


def _clock(match: Mapping[str, Any], name: str) -> float | None:
    value = match.get(name)
    return None if value is None else clock_of(_number(value, name))


def _state(text: str) -> list[str]:
    """The fluents of a state, which the file has as one list."""
    inner = text.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
    try:
        return [to_kif(term) for term in parse_terms(inner)]
    except GDLError as error:
        raise MatchError("the field states must hold lists of fluents") from error


def _lost_of_turns(errors: list[Any], num_turns: int) -> dict[int, Lost]:
    """The lost moves, by turn.

    There is an entry for the start if there are more entries than turns.
    """
    num_start = 1 if len(errors) > num_turns else 0
    return {turn: _lost(entry) for turn, entry in enumerate(errors[num_start:])}


def _lost(errors: object) -> Lost:
    lost = {}
    for index, error in enumerate(_texts(errors, "errors")):
        kind = _KINDS.get(error[:2])
        if kind is not None:
            lost[index] = kind, error[2:].strip() or None
    return lost


# ------------------------------------------------------------------------
# Matches as the Dresden GameController writes them: XML.
#
# <match>
#       <match-id>...</match-id> <sight-of>RANDOM</sight-of>
#       <role>xplayer</role> ... <player>...</player> ... <startclock>30</startclock>
#       <history>
#         <step> <step-number>1</step-number> <move>(MARK 1 1)</move> <move>NOOP</move> </step>
#       </history>
#       <scores> <reward>100</reward> ... </scores>
#       <state> <fact> <prop-f>CELL</prop-f> <arg>1</arg> ... </fact> ... </state>
#     </match>
#
# There is a file for every state, with the moves before it, and `finalstate.xml`, which has scores.
# In games of GDL-II there is a folder for every role, and only the files for chance (`sight-of`
# RANDOM) have the moves: without the role `random`, a match cannot be reconstructed.
#
# A trace has all states and moves, but not who played, nor when:
#
# <gametrace>
#       <game>doors</game>
#       <steps>
#         <step nb="1">
#           <state> <fluent>(car 3)</fluent> ... </state>
#           <legal_moves> <move role="candidate">(choose 1)</move> ... </legal_moves>
#           <moves> <move role="candidate">(choose 2)</move> ... </moves>
#         </step>
#         <step nb="2">
#           <state> ... </state> <terminal/>
#           <goal_values> <goal_value role="candidate">100</goal_value> ... </goal_values>
#         </step>
#       </steps>
#     </gametrace>
#
# The last step has no moves. If it is not terminal, the match was interrupted there.


def read_xml(data: bytes) -> Archived:
    """Read a match from an XML file.

    Raises:
        MatchError: it is not XML, or not a match with the moves of all roles.
    """
    if b"\0" in data:  # in UTF-16, the next line would not find its markup
        raise MatchError("it is not UTF-8: convert it first")
    if b"<!ENTITY" in data:
        raise MatchError("it declares entities, which no match needs")
    try:
        match = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise MatchError(f"it is not XML: {error}") from error
    if match.tag == "gametrace":
        return _trace(match)
    steps = match.findall("history/step")
    roles = _texts_at(match, "role")
    if match.find("herstory") is not None:
        raise MatchError("it is XML of ggp-base: import the JSON that is written beside it")
    if match.tag != "match" or not roles:
        raise MatchError(
            "it is not a match of the Dresden GameController: it is neither a match with roles nor "
            "a gametrace"
        )
    moves = [_texts_at(step, "move") for step in steps]
    if any(len(joint_move) != len(roles) for joint_move in moves):
        sight = match.findtext("sight-of", "one role").strip()
        raise MatchError(
            f"it has the view of {sight}, not the moves of all roles; import the file for RANDOM, "
            "which games with the role random have"
        )
    facts = [_term(fact, 0) for fact in match.findall("state/fact")]
    rewards = [_xml_number(text, "reward") for text in _texts_at(match, "scores/reward")]
    return Archived(
        match_id=match.findtext("match-id", "").strip(),
        game="",
        roles=roles,
        players=_texts_at(match, "player"),
        moves=moves,
        states={len(moves): facts} if facts else {},
        scores=rewards or None,
        start_clock_s=_xml_clock(match, "startclock"),
        play_clock_s=_xml_clock(match, "playclock"),
        unfinished=None if rewards else "the match was not completed",
    )


def _trace(trace: ElementTree.Element) -> Archived:
    """Read a match from a trace.

    Raises:
        MatchError: a step is missing or has no moves; says which.
    """
    steps = trace.findall("steps/step")
    if not steps:
        raise MatchError("it is a gametrace without steps")
    for number, step in enumerate(steps, start=1):
        if step.get("nb", "").strip() != str(number):
            raise MatchError(f"step {number} of the trace has the number {step.get('nb')!r}")
    last = steps[-1]
    moving = steps if last.find("moves") is not None else steps[:-1]
    joint = [_by_role(step, "moves/move") for step in moving]
    goals = _by_role(last, "goal_values/goal_value")
    roles = sorted(joint[0] if joint else goals)
    for number, moves in enumerate(joint, start=1):
        if sorted(moves) != roles:
            raise MatchError(f"step {number} of the trace lacks moves of some roles")
    if goals and sorted(goals) != roles:
        raise MatchError("the goal values of the trace do not have the roles of its moves")
    is_over = last.find("terminal") is not None
    return Archived(
        match_id="",
        game=trace.findtext("game", "").strip(),
        roles=roles or None,
        players=(),
        moves=[[moves[role] for role in roles] for moves in joint],
        states={
            number: _texts_at(step, "state/fluent")
            for number, step in enumerate(steps)
            if step.find("state") is not None
        },
        scores=[_xml_number(goals[role], "goal_value") for role in roles if goals] or None,
        unfinished=None if is_over else "the match was not completed",
    )


def _by_role(step: ElementTree.Element, path: str) -> dict[str, str]:
    """The texts of some elements, by their roles."""
    texts: dict[str, str] = {}
    for element in step.findall(path):
        role = element.get("role", "").strip()
        if role in texts:
            raise MatchError(f"step {step.get('nb')} of the trace has two values for {role}")
        texts[role] = (element.text or "").strip()
    return texts


def _texts_at(element: ElementTree.Element, path: str) -> list[str]:
    return [(child.text or "").strip() for child in element.findall(path)]


def _xml_clock(match: ElementTree.Element, name: str) -> float | None:
    text = match.findtext(name)
    return None if text is None else clock_of(_xml_number(text, name))


def _xml_number(text: str, name: str) -> float:
    number = finite(text)
    if number is None:
        raise MatchError(f"{name} must be a number, not {text[:40]!r}")
    return number


def _term(element: ElementTree.Element, depth: int) -> str:
    """The term in a `fact` or `arg` element."""
    if depth > MAX_NESTING:
        raise MatchError(f"a fact nests deeper than {MAX_NESTING} terms")
    if not len(element):
        return (element.text or "").strip()
    name = (element[0].text or "").strip()
    args = [_term(arg, depth + 1) for arg in element[1:]]
    return f"({name} {' '.join(args)})" if args else name


# ------------------------------------------------------------------------
# A match as another program's file has it, and the record that follows from it.
#
# Files have moves. Percepts and results follow from the rules, which the user gives: files name
# them by a URL, and we fetch nothing. States and scores in a file are compared with the rules, so
# that a match is never imported with the rules of another game.

UNKNOWN_PLAYER = "unknown"
"""The player where a file does not name one."""

Lost = Mapping[int, tuple[str, str | None]]
"""By index of the role among the moves: the kind of fault, one of `FAULTS`, that cost it its move,
and the move that it submitted."""


@dataclass(frozen=True, slots=True)
class Archived:
    """A match as a file has it, with the file's spelling of terms.

    Attributes:
        match_id: the id of the match.
        game: the URL or name of the game; empty if the file has none.
        roles: in the order of moves; None where that is the order of the rules.
        players: names, in the order of roles, with or without one for `random`; empty if unknown.
        moves: the moves of every role, turn by turn.
        states: the states in the file, by the number of turns before them.
        scores: score of every role; None if the file has none.
        unfinished: why the match ended before the game was over; None if it was over.
        lost: lost moves, by turn.
        times_s: when the match reached its states, in seconds since 1970; empty if unknown.
        start_clock_s, play_clock_s: None if there was no such clock, or it is unknown.
        scrambled: whether players got other names.
    """

    match_id: str
    game: str
    roles: Sequence[str] | None
    players: Sequence[str]
    moves: Sequence[Sequence[str]]
    states: Mapping[int, Sequence[str]]
    scores: Sequence[float] | None
    unfinished: str | None
    lost: Mapping[int, Lost] = field(default_factory=dict)
    times_s: Sequence[float] = ()
    start_clock_s: float | None = None
    play_clock_s: float | None = None
    scrambled: bool = False


def record_of(
    archived: Archived, game: str, program: GameDefinition, machine: Machine | None = None
) -> MatchRecord:
    """The record of a match, played again by the rules.

    Args:
        game: name or path of the rules.
        program: the rules.
        machine: a machine of these rules; None to build one.

    Raises:
        MatchError: the match does not fit the rules; names the first turn that does not.
        MachineError: the rules cannot be played.
    """
    machine = machine or build_machine(program)
    roles = _roles(archived, machine)
    state = machine.initial()
    _compare(archived, 0, machine, state)
    turns = []
    for number, texts in enumerate(archived.moves):
        try:
            lost = {roles[index]: loss for index, loss in archived.lost.get(number, {}).items()}
            turn, state = _turn(number, dict(zip(roles, texts, strict=False)), lost, machine, state)
            _compare(archived, number + 1, machine, state)
        except (MatchError, LookupError) as error:
            reason = error if isinstance(error, MatchError) else "it lacks the move of a role"
            raise MatchError(f"turn {number + 1}: {reason}") from error
        turns.append(turn)
    goals = _goals(archived, roles, machine, state)
    return MatchRecord(
        game=game,
        digest=program.digest,
        backend=machine.backend,
        seed=0,
        play_clock_s=archived.play_clock_s,
        roles=machine.roles,
        players=_players(archived.players, roles, machine),
        turns=tuple(turns),
        goals=goals,
        states_visited=dict.fromkeys(machine.roles, 0),
        error=archived.unfinished,
        remote=RemoteSide(
            archived.match_id,
            Dialect.GDL2 if program.as_program().is_gdl2 else Dialect.GDL,
            archived.start_clock_s or 0.0,
            archived.scrambled,
        ),
        times_s=tuple(archived.times_s) if len(archived.times_s) == len(turns) + 1 else (),
        rules=program.source.text,
    )


def _roles(archived: Archived, machine: Machine) -> list[str]:
    """The roles in the order of the moves of a turn."""
    if archived.roles is None:
        return list(machine.roles)
    roles = [role.strip().lower() for role in archived.roles]
    if sorted(roles) != sorted(machine.roles):
        raise MatchError(
            f"the rules have the roles {', '.join(machine.roles)}, the match {', '.join(roles)}: "
            "these are the rules of another game"
        )
    return roles


def _turn(
    number: int,
    texts: Mapping[str, str],
    lost: Mapping[str, tuple[str, str | None]],
    machine: Machine,
    state: States,
) -> tuple[TurnRecord, States]:
    if machine.terminal(state)[0]:
        raise MatchError("the game is over before it")
    joint = []
    for role, name in enumerate(machine.roles):
        legal, text = machine.legal(state, role)[0], texts[name]
        move = {_unnamed(machine.move_text(id_)): id_ for id_ in legal}.get(canonical(text))
        if move is None:
            raise MatchError(f"{text} is not legal for {name}")
        joint.append(move)
    moves = dict(zip(machine.roles, map(machine.move_text, joint), strict=True))
    stepped = machine.step(state, np.array([joint], dtype=np.int64))
    seen = map(machine.percept_texts, stepped.percepts[0].tolist())
    submitted: dict[str, str | None] = {
        role: move for role, move in moves.items() if role != RANDOM
    }
    faults = []
    for loser, (kind, request) in lost.items():
        if loser in submitted:
            submitted[loser] = None if request is None else canonical(request)
            faults.append(Fault(number, loser, kind, f"{request or 'no move'}, says the archive"))
    percepts = dict(zip(machine.roles, seen, strict=True))
    return TurnRecord(moves, submitted, percepts, {}, tuple(faults)), stepped.states


def _compare(archived: Archived, number: int, machine: Machine, state: States) -> None:
    """Compare a state with the file's, if it has one."""
    fluents = archived.states.get(number)
    if fluents is None:
        return
    in_file, by_rules = set(map(canonical, fluents)), set(map(_unnamed, machine.fluents(state)[0]))
    for unmatched, source in ((in_file - by_rules, "the file"), (by_rules - in_file, "the rules")):
        if unmatched:
            raise MatchError(
                f"{min(unmatched)} holds only in {source}: these may be the rules of another game, "
                "or another version of them"
            )


def _goals(
    archived: Archived, roles: Sequence[str], machine: Machine, state: States
) -> dict[str, float | None]:
    if not machine.terminal(state)[0]:
        if archived.unfinished is None:
            raise MatchError(f"the game is not over after turn {len(archived.moves)}")
        return dict.fromkeys(machine.roles)
    goals = dict(zip(machine.roles, machine.goals(state)[0].tolist(), strict=True))
    for role, score in zip(roles, archived.scores or (), strict=False):
        if score != goals[role]:
            raise MatchError(f"the rules give {role} {goals[role]:g} points, the file {score:g}")
    return dict(goals)


def _players(listed: Sequence[str], roles: Sequence[str], machine: Machine) -> dict[str, str]:
    named = roles
    if len(listed) == len(roles) - 1:  # nobody is named for chance
        named = [role for role in roles if role != RANDOM]
    names = dict(zip(named, listed, strict=False))
    players = (role for role in machine.roles if role != RANDOM)
    return {role: names.get(role, "").strip() or UNKNOWN_PLAYER for role in players}


def finite(value: str | float) -> float | None:
    """A number in a file; None if the value is not a finite number."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def clock_of(seconds: float) -> float | None:
    """A clock in seconds; None for 0 or less, by which files mean that there was no clock."""
    return seconds if seconds > 0 else None


def canonical(text: str) -> str:
    """A term of a file as canonical KIF, without `true` around a fluent.

    Raises:
        MatchError: it is not a term.
    """
    try:
        term: Term = parse_term(text)
    except GDLError as error:
        raise MatchError(f"{text[:60]!r} is not a term") from error
    if isinstance(term, Compound) and signature(term) == TRUE:
        term = term.args[0]
    return _unnamed(to_kif(term))


def _unnamed(text: str) -> str:
    """Canonical KIF without its name for tuples, which files may lack."""
    return spelled(text, UNNAMED)


# ------------------------------------------------------------------------
# Writes records in the formats of other programs.
#
# The Dresden GameController writes `dresden-xml` when a match is over: without a play clock, in
# upper case except for roles, with all moves ("the sight of RANDOM") and the fluents of the last
# state. The format has no field for faults. ggp-base's `Match` reads and writes `tiltyard-json`,
# and Tiltyard publishes it: names as the rules spell them, since ggp-base distinguishes upper and
# lower case. The format has no field for percepts, which follow from rules and moves.

Fluents = Sequence[str]
"""Fluents of one state, in canonical KIF without `true`."""

DOCTYPE = "http://games.stanford.edu/gamemaster/xml/viewmatch.dtd"

NO_CLOCK = -1
"""Value that ggp-base writes for a clock that does not exist."""

_TOKEN_BYTES = 16


def dresden_xml(record: MatchRecord, states: Sequence[Fluents]) -> str:
    """A whole match as the Dresden GameController's `finalstate.xml`.

    Args:
        states: one for the beginning and one after each turn.
    """
    match = ElementTree.Element("match")
    _add(match, "match-id", _match_id(record))
    _add(match, "sight-of", RANDOM.upper())
    for role in record.roles:
        _add(match, "role", role)
    for name in _player_names(record):
        _add(match, "player", name.upper())
    _add(match, "timestamp", str(_milliseconds(record)[-1]))
    _add(match, "startclock", str(max(0, _start_clock(record))))
    if record.error is not None:
        _add(match, "playclock", str(max(0, _whole(record.play_clock_s))))
    history = ElementTree.SubElement(match, "history")
    for number, turn in enumerate(record.turns, start=1):
        step = ElementTree.SubElement(history, "step")
        _add(step, "step-number", str(number))
        for role in record.roles:
            _add(step, "move", turn.joint_move[role].upper())
    if record.error is None:
        scores = ElementTree.SubElement(match, "scores")
        for role in record.roles:
            _add(scores, "reward", f"{record.goals[role]:g}")
    state = ElementTree.SubElement(match, "state")
    for fluent in states[-1]:
        _add_term(state, "fact", parse_term(fluent))
    ElementTree.indent(match)
    body = ElementTree.tostring(match, encoding="unicode")
    header = f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE match SYSTEM "{DOCTYPE}">\n'
    return f"{header}{body}\n"


def tiltyard_json(
    record: MatchRecord, states: Sequence[Fluents], spelling: Mapping[str, str]
) -> str:
    """A whole match as ggp-base's JSON.

    Args:
        states: one for the beginning and one after each turn.
        spelling: of names in the rules, see `Rulesheet.spelling`.
    """
    times_ms = _milliseconds(record)
    match: dict[str, Any] = {
        "matchId": _match_id(record),
        "randomToken": _token(record),
        "startTime": times_ms[0],
        "gameMetaURL": Path(record.game).stem,
        "gameRoleNames": [spelled(role, spelling) for role in record.roles],
        "isCompleted": record.error is None,
        "isAborted": record.error is not None,
        "states": [f"( {spelled(' '.join(state), spelling)} )" for state in states],
        "moves": [
            [spelled(turn.joint_move[role], spelling) for role in record.roles]
            for turn in record.turns
        ],
        "stateTimes": times_ms,
        "errors": [
            [""] * len(record.roles),  # errors of the start, which costs no move
            *([_error(role, turn, spelling) for role in record.roles] for turn in record.turns),
        ],
        "previewClock": NO_CLOCK,
        "startClock": _start_clock(record),
        "playClock": _whole(record.play_clock_s),
        "playerNamesFromHost": _player_names(record),
        "isPlayerHuman": [False] * len(record.roles),
        "scrambled": record.remote is not None and record.remote.scrambled,
    }
    if record.error is None:
        match["goalValues"] = [record.goals[role] for role in record.roles]
    return json.dumps(match, indent=1) + "\n"


EXPORTS: Mapping[str, Callable[[MatchRecord, Sequence[Fluents], Mapping[str, str]], str]] = {
    "dresden-xml": lambda record, states, _: dresden_xml(record, states),
    "tiltyard-json": tiltyard_json,
}
"""Every export format, by the name that `--to` takes; the last argument is the spelling of the
rules, which the Dresden GameController does not keep."""


def _match_id(record: MatchRecord) -> str:
    """Match id of the record; without one, an id made from its seed and content."""
    recorded_id = record.remote.match_id if record.remote else ""
    return recorded_id or f"match.{record.seed}.{_token(record)[:12]}"


def _token(record: MatchRecord) -> str:
    """Digest of a record, 32 characters: equal matches have equal digests."""
    text = json.dumps(record.to_json(), sort_keys=True).encode()
    return hashlib.blake2b(text, digest_size=_TOKEN_BYTES).hexdigest()


def _player_names(record: MatchRecord) -> list[str]:
    return [record.players.get(role, RANDOM) for role in record.roles]


def _start_clock(record: MatchRecord) -> int:
    return NO_CLOCK if record.remote is None else _whole(record.remote.start_clock_s)


def _whole(seconds: float | None) -> int:
    return NO_CLOCK if seconds is None else round(seconds)


def _milliseconds(record: MatchRecord) -> list[int]:
    """When the match reached each state, in ms since 1970; 0 where the record does not say."""
    times_s = record.times_s or (0.0,) * (1 + len(record.turns))
    return [round(1000 * time_s) for time_s in times_s]


def _error(role: str, turn: TurnRecord, spelling: Mapping[str, str]) -> str:
    """The fault that cost a role its move, in ggp-base's words; "" if it kept its move."""
    submitted = turn.submitted.get(role)
    kinds = [fault.kind for fault in turn.faults if fault.role == role]
    if not kinds or submitted == turn.joint_move[role]:
        return ""
    match kinds[-1]:  # earlier ones may be about the start of the match
        case "late":
            return "TO"
        case "unreachable" | "raised":
            return "CE"
        case "illegal":
            return f"IL {spelled(submitted or '', spelling)}".strip()
    return ""


def _add(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = printable(text)


def _add_term(parent: ElementTree.Element, name: str, term: Term) -> None:
    """Add a term as an element; the parser bounds how deep terms nest."""
    element = ElementTree.SubElement(parent, name)
    _add(element, "prop-f", str(term.name).upper())
    for arg in term.args if isinstance(term, Compound) else ():
        if isinstance(arg, Compound):
            _add_term(element, "arg", arg)
        else:
            _add(element, "arg", str(arg).upper())
