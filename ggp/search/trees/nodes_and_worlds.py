"""The nodes and worlds of trees, which are kept from decision to decision.

A walk costs little where it goes through known worlds, for the machine is not asked. So a decision
begins in the worlds that the one before it came to, if they are there: in the same state everybody
knows the same. Worlds are forgotten with the paths of those who know them, as these can no longer
recur; or, where there is little room, unless they can be reached from the new particles.
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
    FIRST_PLACES,
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


MOST_BYTES = 1 << 28
"""Most room for states that is taken beforehand, see `wider`: those of large games are large."""

ROOMY = 1.5
"""Worlds are only forgotten for room if there are this many times as many as would be kept: to move
those takes time."""


class WorldTable:
    """All worlds that are known.

    Attributes:
        most: most worlds that lanes may add, see `ggp.search.trees.tree_tables`.
        table: for kernels.
        states: the state of each world.
        views: `[W, R]` the path of every role in each world, and places for more.
    """

    def __init__(self, machine: Machine, most: int) -> None:
        self._machine, self.most = machine, most
        self.table = new_worlds(len(machine.roles))
        self.states: PackedStore | WorldStates = WorldStates(machine)
        if on_circuit(machine):
            self.states = PackedStore(machine, with_slack(most))
        self.views = np.zeros((64, len(machine.roles)), dtype=np.int64)

    def __len__(self) -> int:
        return int(self.table.sizes[SIZE])

    def make_room(self, lanes: int, most: int) -> None:
        """Make room for one more world, and one more for each lane, up to `most`."""
        wanted = min(len(self) + lanes, most) + 1
        most = with_slack(self.most)  # for particles that are added to a full tree
        self.table = wider_worlds(self.table, wanted, 0, 0, most)
        self.views = wider(self.views, wanted, most)
        if 2 * wanted > len(self.table.slots):
            # A power of two: slots are found by masking the hash.
            slots = np.full(1 << (3 * wanted).bit_length(), -1, dtype=np.int32)
            self.table = self.table._replace(slots=slots)
            place_worlds(self.table)

    def reserve(self, listed: int, chances: int) -> None:
        """Make room for this many more listed actions and chance moves."""
        sizes = self.table.sizes
        listed, chances = int(sizes[LISTED]) + listed, int(sizes[CHANCES]) + chances
        self.table = wider_worlds(self.table, 0, listed, chances, 0)

    def find(self, states: States, views: IntArray) -> IntArray:
        """`[N]` the first world in each state in which every role knows what it does there, -1 for
        none.

        Args:
            states, views: of N particles; `[N, R]`.
        """
        known_views = self.views[: len(self)]
        # One role knows most: few worlds are left to be compared.
        role = int(np.argmax([len(np.unique(column)) for column in views.T]))
        similar = np.flatnonzero(np.isin(known_views[:, role], np.unique(views[:, role])))
        _, seen = first_seen(np.concatenate([known_views[similar], views]))
        is_known = np.isin(seen[: len(similar)], seen[len(similar) :])
        seen = seen[np.append(is_known, np.ones(len(views), np.bool_))]
        similar = similar[is_known]
        if not len(similar):
            return np.full(len(states), -1, dtype=np.int64)
        machine = self._machine
        same = machine.groups(machine.concatenate([self.states.take(similar), states]))
        _, same = first_seen(np.column_stack([seen, same]).astype(np.int64))
        first = np.full(len(same), -1, dtype=np.int64)
        first[same[: len(similar)][::-1]] = similar[::-1]
        return first[same[len(similar) :]]

    def with_node(self, worlds: IntArray, role: int) -> IntArray:
        """The same worlds, -1 in place of those where a role has a single move and no node."""
        has_node = self.table.over[worlds] | (self.table.node[worlds, role] >= 0)
        return np.where(has_node, worlds, -1)

    def keep(self, nodes: Nodes, keep: BoolArray, node: I32, action: I32) -> IntArray:
        """Forget all worlds but some, which keep their order; see `keep_worlds`.

        Returns:
            the new number of each world there was, -1 where it is forgotten.
        """
        numbers = np.empty(len(keep), dtype=np.int32)
        if not keep.all():
            self.states = self.states.only(np.flatnonzero(keep))
            self.views[: keep.sum()] = self.views[: len(keep)][keep]
        keep_worlds(self.table, nodes, keep, node, action, numbers)
        place_worlds(self.table)
        return numbers.astype(np.int64)


def below(worlds: Worlds, roots: IntArray) -> BoolArray:
    """`[W]` whether each world is one of the roots, or can be reached from one."""
    reached = np.zeros(int(worlds.sizes[SIZE]), dtype=np.bool_)
    reached[roots] = True
    mark_below(worlds, reached)
    return reached


class PackedStore:
    """A growing list of states of a circuit, which are rows of words: see `WorldStates`.

    Args:
        most: most states that there will be, as far as is known.
    """

    def __init__(self, machine: OnCircuit, most: int) -> None:
        self._machine, self._most, self._size = machine, most, 0
        self._packed = np.empty((FIRST_PLACES, machine.num_words), dtype=np.uint64)

    def __len__(self) -> int:
        return self._size

    def add(self, states: States) -> None:
        packed = self.with_room(len(states))
        packed[self._size : self._size + len(states)] = self._machine.packed_of(states)
        self._size += len(states)

    def with_room(self, count: int) -> Packed:
        """All of them as kernels read and write them, with room for so many more."""
        size = self._size + count
        if size > len(self._packed):
            wanted = max(4 * size, self._most if size > LARGE else 0)
            rows = max(size + size // 4, min(wanted, MOST_BYTES // self._packed[:1].nbytes))
            larger = np.empty((rows, self._packed.shape[1]), dtype=np.uint64)
            larger[: self._size] = self._packed[: self._size]
            self._packed = larger
        return self._packed

    def has_grown(self, size: int) -> None:
        """Follow kernels that wrote more of them, so that there are as many."""
        self._size = size

    def take(self, numbers: IntArray) -> States:
        return self._machine.from_packed(self._packed[numbers])

    def only(self, numbers: IntArray) -> PackedStore:
        """This list, of which only the states with these numbers are left: its memory was used
        before, which makes it fast."""
        self._size = len(numbers)
        self._packed[: self._size] = self._packed[numbers]
        return self


class WorldStates:
    """A growing list of states of one machine: by number, in the order in which they were added.

    They are held in parts, of which the last ones are merged when they are of similar size: a state
    is copied about as often as its number has digits, and there are few parts.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._parts: list[States] = []
        self._ends: list[int] = []

    def __len__(self) -> int:
        """Number of states."""
        return self._ends[-1] if self._ends else 0

    def add(self, states: States) -> None:
        """Add states after those there are."""
        if not len(states):
            return
        size = len(self) + len(states)
        joined = [states]
        total = len(states)
        while self._parts and len(self._parts[-1]) <= 2 * total:
            total += len(self._parts[-1])
            joined.append(self._parts.pop())
            self._ends.pop()
        self._parts.append(self._machine.concatenate(joined[::-1]) if joined[1:] else states)
        self._ends.append(size)

    def take(self, numbers: IntArray) -> States:
        """The states with these numbers, in this order, repeats allowed."""
        if not len(numbers):
            return self._machine.initial(0)
        part_of = np.searchsorted(self._ends, numbers, side="right")
        used = np.flatnonzero(np.bincount(part_of))
        if len(used) == 1:
            part = int(used[0])
            return self._parts[part].take(numbers - self._start(part))
        order = np.argsort(part_of, kind="stable")
        bounds = np.searchsorted(part_of[order], used, side="left").tolist()
        found = [
            self._parts[part].take(numbers[order[first:end]] - self._start(part))
            for part, first, end in zip(
                used.tolist(), bounds, [*bounds[1:], len(order)], strict=True
            )
        ]
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        return self._machine.concatenate(found).take(back)

    def only(self, numbers: IntArray) -> WorldStates:
        """A list of the states with these numbers, in this order."""
        kept = WorldStates(self._machine)
        kept.add(self.take(numbers))
        return kept

    def _start(self, part: int) -> int:
        return self._ends[part - 1] if part else 0


