"""Dataclasses are read out of JSON as they are annotated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from ggp.players.elsewhere.from_json import read
from ggp.run.clocks import Clock


@dataclass(frozen=True)
class Point:
    x: int
    name: str = "here"


@dataclass(frozen=True)
class Path:
    points: tuple[Point, ...]
    notes: Mapping[str, str | float | bool | None]
    length: float | None
    clock: Clock = Clock.WALL


GIVEN: dict[str, Any] = {
    "points": [{"x": 1, "name": "a"}, {"x": 2}],
    "notes": {"a": "b", "c": True, "d": None, "e": 0.5},
    "length": 3,
    "other": [],
}


def test_values_are_read_as_they_are_annotated() -> None:
    path = read(Path, GIVEN, "", ValueError, {"name", "clock"})
    assert path == Path((Point(1, "a"), Point(2)), GIVEN["notes"], 3)
    assert isinstance(path.length, int)  # nothing is converted


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"length": True}, "field way.length must be a number"),
        ({"length": 10**400}, "field way.length must be a number"),
        ({"points": [{"x": False}]}, r"field way.points\[0\].x must be a whole number"),
        ({"points": [3]}, r"way.points\[0\] must be an object"),
        ({"points": {}}, "field way.points must be a list"),
        (
            {"notes": {"a": []}},
            "field way.notes.a must be a string, a number, true or false or null",
        ),
        ({"clock": "sand"}, "field way.clock must be one of wall, cpu"),
    ],
)
def test_errors_name_the_wrong_field(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(Path, GIVEN | changed, "way", ValueError, {"name", "clock"})


def test_only_optional_fields_may_be_missing() -> None:
    with pytest.raises(ValueError, match=r"field points\[1\].name is missing"):
        read(Path, GIVEN, "", ValueError, {"clock"})
