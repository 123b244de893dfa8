"""Answers that the Prolog machine remembers within a state are those that the circuit gives."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.errors import ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import load, normalize
from ggp.machine import Limits, build_machine
from tests.support.comparing.agreement import play_both
from tests.support.comparing.batches import mixed_states, random_joint_moves

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
"""Both relations that recur go round in circles, one of them along what is done."""

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
    steps = prolog.playout(prolog.initial(20), np.random.default_rng(0)).steps
    assert steps.min() >= 1
    prolog.close()


def test_two_games_with_circles_do_not_mix_up_what_they_remember() -> None:
    programs = [normalize(parse(ROUND)), normalize(parse(ROUND.replace("(s 6 1)", "(s 6 2)")))]
    machines = [build_machine(program, "prolog") for program in programs]
    circuits = [build_machine(program, "propnet") for program in programs]
    for _ in range(3):
        for prolog, propnet in zip(machines, circuits, strict=True):
            assert play_both(prolog, propnet, matches=2, max_steps=6)
    for machine in machines:
        machine.close()


def test_what_is_remembered_is_bounded() -> None:
    program = normalize(parse(_chain(400)))
    little = build_machine(program, "prolog", Limits(table_bytes=1 << 14))
    with pytest.raises(ReasonerLimitError, match="bytes of tables"):
        little.legal(little.initial(), 0)
    assert len(little.fluents(little.initial())[0]) == 3
    enough = build_machine(program, "prolog")
    assert enough.legal(enough.initial(), 0).counts.tolist() == [400]
    little.close()
    enough.close()


@pytest.mark.parametrize("rules", [_chain(400), None], ids=["in a state", "in a game"])
def test_the_bounds_of_one_machine_are_not_those_of_another(rules: str | None) -> None:
    program = load("mastermind") if rules is None else normalize(parse(rules))
    enough = build_machine(program, "prolog")
    little = build_machine(program, "prolog", Limits(table_bytes=1 << 12))
    rng = np.random.default_rng(0)
    enough.step(enough.initial(), random_joint_moves(enough, enough.initial(), rng))
    with pytest.raises(ReasonerLimitError, match="bytes of tables"):
        mixed_states(little, seed=0, lanes=1, depth=9)
    # After the error both begin with nothing, and each with what it may use.
    assert len(mixed_states(enough, seed=0, lanes=1, depth=9))
    little.close()
    enough.close()