# ------------------------------------------------------------------------
# The kernels by which worlds are placed, counted and forgotten. A match waits meanwhile, so those
# that are kept move up where they are.


@kernel
def place_worlds(worlds: Worlds) -> None:
    """Give slots to all worlds that are not particles; all slots must be free (-1)."""
    for world in range(worlds.sizes[SIZE]):
        if worlds.parent[world] >= 0:
            worlds.slots[slot_of(worlds, world)] = world


@kernel
def mark_below(worlds: Worlds, reached: BoolArray) -> None:
    """Mark all worlds that can be reached from those that are marked."""
    for world in range(len(reached)):
        # Worlds come after those that lead to them.
        if worlds.parent[world] >= 0 and reached[worlds.parent[world]]:
            reached[world] = True


@kernel
def keep_worlds(
    worlds: Worlds, nodes: Nodes, keep: BoolArray, node: I32, action: I32, number: I32
) -> None:
    """Forget all worlds but some, which keep their order; follow new numbers of nodes and actions.

    Args:
        nodes: as they are now; proofs that end in forgotten worlds are forgotten.
        keep: `[W]` the worlds to keep. All their nodes must have been kept.
        node, action: new number of each node and action there was, -1 where it is forgotten.
        number: `[W]` set to the new number of each world, -1 where it is forgotten. Their slots
            are free afterwards: see `place_worlds`.
    """
    low = (1 << UPPER) - 1
    size, listed, chances = 0, 0, 0
    for world in range(len(keep)):
        number[world] = -1
        if not keep[world]:
            continue
        number[world] = size
        parent = worlds.parent[world]
        worlds.parent[size] = number[parent] if parent >= 0 else -1
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
                    worlds.chance_upto[chances + k] = worlds.chance_upto[first + k]
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
            nodes.end[k] = number[nodes.end[k]]
            if nodes.end[k] < 0:
                nodes.proof[k] = -1.0
    worlds.slots[:] = -1


