"""Sampling by random histories (papers 001 and 002), from scratch every turn.

The common parts of such samplers, and AOS: boards that agree with all observations. LOS is in
`last_observation`; samplers that remember boards are in `pool_samplers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.finder import Setting
from ggp.belief.segments import Segments, join
from ggp.belief.turns.walks import WalkEvidence, united, walks
from ggp.machine.base import IntArray

MOST_STEPPED = 100_000
"""Lanes stepped in search of boards for one bag."""


class ObservationSampler(Setting, ABC):
    """The common parts of these samplers; see `Sampler`. None of their bags is exact."""

    usual_attempts = MOST_STEPPED
    enumerates = False

    @property
    def sound(self) -> bool:
        """Whether every entry agrees with its path."""
        return True

    def start(self, role: int, count: int = 1) -> Bags:
        """`count` bags at the start of the game."""
        paths = np.full(count, role, dtype=np.int64)
        return Bags(role, paths, np.arange(count), self.beginning(count))

    def at(self, paths: IntArray, role: int, rng: np.random.Generator) -> Bags:
        """The bags of these incomplete paths, which must be of the same length."""
        return self._bags(role, paths, [self._found(role, int(path), rng) for path in paths])

    def advance(
        self,
        bags: Bags,
        moves: IntArray,
        percepts: IntArray,
        rng: np.random.Generator,
        refused: IntArray | None = None,
    ) -> Bags:
        """The bags one turn later; those without boards have no entries."""
        paths = self.tree.extend(bags.paths, moves, percepts, refused)
        return self.at(paths, bags.role, rng)

    @abstractmethod
    def grown(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        """One bag with what a new sample of `size` boards adds, if anything."""

    @abstractmethod
    def _found(self, role: int, path: int, rng: np.random.Generator) -> Segments:
        """The boards for a path."""

    def _num_guessed(self, sets: Segments) -> int:
        """Number of entries in the sets made last that need not agree with their paths."""
        return 0

    def _bags(self, role: int, paths: IntArray, sets: list[Segments]) -> Bags:
        joined = join(self.machine, sets)
        return Bags(role, paths, np.arange(len(paths)), joined, self._num_guessed(joined))


class HistorySampler(ObservationSampler):
    """Boards of random histories, made anew for every bag."""

    def grown(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        if self.tree.depth(int(bags.paths[0])) == 0:
            return bags
        more = self._more(bags.role, int(bags.paths[0]), size, rng)
        if not len(more.states):
            return bags
        both = united(self.machine, [bags.sets.take(bags.segment), more])
        return self._bags(bags.role, bags.paths, [both.thinned(max(self.room, size), rng)])

    def _found(self, role: int, path: int, rng: np.random.Generator) -> Segments:
        return self._more(role, path, self.capacity, rng)

    @abstractmethod
    def _more(self, role: int, path: int, wanted: int, rng: np.random.Generator) -> Segments:
        """New boards for a path, `wanted` of them if so many are found."""


class AllObservations(HistorySampler):
    """AOS: random histories, kept if all observations agree."""

    @property
    def views(self) -> IntArray:
        """Nodes that are referred to besides those of bags."""
        return np.zeros(0, dtype=np.int64)

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""

    def _more(self, role: int, path: int, wanted: int, rng: np.random.Generator) -> Segments:
        evidence = WalkEvidence(role, path, last_only=False)
        return walks(self, evidence, wanted, self._max_attempts, rng)
