"""Reads dataclasses from JSON: a field that does not match its annotation is named in the error.

The data may come from strangers, so nothing is converted except lists, which become tuples:

    read(Point, {"x": 1, "y": "2"}, "points[3]", MatchError)
    MatchError: field points[3].y must be a number
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ggp.players.player import Decision

_T = TypeVar("_T")

_PLAIN: Mapping[type, tuple[type | types.UnionType, str]] = {
    str: (str, "a string"),
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    float: (int | float, "a number"),
}
"""For each type, its type in JSON values, and what to call it."""

_LARGEST = int(sys.float_info.max)


def read(
    kind: type[_T],
    data: object,
    where: str,
    raises: Callable[[str], Exception],
    may_lack: Collection[str] = (),
) -> _T:
    """A dataclass instance from JSON values.

    Its fields may be strings, numbers, booleans, string enumerations, dataclasses, tuples of any
    length and mappings from strings; `None` and unions of these.

    Args:
        data: should be an object with all its fields; others are ignored.
        where: where the object is found; empty for a whole file.
        raises: makes the error to raise from a message.
        may_lack: fields, of it or of dataclasses inside it, that get their default if they are
            missing.
    """
    return _Reader(raises, may_lack).made(kind, data, where)


@cache
def _types_of(kind: Any) -> Mapping[str, Any]:
    """The annotations of the fields of a dataclass, as types."""
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}


class _Reader:
    def __init__(self, raises: Callable[[str], Exception], may_lack: Collection[str]) -> None:
        self._raises, self._may_lack = raises, may_lack

    def made(self, kind: type[_T], data: object, where: str) -> _T:
        if not isinstance(data, dict):
            raise self._raises(f"{where or 'the file'} must be an object")
        values = {}
        for name, of in _types_of(cast(Any, kind)).items():
            place = f"{where}.{name}" if where else name
            if name in data:
                values[name] = self._value(of, data[name], place)
            elif name not in self._may_lack:
                raise self._raises(f"field {place} is missing")
        return kind(**values)

    def _value(self, of: Any, data: Any, where: str) -> Any:
        if of in _PLAIN:
            return self._plain(of, data, where)
        if isinstance(of, type) and is_dataclass(of):
            return self.made(of, data, where)
        if isinstance(of, type) and issubclass(of, StrEnum):
            if data not in tuple(of):
                raise self._raises(f"field {where} must be one of {', '.join(of)}")
            return of(data)
        origin, inner = get_origin(of), get_args(of)
        if origin in (Union, types.UnionType):
            return self._one_of(inner, data, where)
        if origin is tuple:
            if not isinstance(data, list | tuple):
                raise self._raises(f"field {where} must be a list")
            return tuple(
                self._value(inner[0], each, f"{where}[{i}]") for i, each in enumerate(data)
            )
        if not isinstance(data, dict):
            raise self._raises(f"field {where} must be an object")
        return {key: self._value(inner[1], each, f"{where}.{key}") for key, each in data.items()}

    def _plain(self, of: type, data: Any, where: str) -> Any:
        if not _is_plain(of, data):
            raise self._raises(f"field {where} must be {_PLAIN[of][1]}")
        return data

    def _one_of(self, kinds: tuple[Any, ...], data: Any, where: str) -> Any:
        if data is None and types.NoneType in kinds:
            return None
        others = [each for each in kinds if each is not types.NoneType]
        if len(others) == 1:
            return self._value(others[0], data, where)
        if not any(_is_plain(each, data) for each in others):
            called = ", ".join(_PLAIN[each][1] for each in others)
            raise self._raises(f"field {where} must be {called} or null")
        return data


def _is_plain(of: type, data: Any) -> bool:
    """Whether a value has a type of `_PLAIN`; JSON's integers may be too long for floats."""
    if of is float and isinstance(data, int):
        return not isinstance(data, bool) and abs(data) <= _LARGEST
    return isinstance(data, _PLAIN[of][0]) and (of is bool or not isinstance(data, bool))


# ------------------------------------------------------------------------
# Decisions as JSON, for logs, workers' lines, records and pages, and back.

MAX_SHOWN_VALUES = 500
"""Most moves of a value table that are passed on, the best first."""

LATER_FIELDS = frozenset({"probabilities", "guessed", "quality"})
"""Fields that decisions written by earlier versions lack."""


def decision_json(decision: Decision) -> dict[str, Any]:
    """A decision as JSON values; of very many candidates only the best are kept, or none."""
    values, probabilities = decision.values, decision.probabilities
    if probabilities is not None and len(probabilities) > MAX_SHOWN_VALUES:
        decision = replace(decision, probabilities=None)
    if len(values) > MAX_SHOWN_VALUES:
        best = sorted(values, key=lambda v: -1e300 if v.value is None else v.value)
        values = tuple(sorted(best[-MAX_SHOWN_VALUES:], key=lambda v: v.move))
    return {**asdict(decision), "values": [asdict(value) for value in values]}


def decision_from_json(data: object, where: str, raises: Callable[[str], Exception]) -> Decision:
    """A decision from JSON values; see `ggp.players.elsewhere.from_json.read` for errors."""
    return read(Decision, data, where, raises, LATER_FIELDS)
