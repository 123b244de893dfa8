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
from ggp.machine.abilities import Successors
from ggp.machine.arrays import first_seen, offsets_of
from ggp.machine.base import (
    BoolArray,
    IntArray,
    Machine,
    Ragged,
    States,
    is_open,
    player_roles,
)
from ggp.search.anytime import Deadline, check
from ggp.search.leaf_values import UNKNOWN_WORTH, LeafValues
from ggp.search.moves import some_chance
from ggp.search.trees.growing.grow_kernels import PAUSED, STRAGGLERS, UNUSUAL
from ggp.search.trees.growing.grower import MOST_DEPTH, Walk, WaveLanes, grower_of
from ggp.search.trees.growth_kernels import add_worlds
from ggp.search.trees.keeping_kernels import prove
from ggp.search.trees.node_table import MOST_ACTIONS, NodeTable
from ggp.search.trees.regret_kernels import learn_regrets
from ggp.search.trees.tree_kernels import back_up, walk
from ggp.search.trees.tree_tables import (
    CALM,
    CHOICES,
    KEEP,
    LEAF,
    LOOSE,
    OVER,
    ROWS,
    WALKING,
    Chances,
    LaneSettings,
    Worlds,
    matching,
    new_wave,
    wider_wave,
)
from ggp.search.trees.world_table import ROOMY, WorldTable, depths_below

