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
from ggp.search.trees.growing import (
    DONE,
    ENTERED,
    GIVEN,
    LISTED_MOVES,
    MOST,
    NO_RECORDS,
    PAUSED,
    PENDING,
    PERCEPTS,
    ROOM,
    Arrivals,
    Ask,
    Growth,
    Terms,
    add_worlds,
    ask_circuit,
    ask_nobody,
    grow,
)
from ggp.search.trees.nodes_and_worlds import (
    MOST_ACTIONS,
    ROOMY,
    NodeTable,
    PackedStore,
    WorldTable,
    below,
)
from ggp.search.trees.selection import (
    CHOICES_BY,
    ByRegret,
    GuidedUcb,
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
    LOOSE,
    OVER,
    ROWS,
    LaneSettings,
    Wave,
    Worlds,
    new_wave,
    wider_wave,
)


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
        crowded = self.num_worlds > self.settings.most_worlds // 2
        if crowded or self.nodes.num_actions > MOST_ACTIONS // 2:
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

    def _forget_others(self, roots: IntArray) -> IntArray:
        """Forget worlds that cannot be reached from the roots, and nodes that are not in the rest
        if they left little room for others.

        Returns:
            the new number of each world, -1 where it is forgotten.
        """
        keep = below(self._worlds, roots)
        if ROOMY * keep.sum() > len(keep):
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
            learns: `[L, R]` whether a role learns from a lane; with `ByRegret` one does.
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
            if isinstance(rule, ByRegret):
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
        below(self._worlds, nothing[:, 0])
        if isinstance(rule, ByRegret):
            self.nodes.shares(nothing[:, 0], nothing[:, 0])


# ------------------------------------------------------------------------
# Adds worlds to trees: sends waves down by the kernel, and provides what it lacks.

MOST_DEPTH = 1000
"""Most joint moves of a lane in the tree; other people's games may not terminate."""

MOST_CHANCE = 64
"""Moves of `random` kept for a world if they are too many to list."""

_UNPACKED = np.zeros((0, 0), dtype=np.uint64)


class Lanes:
    """A wave on its way, and the states of lanes that have left the known worlds for good."""

    def __init__(self, wave: Wave) -> None:
        self.wave = wave
        self.loose: list[IntArray] = []
        self.loose_states: list[States] = []


