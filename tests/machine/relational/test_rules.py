"""What rules may say, and how this backend takes it."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.errors import MachineError, ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import Limits, build_machine
from ggp.machine.abilities import Prover
from ggp.machine.build import reveal_moves
from ggp.machine.games import load_program
from ggp.machine.relational import tuning
from ggp.machine.relational.compile import UnsupportedRulesError
from ggp.machine.relational.relational_machine import RelationalMachine
from tests.support.comparing.agreement import play_both
from tests.support.games import machine_of_game

WHOLE_TERMS = """
(role a) (role b) (init (at (pair 1 (pair 2 2)))) (init (at (pair 2 1))) (init noted)
(<= (legal ?r (take ?x)) (role ?r) (true (at (pair ?x ?y))))
(<= (legal a (same ?x)) (true (at (pair ?y (pair ?x ?x)))))
(<= (legal b wait) (not (true (at (pair ?l 3)))))
(<= (legal b (hold ?f)) (true ?f) (distinct ?f noted))
(<= (next ?f) (true ?f) (not (does a (take 1))))
(<= (next (at (pair ?x ?m))) (does ?r ?m) (does a (take ?x)))
(<= (next (did ?r)) (does ?r (hold (at ?p))))
(<= terminal (true (did b))) (goal a 1) (<= (goal b 2) (not (true (at (pair ?l (pair ?l ?l))))))
"""
"""Any fluent or move as a whole, parts of functions, and local variables inside of them."""


def play_as_prolog(text: str, limits: Limits | None = None) -> None:
    program = normalize(parse(text))
    prolog = build_machine(program, "prolog")
    relational = build_machine(program, "relational", limits)
    assert play_both(prolog, relational, matches=20, max_steps=6) > 20
    prolog.close()


def test_terms_are_taken_whole_and_apart() -> None:
    play_as_prolog(WHOLE_TERMS)


def test_relation_with_too_many_facts_is_evaluated_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tuning, "MAX_FACTS", 20)
    digits = "".join(f"(digit {i})" for i in range(10))
    play_as_prolog(
        f"(role a) {digits} (init (at 3 4))"
        "(<= (sum ?x ?y (plus ?x ?y)) (digit ?x) (digit ?y))"
        "(<= (far ?x ?s) (sum ?x ?y ?s) (distinct ?x ?y))"
        "(<= (legal a (say ?s)) (true (at ?x ?y)) (sum ?x ?y ?s))"
        "(<= (legal a (move ?x)) (digit ?x) (not (far ?x (plus 3 ?x))))"
        "(<= (next (at ?x ?y)) (true (at ?y ?x)))"
        "(<= (next (at ?x 1)) (does a (move ?x)))"
        "(goal a 5) (<= terminal (true over))"
    )


def test_negation_that_leads_back_through_coarser_calls_is_left_to_prolog() -> None:
    rules = """
    (role a) (init (n 0)) (legal a go) (num 0) (num 1) (<= (next (n ?x)) (true (n ?x)))
    (<= (q (f ?x)) (num ?x) (not odd)) (<= odd (q (g ?y))) (<= (q (g ?x)) (true (n ?x)))
    (<= (goal a 1) (q (f 0))) (<= (goal a 2) (q (f 1))) (<= terminal (q ?z))
    """
    program = normalize(parse(rules))
    with pytest.raises(UnsupportedRulesError, match="may lead back to it"):
        build_machine(program, "relational")


def test_room_grows_with_what_a_state_needs_and_results_stay_the_same() -> None:
    rules = """
    (role a) (role random) (init (n z)) (succ 0 1) (succ 1 2) (succ 2 3)
    (<= (init (cell ?x ?y)) (num ?x) (num ?y)) (<= (num ?x) (succ ?x ?y))
    (<= (legal ?r (mark ?t ?x ?y)) (role ?r) (true (n ?t)) (num ?x) (num ?y))
    (<= (next (cell (s ?x) ?y)) (true (cell ?x ?y))) (<= (next (cell ?x ?y)) (true (cell ?x ?y)))
    (<= (next (n (s ?t))) (true (n ?t))) (goal a 1)
    (<= terminal (true (n (s (s (s (s (s (s z)))))))))
    """
    play_as_prolog(rules)


def test_memory_has_a_limit() -> None:
    limits = Limits(table_bytes=1 << 19)
    machine = build_machine(load_program("breakthrough"), "relational", limits)
    start = machine.initial(10_000)
    with pytest.raises(ReasonerLimitError, match="passed the limit of 524,288 bytes of tables"):
        machine.legal(start, 0)
    assert machine.playout(machine.initial(2), np.random.default_rng(0)).finished.all()


@pytest.mark.verify
def test_steps_have_a_limit_and_the_machine_plays_on() -> None:
    numbers = "".join(f"(num {i})" for i in range(20))
    product = "".join(f"(num ?{c})" for c in "abcd")
    rules = (
        f"(role a) {numbers} (init s) (legal a go) (<= (next t) (true s)) (goal a 1)"
        f"(<= terminal (true t) {product} (not (reached ?a ?b ?c ?d)))"
        f"(<= (reached ?a ?b ?c ?d) (true t) {product})"
    )
    machine = build_machine(normalize(parse(rules)), "relational", Limits(inferences=10_000))
    start = machine.initial()
    go = machine.move_id("go")
    successor = machine.step(start, np.array([[go]])).states
    with pytest.raises(ReasonerLimitError, match="terminal passed the limit of 10,000 inferences"):
        machine.terminal(successor)
    assert not machine.terminal(start)[0]


def test_some_moves_are_found_without_the_others() -> None:
    machine = machine_of_game("breakthrough", "relational")
    assert isinstance(machine, Prover)
    start = machine.initial()
    legal = machine.legal(start, 0)[0].tolist()
    assert len(machine.some_legal(start, 0, 3)) == 3
    assert set(machine.some_legal(start, 0, 3).tolist()) <= set(legal)
    assert sorted(machine.some_legal(start, 0, 10**6).tolist()) == sorted(legal)
    assert all(machine.is_legal(start, 0, move) for move in legal)
    assert not machine.is_legal(start, 1, legal[0])


def test_stored_states_are_found_again_on_another_machine() -> None:
    machine = machine_of_game("tic_tac_toe", "relational")
    twin = build_machine(load_program("tic_tac_toe"), "relational")
    assert isinstance(machine, RelationalMachine)
    assert isinstance(twin, RelationalMachine)
    states = machine.initial(2)
    written = machine.written(states)
    assert twin.fluents(twin.from_written(written)) == machine.fluents(states)
    assert twin.groups(twin.concatenate([twin.from_written(written), twin.initial()])).tolist()
    with pytest.raises(MachineError, match="can never hold"):
        twin.from_written([("(nothing 1)",)])


def test_machine_that_tells_moves_shares_the_states() -> None:
    program = load_program("krieg_tic_tac_toe")
    machine = build_machine(program, "relational")
    revealing = reveal_moves(machine, program.as_program())
    start = machine.initial()
    joint = np.array([[machine.legal(start, role)[0][0] for role in range(len(machine.roles))]])
    stepped = revealing.step(start, joint)
    assert machine.fluents(stepped.states) == machine.fluents(machine.step(start, joint).states)
    assert any(x.startswith("(did ") for x in revealing.percept_texts(int(stepped.percepts[0, 0])))
