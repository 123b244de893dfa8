"""The least and the greatest goal that rules can give."""

from __future__ import annotations

import pytest

from ggp.gdl import formal as module
from ggp.gdl import parse
from ggp.gdl.formal import goal_bounds
from ggp.gdl.normalize import normalize
from ggp.gdl.program import Program
from ggp.machine.games import load_program
from tests.support.games import GAMES

GAME = """
(role us) (role random) (init (at 0)) (next (at 1)) (legal us wait) (legal random wait)
(<= terminal (true (at 1)))
"""


def program_of(goals: str) -> Program:
    return normalize(parse(GAME + goals))


@pytest.mark.parametrize(
    ("goals", "expected"),
    [
        ("(goal us 100)", (0, 100)),
        ("", (0, 100)),
        ("(goal us 1000) (goal us -20.5)", (-20.5, 1000)),
        ("(goal us 50) (goal random 5000)", (0, 100)),
        ("(<= (goal us ?n) (worth ?n)) (worth 7) (worth -3) (worth much)", (-3, 100)),
        (
            "(<= (goal us ?n) (true (money ?n))) (init (money 0))"
            "(<= (next (money ?m)) (true (money ?n)) (more ?n ?m)) (more 0 150) (more 150 300)",
            (0, 300),
        ),
    ],
)
def test_bounds_are_those_of_all_values_that_rules_can_give(
    goals: str, expected: tuple[float, float]
) -> None:
    assert goal_bounds(program_of(goals)) == expected


def test_bounds_are_unknown_where_values_flow_for_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FLOWS", 0)
    assert goal_bounds(program_of("(<= (goal us ?n) (worth ?n)) (worth 7)")) is None
    assert goal_bounds(program_of("(goal us 120)")) == (0, 120)


@pytest.mark.parametrize("name", GAMES)
def test_games_of_ours_pay_from_0_to_100(name: str) -> None:
    assert goal_bounds(load_program(name).as_program()) == (0, 100)