class Grower:
    """Adds worlds of one machine to a tree.

    Args:
        leaves: gives the goals where the game is over.
        model: sets shares of the actions of new nodes.
    """

    def __init__(
        self,
        machine: Machine,
        known: WorldTable,
        nodes: NodeTable,
        paths: PathTree,
        leaves: LeafValues,
        model: PathModel | None,
    ) -> None:
        self._machine, self._known, self._nodes, self._paths = machine, known, nodes, paths
        self._leaves, self._model = leaves, model
        self._num_roles = len(machine.roles)
        self.lister = machine.lister() if on_circuit(machine) else None
        self._terms = Terms(
            known.most,
            MOST_ACTIONS,
            MOST_DEPTH,
            -1 if machine.random_role is None else machine.random_role,
            LONG_LIST,
            model is not None,
        )
        self._chances = np.zeros(0)
        self._given = Arrivals(
            np.zeros(0, dtype=np.bool_),
            np.zeros((0, self._num_roles)),
            np.zeros((0, self._num_roles), dtype=np.int64),
            np.zeros((self._num_roles, 1), dtype=np.int64),
            np.zeros(0, dtype=np.int64),
            self._chances,
        )

    def add(self, states: States, views: IntArray, own: int) -> IntArray:
        """`[N]` new worlds of particles; see `PathsTree.begin`."""
        known, table, first = self._known, self._nodes, len(self._known)
        known.make_room(len(states), first + len(states))
        known.table.parent[first : first + len(states)] = -1
        known.table.code[first : first + len(states)] = 0
        listed = self._listed(states)
        known.reserve(len(listed.values), len(listed.chances))
        table.reserve(len(states) * self._num_roles, len(listed.values), len(self._paths))
        known.views[first : first + len(states)] = views
        before = len(table), table.num_actions
        growth, chance_role = self._growth(len(states)), self._terms.chance_role
        add_worlds.alike(known.table, table.table, listed, growth, chance_role, own)
        self._believe(*before)
        known.states.add(states)
        return first + np.arange(len(states))

    def _growth(self, size: int) -> Growth:
        """The tables of worlds, with scratch for so many new ones."""
        most = size * self._num_roles
        return Growth(
            np.array([0, 0, 0, -1, 0]),
            _UNPACKED,
            self._known.views,
            self._nodes.of_path,
            np.empty((most, 4), dtype=np.uint64),
            np.empty(most, dtype=np.int64),
            np.empty(size, dtype=np.bool_),
        )

    def send(self, lanes: Lanes, rule: Rule, deadline: Deadline | None) -> None:
        """Send a wave down until all lanes have ended, or are where they are played out.

        Raises:
            OutOfTime: the deadline has passed.
        """
        size = len(lanes.wave.world)
        growth = self._growth(size)
        lacking = PAUSED
        while lacking != DONE:
            if lacking == PAUSED:
                check(deadline)
            elif lacking == NO_RECORDS:
                lanes.wave = wider_wave(lanes.wave)
            elif lacking == ROOM:
                self._make_room(growth, size)
            elif lacking == PERCEPTS:
                assert self.lister is not None
                self.lister.learn(lanes.wave.moves[: lanes.wave.sizes[ROWS]])
            else:
                self._list(lanes, growth)
            before = len(self._nodes), self._nodes.num_actions
            lacking = self._grow(lanes.wave, rule, growth)
            self._believe(*before)

    def _grow(self, wave: Wave, rule: Rule, growth: Growth) -> int:
        known, states = self._known, self._known.states
        ask: Ask = ask_nobody
        asked: Any = self._given
        listed, packed = self._given, _UNPACKED
        if isinstance(states, PackedStore):
            packed = states.with_room(len(wave.world))
        if self.lister is not None:
            ask, asked = ask_circuit, self.lister.listing
            if growth.sizes[GIVEN] < 0:
                columns = (getattr(asked, name) for name in Arrivals._fields[:-1])
                listed = Arrivals._make([*columns, self._chances])
        with self._paths.lent(self._num_roles * len(wave.world)) as paths:
            growth.sizes[[LISTED_MOVES, ENTERED]] = 0
            lacking = grow.alike(
                CHOICES_BY[type(rule)],
                rule,
                ask,
                asked,
                listed,
                known.table,
                self._nodes.table,
                wave,
                paths,
                growth._replace(packed=packed, views=known.views, node_of=self._nodes.of_path),
                self._terms,
                WIDTH,
            )
        if isinstance(states, PackedStore) and growth.sizes[GIVEN] < 0:
            states.has_grown(len(known))
        if on_circuit(self._machine):
            self._machine.states_visited += int(growth.sizes[ENTERED])
        return lacking

    def _make_room(self, growth: Growth, lanes: int) -> None:
        """Make room for what the last call of the kernel lacked."""
        known, moves = self._known, max(int(growth.sizes[LISTED_MOVES]), 1)
        if self.lister is not None:
            self.lister.make_room(moves)
            self._chances = np.empty(len(self.lister.listing.values))
        if not growth.sizes[PENDING]:
            known.make_room(lanes, known.most)
        known.reserve(moves, moves)
        paths = len(self._paths) + self._num_roles * lanes  # at most, with those of new worlds
        self._nodes.reserve(lanes * self._num_roles, moves, paths)

    def _list(self, lanes: Lanes, growth: Growth) -> None:
        """Find out what comes of joint moves; lanes for which there is no world get loose."""
        machine, known, wave = self._machine, self._known, lanes.wave
        rows = int(wave.sizes[ROWS])
        count = min(rows, int(growth.sizes[MOST]) - len(known))
        if count < rows:
            loose = np.flatnonzero((wave.status == LOOSE) & (wave.row >= count))
            lanes.loose.append(loose)
            states = known.states.take(wave.parent[count:rows])
            states = machine.step(states, wave.moves[count:rows]).states
            lanes.loose_states.append(states.take(wave.row[loose].astype(np.int64) - count))
            wave.row[loose] = -1
        if not count:
            wave.sizes[ROWS] = growth.sizes[PENDING] = 0
            return
        states = known.states.take(wave.parent[:count])
        states, percepts = machine.step(states, wave.moves[:count])
        self._given = self._listed(states, percepts)
        known.states.add(states)
        growth.sizes[GIVEN] = count

    def _listed(self, states: States, percepts: IntArray | None = None) -> Arrivals:
        """What the machine says of states, for worlds that come after the known ones.

        Args:
            percepts: `[K, R]` ids; default: nobody asks.
        """
        machine, over = self._machine, self._machine.terminal(states)
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
                    machine, states, MOST_CHANCE, seed=len(self._known)
                )
            else:
                starts, moves = machine.legal(states, role, allow_stuck=True)
            stuck |= ~over & (starts[1:] == starts[:-1])
            offsets[role] = starts + size
            lists.append(moves)
            size += len(moves)
        ended = np.flatnonzero(over | stuck)
        if len(ended):
            worth[ended] = self._leaves.of_ends(states.take(ended))
        return Arrivals(over | stuck, worth, percepts, offsets, np.concatenate(lists), chances)

    def _believe(self, first: int, first_action: int) -> None:
        """Set the model's shares of new nodes, from node number `first` on.

        Actions added to a node later have no share.
        """
        table, model = self._nodes.table, self._model
        if model is None or first == len(self._nodes):
            return
        roles = table.role[first : len(self._nodes)].astype(np.int64)
        new = np.arange(first_action, self._nodes.num_actions)
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
