"""Trees over incomplete paths: each role's statistics of its moves, by its information.

Every role has its own tree and chooses by *its* incomplete path (multiple-observer information set
Monte Carlo tree search: Cowling, Powley & Whitehouse, 2012). Several roles may move at once.
`TreeSearch` sends waves of lanes into a `PathsTree` and reads the statistics of its moves.

A wave begins in particles. Its lanes walk down side by side, and each role chooses at its node. A
lane that adds a node stops there, and a random playout finishes it. Each role's goal is then added
to all actions that the role chose on the way. Lanes of a wave spread out, because choices under way
count as visits with goal 0 (virtual loss).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ggp.belief import PathModel, PathTree
from ggp.machine.arrays import first_seen, offsets_of
from ggp.machine.base import BoolArray, IntArray, Machine, Ragged, States, is_open
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.play.turns import WIDTH
from ggp.search.anytime import Deadline, check
from ggp.search.leaf_values import LeafValues
from ggp.search.moves import LONG_LIST, some_chance
from ggp.search.parts import RoundCosts
from ggp.search.trees.growing import (
    ANSWERED,
    DONE,
    ENTERED,
    LISTED_MOVES,
    NO_RECORDS,
    PAUSED,
    PENDING,
    PERCEPTS,
    ROOM,
    WORLD_LIMIT,
    Ask,
    Growth,
    Successors,
    TreeLimits,
    add_worlds,
    ask_circuit,
    ask_nobody,
    grow,
    spread,
    world_limit,
)
from ggp.search.trees.nodes_and_worlds import (
    MAX_ACTIONS,
    ROOMY,
    NodeTable,
    PackedStore,
    WorldTable,
    reachable,
)
from ggp.search.trees.selection import (
    CHOOSERS,
    GuidedUcb,
    Rule,
    Ucb,
    back_up,
    prove,
)
from ggp.search.trees.tree_tables import (
    CALM,
    CHOICES,
    I32,
    LEAF,
    LOOSE,
    OVER,
    ROWS,
    LaneSettings,
    Nodes,
    Wave,
    Worlds,
    new_wave,
    wider_wave,
)

MAX_DEPTH = 1000
"""Greatest number of joint moves of a lane in the tree; strangers' games may not terminate."""

MAX_CHANCE = 64
"""Number of chance moves sampled for a world that has too many to list."""

_UNPACKED = np.zeros((0, 0), dtype=np.uint64)


class Lanes:
    """A wave on its way, and the states of lanes that have left the tree."""

    def __init__(self, wave: Wave) -> None:
        self.wave = wave
        self.loose: list[IntArray] = []
        self.loose_states: list[States] = []


