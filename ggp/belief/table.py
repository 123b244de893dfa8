"""Exact sets by incomplete path, shared by all bags of a path."""

from __future__ import annotations

import numpy as np

from ggp.belief.segments import Segments, join
from ggp.machine.arrays import enlarged, first_seen
from ggp.machine.base import BoolArray, IntArray, Machine


class SetTable:
    """Sets by node number of a tree of paths.

    Sets are kept together in a few blocks, so that many are stored and read at once; a block that
    is less than twice as large as the next one is merged with it.

    Args:
        max_entries: `trim` forgets sets when they have more entries than this in all.
    """

    def __init__(self, machine: Machine, max_entries: int) -> None:
        self._machine = machine
        self._max_entries = max_entries
        self._clear(0)

    @property
    def num_entries(self) -> int:
        """Number of entries of all sets; an empty set counts as one."""
        return sum(map(_size, self._blocks))

    def holds(self, nodes: IntArray) -> BoolArray:
        """`[B]` whether there is a set for each node."""
        self._reserve(nodes)
        return np.asarray(self._block[nodes] >= 0)

    def put(self, nodes: IntArray, sets: Segments) -> None:
        """Add sets, one for each of `[S]` distinct nodes that have none yet."""
        if not len(nodes):
            return
        self._reserve(nodes)
        self._used[nodes] = self._tick
        self._append(nodes, sets)
        # Each block stays twice as large as the next: so there are few, and an entry is seldom
        # moved.
        while len(self._blocks) > 1 and _size(self._blocks[-2]) < 2 * _size(self._blocks[-1]):
            last, last_nodes = self._blocks.pop(), self._nodes.pop()
            before, before_nodes = self._blocks.pop(), self._nodes.pop()
            self._append(
                np.concatenate([before_nodes, last_nodes]), join(self._machine, [before, last])
            )

    def get(self, nodes: IntArray) -> Segments:
        """The sets of `[B]` nodes that have one, in this order, repeats allowed; B > 0."""
        self._tick += 1
        self._used[nodes] = self._tick
        blocks = self._block[nodes]
        first, group = first_seen(blocks)
        if len(first) == 1:
            return self._blocks[int(blocks[0])].take(self._place[nodes])
        order = np.argsort(group, kind="stable")
        places = np.split(self._place[nodes[order]], np.cumsum(np.bincount(group))[:-1])
        parts = [self._blocks[b].take(p) for b, p in zip(blocks[first], places, strict=True)]
        return join(self._machine, parts).take(np.argsort(order))

    def trim(self) -> None:
        """Forget the least recently used sets, if there are too many entries, until half are
        left."""
        if self.num_entries <= self._max_entries:
            return
        nodes = np.concatenate(self._nodes)
        nodes = nodes[np.argsort(-self._used[nodes], kind="stable")]
        sizes = 1 + np.concatenate([b.counts for b in self._blocks])
        by_node = np.zeros(len(self._block), dtype=np.int64)
        by_node[np.concatenate(self._nodes)] = sizes
        total = np.cumsum(by_node[nodes])
        self._keep(nodes[: max(1, int(np.searchsorted(total, self._max_entries // 2)))])

    @property
    def views(self) -> IntArray:
        """Nodes in the views of all sets."""
        views = [block.views.ravel() for block in self._blocks if block.views is not None]
        return np.concatenate([np.zeros(0, dtype=np.int64), *views])

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`: node n is now `numbers[n]`, forgotten where that is -1.

        The views of sets that are kept must not be forgotten.
        """
        if self._blocks:
            nodes = np.concatenate(self._nodes)
            self._keep(nodes[numbers[nodes] >= 0], numbers)

    def _keep(self, nodes: IntArray, numbers: IntArray | None = None) -> None:
        """Forget all sets except those of these nodes, and renumber their nodes if `numbers` is
        given."""
        kept = self.get(nodes) if len(nodes) else None
        used = self._used[nodes]
        self._clear(self._tick)
        if kept is not None:
            if numbers is not None:
                nodes, kept = numbers[nodes], kept.renumbered(numbers)
            self.put(nodes, kept)
            self._used[nodes] = used

    def _clear(self, tick: int) -> None:
        self._blocks: list[Segments] = []
        self._nodes: list[IntArray] = []
        self._tick = tick
        self._block = np.full(64, -1, dtype=np.int64)
        self._place = np.zeros(64, dtype=np.int64)
        self._used = np.zeros(64, dtype=np.int64)

    def _append(self, nodes: IntArray, sets: Segments) -> None:
        self._block[nodes] = len(self._blocks)
        self._place[nodes] = np.arange(len(nodes))
        self._blocks.append(sets)
        self._nodes.append(nodes)

    def _reserve(self, nodes: IntArray) -> None:
        """Make room for nodes."""
        length = 1 + int(nodes.max(initial=0))
        self._block = enlarged(self._block, length, -1)
        self._place = enlarged(self._place, length, 0)
        self._used = enlarged(self._used, length, 0)


def _size(block: Segments) -> int:
    return len(block) + int(block.offsets[-1])
