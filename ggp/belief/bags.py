"""Bags of particles for many incomplete paths of one role at once (paper 004, Definition 6).

A bag is exact where the information set is small enough to enumerate, and a HyperPlay sample
of it otherwise. Exact sets are made once for each incomplete path and shared by all bags of
that path; sampled bags are drawn anew for every bag.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ggp.belief.paths import PathTree
from ggp.belief.segments import Segments
from ggp.errors import BeliefDepletedError
from ggp.machine.arrays import first_seen
from ggp.machine.base import BoolArray, FloatArray, IntArray, States


@dataclass(frozen=True)
class Bags:
    """The bags of B incomplete paths of one role.

    A bag that happens to hold its whole information set is exact, even if nobody asked for
    enumeration.

    Attributes:
        role: the role that the paths belong to.
        paths: `[B]` tree nodes of the incomplete paths.
        segment: `[B]` index of each bag's set among the S sets; exact sets are shared.
        sets: the entries.
        guessed: number of entries that need not agree with their paths: states that may lie outside
            the information set.
    """

    role: int
    paths: IntArray
    segment: IntArray
    sets: Segments
    guessed: int = 0

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def sound(self) -> bool:
        """Whether every entry agrees with its path: no state is outside the information set."""
        return self.guessed == 0

    @property
    def depleted(self) -> BoolArray:
        """`[B]` whether each bag has no entry."""
        return np.asarray(self.sets.counts[self.segment] == 0)

    @property
    def exact(self) -> BoolArray:
        """`[B]` whether each bag is a whole information set."""
        return self.sets.exact[self.segment]

    @property
    def nodes(self) -> IntArray:
        """Tree nodes that the bags refer to: their paths, and the views of their entries."""
        views = self.sets.views
        return self.paths if views is None else np.concatenate([self.paths, views.ravel()])

    def states_of(self, bag: int) -> States:
        """The states of one bag's entries."""
        return self.sets.states.take(self.lanes_of(bag))

    def weights_of(self, bag: int) -> FloatArray:
        """The weights of one bag's entries; they sum to 1."""
        weights = np.exp(self.sets.log_weights[self.lanes_of(bag)])
        return np.asarray(weights / weights.sum())

    def draw(self, bag: int, count: int, rng: np.random.Generator) -> IntArray:
        """`[count]` lanes of one bag's entries, drawn by weight."""
        weights = self.weights_of(bag)
        return self.lanes_of(bag)[rng.choice(len(weights), size=count, p=weights)]

    def select(self, bags: IntArray) -> Bags:
        """The bags with these indices, in this order."""
        segment = self.segment[bags]
        first, group = first_seen(segment)
        return replace(
            self, paths=self.paths[bags], segment=group, sets=self.sets.take(segment[first])
        )

    def renumbered(self, numbers: IntArray) -> Bags:
        """The same bags after `PathTree.prune`."""
        return replace(self, paths=numbers[self.paths], sets=self.sets.renumbered(numbers))

    def lanes_of(self, bag: int) -> IntArray:
        """The lanes of one bag's entries, as indices into `sets.states`."""
        s = self.segment[bag]
        return np.arange(self.sets.offsets[s], self.sets.offsets[s + 1])


def require_particles(bags: Bags, tree: PathTree, attempts: int) -> None:
    """Raise `BeliefDepletedError` if the first bag has no entry."""
    if bags.depleted[0]:
        path = int(bags.paths[0])
        raise BeliefDepletedError(tree.texts(path), attempts, exhausted=bool(bags.exact[0]))
