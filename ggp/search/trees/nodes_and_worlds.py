"""Stores a tree's nodes and worlds from decision to decision, and compacts them.

A walk through stored worlds is cheap, since the machine is not asked. So a decision begins in the
worlds of the last one where it can: in a world with the same state and the same incomplete paths.
Worlds are dropped with the incomplete paths that `PathTree.prune` drops, since these cannot recur.
If room is short, all worlds go that cannot be reached from the new particles.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ggp.belief import PathTree
from ggp.machine.arrays import Packed, enlarged, first_seen
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States
from ggp.machine.compiling.jit import kernel
from ggp.machine.on_circuit import on_circuit
from ggp.search.trees.growing import slot_of
from ggp.search.trees.selection import relative_shares
from ggp.search.trees.tree_tables import (
    ACTION_FIELDS,
    ACTIONS,
    CHANCE,
    CHANCES,
    FIRST_ROWS,
    I32,
    LARGE,
    LISTED,
    NODE_FIELDS,
    NODES,
    SIZE,
    UPPER,
    Nodes,
    Worlds,
    new_nodes,
    new_worlds,
    wider,
    wider_nodes,
    wider_worlds,
    with_slack,
)

if TYPE_CHECKING:
    from ggp.machine.on_circuit import OnCircuit


MAX_BYTES = 1 << 28
"""Greatest room for states that is reserved in advance, see `wider`."""

ROOMY = 1.5
"""Worlds are dropped for room only if at least this many times as many exist as would stay, since
moving the rest takes time."""


class WorldTable:
    """All worlds of a tree.

    Attributes:
        max_worlds: greatest number of worlds that lanes may add, see `tree_tables`.
        table: for kernels.
        states: the state of each world.
        views: `[W, R]` every role's path in each world, with spare rows.
    """

    def __init__(self, machine: Machine, max_worlds: int) -> None:
        self._machine, self.max_worlds = machine, max_worlds
        self.table = new_worlds(len(machine.roles))
        self.states: PackedStore | WorldStates = WorldStates(machine)
        if on_circuit(machine):
            self.states = PackedStore(machine, with_slack(max_worlds))
        self.views = np.zeros((64, len(machine.roles)), dtype=np.int64)

    def __len__(self) -> int:
        return int(self.table.sizes[SIZE])

    def make_room(self, lanes: int, limit: int) -> None:
        """Make room for one more world, and one more for each lane, up to `limit`."""
        capacity = min(len(self) + lanes, limit) + 1
        in_all = with_slack(self.max_worlds)  # for particles that are added to a full tree
        self.table = wider_worlds(self.table, capacity, 0, 0, in_all)
        self.views = wider(self.views, capacity, in_all)
        if 2 * capacity > len(self.table.slots):
            # A power of two: slots are found by masking the hash.
            slots = np.full(1 << (3 * capacity).bit_length(), -1, dtype=np.int32)
            self.table = self.table._replace(slots=slots)
            place_worlds(self.table)

    def reserve(self, listed: int, chances: int) -> None:
        """Make room for this many more listed actions and chance moves."""
        sizes = self.table.sizes
        listed, chances = int(sizes[LISTED]) + listed, int(sizes[CHANCES]) + chances
        self.table = wider_worlds(self.table, 0, listed, chances, 0)

    def find(self, states: States, views: IntArray) -> IntArray:
        """`[N]` the first world with each particle's state and all roles' paths, -1 for none.

        Args:
            states, views: of N particles; `[N, R]`.
        """
        known_views = self.views[: len(self)]
        # The role with the most distinct paths leaves the fewest worlds to compare.
        role = int(np.argmax([len(np.unique(column)) for column in views.T]))
        similar = np.flatnonzero(np.isin(known_views[:, role], np.unique(views[:, role])))
        _, seen = first_seen(np.concatenate([known_views[similar], views]))
        is_known = np.isin(seen[: len(similar)], seen[len(similar) :])
        seen = seen[np.append(is_known, np.ones(len(views), np.bool_))]
        similar = similar[is_known]
        if not len(similar):
            return np.full(len(states), -1, dtype=np.int64)
        machine = self._machine
        group = machine.groups(machine.concatenate([self.states.take(similar), states]))
        _, group = first_seen(np.column_stack([seen, group]).astype(np.int64))
        first = np.full(len(group), -1, dtype=np.int64)
        first[group[: len(similar)][::-1]] = similar[::-1]
        return first[group[len(similar) :]]

    def with_node(self, worlds: IntArray, role: int) -> IntArray:
        """The same worlds, with -1 where a role has a single move and no node."""
        has_node = self.table.over[worlds] | (self.table.node[worlds, role] >= 0)
        return np.where(has_node, worlds, -1)

    def keep(self, nodes: Nodes, keep: BoolArray, node: I32, action: I32) -> IntArray:
        """Drop all worlds but those in a mask, in the same order; see `keep_worlds`.

        Returns:
            the new index of each old world, -1 if it is dropped.
        """
        new_ids = np.empty(len(keep), dtype=np.int32)
        if not keep.all():
            self.states = self.states.only(np.flatnonzero(keep))
            self.views[: keep.sum()] = self.views[: len(keep)][keep]
        keep_worlds(self.table, nodes, keep, node, action, new_ids)
        place_worlds(self.table)
        return new_ids.astype(np.int64)


def reachable(worlds: Worlds, roots: IntArray) -> BoolArray:
    """`[W]` whether each world is a root or can be reached from one."""
    reached = np.zeros(int(worlds.sizes[SIZE]), dtype=np.bool_)
    reached[roots] = True
    mark_reachable(worlds, reached)
    return reached


class PackedStore:
    """A growing list of a circuit's states, as rows of words; methods as in `WorldStates`.

    Args:
        max_size: expected greatest number of states.
    """

    def __init__(self, machine: OnCircuit, max_size: int) -> None:
        self._machine, self._max_size, self._size = machine, max_size, 0
        self._packed = np.empty((FIRST_ROWS, machine.num_words), dtype=np.uint64)

    def __len__(self) -> int:
        return self._size

    def add(self, states: States) -> None:
        packed = self.with_room(len(states))
        packed[self._size : self._size + len(states)] = self._machine.packed_of(states)
        self._size += len(states)

    def with_room(self, count: int) -> Packed:
        """All states, packed for kernels, with room for `count` more."""
        size = self._size + count
        if size > len(self._packed):
            reserve = max(4 * size, self._max_size if size > LARGE else 0)
            rows = max(size + size // 4, min(reserve, MAX_BYTES // self._packed[:1].nbytes))
            larger = np.empty((rows, self._packed.shape[1]), dtype=np.uint64)
            larger[: self._size] = self._packed[: self._size]
            self._packed = larger
        return self._packed

    def has_grown(self, size: int) -> None:
        """Record that kernels wrote states up to this number."""
        self._size = size

    def take(self, numbers: IntArray) -> States:
        return self._machine.from_packed(self._packed[numbers])

    def only(self, numbers: IntArray) -> PackedStore:
        """This list, reduced to the states with these numbers; reusing its memory is fast."""
        self._size = len(numbers)
        self._packed[: self._size] = self._packed[numbers]
        return self


class WorldStates:
    """A growing list of a machine's states, numbered in the order of addition."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._states = machine.initial(0)

    def __len__(self) -> int:
        """Number of states."""
        return len(self._states)

    def add(self, states: States) -> None:
        """Append states."""
        self._states = self._machine.concatenate([self._states, states])

    def take(self, numbers: IntArray) -> States:
        """The states with these numbers, in this order, repeats allowed."""
        return self._states.take(numbers)

    def only(self, numbers: IntArray) -> WorldStates:
        """This list, reduced to the states with these numbers, in this order."""
        self._states = self.take(numbers)
        return self


