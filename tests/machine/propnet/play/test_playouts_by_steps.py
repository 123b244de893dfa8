"""Playouts of circuits that make no sense, step by step: where nobody has a choice, playouts and
steps come to the same end, however gates are ordered and next values are written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ggp.machine.circuit import FALSE, TRUE, Circuit, Outputs
from ggp.machine.propnet.play.layout import phases
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from tests.machine.propnet.circuits import random_circuit
from tests.support.comparing.by_steps import play_by_steps

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


@pytest.mark.parametrize("leaving_out", [False, True], ids=["whole", "leaving out"])
@pytest.mark.filterwarnings("ignore")
def test_playouts_end_where_steps_do(leaving_out: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if leaving_out:
        monkeypatch.setattr(phases, "MIN_LITERALS", 0)
        monkeypatch.setattr(phases, "MIN_REACH_LITERALS", 0)
        monkeypatch.setattr(phases, "WORTH", 2)
    ended = 0
    for seed in CIRCUITS:
        machine = PropnetMachine(one_move(seed), is_gdl2=True)
        bits = np.random.default_rng(seed).random((LANES, len(machine.circuit.fluents))) < 0.5
        states, rng = machine.from_fluent_bits(bits), np.random.default_rng(0)
        expected = play_by_steps(machine, states, rng, STEPS)
        for by_playout, by_steps in zip(machine.playout(states, rng, STEPS), expected, strict=True):
            assert np.array_equal(by_playout, by_steps), seed
        ended += int(np.count_nonzero(expected.finished & (expected.steps > 0)))
    assert ended > 500
