"""Random moves, and what a server makes of submitted ones."""

from __future__ import annotations

import numpy as np

from ggp.machine.arrays import segment_ids
from ggp.machine.base import BoolArray, IntArray, Machine, Ragged, States


def random_moves(machine: Machine, states: States, role: int, rng: np.random.Generator) -> IntArray:
    """`[L]` a random legal move in each lane: by chance for `random`, uniform for the others.

    Raises:
        NoLegalMoveError: a lane is not terminal and the role has no legal move in it.
    """
    if role == machine.random_role:
        chance = machine.chance(states)
        legal = Ragged(chance.offsets, chance.moves)
        if np.any(legal.counts == 0):
            machine.legal(states, role)
        ends = np.cumsum(chance.probabilities)
        before = np.concatenate([[0.0], ends])[legal.offsets[:-1]]
        total = ends[legal.offsets[1:] - 1] - before
        at = np.searchsorted(ends, before + rng.random(len(states)) * total, side="right")
        at = np.clip(at, legal.offsets[:-1], legal.offsets[1:] - 1)
        return np.asarray(legal.values[at])
    legal = machine.legal(states, role)
    return np.asarray(legal.values[legal.offsets[:-1] + rng.integers(0, legal.counts)])


def is_legal(machine: Machine, states: States, role: int, moves: IntArray) -> BoolArray:
    """`[L]` whether each lane's move is legal for the role."""
    legal = machine.legal(states, role, allow_stuck=True)
    owner = segment_ids(legal.offsets)
    found = np.zeros(len(moves), dtype=np.bool_)
    found[owner[legal.values == moves[owner]]] = True
    return found


def executed_moves(
    machine: Machine, states: States, role: int, moves: IntArray, rng: np.random.Generator
) -> tuple[IntArray, BoolArray]:
    """What a server makes of submitted moves: illegal ones become random legal ones.

    Returns:
        `[L]` moves executed, and `[L]` whether the submitted move was legal.
    """
    legal = is_legal(machine, states, role, moves)
    if legal.all():
        return moves, legal
    bad = np.flatnonzero(~legal)
    executed = moves.copy()
    executed[bad] = random_moves(machine, states.take(bad), role, rng)
    return executed, legal
