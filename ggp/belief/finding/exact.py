"""Exact information sets: enumerated once for each incomplete path (a role's own moves and percepts
so far), while they are small.

Samplers pass paths in and get sets of states back. The set of a path is computed from the set of
its parent, the path without its last turn: every state is stepped by every joint move that gives
the role its percepts. Sets are stored by path (`SetTable`) and shared. So the bag of a match (its
particles), and thousands of bags of simulated roles, need to enumerate only one turn each.

    path          ()        (noop/dealt q)       (noop/dealt q, check/)      ...
    set           1 state   2 states             4 states                    then stored

A set larger than the limit is not stored. Its size is remembered instead, and its continuations are
not tried either, until a sample suggests that the set has become small (`retry_shrunk`).

Few states may take many joint moves to find: a chance move that places four ships has 50,000
outcomes, of which a percept may leave three. So the number of joint moves that are tried in a turn
has a limit of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ggp.belief.bags import Bags, Segments, join
from ggp.belief.sampler import Setting
from ggp.belief.turns.one_turn import AdvancedSets, TurnLimits, advance
from ggp.machine.arrays import chunks, enlarged, first_seen
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine

COMPLETIONS_PER_ENTRY, MAX_EXACT = 2, 1 << 16
"""Where a clock limits joint moves, a set may have one entry for every `COMPLETIONS_PER_ENTRY` of
them, since every later turn visits each entry; but at most `MAX_EXACT`, which bounds memory."""

EXPANSIONS_PER_ENTRY = 16
"""Lanes (joint moves of states) that may be stepped for each entry that a set may have."""

LATE_SHARE = 0.8
"""Share of the available time after which sets are sampled instead of enumerated."""

ENTRIES_AT_ONCE = 1 << 12
"""Entries that are advanced between checks of the clock, about 10 ms; also bounds memory."""

EXPANSIONS_AT_ONCE = 1 << 20
"""Lanes that may be stepped side by side for several paths: bounds memory."""

MAX_TABLE_ENTRIES = 200_000
"""Entries of exact sets in memory; the least recently used sets are dropped first."""


class ExactSets:
    """The information sets of incomplete paths, for every role of a machine.

    Args:
        setting: the setting of the sampler.
        limit: largest set that is enumerated; 0 never enumerates.
        completions: lanes that may be stepped for a set in one turn; by default
            `EXPANSIONS_PER_ENTRY` for each entry it may have.

    Attributes:
        enumerates: whether small sets are enumerated at all.
        stored: the sets by path.
    """

    def __init__(self, setting: Setting, limit: int, completions: int | None = None) -> None:
        self._setting, self._tree = setting, setting.tree
        bound = EXPANSIONS_PER_ENTRY * limit if completions is None else completions
        self.enumerates, self._default_bounds = limit > 0, (limit, bound)
        self._limit, self._completions = self._default_bounds
        self.stored = SetTable(setting.machine, MAX_TABLE_ENTRIES)
        self._no_draws = np.random.default_rng(0)
        # By node: 0, or the size at which enumeration failed; the set must shrink before a retry.
        self._too_large = np.zeros(64)

    def afford(self, completions: int | None) -> None:
        """Set the budget of a set in a turn: see `Enumerates.afford`."""
        self._limit, self._completions = self._default_bounds
        if completions is not None and self.enumerates:
            entries = min(completions // COMPLETIONS_PER_ENTRY, MAX_EXACT)
            self._limit = max(self._limit, entries)
            self._completions = max(completions, EXPANSIONS_PER_ENTRY * self._default_bounds[0])

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        self._reserve(len(numbers))
        surviving = np.flatnonzero(numbers >= 0)
        self._too_large = self._too_large[surviving]
        self.stored.renumber(numbers)

    def extend_bags(self, bags: Bags, nodes: IntArray) -> None:
        """For each exact bag, enumerate the set of its path one turn later (`nodes`)."""
        if not self.enumerates:
            return
        exact = np.flatnonzero(bags.exact)
        missing = exact[~self.stored.holds(bags.paths[exact])]
        if len(missing):
            missing = missing[first_seen(bags.paths[missing])[0]]
            self.stored.add(bags.paths[missing], bags.sets.take(bags.segment[missing]))
        self._extend_stored(bags.role, nodes[exact])

    def _extend_stored(self, role: int, nodes: IntArray) -> None:
        """Enumerate the sets of `[B]` paths of equal length, except sets that are too large.

        Their parents must have been tried before.
        """
        nodes = self._untried(nodes)
        if not len(nodes):
            return
        if not self._tree.depth(int(nodes[0])):
            self.stored.add(nodes, self._setting.beginning(len(nodes)))
            return
        parents = self._tree.parents(nodes)
        # The successor of a set that was too large is not tried either; its size is unknown.
        self._too_large[nodes[self._too_large[parents] > 0]] = np.inf
        ready = self.stored.holds(parents)
        if not ready.all():
            nodes, parents = nodes[ready], parents[ready]
        if len(nodes):
            self._advance_and_store(role, nodes, self.stored.get(parents))

    def enumerate_from_start(self, role: int, nodes: IntArray) -> None:
        """Enumerate the sets of `[B]` paths of equal length, and of all their prefixes."""
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
            self._extend_stored(role, level)

    def retry_shrunk(self, role: int, nodes: IntArray, sizes: FloatArray) -> None:
        """Enumerate from the start the sets that were too large and have become small.

        Args:
            nodes: `[B]` paths.
            sizes: `[B]` estimated sizes of their sets. If enumeration fails, a set must shrink
                to half of this size before it is tried again.
        """
        if not self.enumerates:
            return
        self._reserve(len(self._tree))
        small = np.flatnonzero((sizes <= self._limit) & ~self.stored.holds(nodes))
        small = small[first_seen(nodes[small])[0]]
        nodes, sizes = nodes[small], sizes[small]
        # Inherit the size at which the parent failed; otherwise take that of this path.
        failed_at = self._too_large[self._tree.parents(nodes)]
        own_size = self._too_large[nodes]
        failed_at = np.where(failed_at == 0, np.where(own_size == 0, np.inf, own_size), failed_at)
        self._too_large[nodes] = failed_at
        shrunk = sizes < 0.5 * failed_at
        nodes, sizes = nodes[shrunk], sizes[shrunk]
        if not len(nodes):
            return
        self._too_large[nodes] = sizes
        indices, sets, _ = self.enumerate_within(role, nodes, self._completions, stop=self._is_late)
        fits = np.flatnonzero(sets.counts <= self._limit)
        self._too_large[nodes[indices[fits]]] = 0
        self.stored.add(nodes[indices[fits]], sets.take(fits))

    def enumerate_within(
        self,
        role: int,
        nodes: IntArray,
        expansions: int,
        *,
        stop: Callable[[], bool] | None = None,
    ) -> tuple[IntArray, Segments, IntArray]:
        """Sets of paths of equal length, enumerated from the start; the set of a single path is
        enumerated from its longest prefix with a stored set.

        Sets, including intermediate ones, may be of any size, and are not stored.

        Args:
            nodes: `[B]` distinct, B > 0.
            expansions: lanes that may be stepped for one path.
            stop: replaces the `stop` of the setting.

        Returns:
            the indices of the paths that were enumerated, increasing, empty if stopped;
            their sets; and `[B]` lanes stepped for each path.
        """
        step = max(1, EXPANSIONS_AT_ONCE // expansions)
        firsts = range(0, len(nodes), step)
        stop = stop or self._setting.stop
        parts = [self._enumerate(role, nodes[at : at + step], expansions, stop) for at in firsts]
        return (
            np.concatenate([at + part[0] for at, part in zip(firsts, parts, strict=True)]),
            join(self._setting.machine, [part[1] for part in parts]),
            np.concatenate([part[2] for part in parts]),
        )

    def _enumerate(
        self, role: int, nodes: IntArray, expansions: int, stop: Callable[[], bool]
    ) -> tuple[IntArray, Segments, IntArray]:
        stepped = np.zeros(len(nodes), dtype=np.int64)
        alive = np.arange(len(nodes))
        prefixes = self._tree.beginnings(nodes)
        set_nodes, sets = np.full(1, role), self._setting.beginning(1)
        begin = 0
        if len(nodes) == 1:
            begin = max(
                (i for i, node in enumerate(prefixes) if self.stored.holds(node)), default=0
            )
        if begin:
            set_nodes, sets = prefixes[begin], self.stored.get(prefixes[begin])
        for level in prefixes[begin + 1 :]:
            if stop():
                return alive[:0], self._setting.nothing(0), stepped
            steps = level[alive]
            # Paths share sets until they part; `group` is the index of each path's set.
            first, group = first_seen(steps)
            steps = steps[first]
            budget = np.maximum(expansions - stepped[alive[first]], 0)
            rows = _positions(set_nodes, self._tree.parents(steps))
            advanced = self._advance(role, sets.take(rows), steps, budget, budget, stop)
            stepped[alive] += advanced.stepped[group]
            alive = alive[advanced.sets.exact[group]]
            exact_rows = np.flatnonzero(advanced.sets.exact)
            set_nodes, sets = steps[exact_rows], advanced.sets.take(exact_rows)
        if stop():
            return alive[:0], self._setting.nothing(0), stepped
        return alive, sets.take(_positions(set_nodes, nodes[alive])), stepped

    def _advance_and_store(self, role: int, nodes: IntArray, parent_sets: Segments) -> None:
        limit = self._limit
        for start, end in chunks(parent_sets.counts, ENTRIES_AT_ONCE):
            if self._is_late():
                return
            batch = nodes[start:end]
            sets = parent_sets
            if end - start < len(nodes):
                sets = parent_sets.take(np.arange(start, end))
            successors = self._advance(
                role, sets, batch, limit, self._completions, self._is_late
            ).sets
            if successors.exact.all():
                self.stored.add(batch, successors)
                continue
            exact = np.flatnonzero(successors.exact)
            self.stored.add(batch[exact], successors.take(exact))
            if self._is_late():
                return  # sets may be cut short by the clock rather than too large
            large = np.flatnonzero(~successors.exact)
            self._too_large[batch[large]] = np.maximum(successors.sizes[large], limit + 1.0)

    def _advance(
        self,
        role: int,
        sets: Segments,
        paths: IntArray,
        limit: IntArray | int,
        expansions: IntArray | int,
        stop: Callable[[], bool],
    ) -> AdvancedSets:
        """Sets one turn later; a set over a limit comes back as not exact."""
        # Enumeration draws nothing but the order of the completions of a single set.
        rng = np.random.default_rng(0) if len(sets) == 1 else self._no_draws
        limits = TurnLimits(limit, expansions, stop=stop)
        return advance(self._setting, role, sets, paths, limits, rng)

    def _is_late(self) -> bool:
        return self._setting.stop() or self._setting.is_past(LATE_SHARE)

    def _untried(self, nodes: IntArray) -> IntArray:
        """The distinct paths among `[B]` whose sets are neither stored nor proved too large."""
        self._reserve(len(self._tree))
        nodes = nodes[~self.stored.holds(nodes) & (self._too_large[nodes] == 0)]
        return nodes[first_seen(nodes)[0]] if len(nodes) else nodes

    def _reserve(self, num_nodes: int) -> None:
        self._too_large = enlarged(self._too_large, num_nodes, 0)


def _positions(values: IntArray, targets: IntArray) -> IntArray:
    """`[K]` position of each target among distinct values."""
    order = np.argsort(values)
    return np.asarray(order[np.searchsorted(values, targets, sorter=order)])


# ------------------------------------------------------------------------
# The table of exact sets.


class SetTable:
    """Sets by node of a path tree.

    A few blocks hold all sets, so that many are written and read in one operation. A block that is
    less than twice as large as the next one is merged with it.

    Args:
        max_entries: `trim` forgets sets when `num_entries` is above this.
    """

    def __init__(self, machine: Machine, max_entries: int) -> None:
        self._machine = machine
        self._max_entries = max_entries
        self._clear(0)

    @property
    def num_entries(self) -> int:
        """Number of entries of all sets, plus one for each set."""
        return sum(map(_size, self._blocks))

    def holds(self, nodes: IntArray) -> BoolArray:
        """`[B]` whether there is a set for each node."""
        self._reserve(nodes)
        return np.asarray(self._block[nodes] >= 0)

    def add(self, nodes: IntArray, sets: Segments) -> None:
        """Add sets, one for each of `[S]` distinct nodes that have none yet."""
        if not len(nodes):
            return
        self._reserve(nodes)
        self._last_use[nodes] = self._tick
        self._append(nodes, sets)
        # Invariant: each block is at least twice as large as the next. So the number of blocks is
        # logarithmic, and so is the number of times that an entry is moved.
        while len(self._blocks) > 1 and _size(self._blocks[-2]) < 2 * _size(self._blocks[-1]):
            tail, tail_nodes = self._blocks.pop(), self._nodes.pop()
            big, big_nodes = self._blocks.pop(), self._nodes.pop()
            self._append(np.concatenate([big_nodes, tail_nodes]), join(self._machine, [big, tail]))

    def get(self, nodes: IntArray) -> Segments:
        """The sets of `[B]` nodes that have one, in this order, repeats allowed; B > 0."""
        self._tick += 1
        self._last_use[nodes] = self._tick
        blocks = self._block[nodes]
        if (blocks == blocks[0]).all():
            return self._blocks[int(blocks[0])].take(self._row[nodes])
        first, group = first_seen(blocks)
        order = np.argsort(group, kind="stable")
        rows = np.split(self._row[nodes[order]], np.cumsum(np.bincount(group))[:-1])
        parts = [self._blocks[b].take(p) for b, p in zip(blocks[first], rows, strict=True)]
        return join(self._machine, parts).take(np.argsort(order))

    def trim(self) -> None:
        """If there are too many entries, forget the least recently used sets, down to half."""
        if self.num_entries <= self._max_entries:
            return
        nodes = np.concatenate(self._nodes)
        nodes = nodes[np.argsort(-self._last_use[nodes], kind="stable")]
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

        The nodes in the views of remaining sets must not be forgotten.
        """
        if self._blocks:
            nodes = np.concatenate(self._nodes)
            self._keep(nodes[numbers[nodes] >= 0], numbers)

    def _keep(self, nodes: IntArray, numbers: IntArray | None = None) -> None:
        """Forget all sets except for `nodes`; renumber these nodes if `numbers` is given."""
        sets = self.get(nodes) if len(nodes) else None
        last_use = self._last_use[nodes]
        self._clear(self._tick)
        if sets is not None:
            if numbers is not None:
                nodes, sets = numbers[nodes], sets.renumbered(numbers)
            self.add(nodes, sets)
            self._last_use[nodes] = last_use

    def _clear(self, tick: int) -> None:
        self._blocks: list[Segments] = []
        self._nodes: list[IntArray] = []
        self._tick = tick
        self._block = np.full(64, -1, dtype=np.int64)
        self._row = np.zeros(64, dtype=np.int64)
        self._last_use = np.zeros(64, dtype=np.int64)

    def _append(self, nodes: IntArray, sets: Segments) -> None:
        self._block[nodes] = len(self._blocks)
        self._row[nodes] = np.arange(len(nodes))
        self._blocks.append(sets)
        self._nodes.append(nodes)

    def _reserve(self, nodes: IntArray) -> None:
        """Make room for nodes."""
        length = 1 + int(nodes.max(initial=0))
        if length <= len(self._block):
            return
        self._block = enlarged(self._block, length, -1)
        self._row = enlarged(self._row, length, 0)
        self._last_use = enlarged(self._last_use, length, 0)


def _size(block: Segments) -> int:
    return len(block) + int(block.offsets[-1])
