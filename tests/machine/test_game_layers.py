"""Joint moves as numbers in mixed radix, and the states they lead to, equal ones merged."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ggp.errors import NoLegalMoveError
from ggp.machine.arrays import offsets_of
from ggp.machine.base import Machine, Ragged, States
from ggp.machine.layers import KEY, SAME, JointMoves, NextLayer, StateMerger
from tests.support.games import machine_of_game, machine_of_rules


def options(states: int, seed: int) -> JointMoves:
    """Joint moves of three roles, of which some have no move in some states."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, (3, states))
    lists = tuple(
        Ragged(offsets_of(role_counts), np.arange(role_counts.sum())) for role_counts in counts
    )
    return JointMoves((1, 0, 2), lists, np.zeros(0))


@pytest.mark.parametrize("states", [3, 900])
def test_any_part_of_the_joint_moves_is_listed_in_order(states: int) -> None:
    moves = options(states, states)
    total = int(moves.offsets[-1])
    assert total > states
    for start, end in ((0, total), (1, total - 1), (total // 2, total // 2 + 1)):
        state, places = moves.places(start, end)
        owner = np.searchsorted(moves.offsets, np.arange(start, end), side="right") - 1
        assert state.tolist() == owner.tolist()
        number = np.arange(start, end) - moves.offsets[state]
        for role in (2, 0, 1):
            number, digit = np.divmod(number, moves.counts[state, role])
            assert (places[:, role] == moves.lists[role].offsets[state] + digit).all()


def test_batches_hold_whole_states() -> None:
    moves = options(50, 2)
    runs = list(moves.batches(20))
    assert [start for start, _ in runs] == [0, *(end for _, end in runs[:-1])]
    assert runs[-1][1] == moves.offsets[-1]
    assert {end for _, end in runs} <= set(moves.offsets.tolist())
    sizes = np.diff(moves.offsets)
    assert all(end - start <= max(20, int(sizes.max())) for start, end in runs)


def test_states_listed_in_parts_have_the_same_moves() -> None:
    machine = machine_of_game("meier", "propnet")
    states = next_states(machine, machine.initial(1), 1 << 20).states
    whole = JointMoves.of(machine, states)
    halves = JointMoves.of(machine, states, batches=((0, 5), (5, len(states))))
    assert whole.number == halves.number == whole.offsets[-1] > 0
    assert (whole.probabilities == halves.probabilities).all()
    for whole_list, joined_list in zip(whole.lists, halves.lists, strict=True):
        assert (whole_list.offsets == joined_list.offsets).all()
        assert (whole_list.values == joined_list.values).all()


def test_moves_left_out_are_not_listed() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    moves = JointMoves.of(machine, machine.initial(1))
    is_listed = np.arange(9) % 2 == 0
    assert (
        moves.only(0, is_listed).lists[0].values.tolist()
        == moves.lists[0].values[is_listed].tolist()
    )
    fewer = moves.without(~is_listed)
    assert fewer.between(0, 5)[1].tolist() == moves.between(0, 9)[1][is_listed].tolist()


def test_a_role_without_a_move_is_allowed_where_it_is_said() -> None:
    rules = """
    (role a) (role random) (init s) (legal a go) (<= (legal random x) (true t))
    (<= (next t) (does a go)) (<= terminal (true t)) (goal a 0)
    """
    machine = machine_of_rules(rules, "propnet")
    states = machine.initial(1)
    moves = JointMoves.of(machine, states)
    assert moves.stuck.tolist() == [True]
    assert moves.offsets.tolist() == [0, 0]
    with pytest.raises(NoLegalMoveError):
        JointMoves.of(machine, states, allow_stuck=False)


def next_states(machine: Machine, states: States, most: int) -> NextLayer:
    """The states one turn later, with how each was reached: its weight, and its greatest depth."""
    moves = JointMoves.of(machine, states)
    merger = StateMerger(machine, states, (SAME, np.add, np.maximum))
    for start, end in moves.batches(most):
        lanes, joint = moves.between(start, end)
        successors = machine.step(states.take(lanes), joint).states
        seats = np.zeros((len(lanes), 2), dtype=np.int64)
        merger.add(successors, seats, np.full(len(lanes), Fraction(1, 3), dtype=object), lanes)
    return merger.merged()


@pytest.mark.parametrize("game", ["tic_tac_toe", "meier", "banker_and_thief"])
def test_equal_states_are_one_whatever_the_batches(game: str) -> None:
    machine = machine_of_game(game, "propnet")
    states = machine.initial(1)
    for _ in range(3):
        whole = next_states(machine, states, 1 << 20)
        number = int(JointMoves.of(machine, states).offsets[-1])
        assert sum(whole.columns[1]) == Fraction(number, 3)
        for most in (1, 7):
            parts = next_states(machine, states, most)
            assert machine.fluents(parts.states) == machine.fluents(whole.states)
            assert (parts.first == whole.first).all()
            assert (parts.successors == whole.successors).all()
            for parts_column, whole_column in zip(parts.columns, whole.columns, strict=True):
                assert (parts_column == whole_column).all()
        texts = machine.fluents(whole.states)
        assert len(set(texts)) == len(texts)
        assert (whole.successors[whole.first] == np.arange(len(texts))).all()
        states = whole.states.take(np.flatnonzero(~machine.terminal(whole.states)))


def test_keys_tell_equal_states_apart() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    merger = StateMerger(machine, machine.initial(1), (KEY, np.add))
    once = np.ones(4, dtype=np.int64)
    paths = np.array([[1, 5], [2, 5], [1, 5], [1, 6]])
    merger.add(machine.initial(4), paths, once)
    merger.add(machine.initial(4), paths[::-1], once)
    assert merger.size == 6
    merged = merger.merged()
    assert merger.size == 3
    assert merged.columns[0].tolist() == [[1, 5], [2, 5], [1, 6]]
    assert merged.columns[1].tolist() == [4, 2, 2]
    assert merged.first.tolist() == [0, 1, 3]
    assert merged.successors.tolist() == [0, 1, 0, 2, 2, 0, 1, 0]


def test_merging_no_states_gives_no_states() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    merged = StateMerger(machine, machine.initial(1)).merged()
    assert len(merged.states) == len(merged.successors) == 0
