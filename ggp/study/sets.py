"""Enumerates information sets that are small enough."""

from __future__ import annotations

import numpy as np

from ggp.belief import Bags, PathTree
from ggp.belief.finder import Setting
from ggp.belief.finding.exact import ExactSets
from ggp.machine.base import IntArray, Machine


class KnownSets:
    """The information sets of all roles of a machine, as far as they are small.

    Args:
        tree: numbers the incomplete paths.
        most_states: size of the largest set that is enumerated; sets after a larger one are not,
            either.
    """

    def __init__(self, machine: Machine, tree: PathTree, most_states: int) -> None:
        self.machine, self.tree = machine, tree
        self._exact = ExactSets(Setting(machine, tree, capacity=0, max_attempts=0), most_states)

    def find(self, role: int, paths: IntArray) -> tuple[IntArray, Bags | None]:
        """The sets of `[B]` paths of equal length.

        Returns:
            the indices of the paths whose sets are known, increasing, and these sets; None if there
            are none.
        """
        self._exact.trim()
        self._exact.enumerate_with_beginnings(role, paths)
        known = np.flatnonzero(self._exact.holds(paths))
        if not len(known):
            return known, None
        sets = self._exact.get(paths[known])
        return known, Bags(role, paths[known], np.arange(len(known)), sets)
