"""States to go on with where no particle is left: those that agree with the last observation.

In long games with little to see, kriegspiel say, every particle may die, and no other path be found
in time. A game that brings along how its boards are drawn (`ggp.belief.board_maker`) lets a player
draw some that agree with the last observation, and what comes of them is kept as long as it agrees
with what is seen from then on. Such states need not be possible, so decisions say how many there
were (`Decision.guessed`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ggp.belief import Bags, BoardMaker, HyperPlaySampler, PathTree
from ggp.belief.last_observation import OWN_PARTICLES, LastObservation
from ggp.machine.base import IntArray, Machine

CAPACITY = 1_000
"""States that are kept."""

DRAWN = 200
"""States that are drawn at once."""

ATTEMPTS = 5_000
"""Lanes stepped in search of other states where none is left of those that were drawn."""


class LastResort:
    """Follows one match from one role's point of view, and needs no particle for that.

    Args:
        maker: draws boards.
        rng: likewise.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        role: int,
        rng: np.random.Generator,
        maker: BoardMaker,
    ) -> None:
        self._role, self._rng = role, rng
        self._last = LastObservation(machine, tree, capacity=DRAWN, maker=maker, walk=False)
        self._follower = HyperPlaySampler(
            machine, tree, capacity=CAPACITY, exact=0, max_attempts=ATTEMPTS
        )
        self._bag: Bags | None = None

    def watch(self, stop: Callable[[], bool], at_once: Callable[[], int]) -> None:
        """From now on work ends when `stop` says so, which is asked every `at_once` lanes."""
        for sampler in (self._last, self._follower):
            sampler.stop, sampler.lanes_at_once = stop, at_once

    def learn(self, bag: Bags) -> None:
        """Take note of particles that agree with everything: no other states are needed."""
        self._learn(bag)
        self._bag = None

    def follow(self, paths: IntArray, turn: tuple[IntArray, IntArray, IntArray]) -> None:
        """A turn has passed, after which there is no particle.

        Args:
            paths: `[1]` the path before it.
            turn: move, percepts and refused: see `PathTree.extend`.
        """
        if self._bag is not None and (self._bag.paths == paths).all():
            move, percepts, refused = turn
            after = self._follower.advance(self._bag, move, percepts, self._rng, refused)
            self._bag = None if after.depleted[0] else self._guessed(after)
            if self._bag is not None:
                self._learn(self._bag)

    def at(self, paths: IntArray) -> Bags | None:
        """States for a path of which there is no particle; None where none are found.

        Args:
            paths: `[1]` the path.
        """
        if self._bag is None or (self._bag.paths != paths).any():
            found = self._last.at(paths, self._role, self._rng)
            self._bag = None if found.depleted[0] else self._guessed(found)
        return self._bag

    @property
    def views(self) -> IntArray:
        """Nodes that are referred to."""
        own = [] if self._bag is None else [self._bag.nodes]
        return np.concatenate([self._last.views, self._follower.views, *own])

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        self._last.renumber(numbers)
        self._follower.renumber(numbers)
        if self._bag is not None:
            self._bag = self._bag.renumbered(numbers)

    def _learn(self, bag: Bags) -> None:
        few = bag.sets.take(bag.segment).thinned(OWN_PARTICLES, self._rng)
        at = bag.paths, np.zeros(1, dtype=np.int64)
        self._last.learn(Bags(self._role, *at, replace(few, views=None), bag.guessed))

    def _guessed(self, bag: Bags) -> Bags:
        return replace(bag, guessed=len(bag.sets.states))
