"""Goal values that no game may have: found where that is certain, and only there."""

from __future__ import annotations

import pytest

from ggp.errors import GDLValidationError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize, validate
from tests.support.sheets.programs import FRAME, diagnostics


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("(goal white -5)", "the goal value -5 is not from 0 to 100: in play it is kept"),
        ("(<= (goal ?r 1e26) (role ?r))", "the goal value 1e26 is not from 0 to 100"),
        ("(goal white win)", "the goal value win is not a number: goal values go from 0 to 100"),
        ("(goal white (f 1))", "the goal value (f 1) is not a number"),
        ("(goal white 33.3)", "the goal value 33.3 is not written as a whole number from 0 to 100"),
        ("(goal white 1e1)", "the goal value 1e1 is not written as a whole number"),
        ("(goal white \u0665)", "the goal value \u0665 is not written as a whole number"),
        ("(goal white nan)", "the goal value nan is not a number"),
        ("(<= (goal white ?v) (pay ?v)) (pay many) (pay 200)", "no value of ?v (many, 200) is"),
        ("(<= (goal white ?v) (true (won ?v))) (init (won much))", "no value of ?v (much) is"),
        (
            "(<= (goal white ?v) (true (at ?x)) (pay ?x ?v)) (init (at 5)) (pay 5 500)",
            "no value of ?v (500) is a goal value: these are 0 to 100",
        ),
    ],
)
def test_goal_values_that_are_no_numbers_are_reported(rules: str, message: str) -> None:
    (diagnostic,) = (d for d in diagnostics(rules) if d.rule == "goal-value")
    assert diagnostic.severity == "warning"
    assert diagnostic.message.startswith(message)
    with pytest.raises(GDLValidationError) as caught:
        normalize(parse(FRAME + rules), strict=True)
    assert "goal-value" in {d.rule for d in caught.value.diagnostics if d.severity == "error"}


@pytest.mark.parametrize(
    "rules",
    [
        "(goal white 0) (goal black 100)",
        "(goal white 075)",
        # Values beyond 100, and those of other states, may never be reached.
        "(<= (goal white ?v) (true (score ?v))) (init (score 0)) (plus 0 50) (plus 50 150)"
        "(<= (next (score ?w)) (true (score ?v)) (plus ?v ?w))",
        "(<= (goal white ?v) (pay start ?v)) (pay start 50) (pay other 500)",
        "(<= (goal white ?v) (pay ?v) (good ?v)) (pay 5) (pay 500) (good 5)",
        # What can never apply is not played.
        "(<= (goal white 500) (distinct a a))",
    ],
)
def test_goal_values_that_may_be_right_are_not_reported(rules: str) -> None:
    assert [d for d in diagnostics(rules) if d.rule == "goal-value"] == []


def test_goal_value_is_pointed_at() -> None:
    sheet = parse(f"{FRAME}\n(<= (goal white\n       win)\n    (true start))", "duel.gdl")
    (diagnostic,) = (d for d in validate(sheet, strict=True) if d.rule == "goal-value")
    assert str(diagnostic).startswith(f"duel.gdl:{diagnostic.line}:8: error: the goal value win")
    assert diagnostic.context.strip() == "win)"
