"""Ids of sets of percepts: rows of bits of all roles, or joint moves in plain GDL."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.gdl.normalize import load
from ggp.machine.base import NO_PERCEPTS, UNKNOWN, IntArray
from ggp.machine.build import reveal_moves
from ggp.machine.on_circuit import on_circuit
from ggp.search.moves import random_moves
from tests.support.games import machine_of_game, machine_of_rules

SIGNALS = (
    "(role first) (role second) (role deaf) (init on) (legal deaf wait) "
    + "".join(f"(legal {role} (send {n})) " for role in ("first", "second") for n in range(70))
    + """
    (<= terminal (not (true on)))
    (<= (sees first (own ?m)) (does first ?m)) (<= (sees second (own ?m)) (does second ?m))
    (<= (sees first (heard ?m)) (does second ?m)) (<= (sees second (told ?m)) (does first ?m))
    (goal first 50) (goal second 50) (goal deaf 50)
    """
)
"""Two roles that share some of their percepts, and a role that gets none."""


def sent(*numbers: int) -> IntArray:
    machine = machine_of_rules(SIGNALS, "propnet")
    moves = [machine.move_id(f"(send {number})") for number in numbers]
    return np.array([[*moves, machine.move_id("wait")]], dtype=np.int64)


def test_equal_sets_of_different_roles_have_equal_ids() -> None:
    machine = machine_of_rules(SIGNALS, "propnet")
    _, percepts = machine.step(machine.initial(1), sent(3, 69))
    first, second, deaf = percepts[0].tolist()
    assert machine.percept_texts(first) == ("(heard (send 69))", "(own (send 3))")
    assert machine.percept_texts(second) == ("(own (send 69))", "(told (send 3))")
    assert deaf == NO_PERCEPTS
    assert machine.percept_id(["(own (send 3))", "(heard (send 69))"]) == first
    assert machine.percept_id(["(told (send 3))", "(own (send 69))"]) == second
    assert machine.percept_id(["(own (send 3))", "(own (send 70))"]) is None


def test_successors_are_found_by_the_percepts_of_each_role() -> None:
    machine = machine_of_rules(SIGNALS, "propnet")
    assert on_circuit(machine)
    joint = np.concatenate([sent(a, b) for a, b in ((3, 69), (3, 68), (2, 69))])
    start, lanes = machine.initial(1), np.zeros(3, dtype=np.int64)
    percepts = machine.step(start.take(lanes), joint).percepts
    for role in (0, 1):
        for lane in range(3):
            found = machine.step_matching(start, lanes, joint, role, percepts[[lane], role])
            assert found is not None
            assert found[0].tolist() == [lane]
        unknown = machine.step_matching(start, lanes, joint, role, np.array([UNKNOWN]))
        assert unknown is not None
        assert unknown[0].tolist() == [0, 1, 2]
        # A set that only the other role can get.
        assert machine.step_matching(start, lanes, joint, role, percepts[[0], 1 - role]) is None


@pytest.mark.parametrize("game", ["tic_tac_toe", "krieg_tic_tac_toe"])
@pytest.mark.parametrize("lanes", [1, 300])
def test_in_plain_gdl_ids_stand_for_joint_moves(lanes: int, game: str) -> None:
    machine, rng = machine_of_game(game, "propnet"), np.random.default_rng(0)
    if game == "krieg_tic_tac_toe":
        machine = reveal_moves(machine, load(game))
    states = machine.initial(lanes)
    joint = np.stack([random_moves(machine, states, role, rng) for role in (0, 1)], axis=1)
    percepts = machine.step(states, joint).percepts
    told = machine.told_moves(percepts[:, 0])
    assert told is not None
    assert told.tolist() == joint.tolist()
    nothing = machine.told_moves(np.array([UNKNOWN, NO_PERCEPTS]))
    assert nothing is not None
    assert (nothing == UNKNOWN).all()


def test_part_of_a_joint_move_is_a_set_of_its_own() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    part = machine.percept_id(["(did xplayer (mark 1 1))"])
    assert part is not None
    assert machine.percept_texts(part) == ("(did xplayer (mark 1 1))",)
    told = machine.told_moves(np.array([part]))
    assert told is not None
    assert told.tolist() == [[machine.move_id("(mark 1 1)"), UNKNOWN]]
    two_moves = ["(did xplayer (mark 1 1))", "(did xplayer noop)"]
    for impossible in (["(did nobody noop)"], ["(did xplayer (mark 4 4))"], two_moves):
        assert machine.percept_id(impossible) is None


OVER = "(role p) (init on) (<= (legal p go) (true off)) (<= terminal (true on)) (goal p 70)"


def test_games_without_moves_show_nothing() -> None:
    machine = machine_of_rules(OVER, "propnet")
    assert machine.goals(machine.initial(1)).tolist() == [[70]]
    assert machine.percept_id([]) == NO_PERCEPTS
    assert machine.percept_id(["(did p wait)"]) is None