# ------------------------------------------------------------------------
# The nodes of trees over incomplete paths, and their statistics.

MOST_ACTIONS = 5_000_000
"""Most actions of a tree, about 70 bytes each: no world is added that may need more."""

TREMBLE = 0.02
"""Probability with which a role is taken to have moved uniformly, not by its strategy."""


class ActionSums(NamedTuple):
    """Statistics of the actions of one node, in the order in which they were found.

    Attributes:
        moves: `[A]`.
        visits: `[A]` choices that were backed up.
        goals: `[A]` sum of goals of 0 to 1.
        squares: `[A]` sum of their squares.
        discounted: `[A]` sum of goals drawn to the middle by the factor `KEEP` per turn.
        proofs: `[A]` proved goal from 0 to 1, -1 if none is proved.
        average: `[A]` sum of weighted shares in strategies, where regrets are matched.
    """

    moves: IntArray
    visits: IntArray
    goals: FloatArray
    squares: FloatArray
    discounted: FloatArray
    proofs: FloatArray
    average: FloatArray

    def take(self, places: IntArray) -> ActionSums:
        """Some of the actions, in this order."""
        return ActionSums._make(column[places] for column in self)


class NodeTable:
    """The nodes of all roles, by paths of a `PathTree`.

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
        """Follow `PathTree.prune`: nodes of forgotten paths go; see `keep`."""
        self.table.path[: len(self)] = paths = numbers[self.table.path[: len(self)]]
        return self.keep(paths >= 0)

    def keep(self, keep: BoolArray) -> tuple[I32, I32]:
        """Forget all nodes except some, which keep their order and their actions.

        Args:
            keep: `[I]` the nodes to keep.

        Returns:
            the new number of each node and of each action there was, -1 where it is forgotten.
        """
        table, nodes, actions = self.table, len(self), self.num_actions
        number = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        stays = keep[table.owner[:actions]]
        place = np.where(stays, np.cumsum(stays) - 1, -1).astype(np.int32)
        chain = table.next[:actions]
        table.next[:actions] = np.where(chain >= 0, place[chain], -1)
        table.owner[:actions] = number[table.owner[:actions]]
        for ends in (table.first_action, table.last_action):
            ends[:nodes] = place[ends[:nodes]]
        rows = np.flatnonzero(keep), np.flatnonzero(stays)
        for names, kept in zip((NODE_FIELDS, ACTION_FIELDS), rows, strict=True):
            for column in (getattr(table, name) for name in names):
                column[: len(kept)] = column[kept]
        table.sizes[:] = len(rows[0]), len(rows[1])
        self.of_path[:] = -1
        self.of_path[self.table.path[: len(self)]] = np.arange(len(self), dtype=np.int32)
        return number, place

    def reserve(self, nodes: int, actions: int, paths: int) -> None:
        """Make room for this many more nodes and actions, and for `paths` paths in all."""
        # The last worlds may have more actions than was predicted; to move all tables then takes
        # longer than a match may wait.
        most = with_slack(MOST_ACTIONS)
        self.table = wider_nodes(self.table, len(self) + nodes, self.num_actions + actions, most)
        self.of_path = enlarged(self.of_path, paths, -1)

    def sums(self, path: int) -> ActionSums:
        """Statistics of the actions at a path; empty if it has no node."""
        nodes = self.table
        at = self._actions_of(self._node_of(path))
        return ActionSums(
            nodes.move[at].astype(np.int64),
            nodes.visits[at],
            nodes.goals[at],
            nodes.squares[at],
            nodes.discounted[at],
            nodes.proof[at],
            nodes.average[at],
        )

    @contextmanager
    def committed(self, path: int, move: int | None) -> Iterator[None]:
        """A block in which a role that has a choice at a path makes this move there, if any."""
        nodes = self.table
        node = self._node_of(path)
        at = self._actions_of(node)
        if move is None or move not in nodes.move[at]:
            yield
            return
        trust, shares = nodes.trust[node], nodes.share[at]
        nodes.trust[node], nodes.share[at] = 1.0, nodes.move[at] == move
        try:
            yield
        finally:
            # Tables may have grown, and actions may have been added.
            self.table.trust[node], self.table.share[at] = trust, shares

    def reach(self, paths: IntArray) -> FloatArray:
        """`[N]` probability of the moves of paths under the current strategies, relative to uniform
        play.

        Nodes that were never visited count as uniform play; nothing is taken for impossible.
        """
        first, place = first_seen(paths)
        at = paths[first]
        self.of_path = enlarged(self.of_path, len(self._paths), -1)
        found = np.ones(len(at))
        while self._paths.depths(at).any():
            deep = np.flatnonzero(self._paths.depths(at))
            before = self._paths.parents(at[deep])
            turns = self._paths.last_turns(at[deep])
            # The move it wanted shows its strategy, even if it was refused.
            wanted = np.where(turns[:, 2] >= 0, turns[:, 2], turns[:, 0])
            found[deep] *= (1 - TREMBLE) * self.shares(before, wanted) + TREMBLE
            at[deep] = before
        return found[place]

    def shares(self, paths: IntArray, moves: IntArray) -> FloatArray:
        """`[N]` shares of moves at paths in the current strategies, relative to uniform play."""
        shares = np.empty(len(paths))
        relative_shares.alike(self.table, self.of_path[paths], moves, shares)
        return shares

    def _node_of(self, path: int) -> int:
        """The node of a path, -1 for none."""
        return int(self.of_path[path]) if path < len(self.of_path) else -1

    def _actions_of(self, node: int) -> IntArray:
        """`[A]` actions of a node, in the order in which they were found; none for -1."""
        found = []
        action = -1 if node < 0 else self.table.first_action[node]
        while action >= 0:
            found.append(action)
            action = self.table.next[action]
        return np.array(found, dtype=np.int64)
