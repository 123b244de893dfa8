"""The formal rules: which rules are refused, reported or allowed."""

from __future__ import annotations

import re

import pytest

from ggp.errors import GDLValidationError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize, validate
from tests.support.plain.reference import Reference
from tests.support.sheets.programs import (
    FRAME,
    diagnostics,
    legal_after,
    problems,
    program,
    refusals,
)

# -------------------------------------------------------------------- stratification


@pytest.mark.parametrize(
    "rules",
    [
        "(<= p (not p)) (<= (legal white go) p)",
        "(<= p (not q)) (<= q (not p)) (<= (legal white go) p)",
        "(<= p (not q)) (<= q r) (<= r s) (<= s p) (<= (legal white go) p)",
        "(<= p q) (<= q (not r)) (<= r (or s (true start))) (<= s p) (<= (legal white go) p)",
        "(<= p (not (and q (true start)))) (<= q p) (<= (legal white go) p)",
        "(<= p (not (or (true x) q))) (<= q p) (<= (legal white go) p)",
        "(<= (p ?x) (true (q ?x ?y)) (not (p ?y))) (<= (legal white go) (p 1))",
        "(<= (p ?x ?y) (true (q ?x ?y)) (not (p ?y ?x))) (<= (legal white go) (p 1 2))",
        "(<= (p (f ?x)) (true (q ?x)) (not (p ?x))) (<= (legal white go) (p (f 1)))",
        "(<= (p (f ?x)) (true (q ?x)) (not (p (f 1)))) (<= (legal white go) (p (f 1)))",
        "(<= (goal white 0) (not (goal white 100))) (<= (goal white 100) (not (goal white 0)))",
        "(<= (goal ?r 0) (role ?r) (not (goal ?r ?v)) (true (score ?v)))",
        "(<= (next p) (not (next q))) (<= (next q) (not (next p)))",
        "(<= (legal white a) (not (legal white b))) (<= (legal white b) (not (legal white a)))",
        "(<= (win ?x) (move ?x ?y) (not (win ?y))) (move 1 2) (<= (legal white go) (win 1))",
        "(<= terminal (not open)) (<= open (not terminal))",
        "(<= (sees white a) (not (sees white b))) (<= (sees white b) (not (sees white a)))",
    ],
)  # fmt: skip
def test_negation_through_itself_is_refused(rules: str) -> None:
    errors = [d for d in diagnostics(rules) if d.severity == "error"]
    assert errors
    assert {d.rule for d in errors} == {"stratification"}
    assert "depends on its own negation through (not " in errors[0].message


@pytest.mark.parametrize(
    "rules",
    [
        "(<= (goal white 0) (not (goal white 100))) (<= (goal white 100) (true won))",
        "(<= (goal ?r 0) (role ?r) (not (goal ?r 100))) (<= (goal ?r 100) (true (won ?r)))",
        "(<= (goal ?r 0) (role ?r) (not (goal ?r 100)) (not (goal ?r 50)))"
        "(<= (goal ?r 51) (role ?r) (not (goal ?r 100)))(<= (goal ?r 100) (true (won ?r)))",
        "(<= (p 1) (not (p 2))) (<= (p 2) (not (p 3))) (p 3) (<= (legal white go) (p 1))",
        "(<= (p (f ?x)) (true (q ?x)) (not (p (g ?x)))) (<= (p (g 1)) (true (q 1)))"
        "(<= (legal white go) (p (f 1)))",
        "(<= (legal white skip) (not (legal white go))) (<= (legal white go) (true start))",
        "(<= (next idle) (not (next busy))) (<= (next busy) (does white go))",
        "(<= (sees white nothing) (not (sees black bang))) (<= (sees black bang) (does white x))",
        "(<= p (not q)) (<= q (not r)) (<= r (true start)) (<= (legal white go) p)",
        "(<= (p ?x ?x) (true (q ?x)) (not (p a b))) (<= (p a b) (true start))"
        "(<= (legal white go) (p 1 1))",
        "(<= (p a ?x) (true (q ?x)) (not (p b ?x))) (<= (p b ?x) (true (q ?x)))"
        "(<= (legal white go) (p a 1))",
    ],
)
def test_negation_that_arguments_keep_apart_is_accepted(rules: str) -> None:
    reported = diagnostics(rules, strict=True)
    assert {d.rule for d in reported if d.severity == "error"} <= {"keyword-body"}


