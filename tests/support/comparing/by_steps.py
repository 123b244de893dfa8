"""Random matches made of a machine's own questions, one joint move after the other.

What a backend does inside `playout` can be compared with this: every step of it is compared with
the Prolog machine elsewhere.
"""

from __future__ import annotations

import numpy as np

from ggp.machine import Machine, States
from ggp.machine.base import DEFAULT_MAX_STEPS, IntArray, Playouts
from ggp.search.moves import MoveLists

NO_MOVE = -1

_LANES = 4096
"""States that are played side by side."""

_LISTED = 1 << 22
"""About how many legal moves are listed at once; where there are more, fewer lanes are asked."""


def play_by_steps(
    machine: Machine, states: States, rng: np.random.Generator, max_steps: int = DEFAULT_MAX_STEPS
) -> Playouts:
    """What `Machine.playout` promises, by `terminal`, `goals`, `legal`, `chance` and `step`."""
    parts = [
        _play(machine, states.take(lanes), rng, max_steps)
        for lanes in _cut(np.arange(len(states)), _LANES)
    ]
    return Playouts(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def take_lanes(playouts: Playouts, lanes: IntArray) -> Playouts:
    """What came of some lanes, in this order."""
    return Playouts(playouts.goals[lanes], playouts.steps[lanes], playouts.finished[lanes])


def _play(machine: Machine, states: States, rng: np.random.Generator, max_steps: int) -> Playouts:
    size = len(states)
    goals = np.zeros((size, len(machine.roles)))
    steps = np.zeros(size, dtype=np.int64)
    finished = np.zeros(size, dtype=np.bool_)
    lanes = np.arange(size)
    for step in range(max_steps + 1):
        steps[lanes] = step
        over = machine.terminal(states)
        finished[lanes[over]] = True
        goals[lanes[over]] = machine.goals(states.take(np.flatnonzero(over)))
        states, lanes = states.take(np.flatnonzero(~over)), lanes[~over]
        if step == max_steps or not len(lanes):
            break
        joint_moves = _joint_moves(machine, states, rng)
        goes_on = (joint_moves != NO_MOVE).all(axis=1)
        states, lanes = states.take(np.flatnonzero(goes_on)), lanes[goes_on]
        states = machine.step(states, joint_moves[goes_on]).states
    return Playouts(goals, steps, finished)


def _joint_moves(machine: Machine, states: States, rng: np.random.Generator) -> IntArray:
    """`[L, R]` a random legal move of each role, `NO_MOVE` where it has none."""
    return np.stack([_moves(machine, states, r, rng) for r in range(len(machine.roles))], axis=1)


def _moves(machine: Machine, states: States, role: int, rng: np.random.Generator) -> IntArray:
    moves = np.full(len(states), NO_MOVE, dtype=np.int64)
    first = machine.legal(states.take(np.array([0])), role, allow_stuck=True)
    for lanes in _cut(np.arange(len(states)), max(1, _LISTED // max(1, len(first.values)))):
        lists = MoveLists(machine, states.take(lanes), role)
        able = np.flatnonzero(lists.counts)
        moves[lanes[able]] = lists.at(able, lists.draw(able, rng))
    return moves


def _cut(lanes: IntArray, size: int) -> list[IntArray]:
    """Pieces of at most so many lanes; one at least."""
    return np.split(lanes, range(size, len(lanes), size))
