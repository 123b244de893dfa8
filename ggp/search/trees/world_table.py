"""The worlds of trees, which are kept from decision to decision.

A walk costs little where it goes through known worlds, for the machine is not asked. So a decision
begins in the worlds that the one before it came to, if they are there: in the same state everybody
knows the same. Worlds are forgotten with the paths of those who know them, as these can no longer
recur; or, where there is little room, unless they can be reached from the new particles.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.arrays import first_seen
from ggp.machine.base import BoolArray, IntArray, Machine, States
from ggp.machine.compiling.jit import kernel
from ggp.search.trees.state_store import StateStore
from ggp.search.trees.tree_kernels import place_worlds
from ggp.search.trees.tree_tables import (
    ACTIONS,
    CHANCE,
    CHANCES,
    I32,
    LISTED,
    SIZE,
    UPPER,
    Nodes,
    Worlds,
    new_worlds,
    wider,
    wider_worlds,
)

ROOMY = 1.5
"""Worlds are only forgotten for room if there are this many times as many as would be kept: to move
those takes time."""


class WorldTable:
    """All worlds that are known.

    Args:
        most: most worlds that lanes may add, see `ggp.search.trees.settings`.

    Attributes:
        table: for kernels.
        states: the state of each world.
        views: `[W, R]` the path of every role in each world, and places for more.
    """

    def __init__(self, machine: Machine, most: int) -> None:
        self._machine, self._most = machine, most
        self.table = new_worlds(len(machine.roles))
        self.states = StateStore(machine)
        self.views = np.zeros((64, len(machine.roles)), dtype=np.int64)

    def __len__(self) -> int:
        return int(self.table.sizes[SIZE])

    def make_room(self, lanes: int, most: int) -> None:
        """Make room for one more world, and one more for each lane, up to `most`."""
        wanted = min(len(self) + lanes, most) + 1
        self.table = wider_worlds(self.table, wanted, 0, 0, self._most + 1)
        self.views = wider(self.views, wanted, self._most + 1)
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
        return self.find_among(similar[is_known], states, seen)

    def find_among(
        self, similar: IntArray, states: States, seen: IntArray | None = None
    ) -> IntArray:
        """`[N]` the first of S worlds in each state, -1 for none.

        Args:
            similar: `[S]` the worlds.
            seen: `[S + N]` a number for each of these and of the states, which must be equal, too.
        """
        if not len(similar):
            return np.full(len(states), -1, dtype=np.int64)
        machine = self._machine
        same = machine.groups(machine.concatenate([self.states.take(similar), states]))
        if seen is not None:
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


def depths_below(worlds: Worlds, roots: IntArray) -> I32:
    """`[W]` number of joint moves that lead from one of the roots to each world, -1 if none do."""
    depths = np.full(int(worlds.sizes[SIZE]), -1, dtype=np.int32)
    depths[roots] = 0
    count_depths(worlds, depths)
    return depths


@kernel
def count_depths(worlds: Worlds, depths: I32) -> None:
    """Set the depths of all worlds that can be reached from those with one."""
    for world in range(len(depths)):
        # Worlds come after those that lead to them.
        parent = worlds.parent[world]
        if parent >= 0 and depths[world] < 0 and depths[parent] >= 0:
            depths[world] = depths[parent] + 1


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
            are free afterwards: see `ggp.search.trees.tree_kernels.place_worlds`.
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
