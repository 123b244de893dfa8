"""Beliefs in plain GDL, where percepts reveal the joint move."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import HyperPlaySampler, PathTree
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.machine.base import UNKNOWN
from tests.support.games import BACKENDS, machine_of_game, machine_of_rules

MANY = (
    "(role left) (role right)"
    + "".join(f"(number {i})" for i in range(10))
    + """
    (<= (legal left (set ?a ?b)) (number ?a) (number ?b))
    (<= (legal right (pick ?x)) (number ?x))
    (init (turn 0)) (succ 0 1) (succ 1 2) (succ 2 3)
    (<= (next (turn ?n)) (true (turn ?m)) (succ ?m ?n))
    (<= (next (at ?a ?b ?x)) (does left (set ?a ?b)) (does right (pick ?x)))
    (<= terminal (true (turn 3)))
    (goal left 50) (goal right 50)
    """
)
"""Plain GDL in which every turn has 1,000 joint moves."""

REVEALING = MANY + "(<= (sees ?p (did ?r ?m)) (role ?p) (does ?r ?m))"
"""The same game as sent by servers that treat all games as GDL-II."""


@pytest.mark.parametrize("rules", [MANY, REVEALING])
@pytest.mark.parametrize("backend", BACKENDS)
def test_only_the_revealed_joint_move_is_stepped(backend: str, rules: str) -> None:
    machine = machine_of_rules(rules, backend)
    tree = PathTree(machine)
    belief = HyperPlaySampler(machine, tree, capacity=100)
    bag = belief.start(1)
    rng = np.random.default_rng(1)
    visited = machine.states_visited
    for turn in range(2):
        moves = [f"(set {turn} 7)", f"(pick {turn})"]
        percepts = [f"(did {role} {move})" for role, move in zip(machine.roles, moves, strict=True)]
        bag = belief.advance(
            bag, ids(machine.move_id(moves[1])), ids(machine.percept_id(percepts)), rng
        )
    assert bag.exact.all()
    (fluents,) = machine.fluents(bag.sets.states)
    assert "(at 1 7 1)" in fluents
    assert machine.states_visited - visited == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_revealed_move_keeps_its_prior(backend: str) -> None:
    machine = machine_of_rules(MANY, backend)
    percepts_id = machine.percept_id(["(did left (set 3 4))", "(did right (pick 5))"])
    options = open_moves(
        machine,
        1,
        machine.initial(2),
        Learnt(ids(UNKNOWN, UNKNOWN), ids(percepts_id, UNKNOWN), ids(UNKNOWN, UNKNOWN)),
    )
    assert options.counts.tolist() == [1, 1_000]
    joint, log_priors = options.joint(ids(0, 1), ids(0, 0))
    assert [machine.move_text(move) for move in joint[0].tolist()] == ["(set 3 4)", "(pick 5)"]
    assert log_priors == pytest.approx([-np.log(1_000)] * 2)


def test_our_own_move_is_certain_and_contradictions_have_no_completion() -> None:
    machine = machine_of_rules(MANY)
    percepts_id = machine.percept_id(["(did left (set 3 4))", "(did right (pick 5))"])
    ours = ids(machine.move_id("(pick 5)"), machine.move_id("(pick 6)"))
    options = open_moves(
        machine,
        1,
        machine.initial(2),
        Learnt(ours, ids(percepts_id, percepts_id), ids(UNKNOWN, UNKNOWN)),
    )
    assert options.counts.tolist() == [1, 0]
    assert options.joint(ids(0), ids(0))[1] == pytest.approx([-np.log(100)])


@pytest.mark.parametrize("backend", BACKENDS)
def test_percepts_may_reveal_some_moves_or_none(backend: str) -> None:
    machine = machine_of_rules(MANY, backend)
    partly = machine.percept_id(["(did right (pick 5))"])
    assert partly is not None
    revealed = machine.told_moves(ids(UNKNOWN, 0, partly))
    assert revealed is not None
    assert revealed.tolist() == [
        [UNKNOWN] * 2,
        [UNKNOWN] * 2,
        [UNKNOWN, machine.move_id("(pick 5)")],
    ]
    assert machine.told_moves(ids()).shape == (0, 2)  # type: ignore[union-attr]


@pytest.mark.parametrize("backend", BACKENDS)
def test_percepts_of_games_with_secrets_reveal_no_move_for_certain(backend: str) -> None:
    machine = machine_of_game("monty_hall", backend)
    assert machine.told_moves(ids(0)) is None


def ids(*numbers: int | None) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)
