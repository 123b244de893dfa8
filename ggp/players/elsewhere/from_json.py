"""Reads dataclasses from JSON, and decisions in particular; errors name the field that is wrong.

Workers, logs, records and pages exchange decisions in this form. The JSON may come from strangers,
so only lists are converted, to tuples, and any other value must match its field's annotation:

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
"""For each type: its type in JSON values, and its name in messages."""

_LARGEST = int(sys.float_info.max)


def read(
    kind: type[_T],
    json_value: object,
    path: str,
    raises: Callable[[str], Exception],
    may_lack: Collection[str] = (),
) -> _T:
    """A dataclass instance from JSON values.

    Its fields may be strings, numbers, booleans, string enumerations, dataclasses, tuples of any
    length and mappings from strings; `None` and unions of these.

    Args:
        json_value: should be an object with all fields; other keys are ignored.
        path: path of the object in the file, for messages; empty for a whole file.
        raises: makes an error from a message.
        may_lack: fields, also of dataclasses inside it, that get their default if they are
            missing.
    """
    return _Reader(raises, may_lack).build(kind, json_value, path)


@cache
def _types_of(kind: Any) -> Mapping[str, Any]:
    """The annotations of the fields of a dataclass, as types."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


class _Reader:
    def __init__(self, raises: Callable[[str], Exception], may_lack: Collection[str]) -> None:
        self._raises, self._may_lack = raises, may_lack

    def build(self, kind: type[_T], json_value: object, path: str) -> _T:
        if not isinstance(json_value, dict):
            raise self._raises(f"{path or 'the file'} must be an object")
        values = {}
        for name, field_kind in _types_of(cast(Any, kind)).items():
            field_path = f"{path}.{name}" if path else name
            if name in json_value:
                values[name] = self._value(field_kind, json_value[name], field_path)
            elif name not in self._may_lack:
                raise self._raises(f"field {field_path} is missing")
        return kind(**values)

    def _value(self, kind: Any, json_value: Any, path: str) -> Any:
        if kind in _PLAIN:
            return self._plain(kind, json_value, path)
        if isinstance(kind, type) and is_dataclass(kind):
            return self.build(kind, json_value, path)
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            if json_value not in tuple(kind):
                raise self._raises(f"field {path} must be one of {', '.join(kind)}")
            return kind(json_value)
        origin, inner = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return self._union(inner, json_value, path)
        if origin is tuple:
            if not isinstance(json_value, list | tuple):
                raise self._raises(f"field {path} must be a list")
            return tuple(
                self._value(inner[0], entry, f"{path}[{i}]") for i, entry in enumerate(json_value)
            )
        if not isinstance(json_value, dict):
            raise self._raises(f"field {path} must be an object")
        return {
            key: self._value(inner[1], entry, f"{path}.{key}") for key, entry in json_value.items()
        }

    def _plain(self, kind: type, json_value: Any, path: str) -> Any:
        if not _is_plain(kind, json_value):
            raise self._raises(f"field {path} must be {_PLAIN[kind][1]}")
        return json_value

    def _union(self, kinds: tuple[Any, ...], json_value: Any, path: str) -> Any:
        if json_value is None and types.NoneType in kinds:
            return None
        kinds_but_none = [kind for kind in kinds if kind is not types.NoneType]
        if len(kinds_but_none) == 1:
            return self._value(kinds_but_none[0], json_value, path)
        if not any(_is_plain(kind, json_value) for kind in kinds_but_none):
            called = ", ".join(_PLAIN[kind][1] for kind in kinds_but_none)
            raise self._raises(f"field {path} must be {called} or null")
        return json_value


def _is_plain(kind: type, json_value: Any) -> bool:
    """Whether a value has this type of `_PLAIN`; integers in JSON may be too long for floats."""
    if kind is float and isinstance(json_value, int):
        return not isinstance(json_value, bool) and abs(json_value) <= _LARGEST
    return isinstance(json_value, _PLAIN[kind][0]) and (
        kind is bool or not isinstance(json_value, bool)
    )


# ------------------------------------------------------------------------
# Decisions to JSON and back.

MAX_SHOWN_VALUES = 500
"""Most candidates that are written, the best first."""

LATER_FIELDS = frozenset({"probabilities", "guessed", "quality"})
"""Fields that decisions of earlier versions lack."""


def decision_json(decision: Decision) -> dict[str, Any]:
    """A decision as JSON values; of very many candidates only the best, of probabilities none."""
    values, probabilities = decision.values, decision.probabilities
    if probabilities is not None and len(probabilities) > MAX_SHOWN_VALUES:
        decision = replace(decision, probabilities=None)
    if len(values) > MAX_SHOWN_VALUES:
        best = sorted(values, key=lambda v: -1e300 if v.value is None else v.value)
        values = tuple(sorted(best[-MAX_SHOWN_VALUES:], key=lambda v: v.move))
    return {**asdict(decision), "values": [asdict(value) for value in values]}


def decision_from_json(
    json_value: object, path: str, raises: Callable[[str], Exception]
) -> Decision:
    """A decision from JSON values; see `ggp.players.elsewhere.from_json.read` for errors."""
    return read(Decision, json_value, path, raises, LATER_FIELDS)
