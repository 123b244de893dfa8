"""Orders and answers as lines: one JSON object each.

JSON and not pickles: a worker handles input of strangers, and the server trusts nothing that comes
from it. So every field must have the type that its class declares, or the line is malformed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TypeVar, get_args
from weakref import WeakKeyDictionary

from ggp.errors import LocalProtocolError
from ggp.players.elsewhere.from_json import decision_json, read
from ggp.players.player import Decision
from ggp.protocol.turns import PathTurn
from ggp.server.workers import orders
from ggp.server.workers.orders import Answer, Order

_T = TypeVar("_T")

MAX_MOVE_CHARS = 100_000
"""Longest move that is passed on."""

MAX_TOLD_CHARS = 80

_ORDERS: Mapping[str, type[Order]] = {each.kind: each for each in get_args(Order)}
_ANSWERS: Mapping[str, type[Answer]] = {each.kind: each for each in get_args(Answer)}

_written: WeakKeyDictionary[PathTurn, str] = WeakKeyDictionary()
"""JSON of turns that are alive: workers that replace others get all turns, which may be megabytes,
and nobody else is answered while they are written."""


def to_line(message: Order | Answer) -> bytes:
    """A message as a line."""
    told = {each.name: getattr(message, each.name) for each in fields(message)}
    if isinstance(message, orders.MoveReport):
        told["decision"] = decision_json(message.decision)
    turns = ""
    if isinstance(message, orders.Think | orders.Conclude):
        turns = f', "turns": [{", ".join(map(_turn_json, told.pop("turns")))}]'
    return f"{json.dumps({'kind': message.kind, **told})[:-1]}{turns}}}\n".encode()


def read_order(line: bytes) -> Order:
    """An order to a worker.

    Raises:
        LocalProtocolError: it is malformed.
    """
    return _read(line, _ORDERS)


def read_answer(line: bytes) -> Answer:
    """A message of a worker; nothing in it is trusted.

    Raises:
        LocalProtocolError: it is malformed.
    """
    answer = _read(line, _ANSWERS)
    if isinstance(answer, orders.MoveReport):
        return replace(answer, decision=_checked(answer.decision))
    return answer


def _checked(decision: Decision) -> Decision:
    """The decision, if it may be passed on.

    Raises:
        LocalProtocolError: its move is not one line of text.
    """
    move, quality = decision.move, decision.quality
    if len(move) > MAX_MOVE_CHARS or not move.isprintable():
        raise LocalProtocolError(f"a move that is not one line of text: {move[:80]!r}")
    if quality is None:
        return decision
    told = {
        name: value[:MAX_TOLD_CHARS] if isinstance(value, str) else value
        for name, value in quality.items()
    }
    return replace(decision, quality=told)


def _turn_json(turn: PathTurn) -> str:
    text = _written.get(turn)
    if text is None:
        names = PathTurn.__dataclass_fields__
        text = _written[turn] = json.dumps({name: getattr(turn, name) for name in names})
    return text


def _read(line: bytes, kinds: Mapping[str, type[_T]]) -> _T:
    try:
        told = json.loads(line)
        return read(kinds[told["kind"]], told, "a line", ValueError)
    except (TypeError, KeyError, ValueError, RecursionError) as error:
        raise LocalProtocolError(f"a malformed line: {line[:80]!r}: {error!r}") from error
