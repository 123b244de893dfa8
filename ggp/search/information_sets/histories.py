"""Histories searched side by side, and how they are drawn from a bag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ggp.belief import Bags
from ggp.machine.arrays import first_seen_columns
from ggp.machine.base import FloatArray, IntArray, Machine, States
from ggp.search.information_sets.leaf_sums import merge_leaves
from ggp.search.parts import ValuedTurns


@dataclass(frozen=True)
class Histories:
    """Histories searched side by side; those of one node with equal states are merged.

    Attributes:
        states: K of them.
        nodes: `[K]` information set of each.
        masses: `[K]` probability of each.
        counts: `[K]` number of evaluations of each if the search stops there.
    """

    states: States
    nodes: IntArray
    masses: FloatArray
    counts: IntArray

    def take(self, lanes: IntArray) -> Histories:
        """Some of the histories."""
        return Histories(
            self.states.take(lanes), self.nodes[lanes], self.masses[lanes], self.counts[lanes]
        )

    def merged(self, machine: Machine) -> Histories:
        """The same histories, equal ones merged."""
        first, group = first_seen_columns([self.nodes, machine.groups(self.states)])
        counts = np.zeros(len(first), dtype=np.int64)
        np.maximum.at(counts, group, self.counts)
        masses = np.asarray(np.bincount(group, self.masses, len(first)), dtype=np.float64)
        return Histories(self.states.take(first), self.nodes[first], masses, counts)


@dataclass(frozen=True)
class ValuedLeaves:
    """Histories where the search stops, with certain values; those of one node with equal states
    are merged.

    Attributes:
        nodes, masses: as for `Histories`.
        values: `[K]` of their states.
        keys: `[K, 2]` equal for equal states.
    """

    nodes: IntArray
    masses: FloatArray
    values: FloatArray
    keys: IntArray


def leaves_of(
    valued: ValuedTurns, nodes: IntArray, masses: FloatArray, some: IntArray
) -> ValuedLeaves:
    """Some of K successors as leaves, equal ones merged.

    Args:
        nodes, masses: `[K]` information set and probability of each.
    """
    return _merged(ValuedLeaves(nodes, masses, valued.values, valued.keys), some)


def joined_leaves(parts: Sequence[ValuedLeaves]) -> ValuedLeaves:
    """The leaves of several batches, at least one, merged."""
    if len(parts) == 1:
        return parts[0]
    every = ValuedLeaves(
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([part.masses for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.keys for part in parts]),
    )
    return _merged(every, np.arange(len(every.nodes)))


def _merged(leaves: ValuedLeaves, some: IntArray) -> ValuedLeaves:
    number = len(some)
    # A power of two, as slots are found by masking the hash. Half of them stay free.
    slots = np.full(1 << (2 * number).bit_length(), -1, dtype=np.int32)
    first, masses = np.empty(number, dtype=np.int64), np.empty(number)
    merge = merge_leaves.for_steps(number)
    size = merge(some, leaves.nodes, leaves.masses, leaves.keys, slots, first, masses)
    first = first[:size]
    return ValuedLeaves(
        leaves.nodes[first], masses[:size], leaves.values[first], leaves.keys.take(first, axis=0)
    )


def drawn_from(bags: Bags, count: int, rng: np.random.Generator) -> Histories:
    """`count` draws from a bag, by weight, all at node 0.

    If the bag has no more entries than draws, each is taken, with its weight as its mass; otherwise
    those that were drawn, with the number of draws. They come in random order, so that what is left
    out when time is up is left out by chance.

    Args:
        bags: one bag, not depleted.
    """
    lanes, weights = bags.lanes_of(0), bags.weights_of(0)
    spare = count - len(lanes)
    if spare >= 0:
        wanted = np.maximum(weights * count - 1.0, 0.0)
        number = 1 + _systematic(wanted, spare, rng)
        masses = weights * count
    else:
        number = _systematic(weights, count, rng)
        masses = number.astype(np.float64)
    order = rng.permutation(np.flatnonzero(number))
    states = bags.sets.states.take(lanes[order])
    return Histories(states, np.zeros(len(order), dtype=np.int64), masses[order], number[order])


def _systematic(weights: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Number of `count` systematic draws by weight that fall on each entry."""
    total = weights.sum()
    if not count or total <= 0:
        return np.zeros(len(weights), dtype=np.int64)
    # Points at distance 1 from a random start, and weights laid end to end, `count` long in all.
    ends = np.cumsum(weights) * (count / total)
    before = np.clip(np.ceil(ends - rng.random()), 0, count).astype(np.int64)
    before[-1] = count  # despite rounding
    return np.asarray(np.diff(before, prepend=0))
