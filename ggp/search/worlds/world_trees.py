"""Clairvoyant values by tree search: UCT in all worlds of a bag side by side.

Layers (`layers`) solve small worlds, and see little of large ones: their last layer is valued by
playouts, however silly the moves in them. A tree looks deeper where it pays. Here every world has
its own tree, in which all roles see everything, and one wave sends lanes into all of them. Wins and
losses are proved where roles take turns; roles that move simultaneously choose independently
(decoupled UCT).
"""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from ggp.belief import Bags, PathTree
from ggp.machine.arrays import offsets_of
from ggp.machine.base import IntArray, Machine, Ragged, States
from ggp.search.anytime import Deadline
from ggp.search.estimates import Estimates, candidates
from ggp.search.trees.paths_tree import PathsTree
from ggp.search.trees.settings import LaneSettings
from ggp.search.trees.tree_search import WAITING_S, Roots, WaveSearch
from ggp.search.trees.world_table import depths_below
from ggp.search.worlds.clairvoyant import ClairvoyantValues, table_of
from ggp.search.worlds.world_search import drawn_worlds, over_worlds


class WorldTrees(PathsTree):
    """Trees in which everybody sees everything: each world is its own path, for each role."""

    alone = True

    def __init__(self, machine: Machine, settings: LaneSettings | None = None) -> None:
        super().__init__(machine, PathTree(machine), settings or LaneSettings(proves=True))
        self._roots = np.zeros(0, dtype=np.int64)

    def begin_in(self, states: States, own: int, later: int = 0) -> IntArray:
        """`[N]` worlds of states: those that are known, or new ones.

        If there is little room, all other worlds are forgotten that cannot be reached from them.

        Args:
            own: the role that decides: see `PathsTree.begin`.
            later: number of turns since lanes last began: only worlds so far below those are looked
                through.
        """
        known = np.flatnonzero(depths_below(self._worlds, self._roots) == later)
        worlds = self._known.find_among(known, states)
        if self._is_crowded:
            numbers = self._forget_others(worlds[worlds >= 0])
            worlds = np.where(worlds >= 0, numbers[worlds], -1)
        if own >= 0:
            worlds = self._known.with_node(worlds, own)
        new = np.flatnonzero(worlds < 0)
        worlds[new] = self.add_particles(states.take(new), self._new_paths(len(new)), own)
        self._roots = worlds
        return worlds

    def _forget_others(self, roots: IntArray) -> IntArray:
        keep = self._below(roots)
        if keep is None:
            return np.arange(self.num_worlds)
        numbers = np.where(keep, np.cumsum(keep) - 1, -1)
        roles = np.arange(self._num_roles)
        paths = np.where(keep[:, None], numbers[:, None] * self._num_roles + roles, -1)
        self.renumber(paths.ravel())
        return numbers

    def _new_paths(self, count: int) -> IntArray:
        """`[K, R]` paths of the next worlds."""
        worlds = self.num_worlds + np.arange(count)
        return worlds[:, None] * self._num_roles + np.arange(self._num_roles)

    def _views_after(
        self, views: IntArray, moves: IntArray, percepts: IntArray, refused: IntArray
    ) -> IntArray:
        return self._new_paths(len(views))

    def _num_paths(self) -> int:
        return self._num_roles * len(self._known.views)


class WorldTreeSearch(WaveSearch):
    """Clairvoyant values of the candidates of one bag, by UCT in each of its worlds.

    Args:
        bags: one bag, not depleted.
        most_worlds: number of worlds drawn from the bag if it is a sample of more.
        trees: those of an earlier search, to go on with, by default new ones; and the number of
            turns since then.
        submitted: see `TreeSearch`.
    """

    def __init__(
        self,
        machine: Machine,
        bags: Bags,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
        most_worlds: int = 1 << 30,
        trees: tuple[WorldTrees, int] | None = None,
        submitted: int | None = None,
    ) -> None:
        lanes, self._weights = drawn_worlds(bags, most_worlds, rng)
        self._machine, self._exact = machine, bool(bags.exact[0])
        tree, later = trees or (WorldTrees(machine), 0)
        states = bags.sets.states.take(lanes)
        self._submitted = submitted
        worlds = tree.begin_in(states, -1 if submitted is not None else bags.role, later)
        self._paths = tree.views_of(worlds)[:, bags.role]
        learns = np.ones((len(worlds), len(machine.roles)), dtype=np.bool_)
        roots = Roots(worlds, self._weights, learns)
        super().__init__(tree, candidates(machine, bags), roots, rng, deadline)

    def estimates(self) -> Estimates:
        """The values so far: means over worlds of the means of lanes, or of what is proved.

        A move that was not tried in a world counts as the mean of the moves tried there, and so
        does an illegal one.
        """
        low, high = self._machine.goal_range
        found = [self._tree.nodes.sums(int(path)) for path in self._paths]
        kept = [sums.take(np.flatnonzero(sums.visits + (sums.proofs >= 0))) for sums in found]
        counts = np.array([len(sums.moves) for sums in kept])
        moves, visits, goals, squares, _, proofs, _ = (
            np.concatenate(column) for column in zip(*kept, strict=True)
        )
        each = np.maximum(visits, 1)
        means, proved = goals / each, proofs >= 0
        noise = np.maximum(squares / each - means**2, 0) / np.maximum(visits - 1, 1)
        seen = ClairvoyantValues(
            Ragged(offsets_of(counts), moves),
            low + (high - low) * np.where(proved, proofs, means),
            np.where(proved, 0.0, noise * (high - low) ** 2),
        )
        table, variances = table_of(seen, self.moves.values, (low + high) / 2)
        order = np.argsort(self.moves.values)
        place = order[np.searchsorted(self.moves.values, moves, sorter=order)]
        size = len(self.moves.values)
        tried = np.bincount(place, np.maximum(visits, proved), size).astype(np.int64)
        solved = np.bincount(place, proved, size) == len(counts)
        return over_worlds(
            self.moves, table, variances, self._weights, tried, solved, exact=self._exact
        )

    def wait(self, deadline: Deadline) -> None:
        """See `TreeSearch.wait`."""
        self.longest_wave_s = WAITING_S
        with ExitStack() as stack:
            for path in self._paths.tolist():
                stack.enter_context(self._tree.nodes.committed(path, self._submitted))
            self.run(deadline)

    def _is_settled(self) -> bool:
        return False