# ------------------------------------------------------------------------
# Kernels that place, mark and drop worlds. A match waits meanwhile, so they compact arrays in
# place: a row never moves to a higher index, and its parent has moved before it.


@kernel
def place_worlds(worlds: Worlds) -> None:
    """Give slots to all worlds except particles; all slots must be free (-1)."""
    for world in range(worlds.sizes[SIZE]):
        if worlds.parent[world] >= 0:
            worlds.slots[slot_of(worlds, world)] = world


@kernel
def mark_reachable(worlds: Worlds, reached: BoolArray) -> None:
    """Mark all worlds that can be reached from marked ones."""
    for world in range(len(reached)):
        # A parent precedes its children, so one pass is enough.
        if worlds.parent[world] >= 0 and reached[worlds.parent[world]]:
            reached[world] = True


@kernel
def keep_worlds(
    worlds: Worlds, nodes: Nodes, keep: BoolArray, node: I32, action: I32, new_ids: I32
) -> None:
    """Drop all worlds but those in a mask, in the same order; renumber their nodes and actions.

    Args:
        nodes: already compacted; proofs that end in dropped worlds are withdrawn.
        keep: `[W]` the worlds to keep; their nodes must have been kept.
        node, action: new index of each old node and action, -1 if it is dropped.
        new_ids: `[W]` set to the new index of each world, -1 if it is dropped. All slots are free
            afterwards: see `place_worlds`.
    """
    # Rows move down in order, so row `size` is free: its world has moved already, or is dropped.
    low = (1 << UPPER) - 1
    size, listed, chances = 0, 0, 0
    for world in range(len(keep)):
        new_ids[world] = -1
        if not keep[world]:
            continue
        new_ids[world] = size
        parent = worlds.parent[world]
        worlds.parent[size] = new_ids[parent] if parent >= 0 else -1
        worlds.over[size] = worlds.over[world]
        for role in range(worlds.code.shape[1]):
            code = worlds.code[world, role]
            refused = (code >> UPPER) - 1
            if refused >= 0:
                code = (code & low) + ((np.int64(action[refused]) + 1) << UPPER)
            worlds.code[size, role] = code
            count = worlds.counts[world, role]
            worlds.counts[size, role] = count
            worlds.value[size, role] = worlds.value[world, role]
            kind, first = worlds.node[world, role], worlds.first[world, role]
            if kind == CHANCE:
                for k in range(count):
                    worlds.chance_move[chances + k] = worlds.chance_move[first + k]
                    worlds.chance_cdf[chances + k] = worlds.chance_cdf[first + k]
                first = chances
                chances += count
            elif kind >= 0:
                kind = node[kind]
                if first >= 0:
                    first = action[first]
                else:
                    for k in range(count):
                        worlds.listed[listed + k] = action[worlds.listed[-1 - first + k]]
                    first = -1 - listed
                    listed += count
            worlds.node[size, role] = kind
            worlds.first[size, role] = first
        size += 1
    worlds.sizes[SIZE] = size
    worlds.sizes[LISTED] = listed
    worlds.sizes[CHANCES] = chances
    for k in range(nodes.sizes[ACTIONS]):
        if nodes.end[k] >= 0:
            nodes.end[k] = new_ids[nodes.end[k]]
            if nodes.end[k] < 0:
                nodes.proof[k] = -1.0
    worlds.slots[:] = -1