def test_goal_that_is_what_is_left_is_scored() -> None:
    rules = FRAME.replace("(<= (goal ?r 50) (role ?r))", "") + (
        "(init (won white)) (<= (goal ?r 0) (role ?r) (not (goal ?r 100)))"
        "(<= (goal ?r 100) (true (won ?r)))"
    )
    reference = Reference.of_program(normalize(parse(rules)))
    start = reference.initial()
    assert [reference.goals(start, r) for r in reference.roles] == [("100",), ("0",)]


def test_negation_through_itself_that_nothing_needs_is_no_error() -> None:
    assert problems("(<= (win ?x) (move ?x ?y) (not (win ?y))) (move 1 2)") == []


def test_every_negation_of_a_cycle_is_reported_where_it_is() -> None:
    rules = "\n(<= p (not q))\n(<= q (not p))\n(<= (legal white go) p)"
    reported = diagnostics(rules)
    first = FRAME.count("\n") + 2
    assert [(d.line, d.column, d.rule) for d in reported] == [
        (first, 1, "stratification"),
        (first + 1, 1, "stratification"),
    ]
    assert reported[0].message == "p depends on its own negation through (not q); break the cycle"


# -------------------------------------------------------------------- dependencies


@pytest.mark.parametrize(
    ("rules", "source", "on"),
    [
        ("(<= (init p) (true start))", "init", "true"),
        ("(<= (init p) h) (<= h (not (true start)))", "init", "true"),
        ("(<= (init p) (does white noop))", "init", "does"),
        ("(<= (init p) (legal white go)) (<= (legal white go) (true start))", "init", "legal"),
        ("(<= (init p) (next start))", "init", "next"),
        ("(<= (init p) (goal white ?x)) (<= (goal white 1) (true start))", "init", "goal"),
        ("(<= (init p) terminal) (<= terminal (true over))", "init", "terminal"),
        ("(<= (init p) (sees white x)) (<= (sees white x) (true start))", "init", "sees"),
        ("(<= (legal white go) (does black noop))", "legal", "does"),
        ("(<= (legal white go) (not (does black noop)))", "legal", "does"),
        ("(<= (legal white go) h) (<= h (or (true p) (does ?r noop)))", "legal", "does"),
        ("(<= (legal white a) (sees white x)) (<= (sees white x) (does white a))", "legal", "sees"),
        ("(<= (legal white go) (next p)) (<= (next p) (does white noop))", "legal", "does"),
        ("(<= (goal white 9) (does white noop))", "goal", "does"),
        ("(<= (goal white 9) (sees white x)) (<= (sees white x) (true start))", "goal", "sees"),
        ("(<= terminal (does white noop))", "terminal", "does"),
        ("(<= terminal (sees ?r x)) (<= (sees black x) (true start))", "terminal", "sees"),
    ],
)  # fmt: skip
def test_forbidden_dependency_is_refused(rules: str, source: str, on: str) -> None:
    errors = [d for d in diagnostics(rules) if d.severity == "error"]
    assert {d.rule for d in errors} == {"dependency"}
    pattern = f"`{source}` must not depend on `{on}`, but does through .*"
    assert any(re.fullmatch(pattern, d.message) for d in errors), errors


@pytest.mark.parametrize(
    "rules",
    [
        "(<= (legal white go) (legal black noop))",
        "(<= (legal white go) terminal)",
        "(<= (legal white go) (goal white ?x))",
        "(<= terminal (not (legal white noop)))",
        "(<= terminal (goal white 100))",
        "(<= (goal white 1) terminal) (<= (goal white 2) (legal white noop))",
        "(<= (next p) (legal white noop) (goal white 50) (not terminal))",
        "(<= (sees white x) (does black noop) (true start) (legal black noop) (goal white 50))",
        "(<= (init p) (role white))",
    ],
)
def test_relations_allowed_in_bodies_are_accepted_even_when_strict(rules: str) -> None:
    assert problems(rules, strict=True) == []


def test_unused_helper_on_moves_is_no_dependency_of_legal() -> None:
    rules = "(<= (h 1) (does white noop)) (h 2) (<= (next p) (h 1)) (<= (legal white go) (h 2))"
    assert problems(rules, strict=True) == []


