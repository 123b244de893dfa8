"""A sampler of states alone, with larger bounds, for when a player's own has no particle left.

Entries without the paths of other roles are far fewer: many more can be held and enumerated.
"""

from __future__ import annotations

import numpy as np

from ggp.belief.bags import Bags, Segments
from ggp.belief.sampler import Finder, Sampler
from ggp.belief.samplers.hyperplay_sampler import HyperPlaySampler
from ggp.machine.base import BoolArray, IntArray, Machine

PARTICLES, EXACT, ATTEMPTS = 2_000, 100_000, 10_000_000
"""Its bounds: particles of a bag, entries of an enumerated set, lanes stepped in a search."""


class Larger(Finder):
    """A `Finder` that asks a larger sampler of states alone.

    Args:
        belief: the player's sampler, which says when to stop.
    """

    def __init__(self, machine: Machine, belief: Sampler) -> None:
        self._belief = belief
        self._sampler = HyperPlaySampler(
            machine, belief.tree, capacity=PARTICLES, exact=EXACT, max_attempts=ATTEMPTS
        )

    def helps(self, bags: Bags) -> BoolArray:
        return bags.depleted

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        sampler, belief = self._sampler, self._belief
        sampler.stops_with(belief)
        sampler.timed = belief.timed
        found = sampler.at(bags.paths, bags.role, rng)
        return found.sets.take(found.segment)

    @property
    def views(self) -> IntArray:
        return self._sampler.views

    def renumber(self, numbers: IntArray) -> None:
        self._sampler.renumber(numbers)
