"""Counts, lists and draws moves of `random` that are made part by part.

A move is a *row*: a stand-in or a listed move, and K parts. For each place of a row there is a list
of choices. Parts that are drawn apart take their values from equal lists, each value
once. Of such rows, all equally likely, those that do not fit are dropped:

    stand-in (deal ;1 ;2), parts 1 and 2 apart, of a b c: 3 * 2 rows; fits "1 before 2": 3 of them

    round 1    lanes draw   a c   c a   b a
               fit          yes   no    no        these two draw again
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ggp.errors import ReasonerLimitError
from ggp.machine.arrays import chunks, offsets_of
from ggp.machine.base import BoolArray, FloatArray, IntArray, Ragged

MOST_LISTED = 1_000_000
"""Greatest number of rows that one call looks at to list moves."""

AT_ONCE = 1 << 15
"""Number of rows that are looked at together."""

TRIED = 4_096
"""Number of rows that are drawn to estimate how many fit."""

MOST_ROUNDS = 4_096
"""Number of draws that do not fit before the rows of a lane are listed."""

Fits = Callable[[IntArray, IntArray], BoolArray]
"""`[K]` whether rows `[K, 1 + parts]`, given second, fit in lanes `[K]`, given first."""


class Choices:
    """The choices for each place of a row in L lanes.

    Args:
        lists: for each place, the choices, stand-ins and listed moves first.
        apart: for each part, the set that it is drawn apart in, 0 for none, as in `Parts`.
        nothing: for each part, the number for having none.
        fits: tells whether rows fit.
        free: whether all rows fit in which parts that are drawn apart are different.
    """

    def __init__(
        self,
        lists: Sequence[Ragged],
        apart: Sequence[int],
        nothing: IntArray,
        fits: Fits,
        *,
        free: bool,
    ) -> None:
        self.lists = lists
        self._apart, self._fits, self._free = apart, fits, free
        # A move without parts may be made as well: then the same number stands in several places,
        # and all rows are drawn, including those with equal values.
        self._mixed = np.zeros(len(lists[0].counts), dtype=np.bool_)
        for each, number in zip(lists[1:], nothing.tolist(), strict=True):
            owner = np.repeat(np.arange(len(each.counts)), each.counts)
            self._mixed[owner[each.values == number]] = True
        self._counts = np.stack([each.counts for each in lists])
        self.num_rows = self._num_rows()

    def _num_rows(self) -> FloatArray:
        """`[L]` number of rows that may be drawn."""
        left = self._counts.astype(np.float64)
        for place, group in enumerate(self._apart, 1):
            if group:
                taken = sum(other == group for other in self._apart[: place - 1])
                left[place] -= np.where(self._mixed, 0, taken)
        return np.asarray(np.maximum(left, 0).prod(axis=0))

    def counts(self, rng: np.random.Generator) -> FloatArray:
        """`[L]` number of moves: exact if all drawn rows fit, or if few rows
        may be drawn; otherwise an unbiased estimate from `TRIED` rows."""
        found = self.num_rows.copy()
        certain = ~self._mixed & self._free | (found == 0)
        for lane in np.flatnonzero(~certain).tolist():
            lanes = np.full(1, lane)
            if self._counts[:, lane].prod(dtype=np.float64) <= AT_ONCE:
                found[lane] = len(self.listed(lanes)[1])
            else:
                lanes = np.full(TRIED, lane)
                share = self._fits(lanes, self._drawn(lanes, rng)).mean()
                found[lane] *= share or self.drawn(lanes[:1], rng)[1][0] / TRIED
        return found

    def listed(self, lanes: IntArray) -> tuple[IntArray, IntArray]:
        """`[L + 1]` offsets, and the rows of all moves of some lanes.

        Raises:
            ReasonerLimitError: there may be too many.
        """
        sizes = self._counts[:, lanes].prod(axis=0, dtype=np.float64)
        total = float(sizes.sum())
        if total > MOST_LISTED:
            doing = f"listing {total:,.0f} moves of random"
            raise ReasonerLimitError("moves in a list", MOST_LISTED, doing)
        counts = np.zeros(len(lanes), dtype=np.int64)
        parts = [np.zeros((0, len(self.lists)), dtype=np.int64)]
        whole = sizes.astype(np.int64)
        for start, end in chunks(whole, AT_ONCE):
            owners = np.repeat(np.arange(start, end), whole[start:end])
            numbers = np.arange(len(owners))
            numbers -= np.repeat(offsets_of(whole[start:end])[:-1], whole[start:end])
            rows = self._numbered(lanes[owners], numbers)
            fit = self._fits(lanes[owners], rows)
            counts += np.bincount(owners[fit], minlength=len(lanes))
            parts.append(rows[fit])
        return offsets_of(counts), np.concatenate(parts)

    def _numbered(self, lanes: IntArray, numbers: IntArray) -> IntArray:
        """The rows with some numbers, which have a digit for each place, the last place's first."""
        rows = np.empty((len(lanes), len(self.lists)), dtype=np.int64)
        for place in range(len(self.lists) - 1, -1, -1):
            sizes = self._counts[place, lanes]
            rows[:, place] = self._at(place, lanes, numbers % sizes)
            numbers = numbers // sizes
        return rows

    def _at(self, place: int, lanes: IntArray, numbers: IntArray) -> IntArray:
        each = self.lists[place]
        return np.asarray(each.values[each.offsets[lanes] + numbers])

    def drawn(self, lanes: IntArray, rng: np.random.Generator) -> tuple[IntArray, BoolArray]:
        """A move in each of some lanes, all equally likely: rows, and whether there is one."""
        rows = np.empty((len(lanes), len(self.lists)), dtype=np.int64)
        there = self.num_rows[lanes] > 0
        waiting = np.flatnonzero(there)
        for _ in range(MOST_ROUNDS):
            if not len(waiting):
                return rows, there
            drawn = self._drawn(lanes[waiting], rng)
            fit = self._fits(lanes[waiting], drawn)
            rows[waiting[fit]] = drawn[fit]
            waiting = waiting[~fit]
        for place in waiting.tolist():
            offsets, found = self.listed(lanes[place : place + 1])
            there[place] = offsets[1] > 0
            if there[place]:
                rows[place] = found[rng.integers(offsets[1])]
        return rows, there

    def _drawn(self, lanes: IntArray, rng: np.random.Generator) -> IntArray:
        """A row in each of some lanes, all rows equally likely."""
        rows = np.empty((len(lanes), len(self.lists)), dtype=np.int64)
        taken: dict[int, list[IntArray]] = {}
        for place, group in enumerate((0, *self._apart)):
            before = taken.get(group, [])
            apart = np.where(self._mixed[lanes], 0, len(before))
            numbers = rng.integers(0, self._counts[place, lanes] - apart)
            if before:
                # The n-th of the values left: skip those taken, from the lowest up.
                ordered = np.sort(np.stack(before), axis=0)
                for each in ordered:
                    numbers += (apart > 0) & (numbers >= each)
            if group:
                taken[group] = [*before, numbers]
            rows[:, place] = self._at(place, lanes, numbers)
        return rows
