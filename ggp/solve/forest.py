"""Evaluates strategies on subgames of a tree, many subgames at once.

`solver` and `exploitation` pass strategies, or a function that finds them, to `walk`. It goes
through the forests of a tree from the last to the first, and backs up their values.

A forest is a set of subgames whose continuations are known: each leaf has a value for each player.
Subgames, sets and sequences are numbered in the forest; `Side.sets` and `Side.sequences` give their
numbers in the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ggp.machine.arrays import first_seen, sums_by, take_segments
from ggp.machine.base import FloatArray, IntArray
from ggp.solve.tree import GameTree, RoleSets

Strategies = Sequence[FloatArray]
"""Strategies or plans, one for each player. A player may have a batch, `[..., S]`; then results
have the same leading axes."""

LEAVES_AT_ONCE = 2_000
"""Number of leaves up to which subgames share a linear program: the time for a program grows faster
than its size."""


@dataclass(frozen=True)
class Forest:
    """G subgames with known continuations.

    Attributes:
        subgames: `[G]` their numbers in the tree.
        sides: the sides of the P players.
        sequences: `[K, P]` sequences of leaves; no two leaves have the same.
        roots: `[K]` subgame of each leaf.
        worth: `[K, P]` values of leaves for each player, times the probability that chance
            plays its part.
        best: `[K, P]` the same if the player plays a best response after the leaf.
    """

    subgames: IntArray
    sides: tuple[Side, ...]
    sequences: IntArray
    roots: IntArray
    worth: FloatArray
    best: FloatArray

    def local(self, strategies: Strategies) -> list[FloatArray]:
        """Strategies of the tree, with numbers of the forest."""
        return [s[..., side.sequences] for s, side in zip(strategies, self.sides, strict=True)]

    def best_response(self, strategies: Strategies, player: int) -> FloatArray:
        """`[..., S]` a player's pure best response to the others' strategies in the forest."""
        gains = self.gains(player, self.plans(strategies), self.best[:, player])
        return self.sides[player].best_response(gains)

    def plans(self, strategies: Strategies) -> list[FloatArray]:
        """The plan `[..., S]` of each player's strategy."""
        return [side.plan(strategy) for side, strategy in zip(self.sides, strategies, strict=True)]

    def gains(self, player: int, plans: Strategies, worth: FloatArray) -> FloatArray:
        """`[..., S]` counterfactual values to a player of the leaves right after its sequences.

        Args:
            plans: plans of all players; the player's own is not used.
            worth: `[K]` value of each leaf.
        """
        for opponent, plan in enumerate(plans):
            if opponent != player:
                worth = worth * plan[..., self.sequences[:, opponent]]
        return sums_by(self.sequences[:, player], worth, self.sides[player].num_sequences)

    def values(self, plans: Strategies) -> FloatArray:
        """`[..., G, P]` values of the subgames for each player."""
        reach = np.ones(len(self.sequences))
        for player, plan in enumerate(plans):
            reach = reach * plan[..., self.sequences[:, player]]
        size = len(self.subgames)
        return np.stack([sums_by(self.roots, reach * w, size) for w in self.worth.T], axis=-1)

    def best_values(self, plans: Strategies) -> FloatArray:
        """`[G, P]` values of the subgames for each player with a best response to the others."""
        return np.stack(
            [
                side.best(self.gains(player, plans, self.best[:, player]))
                for player, side in enumerate(self.sides)
            ],
            axis=1,
        )


@dataclass(frozen=True)
class Walked:
    """An evaluated profile of strategies.

    Attributes:
        strategies: `[S]` strategy of each player, with numbers of the tree.
        values: `[P]` value of the game for each player.
        best: `[P]` its value with a best response to the others' strategies.
    """

    strategies: tuple[FloatArray, ...]
    values: FloatArray
    best: FloatArray

    @property
    def gains(self) -> FloatArray:
        """`[P]` gain of each player by deviating alone."""
        return np.maximum(self.best - self.values, 0.0)

    @property
    def nash_conv(self) -> float:
        """The sum of all players' gains by deviating, each alone; 0 in an equilibrium."""
        return float(self.gains.sum())


