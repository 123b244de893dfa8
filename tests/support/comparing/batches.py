"""Batches of states to try a machine on."""

from __future__ import annotations

import numpy as np

from ggp.machine import Machine, States
from ggp.machine.base import IntArray


def random_joint_moves(machine: Machine, states: States, rng: np.random.Generator) -> IntArray:
    """`[L, R]` a uniformly random joint move for each lane; no lane may be terminal."""
    moves = np.zeros((len(states), len(machine.roles)), dtype=np.int64)
    for role in range(len(machine.roles)):
        legal = machine.legal(states, role)
        picks = rng.integers(0, legal.counts)
        moves[:, role] = legal.values[legal.offsets[:-1] + picks]
    return moves


def live(machine: Machine, states: States) -> States:
    """The lanes in which the game is not over."""
    return states.take(np.flatnonzero(~machine.terminal(states)))


def mixed_states(machine: Machine, seed: int, *, lanes: int = 6, depth: int = 12) -> States:
    """States of random matches: `lanes` of each depth as long as they last, ended ones too."""
    rng = np.random.default_rng(seed)
    states = machine.initial(lanes)
    layers = [states]
    for _ in range(depth):
        states = live(machine, states)
        if not len(states):
            break
        states = machine.step(states, random_joint_moves(machine, states, rng)).states
        layers.append(states)
    return machine.concatenate(layers)