# ------------------------------------------------------------------------
# The nodes of trees over incomplete paths, and their statistics.

MAX_ACTIONS = 5_000_000
"""Greatest number of actions, about 70 bytes each; no world is added that may exceed it."""

TREMBLE = 0.02
"""Assumed probability that a role moved uniformly instead of by its strategy."""


class ActionSums(NamedTuple):
    """Statistics of the actions of one node, in the order in which they were added.

    Attributes:
        moves: `[A]`.
        visits: `[A]` choices that were backed up.
        goals: `[A]` sum of goals from 0 to 1.
        squares: `[A]` sum of their squares.
        discounted: `[A]` sum of goals moved towards the middle by the factor `KEEP` per turn.
        proofs: `[A]` proved goal from 0 to 1, -1 if none is proved.
        average: `[A]` weighted sum of probabilities in strategies, for regret matching.
    """

    moves: IntArray
    visits: IntArray
    goals: FloatArray
    squares: FloatArray
    discounted: FloatArray
    proofs: FloatArray
    average: FloatArray

    def take(self, indices: IntArray) -> ActionSums:
        """Some of the actions, in this order."""
        return ActionSums._make(column[indices] for column in self)


class NodeTable:
    """The nodes of all roles, by the paths of a `PathTree`.

    Attributes:
        table: for kernels.
        of_path: node of each path, -1 for none.
    """

    def __init__(self, paths: PathTree) -> None:
        self._paths = paths
        self.table = new_nodes()
        self.of_path = np.full(64, -1, dtype=np.int32)

    def __len__(self) -> int:
        return int(self.table.sizes[NODES])

    @property
    def num_actions(self) -> int:
        return int(self.table.sizes[ACTIONS])

    def renumber(self, numbers: IntArray) -> tuple[I32, I32]:
        """Follow `PathTree.prune`: drop the nodes of dropped paths; see `keep`."""
        self.table.path[: len(self)] = paths = numbers[self.table.path[: len(self)]]
        return self.keep(paths >= 0)

    def keep(self, keep: BoolArray) -> tuple[I32, I32]:
        """Drop all nodes but those in a mask; the rest keep their order and their actions.

        Args:
            keep: `[I]` the nodes to keep.

        Returns:
            the new index of each old node and of each old action, -1 if it is dropped.
        """
        table, nodes, actions = self.table, len(self), self.num_actions
        node_ids = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        keeps_action = keep[table.owner[:actions]]
        action_ids = np.where(keeps_action, np.cumsum(keeps_action) - 1, -1).astype(np.int32)
        chain = table.next[:actions]
        table.next[:actions] = np.where(chain >= 0, action_ids[chain], -1)
        table.owner[:actions] = node_ids[table.owner[:actions]]
        for ends in (table.first_action, table.last_action):
            ends[:nodes] = action_ids[ends[:nodes]]
        rows = np.flatnonzero(keep), np.flatnonzero(keeps_action)
        for names, indices in zip((NODE_FIELDS, ACTION_FIELDS), rows, strict=True):
            for column in (getattr(table, name) for name in names):
                column[: len(indices)] = column[indices]
        table.sizes[:] = len(rows[0]), len(rows[1])
        self.of_path[:] = -1
        self.of_path[self.table.path[: len(self)]] = np.arange(len(self), dtype=np.int32)
        return node_ids, action_ids

    def reserve(self, nodes: int, actions: int, paths: int) -> None:
        """Make room for this many more nodes and actions, and for `paths` paths in all."""
        # The last worlds may have more actions than predicted, and moving all tables then would
        # take longer than a match can wait.
        limit = with_slack(MAX_ACTIONS)
        self.table = wider_nodes(self.table, len(self) + nodes, self.num_actions + actions, limit)
        self.of_path = enlarged(self.of_path, paths, -1)

    def sums(self, path: int) -> ActionSums:
        """Statistics of the actions at a path; empty if it has no node."""
        nodes = self.table
        actions = self._actions_of(self.node_of(path))
        return ActionSums(
            nodes.move[actions].astype(np.int64),
            nodes.visits[actions],
            nodes.goals[actions],
            nodes.squares[actions],
            nodes.discounted[actions],
            nodes.proof[actions],
            nodes.average[actions],
        )

    @contextmanager
    def committed(self, path: int, move: int | None) -> Iterator[None]:
        """A block in which a role always makes a move at a path; without effect for None."""
        nodes = self.table
        node = self.node_of(path)
        actions = self._actions_of(node)
        if move is None or move not in nodes.move[actions]:
            yield
            return
        trust, shares = nodes.trust[node], nodes.share[actions]
        nodes.trust[node], nodes.share[actions] = 1.0, nodes.move[actions] == move
        try:
            yield
        finally:
            # Tables may have grown, and actions may have been added.
            self.table.trust[node], self.table.share[actions] = trust, shares

    def forget(self, nodes: I32) -> None:
        """Forget the strategies of nodes."""
        forgets = np.zeros(len(self), dtype=np.bool_)
        forgets[nodes] = True
        of_node = forgets[self.table.owner[: self.num_actions]]
        for column in (
            self.table.regret,
            self.table.average,
            self.table.visits,
            self.table.goals,
            self.table.squares,
        ):
            column[: self.num_actions][of_node] = 0

    def reach(self, paths: IntArray, turns: int) -> FloatArray:
        """`[N]` probability of the last turns of paths of equal length by the average strategies,
        relative to uniform play.

        Nodes that were never visited count as uniform play. `TREMBLE` keeps results above 0.
        """
        first, group = first_seen(paths)
        nodes = paths[first]
        self.of_path = enlarged(self.of_path, len(self._paths), -1)
        probabilities = np.ones(len(nodes))
        for _ in range(min(turns, int(self._paths.depths(nodes).max(initial=0)))):
            last_turns = self._paths.last_turns(nodes)
            nodes = self._paths.parents(nodes)
            # The move that the role tried shows its strategy, even if it was refused.
            moves = np.where(last_turns[:, 2] >= 0, last_turns[:, 2], last_turns[:, 0])
            probabilities *= (1 - TREMBLE) * self.shares(nodes, moves) + TREMBLE
        return probabilities[group]

    def shares(self, paths: IntArray, moves: IntArray) -> FloatArray:
        """`[N]` shares of moves at paths in the average strategies, relative to uniform play."""
        shares = np.empty(len(paths))
        relative_shares.unchecked(self.table, self.of_path[paths], moves, shares)
        return shares

    def node_of(self, path: int) -> int:
        """The node of a path, -1 for none."""
        return int(self.of_path[path]) if path < len(self.of_path) else -1

    def _actions_of(self, node: int) -> IntArray:
        """`[A]` actions of a node, in the order in which they were added; none for -1."""
        actions = []
        action = -1 if node < 0 else self.table.first_action[node]
        while action >= 0:
            actions.append(action)
            action = self.table.next[action]
        return np.array(actions, dtype=np.int64)