def walk(tree: GameTree, play: Callable[[Forest], Strategies]) -> Walked:
    """Find strategies for all subgames, the last first, and back up their values.

    Args:
        play: gives strategies of all players for a forest whose continuations have values. Either
            at most one player has a choice in each of its subgames, or several in each.
    """
    num_subgames, num_players = tree.num_subgames, len(tree.players)
    values, best = np.zeros((2, num_subgames, num_players))
    strategies = [np.ones(int(sets.offsets[-1])) for sets in tree.sets]
    kinds = _kinds(tree)
    leaves_of = _Buckets(kinds[tree.leaves.owners])
    sets_of = [_Buckets(kinds[sets.owners]) for sets in tree.sets]
    subgames_of = _Buckets(kinds)
    weights = tree.leaves.weights[:, None]
    for kind in np.unique(kinds)[::-1].tolist():
        subgames, leaves = subgames_of[kind], leaves_of[kind]
        goals, next_subgame = tree.leaves.goals[leaves], tree.leaves.subgames[leaves][:, None]
        forest = _forest(
            subgames,
            [Side(s, subgames, b[kind]) for s, b in zip(tree.sets, sets_of, strict=True)],
            tree.leaves.owners[leaves],
            tree.leaves.sequences[leaves],
            weights[leaves] * np.where(next_subgame < 0, goals, values[next_subgame[:, 0]]),
            weights[leaves] * np.where(next_subgame < 0, goals, best[next_subgame[:, 0]]),
        )
        local = play(forest)
        for strategy_of_tree, side, strategy in zip(strategies, forest.sides, local, strict=True):
            strategy_of_tree[side.sequences] = strategy
        plans = forest.plans(local)
        values[subgames], best[subgames] = forest.values(plans), forest.best_values(plans)
    return Walked(tuple(strategies), values[0], best[0])


def num_parts(tree: GameTree, *, several: bool = False) -> int:
    """Number of forests that `walk` makes of a tree; `several`: where several players choose."""
    mask = tree.actors.sum(axis=1) > 1 if several else slice(None)
    return len(np.unique(_kinds(tree)[mask]))


def _kinds(tree: GameTree) -> IntArray:
    """`[G]` equal numbers for subgames of one forest; greater numbers come later in the game."""
    several = tree.actors.sum(axis=1) > 1
    sizes = np.bincount(tree.leaves.owners, minlength=len(several))
    sizes = np.where(several & tree.is_constant_sum, sizes, 0)
    keys = 2 * tree.root_turns + several
    order = np.argsort(keys, kind="stable")
    parts = np.cumsum(sizes[order]) // LEAVES_AT_ONCE
    kinds = np.zeros(len(keys), dtype=np.int64)
    kinds[order] = np.cumsum(
        (np.diff(keys[order], prepend=0) != 0) | (np.diff(parts, prepend=0) != 0)
    )
    return kinds


def evaluate(tree: GameTree, strategies: Strategies) -> Walked:
    """Evaluate strategies that are numbered as in the tree."""
    return walk(tree, lambda forest: forest.local(strategies))


def _forest(
    subgames: IntArray,
    sides: list[Side],
    owners: IntArray,
    sequences: IntArray,
    worth: FloatArray,
    best: FloatArray,
) -> Forest:
    """A forest whose leaves with equal sequences are merged."""
    local = np.stack([s.local(c) for s, c in zip(sides, sequences.T, strict=True)], axis=1)
    first, group = first_seen(local)

    def summed(parts: FloatArray) -> FloatArray:
        return np.stack([np.bincount(group, part, len(first)) for part in parts.T], axis=1)

    roots = np.searchsorted(subgames, owners[first])
    return Forest(subgames, tuple(sides), local[first], roots, summed(worth), summed(best))


class _Buckets:
    """Indices by key, each bucket in increasing order."""

    def __init__(self, keys: IntArray) -> None:
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def __getitem__(self, key: int) -> IntArray:
        start, end = np.searchsorted(self._keys, [key, key + 1])
        return self._order[start:end]


# ------------------------------------------------------------------------
# The information sets of one player in some subgames, and passes up and down through them.
#
# A strategy is `[S]` the probability of each sequence's last move at its information set (1 for
# empty sequences); a *plan* is `[S]` the probability that the player makes all moves of a sequence
# (its realization plan, in the sequence form). Each pass goes level by level, with a few array
# operations for each level, for many strategies `[..., S]` at once.

Reduce = Callable[[FloatArray, IntArray, slice], FloatArray]
"""Returns the values of a level's sets; its arguments are the gains of the level's sequences, the
first of these of each set, and their slice."""