class PathsTree:
    """The trees of all roles of one machine, by the nodes of a `PathTree`.

    Nodes and worlds stay until their paths are dropped.

    Args:
        model: a move model. At a new node it gives the probabilities of moves, and how often they
            hold (its trust); otherwise, and without a model, roles choose by the selection rule.

    Attributes:
        nodes: the statistics.
        leaves: values of the states in which lanes leave the tree.
        costs: the time of waves, from decision to decision.
        proves: whether ends of lanes count as proofs now; only if `settings` says so.
        is_whole: whether `Resolving` knows all of the game from its start.
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
        self.is_whole = False
        self.age = 0.0
        """Number of iterations of `Resolving` so far."""
        self.nodes = NodeTable(paths)
        self.leaves = LeafValues(machine, guided=self.settings.guided)
        self.costs = RoundCosts()
        self._table = WorldTable(machine, self.settings.most_worlds)
        self._model = model
        self._num_roles = len(machine.roles)
        self._lister = machine.lister() if on_circuit(machine) else None
        self._limits = TreeLimits(
            self._table.max_worlds,
            MAX_ACTIONS,
            MAX_DEPTH,
            -1 if machine.random_role is None else machine.random_role,
            LONG_LIST,
            model is not None,
        )
        self._chances = np.zeros(0)
        self._successors = Successors(
            np.zeros(0, dtype=np.bool_),
            np.zeros((0, self._num_roles)),
            np.zeros((0, self._num_roles), dtype=np.int64),
            np.zeros((self._num_roles, 1), dtype=np.int64),
            np.zeros(0, dtype=np.int64),
            self._chances,
        )

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def num_worlds(self) -> int:
        return len(self._table)

    @property
    def world_limit(self) -> int:
        """How many worlds there may be, if new ones have as many actions as those in the tree."""
        return world_limit(self._worlds, self.nodes.table, self._limits)

    @property
    def tables(self) -> tuple[Worlds, Nodes]:
        """The tables of worlds and of nodes, for kernels; they move when the tree grows."""
        return self._table.table, self.nodes.table

    @property
    def _worlds(self) -> Worlds:
        return self._table.table

    # ---------------------------------------------------------------- following a match

    @property
    def views(self) -> IntArray:
        """Paths that the tree needs: none, since paths that cannot recur may be dropped."""
        return np.zeros(0, dtype=np.int64)

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`: drop the nodes and worlds of dropped paths."""
        table, self.is_whole = self._table, False
        table.views[: len(table)] = views = numbers[table.views[: len(table)]]
        keep = np.asarray((views >= 0).all(axis=1))
        table.keep(self.nodes.table, keep, *self.nodes.renumber(numbers))

    def views_of(self, worlds: IntArray) -> IntArray:
        """`[N, R]` every role's path in worlds."""
        return self._table.views[worlds]

    # ---------------------------------------------------------------- worlds

    def begin(self, parts: Sequence[tuple[States, IntArray, int]]) -> list[IntArray]:
        """`[N]` worlds of the particles of each part; new worlds for particles without one.

        If room is short, worlds are dropped that cannot be reached from these.

        Args:
            parts: states, `[N, R]` incomplete path of each role, and the role that decides, or -1:
                it gets a node in each, even where only one move is legal.
        """
        self.leaves.begin()
        ids = [self._table.find(states, views) for states, views, _ in parts]
        crowded = self.num_worlds > self.settings.most_worlds // 2
        if crowded or self.nodes.num_actions > MAX_ACTIONS // 2:
            roots = np.concatenate(ids)
            new_ids = self._drop_unreachable(roots[roots >= 0])
            ids = [np.where(worlds >= 0, new_ids[worlds], -1) for worlds in ids]
        for k, (states, views, decider) in enumerate(parts):
            worlds = ids[k] = ids[k] if decider < 0 else self._table.with_node(ids[k], decider)
            new = np.flatnonzero(worlds < 0)
            worlds[new] = self.add_particles(states.take(new), views[new], decider)
        return ids

    def add_particles(self, states: States, views: IntArray, decider: int) -> IntArray:
        """`[N]` new worlds of particles; see `begin`."""
        worlds, nodes, first = self._table, self.nodes, len(self._table)
        worlds.make_room(len(states), first + len(states))
        worlds.table.parent[first : first + len(states)] = -1
        worlds.table.code[first : first + len(states)] = 0
        successors = self._describe(states)
        worlds.reserve(len(successors.values), len(successors.chances))
        nodes.reserve(len(states) * self._num_roles, len(successors.values), len(self.paths))
        worlds.views[first : first + len(states)] = views
        sizes = len(nodes), nodes.num_actions
        growth, chance_role = self._growth(len(states)), self._limits.chance_role
        add_worlds.unchecked(worlds.table, nodes.table, successors, growth, chance_role, decider)
        self._set_model_shares(*sizes)
        worlds.states.add(states)
        return first + np.arange(len(states))

    def _drop_unreachable(self, roots: IntArray) -> IntArray:
        """Drop the worlds that cannot be reached from the roots, and, if actions take much room,
        the nodes that no other world has.

        Returns:
            the new index of each world, -1 if it is dropped.
        """
        keep = reachable(self._worlds, roots)
        if ROOMY * keep.sum() > len(keep):
            return np.arange(self.num_worlds)
        nodes, actions = len(self.nodes), self.nodes.num_actions
        new_ids = np.arange(nodes, dtype=np.int32), np.arange(actions, dtype=np.int32)
        if actions > MAX_ACTIONS // 2:
            in_use = np.zeros(nodes + 2, dtype=np.bool_)  # with entries for NO_NODE and CHANCE
            in_use[self._worlds.node[: len(keep)][keep]] = True
            new_ids = self.nodes.keep(in_use[:nodes])
        return self._table.keep(self.nodes.table, keep, *new_ids)

    def wave(
        self,
        worlds: IntArray,
        learns: BoolArray,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> None:
        """Send lanes down from worlds, and back up their goals.

        Args:
            worlds: `[L]` where each lane begins.
            learns: `[L, R]` whether a role learns from a lane.

        Raises:
            OutOfTime: the deadline has passed; the wave leaves no trace except new worlds and
                nodes.
        """
        lanes = Lanes(new_wave(worlds, learns, int(rng.integers(0, 1 << 64, dtype=np.uint64))))
        size = len(worlds)
        goals = np.zeros((size, len(self.machine.roles)))
        turns, finished = np.zeros(size), np.zeros(size, dtype=np.bool_)
        try:
            self._send(lanes, deadline)
            wave = lanes.wave
            ended = np.flatnonzero(wave.status == OVER)
            goals[ended] = self._worlds.value[wave.world[ended]]
            turns[ended] = wave.depth[ended]
            leaves = np.flatnonzero(wave.status == LEAF)
            states = self._table.states.take(wave.world[leaves].astype(np.int64))
            if lanes.loose:
                states = self.machine.concatenate([states, *lanes.loose_states])
                leaves = np.concatenate([leaves, *lanes.loose])
            values, steps = self.leaves.of_leaves(states, rng, deadline)
            goals[leaves] = values
            turns[leaves] = wave.depth[leaves] + steps
            finished[:] = True
            if self.proves:
                prove.unchecked(self._worlds, self.nodes.table, wave)
        finally:
            back_up.unchecked(self.nodes.table, lanes.wave, goals, turns, finished)

    def expand(
        self, parents: I32, size: int, rng: np.random.Generator, deadline: Deadline | None = None
    ) -> None:
        """Add all children of worlds, and write a value to each in which the game goes on.

        Args:
            parents: `[N]` worlds without children, in which the game is not over.
            size: number of their joint moves, for which there must be room.

        Raises:
            OutOfTime: the deadline has passed; then children may have the values of their parents.
        """
        check(deadline)
        first, num_roles = self.num_worlds, len(self.machine.roles)
        self._table.make_room(size, first + size)
        idle = np.zeros(size, dtype=np.int64)
        wave = new_wave(idle, np.zeros((size, num_roles), dtype=np.bool_), 0)
        wave.status[:] = OVER
        spread.unchecked(self._worlds, self.nodes.table, wave, parents)
        growth = self._growth(size)
        growth.sizes[PENDING] = 1
        self._send(Lanes(wave), deadline, growth)
        worlds = self._worlds
        leaves = first + np.flatnonzero(~worlds.over[first : first + size])
        worlds.value[leaves] = worlds.value[worlds.parent[leaves]]
        values, _ = self.leaves.of_leaves(self._table.states.take(leaves), rng, deadline)
        worlds.value[leaves] = values

    def _rule(self) -> Rule:
        exploration, prior = self.settings.exploration, self.leaves.averages()
        if len(prior):
            return GuidedUcb(CALM * exploration, self._choices, prior)
        return Ucb(exploration)

    def load_kernels(self) -> None:
        """Compile the kernels, or load them from the cache, before a clock runs: call each without
        lanes."""
        no_lanes = np.zeros((0, len(self.machine.roles)), dtype=np.int64)
        self.wave(no_lanes[:, 0], no_lanes.astype(np.bool_), np.random.default_rng(0))
        self.add_particles(self.machine.initial(0), no_lanes, -1)
        empty = np.zeros(0, dtype=np.bool_)
        self._table.keep(self.nodes.table, empty, *self.nodes.keep(empty))
        reachable(self._worlds, no_lanes[:, 0])

    # ---------------------------------------------------------------- growing

    def _growth(self, size: int) -> Growth:
        """Columns of worlds, with scratch space for `size` new ones."""
        capacity = size * self._num_roles
        return Growth(
            np.array([0, 0, 0, -1, 0]),
            _UNPACKED,
            self._table.views,
            self.nodes.of_path,
            np.empty((capacity, 4), dtype=np.uint64),
            np.empty(capacity, dtype=np.int64),
            np.empty(size, dtype=np.bool_),
        )

    def _send(self, lanes: Lanes, deadline: Deadline | None, growth: Growth | None = None) -> None:
        """Send a wave down until every lane has ended or stopped at a leaf.

        Raises:
            OutOfTime: the deadline has passed.
        """
        size, rule = len(lanes.wave.world), self._rule()
        growth = growth or self._growth(size)
        reason = PAUSED
        while reason != DONE:
            if reason == PAUSED:
                check(None if growth.sizes[PENDING] else deadline)
            elif reason == NO_RECORDS:
                lanes.wave = wider_wave(lanes.wave)
            elif reason == ROOM:
                self._make_room(growth, size)
            elif reason == PERCEPTS:
                assert self._lister is not None
                self._lister.learn(lanes.wave.moves[: lanes.wave.sizes[ROWS]])
            else:
                self._step_rows(lanes, growth)
            sizes = len(self.nodes), self.nodes.num_actions
            reason = self._grow(lanes.wave, rule, growth)
            self._set_model_shares(*sizes)

    def _grow(self, wave: Wave, rule: Rule, growth: Growth) -> int:
        worlds, states = self._table, self._table.states
        ask: Ask = ask_nobody
        listing: Any = self._successors
        successors, packed = self._successors, _UNPACKED
        if isinstance(states, PackedStore):
            packed = states.with_room(len(wave.world))
        if self._lister is not None:
            ask, listing = ask_circuit, self._lister.listing
            if growth.sizes[ANSWERED] < 0:
                columns = (getattr(listing, name) for name in Successors._fields[:-1])
                successors = Successors._make([*columns, self._chances])
        with self.paths.lent(self._num_roles * len(wave.world)) as paths:
            growth.sizes[LISTED_MOVES] = growth.sizes[ENTERED] = 0
            reason = grow.unchecked(
                CHOOSERS[type(rule)],
                rule,
                ask,
                listing,
                successors,
                worlds.table,
                self.nodes.table,
                wave,
                paths,
                growth._replace(packed=packed, views=worlds.views, node_of=self.nodes.of_path),
                self._limits,
                WIDTH,
            )
        if isinstance(states, PackedStore) and growth.sizes[ANSWERED] < 0:
            states.has_grown(len(worlds))
        if on_circuit(self.machine):
            self.machine.states_visited += int(growth.sizes[ENTERED])
        return reason

    def _make_room(self, growth: Growth, lanes: int) -> None:
        """Make the room that the last call of the kernel lacked."""
        worlds, moves = self._table, max(int(growth.sizes[LISTED_MOVES]), 1)
        if self._lister is not None:
            self._lister.make_room(moves)
            self._chances = np.empty(len(self._lister.listing.values))
        if not growth.sizes[PENDING]:
            worlds.make_room(lanes, worlds.max_worlds)
        worlds.reserve(moves, moves)
        paths = len(self.paths) + self._num_roles * lanes  # at most, with those of new worlds
        self.nodes.reserve(lanes * self._num_roles, moves, paths)

    def _step_rows(self, lanes: Lanes, growth: Growth) -> None:
        """Ask the machine for the successors of joint moves; lanes without a world become loose."""
        machine, worlds, wave = self.machine, self._table, lanes.wave
        rows = int(wave.sizes[ROWS])
        count = min(rows, int(growth.sizes[WORLD_LIMIT]) - len(worlds))
        if count < rows:
            loose = np.flatnonzero((wave.status == LOOSE) & (wave.row >= count))
            lanes.loose.append(loose)
            states = worlds.states.take(wave.parent[count:rows])
            states = machine.step(states, wave.moves[count:rows]).states
            lanes.loose_states.append(states.take(wave.row[loose].astype(np.int64) - count))
            wave.row[loose] = -1
        if not count:
            wave.sizes[ROWS] = growth.sizes[PENDING] = 0
            return
        states = worlds.states.take(wave.parent[:count])
        states, percepts = machine.step(states, wave.moves[:count])
        self._successors = self._describe(states, percepts)
        worlds.states.add(states)
        growth.sizes[ANSWERED] = count

    def _describe(self, states: States, percepts: IntArray | None = None) -> Successors:
        """The machine's answers about states that become new worlds.

        Args:
            percepts: `[K, R]` ids; default: zeros, for particles.
        """
        machine, over = self.machine, self.machine.terminal(states)
        count, size = len(states), 0
        worth = np.zeros((count, self._num_roles))
        if percepts is None:
            percepts = np.zeros((count, self._num_roles), dtype=np.int64)
        offsets = np.empty((self._num_roles, count + 1), dtype=np.int64)
        lists: list[IntArray] = []
        chances, stuck = np.zeros(0), np.zeros(count, dtype=np.bool_)
        for role in range(self._num_roles):
            if role == machine.random_role:
                starts, moves, chances = some_chance(
                    machine, states, MAX_CHANCE, seed=len(self._table)
                )
            else:
                starts, moves = machine.legal(states, role, allow_stuck=True)
            stuck |= ~over & (starts[1:] == starts[:-1])
            offsets[role] = starts + size
            lists.append(moves)
            size += len(moves)
        ended = np.flatnonzero(over | stuck)
        if len(ended):
            worth[ended] = self.leaves.of_ends(states.take(ended))
        return Successors(over | stuck, worth, percepts, offsets, np.concatenate(lists), chances)

    def _set_model_shares(self, first: int, first_action: int) -> None:
        """Set the model's probabilities of the actions of new nodes, from node `first` on.

        Actions that are added to a node later have probability 0.
        """
        table, model = self.nodes.table, self._model
        if model is None or first == len(self.nodes):
            return
        roles = table.role[first : len(self.nodes)].astype(np.int64)
        new = np.arange(first_action, self.nodes.num_actions)
        actions = new[table.owner[new] >= first]
        actions = actions[np.argsort(table.owner[actions], kind="stable")]
        owners = table.owner[actions] - first
        for role in roles[first_seen(roles)[0]].tolist():
            indices = np.flatnonzero(roles == role)
            of_role = actions[roles[owners] == role]
            counts = np.bincount(owners, minlength=len(roles))[indices]
            moves = Ragged(offsets_of(counts), table.move[of_role].astype(np.int64))
            shares, trust = model.shares(role, table.path[first + indices], moves)
            table.share[of_role] = shares
            table.trust[first + indices] = trust
