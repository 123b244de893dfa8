"""The worlds of trees, which are kept from decision to decision.

A walk costs little where it goes through known worlds, for the machine is not asked. So a decision
begins in the worlds that the one before it came to, if they are there: in the same state everybody
knows the same. Worlds are forgotten with the paths of those who know them, as these can no longer
recur; or, where there is little room, unless they can be reached from the new particles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ggp.machine.abilities import Successors, on_circuit
from ggp.machine.arrays import Packed, first_seen
from ggp.machine.base import BoolArray, IntArray, Machine, Ragged, States
from ggp.search.trees.keeping_kernels import count_depths, keep_worlds
from ggp.search.trees.tree_kernels import place_worlds
from ggp.search.trees.tree_tables import (
    CHANCES,
    FIRST_PLACES,
    I32,
    LARGE,
    LISTED,
    SIZE,
    Nodes,
    Worlds,
    new_worlds,
    wider,
    wider_worlds,
    with_slack,
)

if TYPE_CHECKING:
    from ggp.machine.abilities import OnCircuit

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
        self.states = _store_of(machine, most)
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

    def after(self, parents: IntArray, joint_moves: IntArray) -> Successors:
        """What comes of `[K, R]` joint moves in worlds; of `random` no moves are listed."""
        machine, found = self._machine, None
        if on_circuit(machine) and isinstance(self.states, PackedStore):
            states = self.states.whole
            found = machine.listed(states, parents, joint_moves, machine.random_role)
        if found is None:
            made = machine.step(self.states.take(parents), joint_moves)
            found = self.listed(made.states)._replace(percepts=made.percepts)
        return found

    def listed(self, states: States) -> Successors:
        """The same of states that are there, without percepts."""
        machine = self._machine
        nothing = Ragged(np.zeros(len(states) + 1, dtype=np.int64), np.zeros(0, dtype=np.int64))
        legal = [
            nothing
            if role == machine.random_role
            else machine.legal(states, role, allow_stuck=True)
            for role in range(len(machine.roles))
        ]
        told = np.zeros((0, len(legal)), dtype=np.int64)
        return Successors(states, told, machine.terminal(states), legal)

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


def _store_of(machine: Machine, most: int) -> WorldStates | PackedStore:
    if on_circuit(machine):
        return PackedStore(machine, with_slack(most))
    return WorldStates(machine)


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

    @property
    def whole(self) -> States:
        """All of them, until others are added."""
        return self._machine.from_packed(self._packed[: self._size])

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
