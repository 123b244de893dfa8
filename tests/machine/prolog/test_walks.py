"""Recursion that the Prolog machine walks, merged rules and numbered facts mean what they did."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ggp.errors import ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.gdl.program import Literal, NormalRule, Program
from ggp.gdl.terms import Compound, Symbol, signature
from ggp.machine import Limits, build_machine
from ggp.machine.prolog.compile import any_of, linear_rules, merged
from tests.support.comparing.agreement import play_both
from tests.support.comparing.walks import walk_together
from tests.support.plain.reference import Reference
from tests.support.sheets.programs import program as framed

GRAPH = """
(role a) {facts}
(init (at 1)) (init (open 1)) (init (open 3)) (init (open 4))
{rules}
(<= (legal a (to ?y)) (true (at ?x)) (p ?x ?y))
(<= (legal a (from ?x)) (true (at ?y)) (p ?x ?y))
(<= (legal a (any ?x ?y)) (p ?x ?y))
(<= (legal a (round ?x)) (p ?x ?x))
(<= (legal a (near ?y)) (true (at ?x)) (s ?x ?y) (p ?y ?x))
(legal a stay)
(<= (next (at ?y)) (does a (to ?y))) (<= (next (at ?y)) (does a (any ?x ?y)))
(<= (next (at ?x)) (true (at ?x)) (does a stay))
(<= (next (open ?x)) (true (open ?x)) (not (true (at ?x)))) (<= (next (open 2)) (does a stay))
(<= terminal (true (at 6))) (goal a 50)
"""
"""`p` is asked for with either argument given, with both, and with none."""

RECURSIVE = st.sampled_from(["(p ?z ?y)", "(p ?x ?z)", "(p ?z ?x)", "(p ?y ?z)", "(q ?z ?y)"])
OTHERS = st.lists(
    st.sampled_from(
        [
            *("(s ?x ?z)", "(s ?z ?x)", "(s ?z ?y)", "(s ?y ?x)", "(true (open ?z))"),
            *("(true (open ?y))", "(not (true (open ?x)))", "(not (s ?x ?y))", "(distinct ?x ?y)"),
            *("(distinct ?z 3)", "(true (at ?x))"),
        ]
    ),
    min_size=1,
    max_size=3,
    unique=True,
)


@st.composite
def _rules(draw: st.DrawFn) -> str:
    rules = ["(<= (p ?x ?y) (s ?x ?y))", "(<= (q ?x ?y) (s ?x ?y) (true (open ?y)))"]
    for head in ("p", "p", "q"):
        conditions = draw(OTHERS)
        conditions.insert(draw(st.integers(0, len(conditions))), draw(RECURSIVE))
        rules.append(f"(<= ({head} ?x ?y) {' '.join(conditions)})")
    return "\n".join(rules)


@pytest.mark.verify
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rules=_rules(),
    edges=st.sets(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=3, max_size=12),
    seed=st.integers(0, 1000),
)
@example(
    rules="""(<= (p ?x ?y) (s ?x ?y)) (<= (p ?x ?y) (p ?z ?y) (not (s ?x ?y)) (s ?z ?y))
        (<= (p ?x ?y) (not (s ?x ?y)) (s ?z ?y) (p ?z ?y))""",
    edges={(1, 1), (1, 2), (1, 3)},
    seed=0,
)
def test_linear_recursion_means_what_the_rules_say(
    rules: str, edges: set[tuple[int, int]], seed: int
) -> None:
    facts = " ".join(f"(s {x} {y})" for x, y in sorted(edges))
    program = normalize(parse(GRAPH.format(facts=facts, rules=rules)))
    machine = build_machine(program, "prolog")
    try:
        walk_together(machine, Reference.of_program(program), seed=seed, max_steps=3)
    finally:
        machine.close()


LONG = " ".join(f"(s {i} {(i + 1) % 40})" for i in range(40))
"""A circle, longer than a walk that is made without remembering."""


@pytest.mark.parametrize(
    "rule",
    [
        "(<= (p ?x ?y) (s ?x ?z) (true (open ?z)) (p ?z ?y))",
        "(<= (p ?x ?y) (p ?x ?z) (s ?z ?y))",
        "(<= (p ?x ?y) (p ?z ?y) (s ?x ?z) (distinct ?z 30))",
    ],
)
def test_walks_end_in_long_circles(rule: str) -> None:
    text = GRAPH.format(facts=LONG, rules=f"(<= (p ?x ?y) (s ?x ?y)) {rule}")
    text = text.replace("(init (open 1))", " ".join(f"(init (open {i}))" for i in range(40)))
    program = normalize(parse(text))
    machine = build_machine(program, "prolog")
    assert walk_together(machine, Reference.of_program(program), seed=3, max_steps=3) > 0
    machine.close()


def test_what_a_walk_has_seen_is_bounded() -> None:
    program = normalize(
        parse(
            GRAPH.format(
                facts=LONG,
                rules="(<= (p ?x ?y) (s ?x ?y)) (<= (p ?x ?y) (s ?x ?z) (not (shut ?z)) (p ?z ?y))"
                "(<= (shut ?x) (true (open ?x)) (s ?x 99))",
            )
        )
    )
    machine = build_machine(program, "prolog", Limits(table_bytes=1 << 13))
    with pytest.raises(ReasonerLimitError, match="bytes of tables"):
        machine.legal(machine.initial(), 0)
    machine.close()


def _way(rules: str) -> bool:
    program = framed(f"(r 1 2) (<= (p ?x ?y) (r ?x ?y) (true start)) {rules}")
    return linear_rules([("p", 2)], program.by_head) is not None


def test_only_recursion_that_can_come_last_is_walked() -> None:
    used = "(<= terminal (p 1 2))"
    assert _way(f"{used} (<= (p ?x ?y) (r ?x ?z) (p ?z ?y))")
    assert _way(f"{used} (<= (p ?x ?y) (p ?x ?z) (r ?z ?y))")
    assert not _way(f"{used} (<= (p ?x ?y) (p ?x ?z) (p ?z ?y))")
    assert not _way(f"{used} (<= (p ?x ?y) (p ?y ?x) (not (true (at ?x))))")


# ------------------------------------------------------------------ rules that differ in a test

EITHER = """
(role a) (role b) (n 1) (n 2) (n 3) (n 4)
(init (at a 1)) (init (at b 4)) (init (mark 2)) (init (mark 3)) (init (mark 4))
(<= (legal ?r (to ?x)) (true (at ?r ?y)) (n ?x) (or (distinct ?x ?y) (not (true (mark ?x)))))
(<= (next (at ?r ?x)) (does ?r (to ?x)))
(<= (next (mark ?x)) (true (mark ?x)) (does a (to ?y)) (does b (to ?z))
    (or (distinct ?x ?y) (distinct ?x ?z) (not (true (at ?anyone ?x)))))
