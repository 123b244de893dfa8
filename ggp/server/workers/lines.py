"""Orders and answers as lines: one JSON object each.

JSON and not pickles: a worker handles what strangers send, and the server trusts nothing that
comes from it. So every field is read as what its class says it is, or the line is malformed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any, TypeVar, get_args
from weakref import WeakKeyDictionary

from ggp.errors import LocalProtocolError
from ggp.players.player import Decision, MoveValue
from ggp.protocol.turns import PathTurn
from ggp.server.workers import orders
from ggp.server.workers.orders import Answer, Order

_T = TypeVar("_T")

MAX_MOVE_CHARS = 100_000
"""Longest move that is sent on."""

MAX_TOLD_CHARS = 80

MAX_SHOWN_VALUES = 500
"""Moves of a value table that are passed on, the best first."""

_ORDERS: Mapping[str, type[Order]] = {each.kind: each for each in get_args(Order)}
_ANSWERS: Mapping[str, type[Answer]] = {each.kind: each for each in get_args(Answer)}

_written: WeakKeyDictionary[PathTurn, str] = WeakKeyDictionary()
"""JSON of turns that are alive: workers that take the place of others hear all turns, which may be
megabytes, and nobody else is answered while they are written."""


def to_line(message: Order | Answer) -> bytes:
    """A message as a line."""
    told = {each.name: getattr(message, each.name) for each in fields(message)}
    if isinstance(message, orders.MoveReport):
        told["decision"] = decision_json(message.decision)
    turns = ""
    if isinstance(message, orders.Think):
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
    """A decision for JSON; of very many candidates only the best are kept, or none."""
    values, probabilities = decision.values, decision.probabilities
    if probabilities is not None and len(probabilities) > MAX_SHOWN_VALUES:
        decision = replace(decision, probabilities=None)
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


def _read(line: bytes, kinds: Mapping[str, type[_T]]) -> _T:
    try:
        told = json.loads(line)
        return _made(kinds[told["kind"]], told)
    except (
        AttributeError,
        TypeError,
        KeyError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:
        raise LocalProtocolError(f"a malformed line: {line[:80]!r}: {error!r}") from error


def _made(kind: type[_T], told: Mapping[str, Any]) -> _T:
    """A value of a dataclass out of JSON: each field is what its annotation says."""
    names = {each.name: str(each.type) for each in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: _READERS[of](told[name]) for name, of in names.items()})


def _decision(told: Mapping[str, Any]) -> Decision:
    decision = _made(Decision, told)
    if len(decision.move) > MAX_MOVE_CHARS or not decision.move.isprintable():
        raise ValueError(f"a move that is not one line of text: {decision.move[:80]!r}")
    return decision


def _each(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: tuple(read(value) for value in values)


def _or_none(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _told(value: object) -> str | float | None:
    if value is None or isinstance(value, (int, float)):
        return value
    return str(value)[:MAX_TOLD_CHARS]


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "str | None": _or_none(str),
    "float | None": _or_none(float),
    "tuple[str, ...]": _each(str),
    "tuple[str, ...] | None": _or_none(_each(str)),
    "Mapping[str, float] | None": _or_none(
        lambda told: {str(name): float(value) for name, value in told.items()}
    ),
    "Mapping[str, Told] | None": _or_none(
        lambda told: {str(name): _told(value) for name, value in told.items()}
    ),
    "tuple[MoveValue, ...]": _each(partial(_made, MoveValue)),
    "History": _each(partial(_made, PathTurn)),
    "Decision": _decision,
}
"""What makes a field of a value of JSON, by the annotation of the field."""
