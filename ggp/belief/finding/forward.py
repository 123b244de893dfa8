"""Redraws bags from the last exact set of their path, turn by turn, with ever more entries.

Say percepts leave 3 of 16 particles, though 200 states are possible: then 128 are drawn from the
last exact set on, and those left at the end are thinned to 16.

Where none is left, the same is done with twice as many as there should be, and again. Between these
tries the set is enumerated at the same cost, which finds rare paths, or proves that there is
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.finder import Finder, Setting
from ggp.belief.finding.exact import ENTRIES_AT_ONCE, EXPANSIONS_PER_ENTRY, ExactSets
from ggp.belief.segments import Segments, join, pooled, replaced
from ggp.belief.turns.one_turn import Grown, TurnLimits, advance
from ggp.machine.arrays import first_seen
from ggp.machine.base import BoolArray, IntArray

REFILL_FACTOR = 8
"""A bag that lost most of its particles is redrawn with this times as many."""

MOST_SEARCHED = 1 << 16
"""Particles that a search draws at once: bounds memory where only the clock ends it."""


class Forward(Finder):
    """The last `Finder` of a sampler, which helps with every bag; see the module."""

    def __init__(self, setting: Setting, exact: ExactSets) -> None:
        self._setting, self._exact = setting, exact
        self._tree, self._machine = setting.tree, setting.machine

    def helps(self, bags: Bags) -> BoolArray:
        return self._setting.wanting(bags.sets)

    def adds(self, paths: IntArray) -> bool:
        return True

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        sets, counts = bags.sets, bags.sets.counts
        lost, empty = np.flatnonzero(counts > 0), np.flatnonzero(counts == 0)
        found: list[tuple[IntArray, Segments]] = []
        if len(lost):
            most = self._setting.capacity
            drawn = self.replayed(bags.role, bags.paths[lost], REFILL_FACTOR * most, rng).sets
            drawn = drawn.thinned(most, rng)
            better = np.flatnonzero(drawn.counts > counts[lost])
            found.append((lost[better], drawn.take(better)))
        for which, searched in self._searched(bags.role, bags.paths[empty], rng):
            found.append((empty[which], searched))
        return replaced(self._machine, sets, found)

    def more(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        drawn = self.replayed(bags.role, bags.paths, size, rng).sets
        return self.pooled(bags.sets, drawn, rng)

    def pooled(self, sets: Segments, drawn: Segments, rng: np.random.Generator) -> Segments | None:
        """One bag pooled with a new sample of its path; None if that was cut short, or is empty."""
        if self._setting.stop() or not len(drawn.states):
            return None
        if drawn.exact[0]:
            return drawn
        return pooled(self._machine, sets, drawn).thinned(self._setting.most_entries, rng)

    def replayed(
        self, role: int, paths: IntArray, capacity: int, rng: np.random.Generator
    ) -> Grown:
        """Bags of paths of equal length, sampled from the last exact set of each; see `onward`."""
        starts = paths
        # Back to the last turn whose set is known: up to there nothing need be sampled.
        while (missing := ~self._exact.holds(starts) & (self._tree.depths(starts) > 0)).any():
            starts = np.where(missing, self._tree.parents(starts), starts)
        depths = self._tree.depths(starts)
        order: list[IntArray] = []
        parts: list[Grown] = []
        for depth in np.unique(depths).tolist():
            group = np.flatnonzero(depths == depth)
            for some in np.array_split(group, 1 + len(group) * capacity // ENTRIES_AT_ONCE):
                if len(some):
                    sets = self._known(starts[some])
                    back = self._tree.depth(int(paths[0])) - depth
                    order.append(some)
                    parts.append(self.onward(role, paths[some], sets, back, capacity, rng))
        back_in_order = np.argsort(np.concatenate(order))
        sets = join(self._machine, [part.sets for part in parts]).take(back_in_order)
        return Grown(sets, np.concatenate([part.stepped for part in parts])[back_in_order])

    def onward(
        self,
        role: int,
        paths: IntArray,
        sets: Segments,
        back: int,
        capacity: int,
        rng: np.random.Generator,
        stop: Callable[[], bool] | None = None,
    ) -> Grown:
        """Bags sampled from sets of paths `back` turns before the ends of theirs.

        If it is stopped they have no entries.

        Args:
            stop: replaces the `stop` of the setting.
        """
        stop = self._setting.stop if stop is None else stop
        # Without a clock bags stay as they were: counts, not time, limit them.
        limits = TurnLimits(capacity, draws=self._setting.timed, stop=stop)
        sets = sets.thinned(capacity, rng)
        stepped = np.zeros(len(paths), dtype=np.int64)
        for steps in self._tree.beginnings(paths, back) if back else ():
            if stop():
                return Grown(self._setting.nothing(len(paths)), stepped)
            if not len(sets.states):
                break  # nothing comes of nothing
            grown = advance(self._setting, role, sets, steps, limits, rng)
            sets, stepped = grown.sets, stepped + grown.stepped
        return Grown(sets, stepped)

    def _known(self, nodes: IntArray) -> Segments:
        """Known sets of paths; the initial state for empty paths."""
        if self._exact.holds(nodes).all():
            return self._exact.get(nodes)
        return self._setting.beginning(len(nodes))

    def _searched(
        self, role: int, paths: IntArray, rng: np.random.Generator
    ) -> Iterator[tuple[IntArray, Segments]]:
        """Searches with ever more particles for bags of paths that have none.

        Yields:
            indices of paths, and the bags found for them.
        """
        most, limit = self._setting.capacity, self._setting.most_attempts
        capacity = 2 * most
        open_ = np.arange(len(paths))
        spent = np.zeros(len(paths), dtype=np.int64)
        while len(open_) and not self._setting.stop():
            drawn, stepped = self.replayed(role, paths[open_], capacity, rng)
            spent[open_] += stepped
            found = drawn.counts > 0
            yield open_[found], drawn.take(np.flatnonzero(found)).thinned(most, rng)
            open_ = open_[~found]
            if not len(open_):
                return
            if capacity >= MOST_SEARCHED:
                open_ = open_[spent[open_] < limit]
                continue  # this much was enumerated before
            # Enumerating as much finds the rare path, or proves that there is none.
            first, group = first_seen(paths[open_])
            which, whole, stepped = self._exact.find(
                role, paths[open_[first]], EXPANSIONS_PER_ENTRY * capacity
            )
            spent[open_] += stepped[group]
            place = np.full(len(first), -1, dtype=np.int64)
            place[which] = np.arange(len(which))
            place = place[group]
            solved = place >= 0
            yield open_[solved], whole.take(place[solved]).thinned(most, rng)
            open_ = open_[~solved & (spent[open_] < limit)]
            capacity = min(2 * capacity, MOST_SEARCHED)