# -------------------------------------------------------------------- what must be there


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(legal a m) terminal (goal a 0)", ["no-role"]),
        ("(role a) terminal (goal a 0)", ["no-legal"]),
        ("(role a) (legal a m) (goal a 0)", ["no-terminal"]),
        ("(role a) (<= (legal a m) (undefined)) terminal (goal a 0)", ["no-legal"]),
        ("(role a)", ["no-legal", "no-terminal"]),
        ("(<= (role a) (true x)) (legal a m) terminal", ["no-role", "role-facts"]),
        ("(role a) (role (f a)) (legal a m) terminal", ["role-facts"]),
        ("(role a) (role ?x) (legal a m) terminal", ["role-facts"]),
        ("(role a) (<= (role b) (role a)) (legal a m) terminal", ["role-facts"]),
    ],
)
def test_rulesheet_that_cannot_be_played_is_refused(text: str, expected: list[str]) -> None:
    assert sorted(rule for rule, _ in refusals(text)) == expected


def test_error_carries_its_place_and_all_problems() -> None:
    text = FRAME + "\n(<= (legal white go) (does black noop)) (<= (init p) (true start))"
    with pytest.raises(GDLValidationError) as caught:
        normalize(parse(text, "game.gdl"))
    error = caught.value
    line = text.count("\n") + 1
    assert (error.rule, error.line, error.column) == ("dependency", line, 1)
    assert error.context.startswith("(<= (legal white go)")
    assert len(error.diagnostics) == 2
    assert str(error).startswith(f"game.gdl:{line}:1: error: `legal` must not depend on `does`")
    column = text.splitlines()[-1].index("(<= (init p)") + 1
    assert f"game.gdl:{line}:{column}: error: `init`" in str(error)


def test_game_that_cannot_end_is_a_warning() -> None:
    text = "(role a) (legal a m) (<= terminal (nothing)) (goal a 0)"
    assert refusals(text) == []
    assert ("warning", "no-terminal") in [
        (d.severity, d.rule) for d in normalize(parse(text)).diagnostics
    ]


def test_role_without_a_goal_is_a_warning_but_not_for_random() -> None:
    text = "(role a) (role b) (role random) (legal ?r m) terminal (goal a 0)"
    warnings = normalize(parse(text)).diagnostics
    assert [d.message for d in warnings if d.rule == "no-goal"] == [
        "role b has no goal: it counts as 0"
    ]
    assert not [d for d in diagnostics("") if d.rule == "no-goal"]


def test_roles_keep_the_order_of_the_rulesheet() -> None:
    text = "(role z) (role random) (role a) (role z) (legal ?r m) terminal (goal ?r 0)"
    assert normalize(parse(text)).roles == ("z", "random", "a")


# -------------------------------------------------------------------- vocabulary


def test_keyword_with_a_wrong_number_of_arguments_is_another_relation() -> None:
    rules = "(legal white) (<= (legal white (go ?x)) (legal ?x)) (does a) (init) (goal white 1 2)"
    rules = rules.replace(" (init)", "")
    assert legal_after(rules) == {"(go white)"}
    warnings = [d for d in diagnostics(rules) if d.rule == "keyword-arity"]
    assert {d.message for d in warnings} == {
        "`legal` takes 2 arguments, not 1: taken for another relation",
        "`does` takes 2 arguments, not 1: taken for another relation",
        "`goal` takes 2 arguments, not 3: taken for another relation",
    }


def test_rules_for_true_and_does_are_dropped() -> None:
    rules = "(true made) (<= (true made) (true start)) (<= (does white m) (true start))"
    assert program(rules).rules == program("").rules
    assert problems(rules) == [("warning", "keyword-head")] * 3


# -------------------------------------------------------------------- recursion


@pytest.mark.parametrize(
    "rules",
    [
        "(<= (p ?x ?y) (e ?x ?y)) (<= (p ?x ?z) (e ?x ?y) (p ?y ?z))",
        "(<= (p ?x ?y) (e ?x ?y)) (<= (p ?x ?z) (p ?x ?y) (e ?y ?z))",
        "(<= (p ?x ?y) (e ?x ?y)) (<= (p ?y ?x) (p ?x ?y))",
        "(<= (p ?x ?y) (e ?x ?y)) (<= (p (f ?x) ?y) (p ?x ?y) (e ?x ?y))",
    ],
)
def test_recursion_with_bound_arguments_keeps_the_formal_rules(rules: str) -> None:
    uses = "(e 1 2) (<= (legal white go) (p 1 2))"
    assert problems(rules + uses, strict=True) == []


