"""Searches for the best move of a bag with trees over incomplete paths.

A player hands over the bag of its incomplete path and gets estimates of its candidates, by UCB1
(`TreeSearch`).

Lanes begin in the particles of the bag, in proportion to their weights. If all lanes did, the other
roles' trees would share our information: lanes would reach them only from states that *we* think
possible. So some lanes begin elsewhere: in a state that another role thinks possible, given its
incomplete path in one of our particles (paper 004 does the same with bags in simulations).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ggp.belief import Bags, Sampler
from ggp.errors import ConfigError
from ggp.machine.arrays import first_seen
from ggp.machine.base import BoolArray, FloatArray, IntArray, States, player_roles
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.estimates import Estimates, candidates
from ggp.search.trees.nodes_and_worlds import ActionSums
from ggp.search.trees.paths_tree import PathsTree
from ggp.search.trees.tree_tables import KEEP

# ------------------------------------------------------------------------
# Sends lanes into trees, wave by wave: how many in a wave, and where they begin.

FIRST_LANES, MAX_LANES = 8, 2048
"""Least and greatest number of lanes of a wave: small waves are mostly fixed cost."""

LANE_SHARE = 0.05
"""A wave has at most this share of all lanes before it: lanes of one wave learn little from each
other, and later waves select better."""

MANY_WAVES, MAX_HASTE = 200, 8.0
"""If there is time for fewer waves than the first number, waves grow, up to the second factor."""


GUIDED_LANES = 64
"""Lanes of the first waves of guided trees, and half the greatest number: more lanes would leave
few playouts for each leaf. Little time makes it more important that lanes learn from each other."""

GUIDED_WAVES = 16
"""Least number of waves if lanes are counted."""


class Roots(NamedTuple):
    """Weighted worlds in which lanes begin.

    Attributes:
        worlds: `[N]`.
        weights: `[N]` in any unit.
        learns: `[N, R]` whether a role learns from lanes that begin there.
    """

    worlds: IntArray
    weights: FloatArray
    learns: BoolArray

    def draw(self, count: int, rng: np.random.Generator, among: IntArray | None = None) -> IntArray:
        """`[count]` indices by systematic sampling of the weights, in random order.

        Args:
            among: the roots that may be drawn; default: all.
        """
        weights = self.weights if among is None else self.weights[among]
        if len(weights) == 1:
            return np.zeros(count, dtype=np.int64) if among is None else np.repeat(among, count)
        cdf = weights.cumsum()
        points = (rng.random() + np.arange(count)) / count * cdf[-1]
        places = cdf[:-1].searchsorted(points, side="right")
        return rng.permutation(places if among is None else among[places])


def joined(parts: Sequence[Roots]) -> Roots:
    """Several sets of roots as one."""
    return Roots(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


MAX_PATHS, LANES_A_PATH = 64, 8
"""Number of paths drawn for each other role, and of states drawn for each path."""

WAITING_S = 0.1
"""Longest time of a wave during pondering: when a message arrives, the wave under way is lost.
Lanes check the clock on their way, so a search on a circuit ends within 50 ms. With 20 ms, waves of
8 lanes were nearly all fixed cost in kriegspiel_5x5: 250 lanes a second instead of the 1,700 of a
decision."""


class Elsewhere(NamedTuple):
    """Other roles' bags, in which some lanes begin.

    Attributes:
        belief: makes these bags; its entries must have views.
        share: share of the lanes that begin in them.
    """

    belief: Sampler
    share: float


class Particles(NamedTuple):
    """Particles from the bags of one role.

    Attributes:
        role: the role whose bags they are.
        paths: the paths of these bags.
        states: `[N]`.
        views: `[N, R]`.
        weights: `[N]`.
    """

    role: int
    paths: IntArray
    states: States
    views: IntArray
    weights: FloatArray


class TreeSearch:
    """The `Search` of one bag's candidates by waves of lanes in trees.

    Args:
        tree: keeps the statistics.
        bags: one bag, whose entries have views.
        deadline: checked within waves.
        elsewhere: default: all lanes begin in the bag, and all roles learn from them.
        submitted: the move that the role has submitted, while it waits for the next turn: lanes
            from its bag begin with this move.

    Attributes:
        moves: the candidates.
        most_lanes: greatest number of lanes of a wave.
        longest_wave_s: time that a wave may take, by prediction.

    Raises:
        ConfigError: the bag is of `random`.
    """

    most_lanes = MAX_LANES
    longest_wave_s = math.inf
    side_by_side = 1

    def __init__(
        self,
        tree: PathsTree,
        bags: Bags,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
        elsewhere: Elsewhere | None = None,
        submitted: int | None = None,
    ) -> None:
        views = bags.sets.views
        if views is None:
            raise ValueError("trees over incomplete paths need the entries' views")
        self._machine, self._tree, self._rng, self._deadline = tree.machine, tree, rng, deadline
        if bags.role == tree.machine.random_role:
            others = ", ".join(tree.machine.roles[role] for role in player_roles(tree.machine))
            raise ConfigError(f"chance has no values to search for: take a bag of {others}")
        self.moves = candidates(tree.machine, bags)
        self._path = int(bags.paths[0])
        particles = Particles(
            bags.role, bags.paths, bags.states_of(0), views[bags.lanes_of(0)], bags.weights_of(0)
        )
        opponents = [] if elsewhere is None else self._opponent_particles(bags, elsewhere.belief)
        share = 0.0 if elsewhere is None or not opponents else elsewhere.share
        shares = [1 - share, *[share / max(len(opponents), 1)] * len(opponents)]
        self._decider, self._submitted = -1 if submitted is not None else bags.role, submitted
        # A proof for one of several particles is no proof for the bag.
        tree.proves = tree.settings.proves and len(particles.weights) == 1
        self._roots = self._begin([particles, *opponents], shares)
        self._lanes_done = 0
        self._guided_lanes = GUIDED_LANES
        self._wave_s = 0.0

    def round(self, count: int, subset: IntArray | None = None) -> None:
        """Send `count` lanes for each candidate; the tree decides which moves they try.

        Raises:
            OutOfTime: the time was too short for all; finished waves count.
        """
        self.send(count * len(self.moves.values))

    def send(self, count: int) -> None:
        """Send `count` lanes.

        Raises:
            OutOfTime: the time was too short for all; finished waves count.
        """
        self._guided_lanes = max(FIRST_LANES, count // GUIDED_WAVES)
        while count > 0 and not self._is_settled():
            size = min(count, max(1, self._wave_size()))
            self._wave(size)
            count -= size

    def run(self, deadline: Deadline, report: Callable[[Estimates], None] | None = None) -> None:
        """Send lanes until the deadline.

        Args:
            report: receives the estimates so far, each time the number of lanes has doubled.
        """
        next_report = 2 * FIRST_LANES
        try:
            while not deadline.passed() and not self._is_settled():
                size = self._wave_size()
                if not size:
                    break
                self._wave(size)
                if report is not None and self._lanes_done >= next_report:
                    next_report = 2 * self._lanes_done
                    report(self.estimates())
        except OutOfTime:
            pass

    def _wave_size(self) -> int:
        """Lanes of the next wave; 0 if no wave fits into the remaining time.

        The clock never makes waves small: a small wave is nearly all fixed cost, especially on a
        busy computer.
        """
        haste, fits = 1.0, MAX_LANES
        if self._deadline is not None:
            remaining_s = self._deadline.left_s()
            costs = self._tree.costs
            fits = costs.next_size(remaining_s, 1)
            if remaining_s > self.longest_wave_s:
                fits = min(fits, max(costs.next_size(self.longest_wave_s, 1), FIRST_LANES))
            waves = remaining_s / self._wave_s if self._wave_s else MANY_WAVES
            haste = min(max(MANY_WAVES / max(waves, 1.0), 1.0), MAX_HASTE)
        smallest, largest = FIRST_LANES, self.most_lanes
        if self._tree.leaves.is_guided:
            haste, smallest, largest = 1.0, min(GUIDED_LANES, self._guided_lanes), 2 * GUIDED_LANES
        size = int(min(haste * max(smallest, LANE_SHARE * self._lanes_done), largest))
        return min(size, fits)

    def _wave(self, size: int) -> None:
        began_s = 0.0 if self._deadline is None else self._deadline.clock()
        self._send_wave(size)
        self._lanes_done += size
        if self._deadline is not None:
            self._wave_s = self._deadline.clock() - began_s
            self._tree.costs.add(size, self._wave_s)

    def _send_wave(self, size: int) -> None:
        indices = self._roots.draw(size, self._rng)
        self._tree.wave(
            self._roots.worlds[indices], self._roots.learns[indices], self._rng, self._deadline
        )

    def _opponent_particles(self, bags: Bags, belief: Sampler) -> list[Particles]:
        """Particles of each other role, from bags at its paths in our particles."""
        machine, rng = self._machine, self._rng
        views = bags.sets.views
        assert views is not None
        particles: list[Particles] = []
        for role in range(len(machine.roles)):
            if role in (bags.role, machine.random_role):
                continue
            paths = views[bags.draw(0, MAX_PATHS, rng), role]
            first, path_of = first_seen(paths)
            rivals = belief.at(paths[first], role, rng)
            sound = np.flatnonzero(~rivals.depleted)
            if not len(sound):
                continue
            times = np.bincount(path_of)[sound]
            rivals = rivals.select(sound)
            lanes = np.concatenate([rivals.draw(k, LANES_A_PATH, rng) for k in range(len(rivals))])
            first, group = first_seen(lanes)
            lanes = lanes[first]
            weights = np.bincount(group, np.repeat(times, LANES_A_PATH))
            rival_views = rivals.sets.views
            assert rival_views is not None
            particles.append(
                Particles(
                    role,
                    rivals.paths,
                    rivals.sets.states.take(lanes),
                    rival_views[lanes],
                    weights.astype(np.float64),
                )
            )
        return particles

    def _begin(self, parts: Sequence[Particles], shares: Sequence[float]) -> Roots:
        """The particles as roots, with the roles that may learn from each.

        A role learns from lanes that begin in its own bags. From others it learns only where it has
        no bag for its path: other roles' particles have the wrong weights for it.
        """
        roots: list[Roots] = []
        world_ids = self._tree.begin(self._particles(parts))
        for part, share, worlds in zip(parts, shares, world_ids, strict=True):
            learns = np.ones(part.views.shape, dtype=np.bool_)
            for rival in parts:
                if rival.role != part.role:
                    learns[:, rival.role] = ~np.isin(part.views[:, rival.role], rival.paths)
            roots.append(Roots(worlds, share * part.weights / part.weights.sum(), learns))
        return joined(roots)

    def _particles(self, parts: Sequence[Particles]) -> list[tuple[States, IntArray, int]]:
        """The arguments of `PathsTree.begin`."""
        return [
            (part.states, part.views, self._decider if part.role == self._decider else -1)
            for part in parts
        ]

    def sure(self) -> BoolArray:
        """`[C]` whether the value of a move is proved."""
        return self._sums().proofs >= 0

    def estimates(self) -> Estimates:
        """The estimates so far: mean goals of the lanes in which the role chose the move.

        A proved move gets its proved value, with an error of 0.
        """
        sums = self._sums()
        low, high = self._machine.goal_range
        visits, goals = sums.visits, sums.goals
        counts = np.maximum(visits, 1)
        means = goals / counts
        spread = np.maximum(sums.squares / counts - means**2, 0.0)
        errors = np.where(visits > 1, np.sqrt(spread / np.maximum(visits - 1, 1)), np.nan)
        promptness = (sums.discounted - goals) / counts / (1 - KEEP)
        proved = sums.proofs >= 0
        return Estimates(
            self.moves,
            low + (high - low) * np.where(proved, sums.proofs, means),
            (high - low) * np.where(proved, 0.0, errors),
            visits,
            (high - low) * promptness,
            proved,
        )

    def _sums(self) -> ActionSums:
        """Statistics of each candidate."""
        sums = self._tree.nodes.sums(self._path)
        index = {move: k for k, move in enumerate(sums.moves.tolist())}
        indices = np.array([index[move] for move in self.moves.values.tolist()], dtype=np.int64)
        return sums.take(indices)

    def wait(self, deadline: Deadline) -> None:
        """Send lanes until the deadline, which may be moved to any time."""
        self.longest_wave_s = WAITING_S
        with self._tree.nodes.committed(self._path, self._submitted):
            self.run(deadline)

    def _is_settled(self) -> bool:
        """Whether the search is over: a win is proved, or the value of every candidate."""
        if self._submitted is not None or not self._tree.proves:
            return False
        proofs = self._sums().proofs
        return bool((proofs >= 1).any() or (proofs >= 0).all())
