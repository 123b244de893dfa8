"""The batched operations that trees stand on, by size of batch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ggp.belief import PathTree
from ggp.gdl.normalize import load
from ggp.machine import Machine, build_machine
from ggp.machine.base import States
from ggp.search.estimates import best_moves

GAME = "krieg_tic_tac_toe"
TURNS = 3
"""Turns after which states are taken, of random matches."""


def measure_operations(num_lanes: int) -> dict[str, Any]:
    """One row: microseconds a lane of each operation, and of all.

    `legal` and `path turn` are of all roles; `select` takes the best of ragged candidates, and
    `sums back` adds results of lanes to them.
    """
    machine = build_machine(load(GAME), "propnet")
    rng = np.random.default_rng(0)
    states = _states(machine, num_lanes, rng)
    roles = range(len(machine.roles))
    legal = [machine.legal(states, role) for role in roles]
    places = [moves.offsets[:-1] + rng.integers(0, moves.counts) for moves in legal]
    joint_moves = np.stack([legal[r].values[places[r]] for r in roles], axis=1)
    percepts = machine.step(states, joint_moves).percepts
    tree = PathTree(machine)
    values, goals = rng.random(len(legal[0].values)), rng.random(num_lanes)

    def turn() -> None:
        for role in roles:
            tree.extend(np.full(num_lanes, role), joint_moves[:, role], percepts[:, role])

    operations: dict[str, Callable[[], object]] = {
        "legal": lambda: [machine.legal(states, role) for role in roles],
        "step": lambda: machine.step(states, joint_moves),
        "terminal": lambda: machine.terminal(states),
        "path turn": turn,
        "select": lambda: best_moves(legal[0], values, rng),
        "sums back": lambda: np.bincount(places[0], goals, minlength=len(values)),
    }
    took = {name: 1e6 * _seconds(run) / num_lanes for name, run in operations.items()}
    took["all"] = sum(took.values())
    return {"lanes": num_lanes, **{name: round(value, 3) for name, value in took.items()}}


def _states(machine: Machine, num_lanes: int, rng: np.random.Generator) -> States:
    states = machine.initial(num_lanes)
    for _ in range(TURNS):
        columns = []
        for role in range(len(machine.roles)):
            moves = machine.legal(states, role)
            columns.append(moves.values[moves.offsets[:-1] + rng.integers(0, moves.counts)])
        states = machine.step(states, np.stack(columns, axis=1)).states
    return states


def _seconds(run: Callable[[], object]) -> float:
    """CPU seconds of one call; the best of five times a hundred."""
    run()
    best = np.inf
    for _ in range(5):
        started = time.process_time()
        for _ in range(100):
            run()
        best = min(best, (time.process_time() - started) / 100)
    return float(best)
