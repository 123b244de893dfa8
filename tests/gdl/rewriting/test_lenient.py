"""Rules for play: one that is no good is dropped or repaired, and the others are kept."""

from __future__ import annotations

import pytest

from ggp.errors import GDLError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize, validate
from ggp.gdl.program import Program
from tests.support.plain.reference import Reference
from tests.support.sheets.programs import FRAME

OPEN = "(init (cell 1 b)) (<= open (true (cell ?x b))) (<= (full ?x) (true (cell ?x x)))"


def repaired(rules: str) -> Program:
    """The rules of a text as they are played."""
    return normalize(parse(rules, lenient=True), lenient=True)


def added(rules: str) -> list[str]:
    """The rules that are added to the frame when a sheet is repaired, as KIF."""
    frame = set(map(str, normalize(parse(FRAME)).rules))
    return [str(rule) for rule in repaired(FRAME + rules).rules if str(rule) not in frame]


def refused(rules: str) -> set[str]:
    """The names of the errors for which a rulesheet is refused unless it must be played."""
    with pytest.raises(GDLError) as caught:
        normalize(parse(rules))
    return {d.rule for d in caught.value.diagnostics if d.severity == "error"}


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("(<= (legal white ?m) (?m white))", "variable-functor"),
        ("(<= (legal white ?m) ?m)", "variable-relation"),
        ("(<= (?m white) (true start))", "variable-functor"),
        ("(<= ?m (true start))", "variable-relation"),
        ("(<= (not (true over)) (true start))", "connective-head"),
        ("(<= (legal white go) (distinct 1))", "connective-arguments"),
        ("(<= (legal white go) (not (true (a 1)) 2))", "connective-arguments"),
        ("(<= (legal white go) ((true start)))", "list-of-lists"),
        ("(<=)", "no-head"),
        ("(<= (legal white go) ())", "empty-list"),
        ("(<= (role ?r) (true start))", "role-facts"),
        ("(role (f 1))", "role-facts"),
        ("(<= (legal white go) (not (legal white go)))", "stratification"),
    ],
)
def test_rule_that_is_no_good_is_dropped_and_the_others_are_kept(rule: str, error: str) -> None:
    text = FRAME + rule + "(<= (legal white stay) (true start))"
    assert refused(text) == {error}
    program = repaired(text)
    assert added(rule + "(<= (legal white stay) (true start))") == [
        "(<= (legal white stay) (true start))"
    ]
    assert program.roles == ("white", "black")
    assert {(d.severity, d.rule) for d in program.diagnostics} >= {("warning", error)}


def test_infix_clause_that_is_no_good_is_left_out() -> None:
    text = "role(white). init(s). legal(white, go). legal(white, X) :- X. terminal :- true(t)."
    assert refused(text) == {"variable-relation"}
    assert [str(rule.head) for rule in repaired(text).by_head["legal", 2]] == ["(legal white go)"]


def test_validation_is_as_strict_as_before() -> None:
    rules = "(<= (legal white go) (not (legal white go)))"
    reported = {(d.severity, d.rule) for d in validate(parse(FRAME + rules))}
    assert reported == {("error", "stratification"), ("warning", "never-true")}
    stray = "(<= (next draw)) (not open)) (<= open (true start))"
    assert "(next draw)" in {str(rule) for rule in normalize(parse(FRAME + stray)).rules}


def test_games_without_legal_moves_cannot_be_played() -> None:
    with pytest.raises(GDLError, match="no rule for `legal`"):
        repaired("(role white) (<= terminal (true over)) (<= (legal white ?m) (?m white))")
    with pytest.raises(GDLError, match="there is no role"):
        repaired("(legal white go) terminal")


def test_game_without_an_end_is_played() -> None:
    text = "(role white) (init start) (legal white go)"
    assert refused(text) == {"no-terminal"}
    assert repaired(text).roles == ("white",)