(<= (next (mark ?x)) (n ?x) (not (true (mark ?x))) (or (true (at a ?x)) (distinct ?x 3)))
(<= (lost ?r) (role ?r) (or (not (true (at ?r ?x))) (not (true (mark ?x)))))
(<= terminal (lost a)) (<= terminal (true (at a ?x)) (true (at b ?x)) (distinct ?x 4))
(<= (goal ?r 100) (lost ?r)) (<= (goal ?r 40) (role ?r) (not (lost ?r)))
"""


def _rules_of(program: Program, name: str, arity: int) -> tuple[NormalRule, ...]:
    return program.by_head[name, arity]


def test_rules_that_differ_in_a_test_become_one() -> None:
    program = normalize(parse(EITHER))
    marks = _rules_of(program, "next", 1)
    several = [rule for rule in merged(marks) if any(len(any_of(x)) > 1 for x in rule.body)]
    assert len(marks) == 6
    assert [max(len(any_of(x)) for x in rule.body) for rule in several] == [3]
    assert {signature(rule.head) for rule in several} == {("next", 1)}
    assert len(merged(_rules_of(program, "goal", 2))) == 2


def _terminal(*bodies: str) -> list[NormalRule]:
    """Rules of `terminal`; a letter is a fluent, a capital one that is not to be true."""
    atoms = {x: Compound("true", (Symbol(x),)) for x in "abcdefgh"}
    return [
        NormalRule(Symbol("terminal"), tuple(Literal(atoms[x.lower()], x.isupper()) for x in body))
        for body in bodies
    ]


def _hold(rules: list[NormalRule], true: set[Literal]) -> bool:
    return any(all(not true.isdisjoint(any_of(x)) for x in rule.body) for rule in rules)


@given(st.lists(st.text("abcABCDEF", max_size=4), unique=True, max_size=12))
def test_any_rules_that_are_merged_hold_when_they_did(bodies: list[str]) -> None:
    rules = _terminal(*bodies)
    fewer = merged(rules)
    assert len(fewer) <= len(rules)
    for choice in product((False, True), repeat=6):
        facts = zip("abcdef", choice, strict=True)
        letters = "".join(x if holds else x.upper() for x, holds in facts)
        true = set(_terminal(letters)[0].body)
        assert _hold(fewer, true) == _hold(rules, true)


def test_tests_of_several_places_become_one_rule() -> None:
    bodies = ["a" + "".join(x) for x in product("BC", "DE", "FGH")]
    (rule,) = merged(_terminal(*bodies))
    assert sorted(len(any_of(x)) for x in rule.body) == [1, 2, 2, 3]
    # The largest first: what is left has nothing that it could be merged with.
    assert len(merged(_terminal("aB", "aC", "aD", "eB", "fC"))) == 3


@pytest.mark.parametrize("tests", [2, 3000])
def test_merging_takes_few_looks_at_each_condition(
    tests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [Compound("true", (Symbol(str(i)),)) for i in range(3000)]
    rules = [
        NormalRule(
            Symbol("terminal"),
            (Literal(names[i // tests]), Literal(names[i % tests], negated=True)),
        )
        for i in range(3000)
    ]
    looks = 0
    plain = Literal.__hash__

    def counted(literal: Literal) -> int:
        nonlocal looks
        looks += 1
        return plain(literal)

    monkeypatch.setattr(Literal, "__hash__", counted)
    fewer = merged(rules)
    assert len(fewer) == 3000 // tests
    assert looks < 20 * sum(len(rule.body) for rule in rules)


@pytest.mark.parametrize("seed", range(4))
def test_merged_rules_mean_what_they_did(seed: int) -> None:
    program = normalize(parse(EITHER))
    machine = build_machine(program, "prolog")
    walk_together(machine, Reference(parse(EITHER).rules), seed=seed, max_steps=8)
    machine.close()


# ------------------------------------------------------------------ facts that are found by number

FAR = """
(role a) {facts}
(<= (apart ?x ?y ?u ?v) (c ?x) (c ?y) (c ?u) (c ?v) (distinct ?x ?u))
(<= (apart ?x ?y ?u ?v) (c ?x) (c ?y) (c ?u) (c ?v) (distinct ?y ?v))
(init (at 1 2)) (init (at 3 3)) (init (at 4 1)) (init (at (f 1) 2)) (init (at other 2))
(<= (legal a (go ?x ?y)) (true (at ?x ?y)) (apart ?x ?y 3 3))
(<= (legal a (to ?u ?v)) (true (at ?x ?y)) (apart ?x ?y ?u 1) (c ?v))
(<= (legal a (odd ?x ?y)) (true (at ?x ?y)) (not (apart ?x ?y 1 2)))
(<= (next (at ?x ?y)) (true (at ?x ?y)) (does a (go ?u ?v)) (apart ?x ?y ?u ?v))
(<= (next (at ?u ?v)) (does a (to ?u ?v))) (<= (next (at 2 2)) (does a (odd ?x ?y)))
(<= terminal (true (at 4 4))) (goal a 50)
"""


@pytest.mark.parametrize("seed", range(4))
def test_facts_found_by_number_are_those_of_the_rules(seed: int) -> None:
    text = FAR.format(facts=" ".join(f"(c {i})" for i in range(1, 8)))
    program = normalize(parse(text))
    machine = build_machine(program, "prolog")
    assert walk_together(machine, Reference(parse(text).rules), seed=seed, max_steps=6) > 0
    machine.close()


def test_a_circuit_agrees_with_all_of_it() -> None:
    program = normalize(parse(EITHER))
    prolog, propnet = build_machine(program, "prolog"), build_machine(program, "propnet")
    assert play_both(prolog, propnet, matches=20, max_steps=8) > 20
    prolog.close()
