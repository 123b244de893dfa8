"""Playouts of circuits that make no sense, step by step: where nobody has a choice, playouts and
steps come to the same end, however gates are ordered and next values are written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ggp.machine.base import FloatArray, IntArray, States
from ggp.machine.propnet.circuit import FALSE, TRUE, Circuit, Outputs
from ggp.machine.propnet.play import order, phases, reach, updates
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from tests.machine.propnet.circuits import random_circuit

LANES, STEPS = 200, 12

CIRCUITS = [*range(1, 80), 12847]
"""With pieces of four gates, the last one once had a reader of an old value after the gate that
overwrites it: what that gate reads went round in a circle with the reader."""


def one_move(seed: int) -> Circuit:
    """A random circuit in which each role has one move, and some fluents are of the same nets."""
    circuit, rng = random_circuit(seed, with_loop=seed % 5 == 0), np.random.default_rng(seed)
    num_fluents, base = len(circuit.fluents), 1 + circuit.num_inputs
    nets = rng.choice(np.arange(base + 14, base + circuit.num_gates), 3)
    following = circuit.next.copy()
    for fluent in range(num_fluents):
        kind = rng.random()
        if kind < 0.6:
            following[fluent] = 2 * int(rng.choice(nets)) + int(rng.integers(2))
        elif kind < 0.75:
            following[fluent] = 2 * int(rng.integers(1, 1 + num_fluents)) + int(rng.integers(2))
        elif kind < 0.8:
            following[fluent] = int(rng.choice([TRUE, FALSE]))
    only = Outputs(circuit.legal[0].names, np.array([TRUE, FALSE, FALSE], dtype=np.int32))
    return replace(circuit, next=following, legal=(only, only))


def by_steps(machine: PropnetMachine, bits: np.ndarray) -> tuple[IntArray, FloatArray]:
    """`[L]` steps to the end, -1 where there is none, and `[L, R]` goals."""
    steps = np.full(LANES, -1)
    goals = np.zeros((LANES, 2))
    states: States = machine.from_fluent_bits(bits)
    lanes = np.arange(LANES)
    move = machine.move_id("m0")
    for step in range(STEPS + 1):
        over = machine.terminal(states)
        steps[lanes[over]] = step
        goals[lanes[over]] = machine.goals(states.take(np.flatnonzero(over)))
        states, lanes = states.take(np.flatnonzero(~over)), lanes[~over]
        if not len(lanes):
            break
        states = machine.step(states, np.full((len(lanes), 2), move)).states
    return steps, goals


@pytest.mark.parametrize("leaving_out", [False, True], ids=["whole", "leaving out"])
@pytest.mark.parametrize("piece", [order.SMALL_PIECE, 4])
@pytest.mark.filterwarnings("ignore")
def test_playouts_end_where_steps_do(
    piece: int, leaving_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "SMALL_PIECE", piece)
    if piece == 4:
        monkeypatch.setattr(updates, "TOGETHER", 2)
    if leaving_out:
        monkeypatch.setattr(phases, "MIN_LITERALS", 0)
        monkeypatch.setattr(reach, "MIN_LITERALS", 0)
        monkeypatch.setattr(phases, "WORTH", 2)
    ended = 0
    for seed in CIRCUITS:
        machine = PropnetMachine(one_move(seed), is_gdl2=True)
        bits = np.random.default_rng(seed).random((LANES, len(machine.circuit.fluents))) < 0.5
        steps, goals = by_steps(machine, bits)
        found = machine.playout(machine.from_fluent_bits(bits), np.random.default_rng(0), STEPS)
        assert np.array_equal(found.finished, steps >= 0), seed
        assert np.array_equal(found.steps[steps >= 0], steps[steps >= 0]), seed
        assert np.array_equal(found.goals[steps >= 0], goals[steps >= 0]), seed
        ended += int(np.count_nonzero(steps > 0))
    assert ended > 500