@pytest.mark.parametrize(
    ("rule", "read"),
    [
        (
            "(<= (next draw) (not open (true (cell 1 ?p)) (full ?x))",
            "(<= (next draw) (not open) (true (cell 1 ?p)) (full ?x))",
        ),
        ("(<= (next draw) (not full 1) open)", "(<= (next draw) (not (full 1)) open)"),
        ("(<= (next draw) (or (not full 1) open))", "(<= (next draw) (or (not (full 1)) open))"),
        ("(<= (next draw)) (not open))", "(<= (next draw) (not open))"),
        (
            "(<= (next draw)) (not open) (true (cell 1 x)))",
            "(<= (next draw) (not open) (true (cell 1 x)))",
        ),
        ("(<= (next draw) open) (not (full 1)))", "(<= (next draw) open)"),
        ("(next draw) (not open))", "(next draw)"),
    ],
)
def test_stray_parenthesis_costs_no_rule(rule: str, read: str) -> None:
    text = FRAME + OPEN + rule
    assert repaired(text).rules == normalize(parse(FRAME + OPEN + read)).rules
    assert repaired(text).diagnostics


MASTERMIND = """
(role robot) (role random) (init (step 1)) (color red) (color blue)
(<= (legal robot (guess ?c)) (color ?c)) (<= (legal random (set ?c)) (color ?c))
(<= (next (code ?c)) (does random (set ?c)) (true (step 1))) (<= (next (code ?c)) (true (code ?c)))
(<= (next (before ?c)) (does robot (guess ?c))) (<= (next (step 2)) (true (step ?n)))
(<= hit (true (before ?c)) (true (code ?c)))
(<= (sees robot black) hit) (<= (sees robot (did ?m)) (does random ?m) (not (true (step 1))))
(<= (goal robot 100) (sees robot black)) (<= (goal robot 0) (not (sees robot black)))
(<= (goal robot 50) (sees robot (did ?m))) (goal random 0)
(<= terminal (sees robot black)) (<= terminal (true (step 9)) (not (does robot (guess red))))
"""


def test_goals_and_end_that_use_percepts_are_evaluated_as_if_nobody_had_moved() -> None:
    assert refused(MASTERMIND) == {"dependency"}
    program = repaired(MASTERMIND)
    messages = [d.message for d in program.diagnostics if d.rule == "dependency"]
    for relation in ("goal", "terminal"):
        mentions = [m for m in messages if m.startswith(f"`{relation}` must not depend on `sees`")]
        assert len(mentions) == 1
        assert mentions[0].endswith(": evaluated as if nobody had moved")
    reference = Reference.of_program(program)
    start = reference.initial()
    assert (reference.goals(start, "robot"), reference.terminal(start)) == (("0",), False)
    set_red = reference.step(start, {"robot": "(guess blue)", "random": "(set red)"}).state
    assert (reference.goals(set_red, "robot"), reference.terminal(set_red)) == (("0",), False)
    moved = reference.step(set_red, {"robot": "(guess red)", "random": "(set red)"})
    assert moved.percepts["robot"] == ("(did (set red))",)
    assert reference.goals(moved.state, "robot") == ("100",)
    assert reference.terminal(moved.state)
    last = reference.step(moved.state, {"robot": "(guess red)", "random": "(set red)"})
    assert last.percepts["robot"] == ("(did (set red))", "black")


def test_start_that_depends_on_a_state_is_evaluated_before_there_was_one() -> None:
    rules = """
    (<= (init first) (not (true start))) (<= (init second) (true start))
    (<= (init third) (legal white go)) (<= (legal white go) (true start))
    (<= (init fourth) (legal white stay)) (legal white stay)
    """
    assert refused(FRAME + rules) == {"dependency"}
    start = Reference.of_program(repaired(FRAME + rules)).initial()
    assert start == {"start", "first", "fourth"}


def test_unbound_variable_over_too_many_values_costs_its_rule_only() -> None:
    facts = "".join(f"(number {i})" for i in range(160))
    rules = f"""
    {facts} (<= (legal white (pair (both ?x ?y))) (number ?x) (number ?y))
    (<= (legal white (pair ?z)) (true start))
    """
    assert refused(FRAME + rules) == {"unsafe-head"}
    assert [rule for rule in added(rules) if "legal" in rule] == [
        "(<= (legal white (pair (both ?x ?y))) (number ?x) (number ?y))"
    ]


@pytest.mark.parametrize("text", ["", "(", "((", ")", "(<= (<= a)", "a :- .", "(not open", "((a))"])
def test_reading_what_is_no_rulesheet_leaves_nothing_to_play(text: str) -> None:
    with pytest.raises(GDLError, match="there is no role"):
        repaired(text)
