"""How other roles are believed to move: a part of every belief, and of the search on it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ggp.machine.base import FloatArray, Machine, Ragged, States


class MoveModel(Protocol):
    """How a role other than ours is believed to move.

    Its likelihood multiplies into the weights of particles, and draws what others do first in
    playouts and simulations. (What they do later is up to the `Evaluation` of unfinished states.)
    """

    def log_likelihoods(
        self, machine: Machine, states: States, role: int, moves: Ragged
    ) -> FloatArray:
        """`[M]` log of the probability of each legal move of each lane; they sum to 1 in a lane.

        Args:
            states: L lanes.
            role: who moves.
            moves: its legal moves in each lane, M in all.
        """
        ...


class UniformMoves:
    """Every legal move is equally likely (paper 004, Definition 6)."""

    def log_likelihoods(
        self, machine: Machine, states: States, role: int, moves: Ragged
    ) -> FloatArray:
        sizes = moves.counts
        return np.repeat(-np.log(np.maximum(sizes, 1)), sizes)


UNIFORM = UniformMoves()