@pytest.mark.parametrize(
    "rules",
    [
        "(<= (p ?x ?y) (e ?x ?y)) (<= (p ?x ?z) (p ?x ?y) (p ?y ?z))",
        "(<= (p ?x ?y) (e ?x ?y)) (<= (p ?x ?y) (p (f ?x) ?y))",
        "(<= (p ?x ?y) (e ?x ?y)) (<= (p (f ?x) ?y) (p ?x ?y))",
    ],
)
def test_recursion_with_free_arguments_is_reported(rules: str) -> None:
    uses = "(e 1 2) (<= (legal white go) (p 1 2))"
    lenient = problems(rules + uses)
    assert ("error", "recursion") in problems(rules + uses, strict=True)
    assert set(lenient) == {("warning", "recursion")}


UNUSED = """(<= p (not q)) (<= q (not p))
(<= (far ?x) (next_to ?x ?y) (not (far ?y))) (next_to 1 2) (next_to 2 3)
(<= (other ?x) (distinct ?x 1))
(5 a)
(<= (base ?x) (hint ?x ?y)) (<= (hint ?x ?y) (distinct ?x 1))
"""
GAME = """(role a) (init (s 1)) (legal a go) (<= (next (s 1)) (true (s 1)))
(<= terminal (true (s 1))) (goal a 100)
"""


@pytest.mark.parametrize("strict", [False, True])
def test_rules_that_nothing_uses_are_checked_too(strict: bool) -> None:
    reported = validate(parse(UNUSED + GAME), strict=strict)
    assert [(d.rule, d.line, d.column) for d in reported] == [
        ("stratification", 1, 1),
        ("stratification", 1, 16),
        ("stratification", 2, 1),
        ("unsafe-head", 3, 12),
        ("notation", 4, 1),
    ]
    assert {d.severity for d in reported} == {"error" if strict else "warning"}


def test_unused_rules_take_no_error_from_those_that_are_used() -> None:
    game = GAME.replace("(legal a go)", "(<= (legal a go) p)")
    reported = validate(parse(UNUSED + game))
    assert [d.rule for d in reported if d.severity == "error"] == ["stratification"] * 2


# -------------------------------------------------------------------- infinitely many terms

NAT = "(nat 0) (<= (nat (s ?x)) (nat ?x))"
EVEN = "(even 0) (<= (even (s ?x)) (odd ?x)) (<= (odd (s ?x)) (even ?x))"


@pytest.mark.parametrize(
    "rules",
    [
        NAT + "(<= (legal white (go ?n)) (nat ?n))",
        NAT + "(<= (ok ?n) (nat ?n) (true start)) (<= (legal white (go ?n)) (ok ?n))",
        EVEN + "(<= (next (at ?n)) (even ?n))",
        "(p 0 a) (<= (p (s ?x) ?y) (p ?x ?y)) (<= (legal white (go ?y)) (p ?x ?y))",
    ],
)
def test_infinitely_many_terms_are_an_error_before_anything_is_built(rules: str) -> None:
    assert ("error", "endless") in problems(rules)
    sheet = normalize(parse(FRAME + rules), lenient=True)
    assert any(diagnostic.rule == "endless" for diagnostic in sheet.diagnostics)


@pytest.mark.parametrize(
    "rules",
    [
        NAT + "(<= (legal white (go ?n)) (true (at ?n)) (nat ?n))",  # only some are asked for
        NAT + "(<= terminal (nat ?n))",  # one is enough
        NAT + "(<= (legal white go) (nat (s (s 0))))",
        "(p a b) (<= (p (s ?x) ?y) (p ?x ?y)) (<= (legal white (go ?y)) (p a ?y))",
        NAT + "(nat (f b)) (<= (legal white (go ?x)) (nat (f ?x)))",
        "(<= (nat (s ?x)) (nat ?x)) (<= (legal white (go ?n)) (nat ?n))",  # there is no first
        "(nat 0) (<= (nat (s ?x)) (nat ?x) (less ?x)) (less 0) (<= (legal white ?n) (nat ?n))",
        "(p a 0) (<= (p (s ?y) ?y) (p ?x ?y)) (<= (legal white ?x) (p ?x ?y))",
    ],
)
def test_terms_that_may_be_finitely_many_are_not_refused(rules: str) -> None:
    assert ("error", "endless") not in problems(rules)
