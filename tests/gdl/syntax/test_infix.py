"""Reading the infix dialects."""

from __future__ import annotations

import pytest

from ggp.gdl import Compound, Rule, Symbol, Variable, parse


def infix(text: str) -> list[str]:
    sheet = parse(text)
    assert sheet.syntax == "infix"
    return list(map(str, sheet.rules))


def body(conditions: str) -> list[str]:
    (rule,) = parse(f"p :- {conditions}.").rules
    return list(map(str, rule.body))


RULES = [
    "(role agent)",
    "(succ 1 2)",
    "(<= (legal agent (go ?x)) (true (at ?y)) (distinct ?x ?y) (not (blocked ?x)))",
    "(<= terminal (or (true end) (true over)))",
]


@pytest.mark.parametrize(
    "text",
    [
        """role(agent). succ(1, 2).
        legal(agent, go(X)) :- true(at(Y)), distinct(X, Y), not blocked(X).
        terminal :- true(end) ; true(over).""",
        """role(agent)  succ(1,2)   % Stanford
        legal(agent,go(X)) :- true(at(Y)) & X # Y & ~blocked(X)
        terminal :- true(end) | true(over)""",
        """1 role(agent).
2 succ(1, 2).
3 legal(agent, go(?x)) <=
4    true(at(?y)) ∧ ?x ≠ ?y ∧
5    ¬blocked(?x).
6 terminal <= true(end) \u2228 true(over).""",
        r"""role(agent). succ(1,2).
        legal(agent,go(X)) ⇐ true(at(Y)), X \= Y, \+ blocked(X).
        terminal ← true(end) ; true(over).""",
    ],
    ids=["prolog", "hrf", "paper", "symbols"],
)
def test_dialects_give_the_same_rules(text: str) -> None:
    assert infix(text) == RULES


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a, b", ["a", "b"]),
        ("a, b ; c", ["(or (and a b) c)"]),
        ("(a, b ; c), d", ["(or (and a b) c)", "d"]),
        ("a ; b ; c", ["(or a b c)"]),
        ("a ; (b ; c)", ["(or a (or b c))"]),
        ("(a, b), c", ["(and a b)", "c"]),
        ("((a))", ["a"]),
        ("not a, b", ["(not a)", "b"]),
        ("not (a, b)", ["(not (and a b))"]),
        ("not(a)", ["(not a)"]),
        ("not X # y", ["(not (distinct ?x y))"]),
        ("~ ~ a", ["(not (not a))"]),
        ("or(a, and(b), not c)", ["(or a (and b) (not c))"]),
        ("f(a) # 3", ["(distinct (f a) 3)"]),
    ],
)
def test_connectives_nest_as_written(written: str, read: list[str]) -> None:
    assert body(written) == read


def test_names_and_variables_have_namespaces_of_their_own() -> None:
    assert parse("p(X, x, _x, ?x, Über, über).").rules[0].head == Compound(
        "p",
        (
            Variable("x"),
            Symbol("x"),
            Variable("_x"),
            Variable("x"),
            Variable("über"),
            Symbol("über"),
        ),
    )


def test_each_underscore_is_a_fresh_variable_of_its_rule() -> None:
    assert infix("p(_, _1, _) :- q(_). r(_).") == ["(<= (p ?_2 ?_1 ?_3) (q ?_4))", "(r ?_1)"]


def test_numbers_are_constants_as_they_are_written() -> None:
    assert infix("p(01, -1, +2, 0.8, 3am, 5).") == ["(p 01 -1 +2 0.8 3am 5)"]


def test_quoted_names_are_constants() -> None:
    assert infix(r"p('Red', 'it\'s', 'a\\b', 'not', '<=') :- '1'('X').") == [
        r"(<= (p red it's a\b not <=) (1 x))"
    ]
    assert parse("p('Red').").spelling == {"red": "Red"}


def test_comments_and_white_space_are_skipped() -> None:
    assert infix("/* a * / ( */ p(a) % b.\r q(/**/ b)\f.\u2003") == ["(p a)", "(q b)"]


def test_full_stops_are_optional_and_decimals_are_not_split() -> None:
    assert infix("a.b. c d :- e f") == ["a", "b", "c", "(<= d e)", "f"]
    assert infix("p(0.5).q(1).") == ["(p 0.5)", "(q 1)"]


def test_empty_arguments_are_dropped_with_a_warning() -> None:
    sheet = parse("terminal() :- over.")
    assert sheet.rules == (Rule(Symbol("terminal"), (Symbol("over"),)),)
    assert [d.rule for d in sheet.diagnostics] == ["empty-arguments"]


def test_variable_spellings_that_clash_in_a_rule_are_warned_of() -> None:
    assert [d.rule for d in parse("p(Xa) :- q(XA).").diagnostics] == ["case-clash"]
    assert not parse("p(Xa) :- q(Xa). p(XA) :- q(XA).").diagnostics


def test_rules_know_where_they_begin() -> None:
    text = "role(a).\n  p :- not q(X), X # b."
    rule = parse(text).rules[1]
    starts = rule.start, rule.body[0].start, rule.body[1].start
    assert [text[start:][:3] for start in starts] == ["p :", "not", "X #"]


@pytest.mark.parametrize("text", ["% only a comment", "/* (role a) */", "role(a)", "p :- (a ; b)"])
def test_infix_is_recognised(text: str) -> None:
    assert parse(text).syntax == "infix"
