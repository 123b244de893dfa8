"""Writes records in the formats of other programs.

The Dresden GameController writes `dresden-xml` when a match is over: without a play clock, in upper
case except for roles, with all moves ("the sight of RANDOM") and the fluents of the last state. The
format has no field for faults. ggp-base's `Match` reads and writes `tiltyard-json`, and Tiltyard
publishes it: names as the rules spell them, since ggp-base distinguishes upper and lower case. The
format has no field for percepts, which follow from rules and moves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ggp.gdl import Compound, Term, parse_term
from ggp.gdl.program import RANDOM
from ggp.gdl.source import printable
from ggp.gdl.syntax.reading import spelled
from match_runner.match.records import MatchRecord, TurnRecord

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
