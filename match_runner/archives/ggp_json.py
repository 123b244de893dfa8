"""Matches as ggp-base writes them and ggp.org publishes them: JSON.

    {"matchId": ..., "gameMetaURL": ..., "gameRoleNames": [...],
     "states": ["( (cell 1 1 b) )", ...], "moves": [["(mark 1 1)", "noop"], ...],
     "errors": [["", ""], ["", "TO"], ...], "goalValues": [100, 0]}

Fields that a version lacks are taken as not known. Chance is the role `random` there too. The
first of `errors` is about the start, in which no move is lost; those of turns follow it. Archives
also hold matches as `{"url": ..., "data": MATCH}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ggp.errors import GDLError, MatchError
from ggp.gdl import parse_terms, to_kif
from match_runner.archives.archived import Archived, Lost, clock_of, finite

_KINDS = {"TO": "late", "CE": "unreachable", "IL": "illegal"}
"""What errors begin with, and our words for them."""


def read_json(data: bytes) -> Archived:
    """What JSON tells of a match.

    Raises:
        MatchError: it is not JSON, or no match; says which field is wrong.
    """
    return from_json(parsed(data))


def parsed(data: bytes) -> object:
    """The value that JSON stands for.

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
    """What a JSON value tells of a match.

    Raises:
        MatchError: it is no match; says which field is wrong.
    """
    if isinstance(match, dict) and isinstance(match.get("data"), dict):
        match = match["data"]
    if not isinstance(match, dict) or "moves" not in match:
        raise MatchError("it is no match of ggp-base: it has no field moves")
    moves = [_texts(each, "moves") for each in _list(match, "moves")]
    states = [_state(text) for text in _texts(match.get("states", []), "states")]
    scores = [_number(each, "goalValues") for each in _list(match, "goalValues")]
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
        times_s=[_number(each, "stateTimes") / 1000 for each in _list(match, "stateTimes")],
        start_clock_s=_clock(match, "startClock"),
        play_clock_s=_clock(match, "playClock"),
        scrambled=bool(match.get("scrambled", False)),
        unfinished="the match was aborted" if match.get("isAborted") else unfinished,
    )


def _list(match: Mapping[str, Any], name: str) -> list[Any]:
    found = match.get(name)
    if found is None:
        return []
    if not isinstance(found, list):
        raise MatchError(f"the field {name} must be a list")
    return found


def _texts(found: object, name: str) -> list[str]:
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise MatchError(f"the field {name} must hold texts")
    return found


def _number(found: object, name: str) -> float:
    number = finite(found) if isinstance(found, str | int | float) else None
    if number is None or isinstance(found, bool):
        raise MatchError(f"the field {name} must hold numbers")
    return number


def _clock(match: Mapping[str, Any], name: str) -> float | None:
    found = match.get(name)
    return None if found is None else clock_of(_number(found, name))


def _state(text: str) -> list[str]:
    """The fluents of a state, which is written as one list."""
    inner = text.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
    try:
        return [to_kif(term) for term in parse_terms(inner)]
    except GDLError as error:
        raise MatchError("the field states must hold lists of fluents") from error


def _lost_of_turns(errors: list[Any], num_turns: int) -> dict[int, Lost]:
    """By turn the moves that were lost.

    The entry of the start is there if there are more entries than turns.
    """
    before = 1 if len(errors) > num_turns else 0
    return {turn: _lost(each) for turn, each in enumerate(errors[before:])}


def _lost(errors: object) -> Lost:
    found = {}
    for place, error in enumerate(_texts(errors, "errors")):
        kind = _KINDS.get(error[:2])
        if kind is not None:
            found[place] = kind, error[2:].strip() or None
    return found