class Side:
    """The information sets of one player in a forest of G subgames, sorted by level.

    Attributes:
        sets: `[I]` their numbers in the tree.
        sequences: `[S]` the numbers of the sequences in the tree.
        parents: `[I]` sequence before each set.
        offsets: `[I + 1]` first sequence of each set.
    """

    def __init__(self, sets: RoleSets, subgames: IntArray, set_ids: IntArray) -> None:
        set_ids = set_ids[np.lexsort((sets.parents[set_ids], sets.levels[set_ids]))]
        _, indices = take_segments(sets.offsets - sets.offsets[0], set_ids)
        self.sets = set_ids
        self.sequences = np.concatenate([subgames, indices + sets.offsets[0]])
        counts = sets.offsets[set_ids + 1] - sets.offsets[set_ids]
        self.offsets = len(subgames) + np.concatenate([[0], np.cumsum(counts)])
        self.counts = counts
        self.parents = self.local(sets.parents[set_ids])
        self.num_roots = len(subgames)
        ends = np.cumsum(np.bincount(sets.levels[set_ids]))
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
        """The strategy that makes all moves of a set with equal probability."""
        return np.concatenate([np.ones(self.num_roots), np.repeat(1 / self.counts, self.counts)])

    def plan(self, strategy: FloatArray) -> FloatArray:
        """`[..., S]` the plan of a strategy."""
        plan = strategy.copy()
        for level in self._levels:
            parent_plan = plan[..., level.parents]
            plan[..., level.sequences] *= np.repeat(parent_plan, level.counts, axis=-1)
        return plan

    def strategy(self, plan: FloatArray) -> FloatArray:
        """The strategy of a plan, whose sums may be inexact; uniform at sets it never reaches."""
        return self.completed(plan, self.uniform())

    def completed(self, plan: FloatArray, otherwise: FloatArray) -> FloatArray:
        """The strategy of a plan, with another strategy at sets that it never reaches."""
        strategy = otherwise.copy()
        if len(self.sets):
            body = np.maximum(plan[self.num_roots :], 0)
            sums = np.add.reduceat(body, self.offsets[:-1] - self.num_roots)
            reached = np.repeat(sums > 0, self.counts)
            shares = body / np.repeat(np.where(sums > 0, sums, 1), self.counts)
            strategy[self.num_roots :] = np.where(reached, shares, strategy[self.num_roots :])
        return strategy

    def back_up(self, gains: FloatArray, reduce: Reduce) -> FloatArray:
        """`[..., S]` value of each sequence with all its continuations.

        Args:
            gains: `[..., S]` values of the leaves right after each sequence; modified in place.
            reduce: gives the value of a set from those of its sequences.
        """
        for level in reversed(self._levels):
            worth = reduce(gains[..., level.sequences], level.first, level.sequences)
            gains[..., level.distinct_parents] += np.add.reduceat(worth, level.runs, axis=-1)
        return gains

    def best(self, gains: FloatArray) -> FloatArray:
        """`[G]` best value of each subgame; modifies `gains` as `back_up` does."""
        return self.back_up(gains, _greatest)[: self.num_roots]

    def best_response(self, gains: FloatArray) -> FloatArray:
        """The pure strategy of greatest value; of equal moves the first. `gains` as for `best`."""
        gains = self.back_up(gains.copy(), _greatest)
        strategy = np.zeros_like(gains)
        strategy[..., : self.num_roots] = 1
        for level in self._levels:
            body = gains[..., level.sequences]
            best = _greatest(body, level.first, level.sequences)
            size = body.shape[-1]
            is_best = body == np.repeat(best, level.counts, axis=-1)
            indices = np.where(is_best, np.arange(size), size)
            best_moves = level.sequences.start + np.minimum.reduceat(indices, level.first, axis=-1)
            np.put_along_axis(strategy, best_moves, 1, axis=-1)
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
        distinct_parents, runs: distinct parents, and the first set of each.
    """

    sequences: slice
    first: IntArray
    counts: IntArray
    parents: IntArray
    distinct_parents: IntArray
    runs: IntArray


def _greatest(gains: FloatArray, first: IntArray, sequences: slice) -> FloatArray:
    return np.asarray(np.maximum.reduceat(gains, first, axis=-1))


def _runs(ends: IntArray) -> list[tuple[int, int]]:
    return list(pairwise([0, *ends.tolist()]))