MOST_CHANCE = 64
"""Moves of `random` kept for a world if they are too many to list."""


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
        alone: whether each world is a path of its own for each role: world * R + role.
    """

    alone = False

    def __init__(
        self,
        machine: Machine,
        paths: PathTree,
        settings: LaneSettings | None = None,
        model: PathModel | None = None,
    ) -> None:
        self.machine, self.paths, self._model = machine, paths, model
        self.settings = settings or LaneSettings()
        self.proves = self.settings.proves
        self._choices = CHOICES if is_open(machine) else np.inf
        self.age = 0.0
        """Number of lanes that matched regrets so far."""
        self._num_roles = len(machine.roles)
        players = player_roles(machine)
        # A slice where it can be: that copies nothing.
        self._players = slice(None) if len(players) == self._num_roles else players
        self.nodes = NodeTable(paths)
        self.leaves = LeafValues(machine, MOST_DEPTH, guided=self.settings.guided)
        self._known = WorldTable(machine, self.settings.most_worlds)
        self._grower = grower_of(machine, self._known, self.nodes, paths, alone=self.alone)

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
        first = self.num_worlds
        self._known.make_room(len(states), self.num_worlds + len(states))
        self._worlds.parent[first : first + len(states)] = -1
        self._worlds.code[first : first + len(states)] = 0
        self._add(self._known.listed(states), views, own)
        return first + np.arange(len(states))

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
        chances: Chances | None = None,
    ) -> None:
        """Send lanes down from worlds, and back up their results.

        Args:
            worlds: `[L]` where each lane begins.
            learns: `[L, R]` whether a role learns from a lane.
            chances: for lanes that match regrets, of which one role learns; default: UCB1 chooses.

        Raises:
            OutOfTime: the deadline has passed; the wave leaves no trace except new worlds and
                nodes.
        """
        key = int(rng.integers(0, 1 << 64, dtype=np.uint64))
        wave = new_wave(worlds, learns, key)
        if chances is None:
            prior = self.leaves.averages()
            exploration, weight = (CALM if len(prior) else 1.0) * self.settings.exploration, 1.0
        else:
            wave, prior = matching(wave, chances.odds, chances.reach), UNKNOWN_WORTH
            exploration, weight = chances.exploration, chances.weight
        pauses = self._model is not None
        lanes = WaveLanes(wave, Walk(exploration, weight, self._choices, prior, pauses))
        size = len(worlds)
        goals = np.zeros((size, self._num_roles))
        turns, done = np.zeros(size), np.zeros(size, dtype=np.bool_)
        try:
            while self._go_on(lanes, deadline):
                pass
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
            if chances is None:
                back_up.alike(self.nodes.table, lanes.wave, goals, turns, done, KEEP)
            else:
                learn_regrets(self.nodes.table, lanes.wave, goals, done)

    def _go_on(self, lanes: WaveLanes, deadline: Deadline | None) -> bool:
        """Walk, and enter new worlds; returns whether some lanes walk on."""
        check(deadline)
        if self._grower is None:
            rows = self._walk(lanes)
            return rows > 0 and self._enter(lanes, rows)
        known = len(self.nodes), self.nodes.num_actions
        result, lanes.wave = self._grower.go(lanes.wave, lanes.how)
        if self._model is not None:
            self._believe(self._model, *known)
        if result != UNUSUAL:
            return result == PAUSED
        lanes.most_worlds = self._most_worlds()
        return self._enter(lanes, int(lanes.wave.sizes[ROWS]))

    def _walk(self, lanes: WaveLanes) -> int:
        """Walk while worlds are known; returns how many joint moves lead to unknown ones."""
        lanes.most_worlds = self._most_worlds()
        self._known.make_room(len(lanes.wave.world), lanes.most_worlds)
        how = lanes.how
        while not walk.alike(
            self._worlds,
            self.nodes.table,
            lanes.wave,
            lanes.most_worlds,
            MOST_DEPTH,
            how.exploration,
            how.weight,
            how.choices,
            how.prior,
        ):
            lanes.wave = wider_wave(lanes.wave)
        return int(lanes.wave.sizes[ROWS])

    def _enter(self, lanes: WaveLanes, rows: int) -> bool:
        """Create the worlds that joint moves lead to; lanes at new nodes walk no further. Returns
        whether some walk on."""
        wave = lanes.wave
        wave.sizes[ROWS] = 0
        first = self.num_worlds
        num_new = min(rows, lanes.most_worlds - first)
        if num_new < rows:
            which = np.flatnonzero((wave.status == LOOSE) & (wave.row >= num_new))
            lanes.loose.append(which)
            left = self._known.states.take(wave.parent[num_new:rows])
            left = self.machine.step(left, wave.moves[num_new:rows]).states
            lanes.loose_states.append(left.take(wave.row[which].astype(np.int64) - num_new))
            wave.row[which] = -1
        if not num_new:
            return False
        parents, moves = wave.parent[:num_new], wave.moves[:num_new]
        made = self._known.after(parents, moves)
        views = self._known.views[parents]
        views = self._views_after(views, moves, made.percepts, wave.refused[:num_new])
        fresh = self._add(made, views, -1)
        waiting = np.flatnonzero((wave.status == WALKING) & (wave.world >= first))
        ends = waiting
        if STRAGGLERS * rows >= len(wave.world):
            ends = waiting[fresh[wave.world[waiting] - first]]
        wave.status[ends] = LEAF
        return len(ends) < len(waiting)

    def _views_after(
        self, views: IntArray, moves: IntArray, percepts: IntArray, refused: IntArray
    ) -> IntArray:
        """`[K, R]` path of every role in new worlds: may be written into `views`."""
        roles = self._players
        columns = [each[:, roles].T for each in (views, moves, percepts, refused)]
        # Role after role, in one call.
        found = self.paths.extend(*(column.ravel() for column in columns))
        views[:, roles] = found.reshape(columns[0].shape).T
        return views

    def _num_paths(self) -> int:
        """Upper bound of all path numbers."""
        return len(self.paths)

    def _add(self, made: Successors, views: IntArray, own: int) -> BoolArray:
        """Add worlds whose parents and codes are known; `[K]` whether they have a new node."""
        machine, states, over = self.machine, made.states, made.over
        first, count = self.num_worlds, len(states)
        offsets = np.empty((self._num_roles, count + 1), dtype=np.int64)
        lists: list[IntArray] = []
        probabilities = np.zeros(0)
        stuck = np.zeros(count, dtype=np.bool_)
        at = 0
        for role, (starts, values) in enumerate(made.legal):
            if role == machine.random_role:
                found = some_chance(machine, states, MOST_CHANCE, seed=first)
                starts, values, probabilities = found
            stuck |= ~over & (starts[1:] == starts[:-1])
            offsets[role] = starts + at
            lists.append(values)
            at += len(values)
        ended = np.flatnonzero(over | stuck)
        if len(ended):
            worth = self.leaves.of_ends(states.take(ended), stuck=bool(stuck.any()))
            self._worlds.value[first + ended] = worth
        self._known.reserve(at, len(probabilities))
        self.nodes.reserve(count * self._num_roles, at, self._num_paths())
        fresh = np.zeros(count, dtype=np.bool_)
        random_role = machine.random_role
        known = len(self.nodes), self.nodes.num_actions
        add_worlds(
            self._worlds,
            self.nodes.table,
            self.nodes.of_path,
            over | stuck,
            views,
            offsets,
            np.concatenate(lists),
            -1 if random_role is None else random_role,
            probabilities,
            own,
            fresh,
        )
        if self._model is not None:
            self._believe(self._model, *known)
        self._known.states.add(states)
        self._known.views[first : first + count] = views
        return fresh

    def _believe(self, model: PathModel, first: int, first_action: int) -> None:
        """Set the model's shares of new nodes, from node number `first` on.

        Actions added to a node later have no share.
        """
        table = self.nodes.table
        roles = table.role[first : len(self.nodes)].astype(np.int64)
        new = np.arange(first_action, self.nodes.num_actions)
        actions = new[table.owner[new] >= first]
        actions = actions[np.argsort(table.owner[actions], kind="stable")]
        owners = table.owner[actions] - first
        for role in roles[first_seen(roles)[0]].tolist():
            some = np.flatnonzero(roles == role)
            of_role = actions[roles[owners] == role]
            counts = np.bincount(owners, minlength=len(roles))[some]
            moves = Ragged(offsets_of(counts), table.move[of_role].astype(np.int64))
            shares, trust = model.shares(role, table.path[first + some], moves)
            table.share[of_role] = shares
            table.trust[first + some] = trust

    # ---------------------------------------------------------------- room

    def _most_worlds(self) -> int:
        """Most worlds there may be, if the others have as many actions as the existing ones."""
        actions = self.nodes.num_actions
        each = max(1, actions // max(self.num_worlds, 1))
        left = max(MOST_ACTIONS - actions, 0) // each
        return max(min(self.settings.most_worlds, self.num_worlds + left), self.num_worlds)
