"""Average goals of moves, wherever in playouts they were made (MAST).

A move that often led to good goals is drawn more often in later playouts (Finnsson & Bjornsson,
AAAI 2008), and tried earlier in states in which it was not tried yet.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.weighted_playouts import MOST_SUM, WeightedPlayer

UNIT, MOST = 8, 63
"""The weight of a move that is worth as much as all of its role on average, and the greatest."""

GREED = 10.0
"""How much more often better moves are drawn: a weight grows with the exponential of this times
what the move was worth on average, from 0 to 1."""

DOUBT = 16.0
"""Playouts, worth the mean of the role, that are added to those of each move."""

KEPT = 0.5
"""Share of what is known that is kept from decision to decision."""

NEWS = 1.2
"""Growth of the number of playouts after which weights are made anew."""


class MoveAverages:
    """Averages of the moves of all roles.

    Attributes:
        credits: `[R, M, 2]` number of playouts in which a role made a move, and the sum of its
            goals.
        weights: `[R, M]` for `WeightedPlayer`, as of the last update.
        values: `[R, M]` averages from 0 to 1, as of the last update; goals beyond `goal_range` do
            not take them any further.
    """

    def __init__(self, machine: WeightedPlayer) -> None:
        shape = len(machine.roles), machine.num_moves
        self.credits: FloatArray = np.zeros((*shape, 2))
        # With hundreds of thousands of moves, weights would add up to too much.
        self._most = max(1, min(MOST, MOST_SUM // max(machine.num_moves, 1)))
        self.weights: IntArray = np.full(shape, min(UNIT, self._most), dtype=np.int64)
        self.values: FloatArray = np.full(shape, 0.5)
        self._low, self._high = machine.goal_range
        self._known = 0.0

    def fade(self) -> None:
        """Let what is known count less than what is to come."""
        self.credits *= KEPT
        self._known *= KEPT

    def update(self) -> None:
        """Make values and weights anew, if there is much news."""
        counts = self.credits[:, :, 0]
        known = float(counts.sum())
        if known <= NEWS * self._known:
            return
        self._known = known
        sums = (self.credits[:, :, 1] - self._low * counts) / (self._high - self._low)
        of_role = counts.sum(axis=1, keepdims=True)
        mean = np.clip(sums.sum(axis=1, keepdims=True) / np.maximum(of_role, 1.0), 0.0, 1.0)
        # Kernels look for the best of all actions from 0 on: less than that would be no action.
        self.values = np.clip((sums + DOUBT * mean) / (counts + DOUBT), 0.0, 1.0)
        weights = np.rint(UNIT * np.exp(GREED * (self.values - mean)))
        self.weights = np.clip(weights, 1, self._most).astype(np.int64)
        self.weights.flags.writeable = False  # so machines need to look at them only once
