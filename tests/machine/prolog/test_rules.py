"""The Prolog machine gives the answers of the rules, whatever the rules are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ggp.errors import ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.gdl.program import Program
from ggp.machine import Limits, build_machine
from ggp.machine.prolog.engine import engine
from ggp.machine.prolog.prolog_machine import PrologMachine
from tests.support.comparing.agreement import play_both
from tests.support.comparing.walks import walk_together
from tests.support.effort import examples
from tests.support.plain.reference import Reference

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
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
def test_recursion_means_what_the_rules_say(
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
"""A long circle."""


@pytest.mark.parametrize(
    "rule",
    [
        "(<= (p ?x ?y) (s ?x ?z) (true (open ?z)) (p ?z ?y))",
        "(<= (p ?x ?y) (p ?x ?z) (s ?z ?y))",
        "(<= (p ?x ?y) (p ?z ?y) (s ?x ?z) (distinct ?z 30))",
    ],
)
def test_recursion_ends_in_long_circles(rule: str) -> None:
    text = GRAPH.format(facts=LONG, rules=f"(<= (p ?x ?y) (s ?x ?y)) {rule}")
    text = text.replace("(init (open 1))", " ".join(f"(init (open {i}))" for i in range(40)))
    program = normalize(parse(text))
    machine = build_machine(program, "prolog")
    assert walk_together(machine, Reference.of_program(program), seed=3, max_steps=3) > 0
    machine.close()


ROUND = """
(role a) (role b) (s 1 2) (s 2 3) (s 3 4) (s 4 5) (s 5 6) (s 6 1) (s 3 1)
(init (at a 1)) (init (at b 4)) (init (open 2)) (init (open 3)) (init (open 5))
(<= (there ?x ?y) (s ?x ?y))
(<= (there ?x ?y) (s ?x ?z) (true (open ?z)) (there ?z ?y))
(<= (legal ?r (to ?y)) (true (at ?r ?x)) (there ?x ?y))
(<= (shut ?x) (does ?r (to ?x)))
(<= (near ?x ?y) (s ?x ?y) (not (shut ?y)))
(<= (near ?x ?y) (near ?x ?z) (not (shut ?z)) (s ?z ?y))
(<= (next (at ?r ?y)) (does ?r (to ?y)))
(<= (next (open ?x)) (true (at ?r ?y)) (near ?y ?x))
(<= terminal (true (at a ?x)) (true (at b ?x)))
(<= (goal a 100) terminal) (goal a 0) (goal b 50)
"""
"""Both recursive relations have cycles, one of them through `does`."""

CHAIN = """
(role a) {facts}
(init (at 0)) (init (free 3)) (init (free 4))
(<= (line ?x ?y) (s ?x ?y))
(<= (line ?x ?y) (s ?x ?z) (true (free ?z)) (line ?z ?y))
(<= (line ?x ?y) (s ?x ?z) (not (true (free ?z))) (line ?z ?y))
(<= (legal a (to ?y)) (true (at ?x)) (line ?x ?y))
(<= (next (at ?y)) (does a (to ?y))) (<= (next (free ?x)) (true (at ?x)))
(<= terminal (true (at {last})))
(<= (goal a 100) terminal) (goal a 0)
"""
"""Recursion along facts, which ends."""


def _chain(length: int) -> str:
    facts = " ".join(f"(s {i} {i + 1})" for i in range(length))
    return CHAIN.format(facts=facts, last=length)


@pytest.mark.parametrize("rules", [ROUND, _chain(8)], ids=["round", "chain"])
def test_recursion_agrees_with_the_circuit(rules: str) -> None:
    program = normalize(parse(rules))
    prolog, propnet = build_machine(program, "prolog"), build_machine(program, "propnet")
    assert play_both(prolog, propnet, matches=20, max_steps=12) > 20
    prolog.close()


def test_two_games_with_circles_do_not_mix_up_their_tables() -> None:
    programs = [normalize(parse(ROUND)), normalize(parse(ROUND.replace("(s 6 1)", "(s 6 2)")))]
    machines = [build_machine(program, "prolog") for program in programs]
    circuits = [build_machine(program, "propnet") for program in programs]
    for _ in range(3):
        for prolog, propnet in zip(machines, circuits, strict=True):
            assert play_both(prolog, propnet, matches=2, max_steps=6)
    for machine in machines:
        machine.close()


def test_tables_are_bounded() -> None:
    program = normalize(parse(_chain(400)))
    little = build_machine(program, "prolog", Limits(table_bytes=1 << 14))
    with pytest.raises(ReasonerLimitError, match="bytes of tables"):
        little.legal(little.initial(), 0)
    assert len(little.fluents(little.initial())[0]) == 3
    enough = build_machine(program, "prolog")
    assert enough.legal(enough.initial(), 0).counts.tolist() == [400]
    little.close()
    enough.close()


# ------------------------------------------------------------------ rules without recursion

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
@pytest.mark.parametrize(
    "text", [EITHER, FAR.format(facts=" ".join(f"(c {i})" for i in range(1, 8)))]
)
def test_rules_mean_what_they_say(text: str, seed: int) -> None:
    machine = build_machine(normalize(parse(text)), "prolog")
    assert walk_together(machine, Reference(parse(text).rules), seed=seed, max_steps=8) > 0
    machine.close()


TABLE = """
(role a) (role b) (init start)
{facts}
(<= (number ?x) (succ ?x ?y))
(<= (less ?x ?y) (succ ?x ?y))
(<= (less ?x ?z) (less ?x ?y) (succ ?y ?z))
(<= (apart ?x ?y) (less ?x ?y)) (<= (apart ?x ?y) (apart ?y ?x))
(<= (next_but_one ?x ?z) (succ ?x ?y) (succ ?y ?z) (apart ?z ?x))
(<= (legal ?r (say ?x)) (role ?r) (number ?x))
(<= (next (said ?r ?x)) (does ?r (say ?x)))
(<= terminal (true (said ?r ?x)))
(<= (goal a 100) (true (said a ?x)) (true (said b ?y)) (less ?x ?y))
(<= (goal a 0) (true (said a ?x)) (true (said b ?y)) (not (less ?x ?y)))
(<= (goal b 100) (true (said a ?x)) (true (said b ?y)) (next_but_one ?x ?y))
(<= (goal b 0) (true (said a ?x)) (true (said b ?y)) (not (next_but_one ?x ?y)))
"""
"""Relations that do not depend on the state: some are large, and only goals need them."""


def table_of(size: int) -> Program:
    facts = " ".join(f"(succ {x} {x + 1})" for x in range(size))
    return normalize(parse(TABLE.format(facts=facts)))


def inferences_so_far() -> int:
    query = "statistics(inferences,I),write(I)"
    return int(engine().call(query, Limits(), "counting"))


@pytest.mark.parametrize("inferences", [100_000_000, 20_000])
def test_static_relations_are_evaluated_when_they_are_needed(inferences: int) -> None:
    size = 60
    program = table_of(size)
    began = inferences_so_far()
    machine = PrologMachine(program, Limits(setup_inferences=inferences))
    states = machine.initial()
    assert len(machine.legal(states, 0).values) == size
    before_move = inferences_so_far() - began
    pairs = [(x, y) for x in range(0, size, 7) for y in range(0, size, 3)]
    joint = np.array([[machine.move_id(f"(say {z})") for z in pair] for pair in pairs])
    ends = machine.step(machine.initial(len(pairs)), joint).states
    assert machine.terminal(ends).all()
    expected = [[100 * (x < y), 100 * (y == x + 2)] for x, y in pairs]
    assert machine.goals(ends).tolist() == expected
    assert 5 * before_move < inferences_so_far() - began


def test_an_interrupted_static_relation_is_evaluated_when_it_is_needed_again() -> None:
    costs = []
    for is_interrupted in (False, True):
        machine = PrologMachine(table_of(200))
        joint = [[machine.move_id(f"(say {z})") for z in (x, 150)] for x in range(20)]
        ends = machine.step(machine.initial(20), np.array(joint)).states
        if is_interrupted:
            usual, machine._limits = machine._limits, Limits(seconds=0.001)
            with pytest.raises(ReasonerLimitError):
                machine.goals(ends)
            machine._limits = usual
        machine.goals(ends.take(np.array([0])))
        began = inferences_so_far()
        assert machine.goals(ends).tolist() == [[100, 0]] * 20
        costs.append(inferences_so_far() - began)
        machine.close()
    assert costs[1] < 2 * costs[0]
