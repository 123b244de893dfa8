"""Bags of particles for many incomplete paths of one role at once (paper 004, Definition 6).

A bag is exact where the information set is small enough to enumerate, and a HyperPlay sample
of it otherwise. Exact sets are made once for each incomplete path and shared by all bags of
that path; sampled bags are drawn anew for every bag.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ggp.belief.paths import PathTree
from ggp.belief.segments import (
    Segments,
    advance,
    depleted_segments,
    initial_segments,
    join,
)
from ggp.errors import BeliefDepletedError
from ggp.machine.arrays import first_seen
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States

DEFAULT_EXACT = 300
"""Information sets of up to this many entries are enumerated."""

EXPANSIONS_PER_ENTRY = 16
"""Enumerating a set of at most LIMIT entries may step this times LIMIT lanes."""

REFILL_FACTOR = 8
"""A bag that lost most of its particles is drawn again with this times as many."""

NODES_AT_ONCE = 32
"""Exact sets made side by side: bounds memory, and how late a stop is noticed."""

MAX_TABLE_ENTRIES = 200_000
"""Entries of shared exact sets kept in memory; the least recently used sets go first."""

MAX_ATTEMPTS = 400_000
"""Lanes stepped in search of a particle for a player's own bag; see `Belief`."""


def never() -> bool:
    """Nothing stops the search but its own bounds."""
    return False


class _GivenUp(Exception):
    """`Belief.stop` said so."""


@dataclass(frozen=True)
class Bags:
    """The bags of B incomplete paths of one role.

    A bag that happens to hold its whole information set is exact, also where nobody asked for
    enumeration.

    Attributes:
        role: whose.
        paths: `[B]` tree nodes of the incomplete paths.
        segment: `[B]` which of the S sets each bag is; exact sets are shared.
        sets: the entries.
    """

    role: int
    paths: IntArray
    segment: IntArray
    sets: Segments

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def depleted(self) -> BoolArray:
        """`[B]` bags without an entry."""
        return np.asarray(self.sets.counts[self.segment] == 0)

    @property
    def exact(self) -> BoolArray:
        """`[B]` bags that are whole information sets."""
        return self.sets.exact[self.segment]

    def states_of(self, bag: int) -> States:
        """The states of one bag's entries."""
        return self.sets.states.take(self._lanes(bag))

    def weights_of(self, bag: int) -> FloatArray:
        """The weights of one bag's entries; they sum to 1."""
        weights = np.exp(self.sets.log_weights[self._lanes(bag)])
        return np.asarray(weights / weights.sum())

    def select(self, bags: IntArray) -> Bags:
        """The bags with these indices, in this order."""
        first, segment = first_seen(self.segment[bags])
        sets = self.sets.take(self.segment[bags][first])
        return Bags(self.role, self.paths[bags], segment, sets)

    def _lanes(self, bag: int) -> IntArray:
        s = self.segment[bag]
        return np.arange(self.sets.offsets[s], self.sets.offsets[s + 1])


