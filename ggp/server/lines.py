"""Orders and answers as lines: one JSON object each.

JSON and not pickles: a worker handles what strangers send, and the server trusts nothing that
comes from it. So every field is read as what its class says it is, or the line is malformed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from ggp.errors import LocalProtocolError
from ggp.players.base import Decision, MoveValue
from ggp.protocol.turns import History, PathTurn
from ggp.server.orders import (
    Answer,
    AreYouThere,
    Failed,
    GaveUp,
    Here,
    MachineBuilt,
    MoveReport,
    Order,
    Said,
    Setup,
    Think,
    Up,
)

_T = TypeVar("_T", bound=Order | Answer)

MAX_MOVE_CHARS = 100_000
"""Longest move that is sent on."""

MAX_SHOWN_VALUES = 500
"""Moves of a value table that are passed on, the best first."""

_ORDERS: Mapping[str, type[Order]] = {each.kind: each for each in (Setup, Think, AreYouThere)}
_ANSWERS: Mapping[str, type[Answer]] = {
    each.kind: each for each in (Up, Here, MachineBuilt, Failed, MoveReport, GaveUp, Said)
}

_written: WeakKeyDictionary[PathTurn, str] = WeakKeyDictionary()
"""JSON of turns that are alive: workers that take the place of others hear all turns, which may be
megabytes, and nobody else is answered while they are written."""


def to_line(message: Order | Answer) -> bytes:
    """A message as a line."""
    told = {each.name: getattr(message, each.name) for each in fields(message)}
    if isinstance(message, MoveReport):
        told["decision"] = decision_json(message.decision)
    turns = ""
    if isinstance(message, Think):
        turns = f', "turns": [{", ".join(map(_turn_json, told.pop("turns")))}]'
    return f"{json.dumps({'kind': message.kind, **told})[:-1]}{turns}}}\n".encode()


def read_order(line: bytes) -> Order:
    """An order to a worker.

    Raises:
        LocalProtocolError: it is malformed.
    """
    return _read(line, _ORDERS)


def read_answer(line: bytes) -> Answer:
    """What a worker says; nothing in it is trusted.

    Raises:
        LocalProtocolError: it is malformed.
    """
    return _read(line, _ANSWERS)


def decision_json(decision: Decision) -> dict[str, Any]:
    """A decision for JSON; of very many candidates only the best are kept."""
    values = decision.values
    if len(values) > MAX_SHOWN_VALUES:
        best = sorted(values, key=lambda v: -1e300 if v.value is None else v.value)
        values = tuple(sorted(best[-MAX_SHOWN_VALUES:], key=lambda v: v.move))
    return {**asdict(decision), "values": [asdict(value) for value in values]}


def _turn_json(turn: PathTurn) -> str:
    text = _written.get(turn)
    if text is None:
        names = PathTurn.__dataclass_fields__
        text = _written[turn] = json.dumps({name: getattr(turn, name) for name in names})
    return text


def _decision(told: Mapping[str, Any]) -> Decision:
    fault, move = told["fault"], str(told["move"])
    if len(move) > MAX_MOVE_CHARS or not move.isprintable():
        raise ValueError(f"a move that is not one line of text: {move[:80]!r}")
    return Decision(
        move=move,
        values=tuple(_value(each) for each in told["values"]),
        particles=int(told["particles"]),
        exact=bool(told["exact"]),
        states_visited=int(told["states_visited"]),
        seconds=float(told["seconds"]),
        fault=None if fault is None else str(fault),
    )


def _value(told: Mapping[str, Any]) -> MoveValue:
    value, stderr = told["value"], told["stderr"]
    return MoveValue(
        str(told["move"]),
        None if value is None else float(value),
        None if stderr is None else float(stderr),
        int(told["visits"]),
    )


def _turns(values: Sequence[Mapping[str, Any]]) -> History:
    return tuple(PathTurn(**{**each, "percepts": _percepts(each["percepts"])}) for each in values)


def _percepts(values: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "tuple[str, ...]": _texts,
    "History": _turns,
    "Decision": _decision,
}
"""What makes a field of a value of JSON, by the type the class gives it."""


def _read(line: bytes, kinds: Mapping[str, type[_T]]) -> _T:
    try:
        told = json.loads(line)
        found = kinds[told["kind"]]
        read = {each.name: _READERS[str(each.type)](told[each.name]) for each in fields(found)}
        return found(**read)
    except (TypeError, KeyError, ValueError, OverflowError, RecursionError) as error:
        raise LocalProtocolError(f"a malformed line: {line[:80]!r}: {error!r}") from error
