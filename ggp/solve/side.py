"""The information sets of one player in some subgames, and passes up and down through them.

A strategy is `[S]` the probability of each sequence's last move at its information set (1 for
empty sequences); a *plan* is `[S]` the probability that the player makes all moves of a sequence.
All passes go through the levels of the sets, and each level is a few array operations. Many
strategies `[..., S]` are passed through together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ggp.machine.arrays import take_segments
from ggp.machine.base import FloatArray, IntArray
from ggp.solve.trees.tree import RoleSets

Reduce = Callable[[FloatArray, IntArray, slice], FloatArray]
"""Gives the values of the sets of a level, from the gains of its sequences, the first one of each
set, and the slice of these sequences."""


class Side:
    """The information sets of one player in a forest of G subgames, sorted by level.

    Attributes:
        sets: `[I]` their numbers in the tree.
        sequences: `[S]` the numbers of the sequences in the tree.
        parents: `[I]` sequence before each set.
        offsets: `[I + 1]` first sequence of each set.
    """

    def __init__(self, sets: RoleSets, subgames: IntArray, chosen: IntArray) -> None:
        chosen = chosen[np.lexsort((sets.parents[chosen], sets.levels[chosen]))]
        _, places = take_segments(sets.offsets - sets.offsets[0], chosen)
        self.sets = chosen
        self.sequences = np.concatenate([subgames, places + sets.offsets[0]])
        counts = sets.offsets[chosen + 1] - sets.offsets[chosen]
        self.offsets = len(subgames) + np.concatenate([[0], np.cumsum(counts)])
        self.counts = counts
        self.parents = self.local(sets.parents[chosen])
        self.num_roots = len(subgames)
        ends = np.cumsum(np.bincount(sets.levels[chosen]))
        self._levels = [self._level(start, end) for start, end in _runs(ends)]

    def local(self, sequences: IntArray) -> IntArray:
        """The forest's numbers of sequences of the tree, which must be in it."""
        order = np.argsort(self.sequences)
        return np.asarray(order[np.searchsorted(self.sequences, sequences, sorter=order)])

    @property
    def num_sequences(self) -> int:
        return len(self.sequences)

    @property
    def owners(self) -> IntArray:
        """`[S]` the set of each sequence, -1 for empty ones."""
        empty = np.full(self.num_roots, -1)
        return np.concatenate([empty, np.repeat(np.arange(len(self.sets)), self.counts)])

    def uniform(self) -> FloatArray:
        """The strategy that makes all moves of a set equally often."""
        return np.concatenate([np.ones(self.num_roots), np.repeat(1 / self.counts, self.counts)])

    def plan(self, strategy: FloatArray) -> FloatArray:
        """`[..., S]` the plan of a strategy."""
        plan = strategy.copy()
        for level in self._levels:
            before = plan[..., level.parents]
            plan[..., level.sequences] *= np.repeat(before, level.counts, axis=-1)
        return plan

    def strategy(self, plan: FloatArray) -> FloatArray:
        """A strategy with a plan that need not sum up exactly; uniform at sets never reached."""
        return self.completed(plan, self.uniform())

    def completed(self, plan: FloatArray, otherwise: FloatArray) -> FloatArray:
        """The strategy of a plan, with another strategy at sets that are never reached."""
        strategy = otherwise.copy()
        if len(self.sets):
            body = np.maximum(plan[self.num_roots :], 0)
            sums = np.add.reduceat(body, self.offsets[:-1] - self.num_roots)
            reached = np.repeat(sums > 0, self.counts)
            shares = body / np.repeat(np.where(sums > 0, sums, 1), self.counts)
            strategy[self.num_roots :] = np.where(reached, shares, strategy[self.num_roots :])
        return strategy

    def back_up(self, gains: FloatArray, reduce: Reduce) -> FloatArray:
        """`[..., S]` value of each sequence with all that follows it.

        Args:
            gains: `[..., S]` values of the leaves right after each sequence; modified in place.
            reduce: gives the value of a set from those of its sequences.
        """
        for level in reversed(self._levels):
            worth = reduce(gains[..., level.sequences], level.first, level.sequences)
            gains[..., level.few] += np.add.reduceat(worth, level.runs, axis=-1)
        return gains

    def best(self, gains: FloatArray) -> FloatArray:
        """`[G]` the best value of each subgame; `gains` become those of the best response."""
        return self.back_up(gains, _greatest)[: self.num_roots]

    def best_response(self, gains: FloatArray) -> FloatArray:
        """The pure strategy of greatest value, of equal moves the first; `gains` as for `best`."""
        gains = self.back_up(gains.copy(), _greatest)
        strategy = np.zeros_like(gains)
        strategy[..., : self.num_roots] = 1
        for level in self._levels:
            body = gains[..., level.sequences]
            best = _greatest(body, level.first, level.sequences)
            size = body.shape[-1]
            is_best = body == np.repeat(best, level.counts, axis=-1)
            places = np.where(is_best, np.arange(size), size)
            chosen = level.sequences.start + np.minimum.reduceat(places, level.first, axis=-1)
            np.put_along_axis(strategy, chosen, 1, axis=-1)
        return strategy

    def _level(self, start: int, end: int) -> _Level:
        first = self.offsets[start:end]
        sequences = slice(int(first[0]), int(self.offsets[end]))
        parents = self.parents[start:end]
        runs = np.flatnonzero(np.diff(parents, prepend=-1))
        return _Level(
            sequences, first - first[0], self.counts[start:end], parents, parents[runs], runs
        )


@dataclass(frozen=True, slots=True)
class _Level:
    """Sets with the same number of own sets before them, sorted by parent.

    Attributes:
        sequences: their sequences.
        first: first sequence of each set, counted from the level's first.
        counts: number of moves of each set.
        parents: sequence before each set.
        few, runs: distinct parents, and the first set of each.
    """

    sequences: slice
    first: IntArray
    counts: IntArray
    parents: IntArray
    few: IntArray
    runs: IntArray


def _greatest(gains: FloatArray, first: IntArray, sequences: slice) -> FloatArray:
    return np.asarray(np.maximum.reduceat(gains, first, axis=-1))


def _runs(ends: IntArray) -> list[tuple[int, int]]:
    return list(pairwise([0, *ends.tolist()]))
