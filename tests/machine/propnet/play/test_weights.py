"""Playouts whose moves are drawn by weight, and the credits of their moves."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

from ggp.machine.abilities import MAX_SUM
from ggp.machine.base import FloatArray, IntArray, Machine
from ggp.machine.propnet.play.kernels.choice import MAX_PLANES
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.search.moves import MoveLists
from tests.support.games import machine_of_game, machine_of_rules

URN = """
(role us) (role them) (init start)
(ball 1) (ball 2) (ball 3) (ball 4) (ball 5) (ball 6) (ball 7) (ball 8) (ball 9)
(<= (legal us (draw ?b)) (ball ?b) (true start))
(<= (legal them (draw ?b)) (ball ?b) (true start))
(<= (next (drawn ?b)) (does us (draw ?b)))
(<= terminal (true (drawn ?b)))
(<= (goal us 100) (true (drawn 3))) (<= (goal us 0) (not (true (drawn 3))))
(goal them 50)
"""


def machine_of(name: str) -> PropnetMachine:
    machine = machine_of_game(name, "propnet")
    assert isinstance(machine, PropnetMachine)
    return machine


def even(machine: PropnetMachine, weight: int = 1) -> IntArray:
    return np.full((len(machine.roles), machine.num_moves), weight)


def no_credits(machine: PropnetMachine) -> FloatArray:
    return np.zeros((len(machine.roles), machine.num_moves, 2))


@pytest.mark.parametrize(
    "name", ["tic_tac_toe", "connect_four", "mastermind", "battleships_in_fog"]
)
def test_weights_of_one_draw_what_is_drawn_without_weights(name: str) -> None:
    machine = machine_of(name)
    start = machine.initial(1500)
    plain = machine.playout(start, np.random.default_rng(3))
    rng, credits = np.random.default_rng(3), no_credits(machine)
    weighed = machine.playout_by_weights(start, even(machine), credits, rng)
    assert np.array_equal(plain.goals, weighed.goals)
    assert np.array_equal(plain.steps, weighed.steps)


@pytest.mark.parametrize("most", [2, 7, 1000])
def test_moves_are_drawn_in_proportion_to_their_weights(most: int) -> None:
    machine = machine_of_rules(URN, "propnet")
    assert isinstance(machine, PropnetMachine)
    size, rng = 40_000, np.random.default_rng(most)
    weights = rng.integers(1, most + 1, size=(2, machine.num_moves))
    credits = no_credits(machine)
    playouts = machine.playout_by_weights(machine.initial(size), weights, credits, rng)
    assert playouts.finished.all()
    for role in range(2):
        counts = credits[role, :, 0]
        expected = size * weights[role] / weights[role].sum()
        chi_square = float(((counts - expected) ** 2 / expected).sum())
        assert counts.sum() == size
        assert chi_square < 8 + 5 * sqrt(2 * 8)
    won = machine.move_id("(draw 3)")
    assert credits[0, won, 1] == 100 * credits[0, won, 0] == playouts.goals[:, 0].sum()
    assert (credits[1, :, 1] == 50 * credits[1, :, 0]).all()


def plainly(
    machine: Machine, size: int, weights: IntArray, rng: np.random.Generator
) -> tuple[FloatArray, IntArray, FloatArray]:
    """The same move by move: goals, steps, and for each lane the moves that each role made."""
    states, lanes = machine.initial(size), np.arange(size)
    num_roles = len(machine.roles)
    goals, steps = np.zeros((size, num_roles)), np.zeros(size, dtype=np.int64)
    move_counts = np.zeros((size, *weights.shape))
    while True:
        over = machine.terminal(states)
        goals[lanes[over]] = machine.goals(states.take(np.flatnonzero(over)))
        states, lanes = states.take(np.flatnonzero(~over)), lanes[~over]
        if not len(lanes):
            return goals, steps, move_counts
        joint_moves = np.zeros((len(lanes), num_roles), dtype=np.int64)
        for role in range(num_roles):
            if role == machine.random_role:
                lists = MoveLists(machine, states, role)
                place = np.arange(len(lanes))
                joint_moves[:, role] = lists.at(place, lists.draw(place, rng))
                continue
            legal = machine.legal(states, role)
            for lane in range(len(lanes)):
                moves = legal[lane]
                odds = weights[role, moves] / weights[role, moves].sum()
                joint_moves[lane, role] = rng.choice(moves, p=odds)
            move_counts[lanes, role, joint_moves[:, role]] = 1.0
        states = machine.step(states, joint_moves).states
        steps[lanes] += 1


@pytest.mark.parametrize("name", ["tic_tac_toe", "meier", "krieg_tic_tac_toe"])
def test_weighed_playouts_are_those_of_a_plain_reference(name: str) -> None:
    machine, rng = machine_of(name), np.random.default_rng(7)
    weights = rng.integers(1, 20, size=(len(machine.roles), machine.num_moves))
    num_plain, num_playouts = 600, 20_000
    goals, steps, move_counts = plainly(machine, num_plain, weights, rng)
    credits = no_credits(machine)
    playouts = machine.playout_by_weights(machine.initial(num_playouts), weights, credits, rng)
    pairs: list[tuple[Any, Any, float]] = [
        (steps[:, None], playouts.steps[:, None].mean(axis=0), 0.0)
    ]
    pairs.append((goals, playouts.goals.mean(axis=0), 0.0))
    for role in range(len(machine.roles)):
        if role != machine.random_role:
            won = move_counts[:, role] * goals[:, role, None]
            pairs.append((move_counts[:, role], credits[role, :, 0] / num_playouts, 1.0))
            pairs.append((won, credits[role, :, 1] / num_playouts, 100.0))
    for sample, mean, most in pairs:
        # What is rare may not be in the sample at all: then the mean says how much it varies.
        variance = np.maximum(sample.var(axis=0), most * mean)
        assert (
            np.abs(sample.mean(axis=0) - mean) <= 5 * np.sqrt(variance / num_plain) + 1e-9
        ).all()


def test_a_lane_is_not_credited_with_moves_of_the_lane_it_replaces() -> None:
    machine, most_steps = machine_of("connect_four"), 20
    moves_a_step = []
    for size in (1000, 4000):  # all lanes are let in at once, or some in place of others
        credits = no_credits(machine)
        start, rng = machine.initial(size), np.random.default_rng(1)
        playouts = machine.playout_by_weights(start, even(machine), credits, rng, most_steps)
        assert 0 < playouts.finished.sum() < size
        steps = playouts.steps[playouts.finished].sum()
        # In each step of a finished playout one of the two drops a disc, and the other waits.
        discs = [move for move in range(machine.num_moves) if machine.move_text(move) != "noop"]
        dropped = credits[:, discs, 0].sum()
        assert dropped <= steps
        moves_a_step.append(dropped / steps)
    assert moves_a_step[0] == pytest.approx(moves_a_step[1], rel=0.02)


def test_weights_that_kernels_have_no_room_for_are_refused() -> None:
    assert MAX_SUM == (1 << MAX_PLANES) - 1
    machine = machine_of_rules(URN, "propnet")
    assert isinstance(machine, PropnetMachine)
    for weight in (0, MAX_SUM // 9 + 1):
        credits, rng = no_credits(machine), np.random.default_rng(0)
        with pytest.raises(ValueError, match=f"at least 1, and at most {MAX_SUM:,}"):
            machine.playout_by_weights(machine.initial(1), even(machine, weight), credits, rng)
    credits, rng = no_credits(machine), np.random.default_rng(0)
    most = even(machine, MAX_SUM // 9)
    machine.playout_by_weights(machine.initial(1000), most, credits, rng)
    assert (credits[:, :, 0].sum(axis=1) == 1000).all()
    assert (credits[:, :, 0] > 50).all()
