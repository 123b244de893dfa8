"""The child of `benchmarks.circuits`: measures one game, again and again, as it is told.

It uses nothing but what every version of the project has, because it also measures other versions.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from benchmarks.apart.generated import turning_stones
from ggp.gdl.normalize import load
from ggp.machine import Limits, build_machine
from ggp.machine.base import States
from ggp.machine.propnet.play.propnet_machine import PropnetMachine

GENERATED = "generated"
SIZE = 38
"""Of the board of the generated circuit, for 300,000 literals."""

LANES = 4096
"""The fewest playouts side by side: a block should be full most of the time."""

MAX_STEPS = 200
"""Steps after which they are cut off."""

TURNS = 3
"""Turns after which single states are taken."""


def machine_of(game: str, grounding_seconds: float) -> PropnetMachine:
    """A game by name or path, or `generated`, on the fast backend."""
    if game == GENERATED:
        return PropnetMachine(turning_stones(SIZE), is_gdl2=False)
    limits = Limits(grounding_seconds=grounding_seconds)
    machine = build_machine(load(game), "propnet", limits=limits, ready=True)
    assert isinstance(machine, PropnetMachine)
    return machine


def measure_circuit(machine: PropnetMachine, seconds: float, seed: int) -> dict[str, Any]:
    """CPU time of playouts and of single states.

    `states_per_s`: of random playouts; `literals_per_s`: that, times the literals of the circuit.
    `single_us`: microseconds of `step` and `legal` of all roles of one state.
    """
    rng = np.random.default_rng(seed)
    states_per_s = _playouts(machine, seconds, rng)
    literals = machine.circuit.num_literals
    return {
        "literals": literals,
        "states_per_s": states_per_s,
        "literals_per_s": literals * states_per_s,
        "single_us": 1e6 * _single(machine, seconds / 2, rng),
    }


def _playouts(machine: PropnetMachine, seconds: float, rng: np.random.Generator) -> float:
    """States a CPU second of playouts from the initial state; the best of some batches."""
    lanes, best, spent = LANES, 0.0, 0.0
    while spent < seconds:
        started = time.process_time()
        playouts = machine.playout(machine.initial(lanes), rng, MAX_STEPS)
        took = time.process_time() - started
        spent += took
        if took < 0.02:
            lanes *= 2
        else:
            best = max(best, float(playouts.steps.sum()) / took)
    return best


def _single(machine: PropnetMachine, seconds: float, rng: np.random.Generator) -> float:
    """CPU seconds of one step of one lane, with its legal moves; the best of some runs."""
    states: States = machine.initial()
    joint_moves = _random_moves(machine, states, rng)
    for _ in range(TURNS):
        following = machine.step(states, joint_moves).states
        if machine.terminal(following)[0]:
            break
        states, joint_moves = following, _random_moves(machine, following, rng)
    roles = range(len(machine.roles))

    def once() -> None:
        machine.step(states, joint_moves)
        for role in roles:
            machine.legal(states, role)

    once()
    best, spent, times = np.inf, 0.0, 1
    while spent < seconds:
        started = time.process_time()
        for _ in range(times):
            once()
        took = time.process_time() - started
        spent += took
        if took < 0.01:
            times *= 2
        else:
            best = min(best, took / times)
    return float(best)


def _random_moves(
    machine: PropnetMachine, states: States, rng: np.random.Generator
) -> np.ndarray[Any, Any]:
    moves = [machine.legal(states, role).values for role in range(len(machine.roles))]
    return np.array([[int(rng.choice(role_moves)) for role_moves in moves]])


def main(game: str, seconds: str, grounding_seconds: str) -> None:
    """Measure once for every line of standard input, which is a seed; print JSON."""
    machine = machine_of(game, float(grounding_seconds))
    machine.playout(machine.initial(2), np.random.default_rng(0), 2)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(measure_circuit(machine, float(seconds), int(line))), flush=True)
