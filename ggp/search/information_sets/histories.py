"""Histories that are gone through side by side, and how they are drawn from a bag."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ggp.belief import Bags
from ggp.machine.arrays import first_seen_columns
from ggp.machine.base import FloatArray, IntArray, Machine, States


@dataclass(frozen=True)
class Histories:
    """Histories that go on side by side; those of one node with equal states are one.

    Attributes:
        states: K of them.
        nodes: `[K]` information set of each.
        masses: `[K]` probability of each.
        counts: `[K]` how often each is valued where the search stops there.
    """

    states: States
    nodes: IntArray
    masses: FloatArray
    counts: IntArray

    def take(self, lanes: IntArray) -> Histories:
        """Some of them."""
        return Histories(
            self.states.take(lanes), self.nodes[lanes], self.masses[lanes], self.counts[lanes]
        )

    def merged(self, machine: Machine) -> Histories:
        """The same, equal ones being one."""
        first, group = first_seen_columns([self.nodes, machine.groups(self.states)])
        counts = np.zeros(len(first), dtype=np.int64)
        np.maximum.at(counts, group, self.counts)
        masses = np.asarray(np.bincount(group, self.masses, len(first)), dtype=np.float64)
        return Histories(self.states.take(first), self.nodes[first], masses, counts)


def drawn_from(bags: Bags, count: int, rng: np.random.Generator) -> Histories:
    """So many draws from a bag, by weight, all at node 0.

    If there are no more entries than draws, each is there, with its weight as its mass; else those
    that were drawn, with the number of draws. They come in random order, so that what is left out
    when the time is up is left out by chance.

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
    """How many of `count` draws by weight fall on each."""
    total = weights.sum()
    if not count or total <= 0:
        return np.zeros(len(weights), dtype=np.int64)
    # Points at distance 1 from a random start, and weights laid end to end, `count` long in all.
    ends = np.cumsum(weights) * (count / total)
    before = np.clip(np.ceil(ends - rng.random()), 0, count).astype(np.int64)
    before[-1] = count  # whatever rounding says
    return np.asarray(np.diff(before, prepend=0))