class Belief:
    """Makes and advances bags of every role of a machine.

    Args:
        machine: the game.
        tree: names the incomplete paths.
        capacity: particles of a sampled bag.
        exact: largest information set that is enumerated; 0 never enumerates.
        keep_views: keep every role's incomplete path along each entry, as incomplete
            information simulations need; entries then are one only if these agree too.
        max_attempts: lanes stepped in search of particles for one bag that has none.
        stop: asked between attempts; when true, searching for particles is given up. May be
            replaced between calls.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        *,
        capacity: int,
        exact: int = DEFAULT_EXACT,
        keep_views: bool = False,
        max_attempts: int = MAX_ATTEMPTS,
        stop: Callable[[], bool] = never,
    ) -> None:
        self.machine = machine
        self.tree = tree
        self.capacity = capacity
        self.exact = exact
        self._keep_views = keep_views
        self._max_attempts = max_attempts
        self.stop = stop
        self._table: OrderedDict[int, Segments] = OrderedDict()
        self._table_entries = 0
        self._too_large: dict[int, float] = {}

    def start(self, role: int, count: int = 1) -> Bags:
        """`count` bags at the start of the game."""
        return self.at(np.full(count, role, dtype=np.int64), role, np.random.default_rng(0))

    def at(self, paths: IntArray, role: int, rng: np.random.Generator) -> Bags:
        """The bags of these incomplete paths, which must be of the same length.

        Bags that no particle was found for have no entries.
        """
        self._trim()
        first, group = first_seen(paths)
        nodes = paths[first].tolist()
        for depth in range(1 + max((self.tree.depth(n) for n in nodes), default=0)):
            self._enumerate(role, list(dict.fromkeys(self.tree.ancestor(n, depth) for n in nodes)))
        exact = np.array([n in self._table for n in nodes], dtype=np.bool_)
        sampled = np.flatnonzero(~exact[group])
        return self._assemble(role, paths, sampled, self._sample(role, paths[sampled], rng))

    def advance(
        self,
        bags: Bags,
        moves: IntArray,
        percepts: IntArray,
        rng: np.random.Generator,
        refused: IntArray | None = None,
    ) -> Bags:
        """The bags one turn later (`[B]` moves, percepts, refused: see `paths.Turn`).

        A bag whose particles all disagree with the percepts is drawn again from earlier
        turns, each time with more particles, until one agrees or the search is given up; it
        then has no entries.
        """
        self._trim()
        role = bags.role
        paths = self.tree.extend(bags.paths, moves, percepts, refused)
        if self.exact:
            for bag in np.flatnonzero(bags.exact).tolist():
                if int(bags.paths[bag]) not in self._table:
                    self._put(int(bags.paths[bag]), bags.sets.take(bags.segment[bag : bag + 1]))
            self._enumerate(role, list(dict.fromkeys(paths[bags.exact].tolist())))
        known = np.array([node in self._table for node in paths.tolist()], dtype=np.bool_)
        sampled = np.flatnonzero(~known)
        if len(sampled):
            before = bags.sets.take(bags.segment[sampled]).thinned(self.capacity, rng)
            after = self._grow(role, before, paths[sampled], self.capacity, rng)
            after = self._refill(role, paths[sampled], after, rng)
            shrunk = {
                node: float(size)
                for node, size in zip(paths[sampled].tolist(), after.sizes, strict=True)
                if self._may_fit(node, float(size))
            }
            for node, size in shrunk.items():
                self._enumerate_again(role, node, size)
            if any(node in self._table for node in shrunk):
                known = np.array([node in self._table for node in paths[sampled].tolist()])
                after = after.take(np.flatnonzero(~known))
                sampled = sampled[~known]
        else:
            after = None
        return self._assemble(role, paths, sampled, after)

    # ---------------------------------------------------------------- exact sets

    def _enumerate(self, role: int, nodes: list[int]) -> None:
        """Put the exact sets of these paths into the table, where they fit.

        Parents of the paths must have been tried before.
        """
        if not self.exact:
            return
        missing = [n for n in nodes if n not in self._table and n not in self._too_large]
        if not missing:
            return
        if not self.tree.depth(missing[0]):
            start = initial_segments(self.machine, 1, keep_views=self._keep_views)
            self._put(missing[0], start)
            return
        ready = [n for n in missing if self.tree.parent(n) in self._table]
        for node in missing:
            if self.tree.parent(node) in self._too_large:
                self._too_large[node] = np.inf
        for at in range(0, len(ready), NODES_AT_ONCE):
            if self.stop():
                return
            some = ready[at : at + NODES_AT_ONCE]
            before = join(self.machine, [self._get(self.tree.parent(n)) for n in some])
            after = self._grow_exact(
                role, before, np.array(some), self.exact, EXPANSIONS_PER_ENTRY * self.exact
            )
            for i, node in enumerate(some):
                if after.exact[i]:
                    self._put(node, after.take(np.array([i])))
                else:
                    self._too_large[node] = max(float(after.sizes[i]), self.exact + 1.0)

    def _may_fit(self, node: int, size: float) -> bool:
        """Whether a path whose set was too large should be enumerated from the start."""
        if not self.exact or size > self.exact or node in self._table:
            return False
        failed_at = self._too_large.get(self.tree.parent(node), np.inf)
        self._too_large[node] = failed_at
        return size < 0.5 * failed_at

    def _enumerate_again(self, role: int, node: int, size: float) -> None:
        """Enumerate one path from the start, letting sets on the way be larger than the limit.

        Where that fails, `size` says what the set must shrink from to be tried again.
        """
        try:
            found = self._enumerate_path(role, node, EXPANSIONS_PER_ENTRY * self.exact)
        except _GivenUp:
            return
        if found is not None and found.counts[0] <= self.exact:
            self._too_large.pop(node, None)
            self._put(node, found)
        else:
            self._too_large[node] = size

    def _enumerate_path(self, role: int, node: int, expansions: int) -> Segments | None:
        """The exact set of a path, None if that takes more than about `expansions` steps."""
        sets = initial_segments(self.machine, 1, keep_views=self._keep_views)
        budget = self.machine.states_visited + expansions
        for depth in range(1, self.tree.depth(node) + 1):
            self._check()
            step = np.array([self.tree.ancestor(node, depth)])
            left = max(budget - self.machine.states_visited, 0)
            sets = self._grow_exact(role, sets, step, left, left)
            if not sets.exact[0]:
                return None
        return sets

    def _grow_exact(
        self, role: int, sets: Segments, paths: IntArray, limit: int, expansions: int
    ) -> Segments:
        """Exact sets one turn later; those over the limit come back as not exact."""
        return self._grow(role, sets, paths, limit, np.random.default_rng(0), expansions)

    def _put(self, node: int, sets: Segments) -> None:
        self._table[node] = sets
        self._table_entries += 1 + int(sets.counts[0])

    def _trim(self) -> None:
        """Forget the least recently used exact sets; their paths can be enumerated again."""
        while self._table_entries > MAX_TABLE_ENTRIES and len(self._table) > 1:
            _, oldest = self._table.popitem(last=False)
            self._table_entries -= 1 + int(oldest.counts[0])

    def _get(self, node: int) -> Segments:
        self._table.move_to_end(node)
        return self._table[node]

    # ---------------------------------------------------------------- sampled bags

    def _sample(self, role: int, paths: IntArray, rng: np.random.Generator) -> Segments | None:
        """New sampled bags: thinned from the last exact set of each path, then advanced."""
        if not len(paths):
            return None
        groups = self._by_start(paths)
        try:
            parts = [self._replay(role, paths[group], self.capacity, rng) for group in groups]
        except _GivenUp:
            return depleted_segments(self.machine, len(paths), keep_views=self._keep_views)
        order = np.concatenate(groups)
        sets = join(self.machine, parts).take(np.argsort(order, kind="stable"))
        return self._refill(role, paths, sets, rng)

    def _last_exact(self, node: int) -> int | None:
        """The longest beginning of a path whose exact set is known, None if there is none."""
        while node not in self._table:
            if not self.tree.depth(node):
                return None
            node = self.tree.parent(node)
        return node

    def _replay(
        self, role: int, paths: IntArray, capacity: int, rng: np.random.Generator
    ) -> Segments:
        """Sampled bags of paths whose last exact sets are equally long."""
        start = self._last_exact(int(paths[0]))
        if start is None:
            depth = 0
            sets = initial_segments(self.machine, len(paths), keep_views=self._keep_views)
        else:
            depth = self.tree.depth(start)
            nodes = [self._last_exact(int(p)) for p in paths]
            sets = join(self.machine, [self._get(n) for n in nodes if n is not None])
            sets = sets.thinned(capacity, rng)
        for d in range(depth + 1, self.tree.depth(int(paths[0])) + 1):
            self._check()
            step = np.array([self.tree.ancestor(int(p), d) for p in paths])
            sets = self._grow(role, sets, step, capacity, rng)
        return sets

    def _refill(
        self, role: int, paths: IntArray, sets: Segments, rng: np.random.Generator
    ) -> Segments:
        """Bags that lost most of their particles drawn again from earlier turns."""
        counts = sets.counts
        few = (2 * counts < self.capacity) & (sets.sizes > 1.1 * counts) & (counts > 0)
        lost = np.flatnonzero(few & ~sets.exact)
        found: dict[int, Segments] = {}
        for group in self._by_start(paths[lost]):
            more = REFILL_FACTOR * self.capacity
            try:
                drawn = self._replay(role, paths[lost[group]], more, rng)
            except _GivenUp:
                break
            drawn = drawn.thinned(self.capacity, rng)
            for i, bag in enumerate(lost[group].tolist()):
                if drawn.counts[i] > counts[bag]:
                    found[bag] = drawn.take(np.array([i]))
        for bag in np.flatnonzero((counts == 0) & ~sets.exact).tolist():
            if self.stop():
                break
            one = self._backtrack(role, paths[bag : bag + 1], rng)
            if one is not None:
                found[bag] = one
        if not found:
            return sets
        parts = [found.get(i, sets.take(np.array([i]))) for i in range(len(sets))]
        return join(self.machine, parts)

    def _by_start(self, paths: IntArray) -> list[IntArray]:
        """Indices of paths, grouped by the length of their last exact set's path."""
        starts = [self._last_exact(node) for node in paths.tolist()]
        depths = np.array([0 if n is None else self.tree.depth(n) for n in starts])
        return [np.flatnonzero(depths == depth) for depth in np.unique(depths)]

    def _backtrack(self, role: int, path: IntArray, rng: np.random.Generator) -> Segments | None:
        """A bag for one path that has none, searched for with ever more particles."""
        try:
            return self._search(role, path, rng)
        except _GivenUp:
            return None

    def _search(self, role: int, path: IntArray, rng: np.random.Generator) -> Segments | None:
        capacity = 2 * self.capacity
        budget = self.machine.states_visited + self._max_attempts
        while self.machine.states_visited < budget and not self.stop():
            sets = self._replay(role, path, capacity, rng)
            if sets.counts[0]:
                return sets.thinned(self.capacity, rng)
            # Enumerating as much finds the rare path, or proves that there is none.
            whole = self._enumerate_path(role, int(path[0]), EXPANSIONS_PER_ENTRY * capacity)
            if whole is not None:
                return whole.thinned(self.capacity, rng) if whole.counts[0] else whole
            capacity *= 2
        return None

    def _check(self) -> None:
        if self.stop():
            raise _GivenUp

    # ---------------------------------------------------------------- shared

    def _grow(
        self,
        role: int,
        sets: Segments,
        paths: IntArray,
        capacity: int,
        rng: np.random.Generator,
        expansions: int | None = None,
    ) -> Segments:
        """Sets one turn later; only enumerated if `expansions` is given."""
        return advance(
            self.machine,
            self.tree,
            role,
            sets,
            paths,
            capacity=capacity,
            rng=rng,
            expansion_limit=expansions,
        )

    def _assemble(
        self, role: int, paths: IntArray, sampled: IntArray, sets: Segments | None
    ) -> Bags:
        """Bags of exact sets from the table, and the sampled ones given."""
        is_sampled = np.zeros(len(paths), dtype=np.bool_)
        is_sampled[sampled] = True
        exact = np.flatnonzero(~is_sampled)
        first, group = first_seen(paths[exact])
        parts = [self._get(int(n)) for n in paths[exact][first]]
        segment = np.zeros(len(paths), dtype=np.int64)
        segment[exact] = group
        segment[sampled] = len(parts) + np.arange(len(sampled))
        if sets is not None:
            parts.append(sets)
        return Bags(role, paths, segment, join(self.machine, parts))


def require_particles(bags: Bags, tree: PathTree, attempts: int) -> None:
    """Raise `BeliefDepletedError` if the first bag has no entry."""
    if bags.depleted[0]:
        path = int(bags.paths[0])
        raise BeliefDepletedError(tree.texts(path), attempts, exhausted=bool(bags.exact[0]))
