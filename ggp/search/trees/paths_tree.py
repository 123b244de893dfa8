"""Trees over incomplete paths: for every role, statistics of its moves by what it knew.

Every role has its own tree, and moves by what *it* knows (multiple-observer information set Monte
Carlo tree search: Cowling, Powley & Whitehouse, 2012). Several may move at once. `PathsTree` holds
the nodes; `TreeSearch` sends lanes through them, in waves.

A wave begins in particles. Its lanes walk down side by side, each role choosing by its node, until
they reach a node that did not exist: it is added, and the lane is finished by a random playout. The
goal of each role is then added to everything that it chose on the way. Lanes of a wave spread out,
because choices under way count as visits with no goal (virtual visits).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ggp.belief import PathModel, PathTree
from ggp.machine.base import BoolArray, IntArray, Machine, States, is_open
from ggp.search.anytime import Deadline
from ggp.search.leaf_values import LeafValues
from ggp.search.trees.grower import MOST_DEPTH, Grower, Lanes
from ggp.search.trees.node_table import MOST_ACTIONS, NodeTable
from ggp.search.trees.selection import (
    GuidedUcb,
    Regrets,
    Rule,
    Ucb,
    back_up,
    learn_regrets,
    prove,
)
from ggp.search.trees.tree_tables import (
    CALM,
    CHOICES,
    LEAF,
    OVER,
    LaneSettings,
    Worlds,
    new_wave,
)
from ggp.search.trees.world_table import ROOMY, WorldTable, depths_below


class PathsTree:
    """The trees of all roles of one machine, by nodes of a `PathTree`.

    Nodes and worlds stay until the paths that they belong to are forgotten.

    Args:
        model: how roles move by what they know, as far as it is sure; the rest, and everything
            without a model, is by UCB1.

    Attributes:
        nodes: the statistics.
        leaves: what states are worth in which lanes leave the tree.
        proves: whether ends of lanes count as proofs now; only if `settings` says so.
    """

    def __init__(
        self,
        machine: Machine,
        paths: PathTree,
        settings: LaneSettings | None = None,
        model: PathModel | None = None,
    ) -> None:
        self.machine, self.paths = machine, paths
        self.settings = settings or LaneSettings()
        self.proves = self.settings.proves
        self._choices = CHOICES if is_open(machine) else np.inf
        self.age = 0.0
        """Number of lanes that matched regrets so far."""
        self.nodes = NodeTable(paths)
        self.leaves = LeafValues(machine, MOST_DEPTH, guided=self.settings.guided)
        self._known = WorldTable(machine, self.settings.most_worlds)
        self._grower = Grower(machine, self._known, self.nodes, paths, self.leaves, model)

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def num_worlds(self) -> int:
        return len(self._known)

    @property
    def _worlds(self) -> Worlds:
        return self._known.table

    # ---------------------------------------------------------------- following a match

    @property
    def views(self) -> IntArray:
        """Paths that must be kept for the tree: none. Those that cannot recur may be forgotten."""
        return np.zeros(0, dtype=np.int64)

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`: nodes of forgotten paths go, and so do worlds known by them."""
        known = self._known
        known.views[: len(known)] = views = numbers[known.views[: len(known)]]
        keep = np.asarray((views >= 0).all(axis=1))
        known.keep(self.nodes.table, keep, *self.nodes.renumber(numbers))

    def views_of(self, worlds: IntArray) -> IntArray:
        """`[N, R]` path of every role in worlds."""
        return self._known.views[worlds]

    # ---------------------------------------------------------------- worlds

    def begin(self, parts: Sequence[tuple[States, IntArray, int]]) -> list[IntArray]:
        """`[N]` worlds of the particles of each part: those that are known, or new ones.

        If there is little room, all other worlds are forgotten that cannot be reached from them.

        Args:
            parts: states, `[N, R]` incomplete path of each role, and the role that decides: it has
                a node in each, even where only one move is legal; -1 for none.
        """
        self.leaves.begin()
        found = [self._known.find(states, views) for states, views, _ in parts]
        if self._is_crowded:
            roots = np.concatenate(found)
            numbers = self._forget_others(roots[roots >= 0])
            found = [np.where(worlds >= 0, numbers[worlds], -1) for worlds in found]
        for k, (states, views, own) in enumerate(parts):
            worlds = found[k] = found[k] if own < 0 else self._known.with_node(found[k], own)
            new = np.flatnonzero(worlds < 0)
            worlds[new] = self.add_particles(states.take(new), views[new], own)
        return found

    def add_particles(self, states: States, views: IntArray, own: int) -> IntArray:
        """`[N]` new worlds of particles; see `begin`."""
        return self._grower.add(states, views, own)

    @property
    def _is_crowded(self) -> bool:
        """Whether there is room for fewer worlds or actions than there are."""
        return (
            self.num_worlds > self.settings.most_worlds // 2
            or self.nodes.num_actions > MOST_ACTIONS // 2
        )

    def _below(self, roots: IntArray) -> BoolArray | None:
        """`[W]` worlds that can be reached from the roots; None if nearly all of them can."""
        keep = depths_below(self._worlds, roots) >= 0
        return None if ROOMY * keep.sum() > len(keep) else keep

    def _forget_others(self, roots: IntArray) -> IntArray:
        """Forget worlds that cannot be reached from the roots, and nodes that are not in the rest
        if they left little room for others.

        Returns:
            the new number of each world, -1 where it is forgotten.
        """
        keep = self._below(roots)
        if keep is None:
            return np.arange(self.num_worlds)
        nodes, actions = len(self.nodes), self.nodes.num_actions
        numbers = np.arange(nodes, dtype=np.int32), np.arange(actions, dtype=np.int32)
        if actions > MOST_ACTIONS // 2:
            used = np.zeros(nodes + 2, dtype=np.bool_)  # with places for NO_NODE and CHANCE
            used[self._worlds.node[: len(keep)][keep]] = True
            numbers = self.nodes.keep(used[:nodes])
        return self._known.keep(self.nodes.table, keep, *numbers)

    def wave(
        self,
        worlds: IntArray,
        learns: BoolArray,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
        rule: Rule | None = None,
    ) -> None:
        """Send lanes down from worlds, and back up their results.

        Args:
            worlds: `[L]` where each lane begins.
            learns: `[L, R]` whether a role learns from a lane; with `Regrets` one does.
            rule: how lanes choose; default: UCB1, guided if the settings say so.

        Raises:
            OutOfTime: the deadline has passed; the wave leaves no trace except new worlds and
                nodes.
        """
        lanes = Lanes(new_wave(worlds, learns, int(rng.integers(0, 1 << 64, dtype=np.uint64))))
        rule = rule or self._rule()
        size = len(worlds)
        goals = np.zeros((size, len(self.machine.roles)))
        turns, done = np.zeros(size), np.zeros(size, dtype=np.bool_)
        try:
            self._grower.send(lanes, rule, deadline)
            wave = lanes.wave
            ended = np.flatnonzero(wave.status == OVER)
            goals[ended] = self._worlds.value[wave.world[ended]]
            turns[ended] = wave.depth[ended]
            leaves = np.flatnonzero(wave.status == LEAF)
            states = self._known.states.take(wave.world[leaves].astype(np.int64))
            if lanes.loose:
                states = self.machine.concatenate([states, *lanes.loose_states])
                leaves = np.concatenate([leaves, *lanes.loose])
            values, steps = self.leaves.of_leaves(states, rng, deadline)
            goals[leaves] = values
            turns[leaves] = wave.depth[leaves] + steps
            done[:] = True
            if self.proves:
                prove.alike(self._worlds, self.nodes.table, wave)
        finally:
            if isinstance(rule, Regrets):
                learn_regrets.alike(self.nodes.table, lanes.wave, rule, goals, done)
            else:
                back_up.alike(self.nodes.table, lanes.wave, goals, turns, done)

    def _rule(self) -> Rule:
        exploration, prior = self.settings.exploration, self.leaves.averages()
        if len(prior):
            return GuidedUcb(CALM * exploration, self._choices, prior)
        return Ucb(exploration)

    def load_kernels(self, rule: Rule | None = None) -> None:
        """Compile the kernels, or load them from the cache, before a clock runs: by work on
        nothing.

        Args:
            rule: see `wave`; of no lanes.
        """
        nothing = np.zeros((0, len(self.machine.roles)), dtype=np.int64)
        self.wave(nothing[:, 0], nothing.astype(np.bool_), np.random.default_rng(0), None, rule)
        self.add_particles(self.machine.initial(0), nothing, -1)
        none = np.zeros(0, dtype=np.bool_)
        self._known.keep(self.nodes.table, none, *self.nodes.keep(none))
        depths_below(self._worlds, nothing[:, 0])
        if isinstance(rule, Regrets):
            self.nodes.shares(nothing[:, 0], nothing[:, 0])
