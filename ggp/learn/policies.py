"""Policies that were learnt: probabilities of moves by what a role knows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ggp.env.exact import Sets
from ggp.env.kernels import I32, U64
from ggp.learn.features import Features, of_paths
from ggp.learn.net_kernels import F32
from ggp.learn.nets import Net
from ggp.learn.policy_kernels import probabilities
from ggp.machine.base import FloatArray
from ggp.machine.propnet.play.kernels.packed import rows_of_bits, words_for


class LearntPolicy:
    """The policy of one role.

    Args:
        features: what it reads.
        hidden: units of its hidden layers.
        flat: `[N]` float32, the weights.
    """

    def __init__(self, features: Features, hidden: Sequence[int], flat: F32) -> None:
        self.net = Net(features, hidden, features.num_moves, flat)

    @property
    def features(self) -> Features:
        """The bits that it reads."""
        return self.net.features

    def at(self, rows: U64, temperature: float = 1.0) -> F32:
        """`[N, A]` probabilities of moves, 0 for what is not legal.

        Args:
            rows: `[N, W]` of bits, see `Reader.read`.
            temperature: below 1 makes likely moves likelier; above 0.
        """
        # Weights from a file may be so large that sums overflow: even then moves can be drawn.
        with np.errstate(over="ignore", invalid="ignore"):
            logits = self.net(rows)
            logits /= np.float32(temperature)
        np.nan_to_num(logits, copy=False)
        probabilities(rows, self.features.mask_words, logits)
        return logits

    def at_paths(
        self, mask_bits: U64, paths: I32, turns: NDArray[np.int32], temperature: float = 1.0
    ) -> F32:
        """`[N, A]` probabilities of moves after whole paths, see `ggp.learn.features.of_paths`."""
        return self.at(of_paths(self.features, mask_bits, paths, turns), temperature)

    def at_sets(self, sets: Sets) -> FloatArray:
        """`[S, A]` probabilities of moves at information sets, as `ExactGame.worth` takes them."""
        rows, bits = np.nonzero(sets.masks)
        num_words = words_for(sets.masks.shape[1])
        masks = rows_of_bits(rows, bits, len(sets.masks), num_words)
        return self.at_paths(masks, sets.paths, sets.turns).astype(np.float64)
