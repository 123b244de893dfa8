"""Exact information sets: enumerated once for each incomplete path, while they are small.

The set of a path is made from the set of the path without its last turn: every state is stepped by
every joint move that gives the role its percepts. So a bag that follows its match, and thousands of
bags of simulated roles, need one turn each, and share what they find: sets are kept by path
(`SetTable`).

    path          ()        (noop/dealt q)       (noop/dealt q, check/)      ...
    set           1 state   2 states             4 states                    known, so never again

A set that turns out larger than the limit is not kept. Its size is remembered instead, and its
continuations are not tried either, until a sample of it looks small again (`enumerate_shrunk`).

It may take many joint moves to find few states: chance that places four ships at once has 50,000
placements, of which a scan leaves three. So the joint moves tried in a turn have their own limit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ggp.belief.bags import Bags, Segments, join
from ggp.belief.sampler import Setting
from ggp.belief.turns.one_turn import Grown, TurnLimits, advance
from ggp.machine.arrays import chunks, enlarged, first_seen
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine

COMPLETIONS_PER_ENTRY, MOST_EXACT = 2, 1 << 16
"""Where a clock limits the joint moves that may be tried, a set may have one entry for this many of
them, since entries are looked at again turn by turn; but no more than the second number, which
bounds memory."""

EXPANSIONS_PER_ENTRY = 16
"""Enumerating a set of at most LIMIT entries may step this times LIMIT lanes."""

LATE_SHARE = 0.8
"""Share of the available time after which sets that a sample could replace are not enumerated."""

ENTRIES_AT_ONCE = 1 << 12
"""Entries of sets that are advanced between two looks at the clock, some 10 ms: bounds memory,
too."""

EXPANSIONS_AT_ONCE = 1 << 20
"""Lanes that may be stepped for paths enumerated side by side: bounds memory."""

MAX_TABLE_ENTRIES = 200_000
"""Entries of shared exact sets kept in memory; the least recently used sets go first."""


class ExactSets:
    """The information sets of incomplete paths of every role of a machine.

    Args:
        setting: the setting of the sampler.
        limit: largest set that is enumerated; 0 never enumerates.
        completions: lanes that may be stepped for a set in one turn; by default
            `EXPANSIONS_PER_ENTRY` for each entry that it may have.
    """

    def __init__(self, setting: Setting, limit: int, completions: int | None = None) -> None:
        self._setting, self._tree = setting, setting.tree
        most = EXPANSIONS_PER_ENTRY * limit if completions is None else completions
        self._usual = limit, most
        self._limit, self._completions = self._usual
        self._table = SetTable(setting.machine, MAX_TABLE_ENTRIES)
        # By node: 0, or the size that its set must shrink from to be tried again.
        self._too_large = np.zeros(64)

    @property
    def enumerates(self) -> bool:
        """Whether small sets are enumerated at all."""
        return self._limit > 0

    def afford(self, completions: int | None) -> None:
        """Set what may be spent on a set in a turn: see `Enumerates`."""
        self._limit, self._completions = self._usual
        if completions is not None and self.enumerates:
            entries = min(completions // COMPLETIONS_PER_ENTRY, MOST_EXACT)
            self._limit = max(self._limit, entries)
            self._completions = max(completions, EXPANSIONS_PER_ENTRY * self._usual[0])

    def holds(self, nodes: IntArray) -> BoolArray:
        """`[B]` whether the set of each path is known."""
        return self._table.holds(nodes)

    def get(self, nodes: IntArray) -> Segments:
        """Known sets of `[B]` paths, in this order, repeats allowed; B > 0."""
        return self._table.get(nodes)

    def trim(self) -> None:
        """Forget the sets not used for longest, if there are too many."""
        self._table.trim()

    @property
    def views(self) -> IntArray:
        """Nodes in the views of all known sets."""
        return self._table.views

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        self._reserve(len(numbers))
        kept = np.flatnonzero(numbers >= 0)
        self._too_large = self._too_large[kept]
        self._table.renumber(numbers)

    def enumerate_after(self, bags: Bags, nodes: IntArray) -> None:
        """Enumerate the sets of `[B]` paths one turn after those of bags, where these are exact."""
        if not self.enumerates:
            return
        exact = np.flatnonzero(bags.exact)
        new = exact[~self._table.holds(bags.paths[exact])]
        if len(new):
            new = new[first_seen(bags.paths[new])[0]]
            self._table.put(bags.paths[new], bags.sets.take(bags.segment[new]))
        self._enumerate(bags.role, nodes[exact])

    def _enumerate(self, role: int, nodes: IntArray) -> None:
        """Find the sets of `[B]` paths of equal length, where they are not too large.

        The paths without their last turns must have been tried before.
        """
        nodes = self._untried(nodes)
        if not len(nodes):
            return
        if not self._tree.depth(int(nodes[0])):
            self._table.put(nodes, self._setting.beginning(len(nodes)))
            return
        parents = self._tree.parents(nodes)
        # What continues a set that was too large is not tried either; its size is not known.
        self._too_large[nodes[self._too_large[parents] > 0]] = np.inf
        ready = self._table.holds(parents)
        if ready.any():
            self._enumerate_from(role, nodes[ready], self._table.get(parents[ready]))

    def enumerate_with_beginnings(self, role: int, nodes: IntArray) -> None:
        """Find the sets of `[B]` paths of equal length, whatever was tried before."""
        if not self.enumerates:
            return
        levels: list[IntArray] = []
        nodes = self._untried(nodes)
        while len(nodes):
            levels.append(nodes)
            if not self._tree.depth(int(nodes[0])):
                break
            nodes = self._untried(self._tree.parents(nodes))
        for level in reversed(levels):
            self._enumerate(role, level)

    def enumerate_shrunk(self, role: int, nodes: IntArray, sizes: FloatArray) -> None:
        """Enumerate sets from the start that were too large and have become small.

        Args:
            nodes: `[B]` paths.
            sizes: `[B]` estimated sizes of their sets. Where enumerating fails, a set must shrink
                from this size to be tried again.
        """
        if not self.enumerates:
            return
        self._reserve(len(self._tree))
        small = np.flatnonzero((sizes <= self._limit) & ~self._table.holds(nodes))
        small = small[first_seen(nodes[small])[0]]
        nodes, sizes = nodes[small], sizes[small]
        failed_at = self._too_large[self._tree.parents(nodes)]
        just_now = self._too_large[nodes]
        failed_at = np.where(failed_at == 0, np.where(just_now == 0, np.inf, just_now), failed_at)
        self._too_large[nodes] = failed_at
        again = sizes < 0.5 * failed_at
        nodes, sizes = nodes[again], sizes[again]
        if not len(nodes):
            return
        self._too_large[nodes] = sizes
        which, found, _ = self.find(role, nodes, self._completions, stop=self._is_late)
        fits = np.flatnonzero(found.counts <= self._limit)
        self._too_large[nodes[which[fits]]] = 0
        self._table.put(nodes[which[fits]], found.take(fits))

    def find(
        self,
        role: int,
        nodes: IntArray,
        expansions: int,
        *,
        stop: Callable[[], bool] | None = None,
    ) -> tuple[IntArray, Segments, IntArray]:
        """The sets of paths of equal length, enumerated from the start; that of a single path, from
        its last turn that is known.

        Sets, including those on the way, may be of any size.

        Args:
            nodes: `[B]` distinct, B > 0.
            expansions: lanes that may be stepped for one path.
            stop: replaces the `stop` of the setting.

        Returns:
            the indices of the paths whose sets were found, increasing, none if it was stopped;
            these sets; and `[B]` lanes stepped for each path.
        """
        at_once = max(1, EXPANSIONS_AT_ONCE // expansions)
        starts = range(0, len(nodes), at_once)
        stop = stop or self._setting.stop
        parts = [self._find(role, nodes[at : at + at_once], expansions, stop) for at in starts]
        return (
            np.concatenate([at + part[0] for at, part in zip(starts, parts, strict=True)]),
            join(self._setting.machine, [part[1] for part in parts]),
            np.concatenate([part[2] for part in parts]),
        )

    def _find(
        self, role: int, nodes: IntArray, expansions: int, stop: Callable[[], bool]
    ) -> tuple[IntArray, Segments, IntArray]:
        stepped = np.zeros(len(nodes), dtype=np.int64)
        alive = np.arange(len(nodes))
        beginnings = self._tree.beginnings(nodes)
        before, sets = np.full(1, role), self._setting.beginning(1)
        known = 0
        if len(nodes) == 1:
            known = max(
                (at for at, node in enumerate(beginnings) if self.holds(node)[0]), default=0
            )
        if known:
            before, sets = beginnings[known], self.get(beginnings[known])
        for steps_of_all in beginnings[known + 1 :]:
            if stop():
                return alive[:0], self._setting.nothing(0), stepped
            steps = steps_of_all[alive]
            # Paths that begin alike are one until they part: `group` says which one.
            first, group = first_seen(steps)
            steps = steps[first]
            left = np.maximum(expansions - stepped[alive[first]], 0)
            parents = _positions(before, self._tree.parents(steps))
            grown = self._grow(role, sets.take(parents), steps, left, left, stop)
            stepped[alive] += grown.stepped[group]
            alive = alive[grown.sets.exact[group]]
            found = np.flatnonzero(grown.sets.exact)
            before, sets = steps[found], grown.sets.take(found)
        if stop():
            return alive[:0], self._setting.nothing(0), stepped
        return alive, sets.take(_positions(before, nodes[alive])), stepped

    def _enumerate_from(self, role: int, nodes: IntArray, before: Segments) -> None:
        limit = self._limit
        for start, end in chunks(before.counts, ENTRIES_AT_ONCE):
            if self._is_late():
                return
            some = nodes[start:end]
            sets = before.take(np.arange(start, end))
            after = self._grow(role, sets, some, limit, self._completions, self._is_late).sets
            exact = np.flatnonzero(after.exact)
            self._table.put(some[exact], after.take(exact))
            if self._is_late():
                return  # some of the others may be cut short rather than too large
            large = np.flatnonzero(~after.exact)
            self._too_large[some[large]] = np.maximum(after.sizes[large], limit + 1.0)

    def _grow(
        self,
        role: int,
        sets: Segments,
        paths: IntArray,
        limit: IntArray | int,
        expansions: IntArray | int,
        stop: Callable[[], bool],
    ) -> Grown:
        """Sets one turn later; those over a limit come back as not exact."""
        rng = np.random.default_rng(0)  # nothing is drawn where sets are only enumerated
        limits = TurnLimits(limit, expansions, stop=stop)
        return advance(self._setting, role, sets, paths, limits, rng)

    def _is_late(self) -> bool:
        return self._setting.stop() or self._setting.is_past(LATE_SHARE)

    def _untried(self, nodes: IntArray) -> IntArray:
        """The distinct paths among `[B]` whose sets are neither known nor known to be too large."""
        self._reserve(len(self._tree))
        nodes = nodes[~self._table.holds(nodes) & (self._too_large[nodes] == 0)]
        return nodes[first_seen(nodes)[0]]

    def _reserve(self, num_nodes: int) -> None:
        self._too_large = enlarged(self._too_large, num_nodes, 0)


def _positions(values: IntArray, wanted: IntArray) -> IntArray:
    """`[K]` position of each wanted value among distinct values."""
    order = np.argsort(values)
    return np.asarray(order[np.searchsorted(values, wanted, sorter=order)])


# ------------------------------------------------------------------------
# Exact sets by incomplete path, shared by all bags of a path.


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
