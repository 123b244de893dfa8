"""Last resorts: finders for a player whose sampler has no particle left.

Both get an empty bag and return states for it. `Larger` asks a sampler with larger bounds, whose
entries are states without the paths of other roles. There are far fewer distinct entries of this
kind, so it can enumerate and hold many more of them. `DrawnBoards` draws random boards that agree
with the last observation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ggp.belief.bags import Bags, Segments
from ggp.belief.sampler import Finder, Sampler
from ggp.belief.samplers.board_maker import BoardMaker
from ggp.belief.samplers.hyperplay_sampler import HyperPlaySampler
from ggp.belief.samplers.last_observation import OWN_PARTICLES, LastObservation
from ggp.machine.base import BoolArray, IntArray, Machine

# ------------------------------------------------------------------------
# Boards that agree with the last observation.
#
# In long games with few observations, such as kriegspiel, all particles may be eliminated before
# another path is found. The file of a game's boards may say how to draw them at random
# (`ggp.belief.samplers.board_maker`). Then a player draws boards that agree with the last
# observation, and follows their successors as long as these agree with later percepts. Such states
# may be impossible, so decisions report their number (`Decision.guessed`).

CAPACITY = 1_000
"""Greatest number of states that are followed."""

DRAWN = 200
"""Number of boards in one draw."""

MAX_STEPPED = 5_000
"""Greatest number of lanes stepped in search of other states once no drawn board is left."""


class DrawnBoards(Finder):
    """A `Finder` that draws boards. It follows one match of one role, and needs no particles.

    Args:
        belief: the player's sampler, which says when to stop.
        role: the role whose match it follows.
        rng: chooses which particles to remember.
        maker: draws boards.
    """

    is_sound = False

    def __init__(
        self,
        machine: Machine,
        belief: Sampler,
        role: int,
        rng: np.random.Generator,
        maker: BoardMaker,
    ) -> None:
        self._belief, self._role, self._rng = belief, role, rng
        self._last = LastObservation(machine, belief.tree, capacity=DRAWN, maker=maker, walk=False)
        self._follower = HyperPlaySampler(
            machine, belief.tree, capacity=CAPACITY, exact=0, max_attempts=MAX_STEPPED
        )
        self._bag: Bags | None = None

    def helps(self, bags: Bags) -> BoolArray:
        return bags.depleted

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        for sampler in (self._last, self._follower):
            sampler.stops_with(self._belief)
        bag = self._follow(bags.paths, rng)
        if bag is None:
            bag = self._last.at(bags.paths, bags.role, rng)
        self._bag = None if bag.depleted[0] else bag
        return bag.sets.take(bag.segment)

    def learn(self, path: int, sets: Segments) -> None:
        """Remember particles that agree with the whole path: drawn boards are no longer needed."""
        self._remember(np.array([path]), sets, 0)
        self._bag = None

    @property
    def views(self) -> IntArray:
        nodes = [] if self._bag is None else [self._bag.nodes]
        return np.concatenate([self._last.views, self._follower.views, *nodes])

    def renumber(self, numbers: IntArray) -> None:
        self._last.renumber(numbers)
        self._follower.renumber(numbers)
        if self._bag is not None:
            self._bag = self._bag.renumbered(numbers)

    def _follow(self, paths: IntArray, rng: np.random.Generator) -> Bags | None:
        """The boards of this turn, or successors of those of the last turn; None without any."""
        tree, bag = self._belief.tree, self._bag
        if bag is None or (bag.paths == paths).all():
            return bag
        if (bag.paths != tree.parents(paths)).any():
            return None
        move, percepts, refused = tree.last_turns(paths).T
        successors = self._follower.advance(bag, move, percepts, rng, refused)
        if successors.depleted[0]:
            return None
        self._remember(paths, successors.sets.take(successors.segment), len(successors.sets.states))
        return successors

    def _remember(self, paths: IntArray, sets: Segments, guessed: int) -> None:
        """Remember a few states, which tell later draws where the role's own pieces are."""
        samples = replace(sets.thinned(OWN_PARTICLES, self._rng), views=None)
        self._last.learn(Bags(self._role, paths, np.zeros(1, dtype=np.int64), samples, guessed))


# ------------------------------------------------------------------------

PARTICLES, EXACT, ATTEMPTS = 2_000, 100_000, 10_000_000
"""The bounds of `Larger`: particles of a bag, entries of an enumerated set, lanes stepped in a
search."""


class Larger(Finder):
    """A `Finder` that asks a sampler with larger bounds, whose entries are states without paths.

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
        bags_found = sampler.at(bags.paths, bags.role, rng)
        return bags_found.sets.take(bags_found.segment)

    @property
    def views(self) -> IntArray:
        return self._sampler.views

    def renumber(self, numbers: IntArray) -> None:
        self._sampler.renumber(numbers)
