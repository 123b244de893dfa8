"""A search with trees over incomplete paths, from the bag of one role.

Lanes begin in the particles of the bag, in proportion to their weights. If all lanes did, the
others' trees would know what only we know: they would only have been reached from states that *we*
think possible. So some lanes begin elsewhere: in a state that another role thinks possible, going
by its path along one of our particles (paper 004 does the same with bags in simulations).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ggp.belief import Bags, Sampler
from ggp.machine.arrays import first_seen
from ggp.machine.base import FloatArray, IntArray, Machine
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.estimates import Estimates, candidates
from ggp.search.paths_tree import KEEP, PathsTree

FIRST_LANES, MOST_LANES = 16, 4096
"""Lanes of a wave: of small ones much of the time is fixed cost."""

LANE_SHARE = 0.1
"""A wave has at most this share of the lanes before it: those of a wave learn nothing of each
other."""

WAVE_S = 0.03
"""About how long a wave may take where there is a clock."""

WAVE_SHARE = 0.25
"""Of the time that is left."""

MOST_PATHS, LANES_A_PATH = 64, 8
"""Paths drawn of each other role, and states drawn for each."""


class Roots(NamedTuple):
    """Where lanes may begin: worlds with weights.

    Attributes:
        worlds: `[N]`.
        weights: `[N]` in any unit.
        learner: `[N]` whose choices learn from lanes of it, -1: those of all.
    """

    worlds: IntArray
    weights: FloatArray
    learner: IntArray

    def draw(self, count: int, rng: np.random.Generator) -> IntArray:
        """`[count]` indices, drawn systematically by weight, in random order."""
        if len(self.worlds) == 1:
            return np.zeros(count, dtype=np.int64)
        upto = np.cumsum(self.weights)
        points = (rng.random() + np.arange(count)) / count * upto[-1]
        return rng.permutation(np.searchsorted(upto[:-1], points, side="right"))


def _joined(parts: Sequence[Roots], shares: Sequence[float]) -> Roots:
    """Several places to begin, each with a share of the lanes."""
    return Roots(
        np.concatenate([part.worlds for part in parts]),
        np.concatenate(
            [s * part.weights / part.weights.sum() for s, part in zip(shares, parts, strict=True)]
        ),
        np.concatenate([part.learner for part in parts]),
    )


class Elsewhere(NamedTuple):
    """Where lanes begin that do not begin in our particles.

    Attributes:
        belief: makes the bags of the other roles; its entries must have views.
        share: of the lanes that begin in these.
        apart: whether a lane teaches only the role in whose bag it begins; else all.
    """

    belief: Sampler
    share: float
    apart: bool = False


class TreeSearch:
    """The `Search` of the candidates of one bag whose entries have views, by waves of lanes.

    Args:
        tree: learns.
        bags: one bag.
        deadline: looked at within waves.
        elsewhere: default: all lanes begin in the bag.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathsTree,
        bags: Bags,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        if bags.sets.views is None:
            raise ValueError("trees over incomplete paths need the entries' views")
        self._machine, self._tree, self._rng, self._deadline = machine, tree, rng, deadline
        self._path = int(bags.paths[0])
        self.moves = candidates(machine, bags)
        self._lanes_done = 0
        self._lane_s = 0.0
        tree.clear()
        lanes = bags.lanes_of(0)
        worlds = tree.add_particles(bags.states_of(0), bags.sets.views[lanes], bags.role)
        own = Roots(worlds, bags.weights_of(0), np.full(len(lanes), -1))
        parts = [] if elsewhere is None else self._others(bags, elsewhere)
        if elsewhere is None or not parts:
            self._roots = own
            return
        shares = [1 - elsewhere.share, *[elsewhere.share / len(parts)] * len(parts)]
        if elsewhere.apart:
            own = own._replace(learner=np.full(len(lanes), bags.role))
        self._roots = _joined([own, *parts], shares)

    def _others(self, bags: Bags, elsewhere: Elsewhere) -> list[Roots]:
        """Where the others may think they are, going by their paths along our particles."""
        views = bags.sets.views
        assert views is not None
        machine, belief, rng = self._machine, elsewhere.belief, self._rng
        found: list[Roots] = []
        for role in range(len(machine.roles)):
            if role in (bags.role, machine.random_role):
                continue
            drawn = views[bags.draw(0, MOST_PATHS, rng), role]
            first, path_of = first_seen(drawn)
            others = belief.at(drawn[first], role, rng)
            sound = np.flatnonzero(~others.depleted)
            if not len(sound):
                continue
            times = np.bincount(path_of)[sound]
            others = others.select(sound)
            their_views = others.sets.views
            assert their_views is not None
            lanes = belief.draw(others, LANES_A_PATH, rng).ravel()
            first, place = first_seen(lanes)
            weights = np.bincount(place, np.repeat(times, LANES_A_PATH)).astype(np.float64)
            lanes = lanes[first]
            worlds = self._tree.add_particles(
                others.sets.states.take(lanes), their_views[lanes], role
            )
            learner = np.full(len(lanes), role if elsewhere.apart else -1)
            found.append(Roots(worlds, weights, learner))
        return found

    def round(self, count: int, chosen: IntArray | None = None) -> None:
        """Send `count` lanes for each candidate; which moves they try is up to the tree.

        Raises:
            OutOfTime: not all could be sent; what others came to counts.
        """
        self.send(count * len(self.moves.values))

    def send(self, count: int) -> None:
        """Send so many lanes.

        Raises:
            OutOfTime: not all could be sent; what others came to counts.
        """
        while count > 0:
            size = min(count, self._wave_size())
            self._wave(size)
            count -= size

    def run(self, deadline: Deadline, report: Callable[[Estimates], None] | None = None) -> None:
        """Send lanes until the deadline.

        Args:
            report: told the values so far, each time the number of lanes has doubled.
        """
        next_report = 2 * FIRST_LANES
        try:
            while not deadline.passed():
                self._wave(self._wave_size())
                if report is not None and self._lanes_done >= next_report:
                    next_report = 2 * self._lanes_done
                    report(self.estimates())
        except OutOfTime:
            pass

    def estimates(self) -> Estimates:
        """The values so far: means of what came of lanes in which the role chose the move."""
        sums = self._tree.sums(self._path)
        place = {move: k for k, move in enumerate(sums.moves.tolist())}
        at = np.array([place[move] for move in self.moves.values.tolist()], dtype=np.int64)
        low, high = self._machine.goal_range
        visits, goals = sums.visits[at], sums.goals[at]
        counts = np.maximum(visits, 1)
        means = goals / counts
        spread = np.maximum(sums.squares[at] / counts - means**2, 0.0)
        errors = np.where(visits > 1, np.sqrt(spread / np.maximum(visits - 1, 1)), np.nan)
        late = (sums.discounted[at] - goals) / counts / (1 - KEEP)
        return Estimates(
            self.moves,
            low + (high - low) * means,
            (high - low) * errors,
            visits,
            (high - low) * late,
        )

    def _wave_size(self) -> int:
        size = max(FIRST_LANES, min(int(LANE_SHARE * self._lanes_done), MOST_LANES))
        if self._deadline is not None and self._lane_s:
            at_most_s = min(WAVE_S, WAVE_SHARE * self._deadline.left_s())
            size = min(size, int(at_most_s / self._lane_s))
        return max(size, 1)

    def _wave(self, size: int) -> None:
        began_s = 0.0 if self._deadline is None else self._deadline.clock()
        drawn = self._roots.draw(size, self._rng)
        self._tree.wave(
            self._roots.worlds[drawn], self._roots.learner[drawn], self._rng, self._deadline
        )
        self._lanes_done += size
        if self._deadline is not None:
            self._lane_s = (self._deadline.clock() - began_s) / size
