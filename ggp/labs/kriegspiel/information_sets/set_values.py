"""Values of information sets, and how the states of a leaf determine the value of the leaf."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from ggp.labs.kriegspiel.information_sets.leaf_sums import sum_leaves
from ggp.machine.arrays import enlarged
from ggp.machine.base import FloatArray, IntArray

PRIOR_VALUES = 2
"""This many values of a leaf's states tell little of their spread: as many more are assumed to vary
like those of all leaves."""


class Leaf(StrEnum):
    """Value of an information set where the search stops: `MEAN` or `MIN` of its states."""

    MEAN = "mean"
    MIN = "min"


class Worth(NamedTuple):
    """Values of N nodes or actions.

    Attributes:
        values: `[N]` in goals.
        promptness: `[N]`, see `Estimates`.
        variances: `[N]` of the values, from the noise of the leaves: of the leaves that the best
            actions lead to, as if it were certain that these are the best.
    """

    values: FloatArray
    promptness: FloatArray
    variances: FloatArray

    @staticmethod
    def zeros(count: int) -> Worth:
        """All zeros: no values yet."""
        return Worth(np.zeros(count), np.zeros(count), np.zeros(count))

    def take(self, places: IntArray) -> Worth:
        """The values of some nodes."""
        return Worth(*(part[places] for part in self))

    def put(self, places: IntArray, found: Worth) -> None:
        """Set the values of some nodes, in place."""
        for part, new in zip(self, found, strict=True):
            part[places] = new

    def mean(self, groups: IntArray, weights: FloatArray, count: int) -> tuple[IntArray, Worth]:
        """Weighted means of groups.

        Args:
            groups: `[N]` numbers below `count`.
            weights: `[N]`.

        Returns:
            the groups whose weights are not all 0, increasing, and their values.
        """
        total = np.bincount(groups, weights, count)
        which = np.flatnonzero(total)
        each = [np.bincount(groups, weights * part, count)[which] for part in self[:2]]
        squares = np.bincount(groups, weights**2 * self.variances, count)[which]
        total = total[which]
        return which, Worth(each[0] / total, each[1] / total, squares / total**2)


class LeafSums:
    """Sums over the values of the states of leaves."""

    def __init__(self) -> None:
        self._mass = np.zeros(64)
        self._squares_of_mass = np.zeros(64)
        self._totals = np.zeros(64)
        self._squares = np.zeros(64)
        self._promptness = np.zeros(64)
        self._least = np.full(64, np.inf)

    def __len__(self) -> int:
        """Number of leaves that have values."""
        return int(np.count_nonzero(self._mass))

    def add(
        self,
        nodes: IntArray,
        masses: FloatArray,
        counts: IntArray,
        values: FloatArray,
        promptness: FloatArray,
    ) -> None:
        """Add the values of K states.

        Args:
            nodes, masses: `[K]` leaf and probability of each.
            counts: `[K]` number of evaluations of each.
            values, promptness: their results, state by state.
        """
        if not len(nodes):
            return
        self._reserve(1 + int(nodes.max()))
        size = len(self._mass)
        if counts.max() == 1:
            sums = np.zeros((5, size))
            adding = sum_leaves.for_steps(len(nodes))
            adding(nodes, masses, values, promptness, sums, self._least)
        else:
            lanes = np.repeat(np.arange(len(nodes)), counts)
            unit, total = masses / counts, np.bincount(lanes, values, len(nodes))
            sums = np.stack(
                [
                    np.bincount(nodes, masses, size),
                    np.bincount(nodes, masses * unit, size),
                    np.bincount(nodes, unit * total, size),
                    np.bincount(nodes[lanes], unit[lanes] * values**2, size),
                    np.bincount(nodes[lanes], unit[lanes] * promptness, size),
                ]
            )
            np.minimum.at(self._least, nodes, total / counts)
        self._mass += sums[0]
        self._squares_of_mass += sums[1]
        self._totals += sums[2]
        self._squares += sums[3]
        self._promptness += sums[4]

    def worth(self, kind: Leaf) -> tuple[IntArray, Worth]:
        """The leaves that have values, and these values; variances of means only."""
        nodes = np.flatnonzero(self._mass)
        mass = self._mass[nodes]
        means = self._totals[nodes] / mass
        promptness = self._promptness[nodes] / mass
        if kind is Leaf.MIN:
            return nodes, Worth(self._least[nodes], promptness, np.full(len(nodes), np.nan))
        spread = np.maximum(self._squares[nodes] - mass * means**2, 0.0)
        unit = self._squares_of_mass[nodes] / mass
        freedom = np.maximum(mass - unit, 0.0)
        total = float(freedom.sum())
        usual = float(spread.sum()) / total if total > 0 else np.nan
        spread += PRIOR_VALUES * unit * usual
        variances = spread / (freedom + PRIOR_VALUES * unit) * unit / mass
        return nodes, Worth(means, promptness, variances)

    def _reserve(self, size: int) -> None:
        self._mass = enlarged(self._mass, size, 0)
        self._squares_of_mass = enlarged(self._squares_of_mass, size, 0)
        self._totals = enlarged(self._totals, size, 0)
        self._squares = enlarged(self._squares, size, 0)
        self._promptness = enlarged(self._promptness, size, 0)
        least = np.full(len(self._mass), np.inf)
        least[: len(self._least)] = self._least
        self._least = least
