"""Rows of integers, numbered in the order they are added: a hash table made of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import enlarged
from ggp.machine.base import IntArray

_FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93)
"""Odd multipliers, for one column after the other."""


class RowIndex:
    """A set of rows of `width` integers, looked up and added in batches.

    Open addressing with linear probing: a row lives in the first place that was free from the
    place its hash says. At most half of the places are taken.
    """

    def __init__(self, width: int) -> None:
        self._rows = np.zeros((64, width), dtype=np.int64)
        self._size = 0
        self._places = np.full(256, -1, dtype=np.int64)

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> IntArray:
        """`[N, width]` all rows in the order of their numbers; not to be changed."""
        return self._rows[: self._size]

    def find(self, rows: IntArray) -> IntArray:
        """`[L]` the numbers of rows; -1 where a row is not there."""
        numbers = np.full(len(rows), -1, dtype=np.int64)
        places = self._hash(rows)
        pending = np.arange(len(rows))
        while len(pending):
            held = self._places[places]
            same = (self._rows[held] == rows).all(axis=1) & (held >= 0)
            numbers[pending[same]] = held[same]
            on = np.flatnonzero((held >= 0) & ~same)
            pending, rows = pending[on], rows[on]
            places = (places[on] + 1) & (len(self._places) - 1)
        return numbers

    def add(self, rows: IntArray) -> IntArray:
        """`[L]` numbers of rows, which must be distinct and not be there yet."""
        first, self._size = self._size, self._size + len(rows)
        self._rows = enlarged(self._rows, self._size, 0)
        self._rows[first : self._size] = rows
        if 2 * self._size > len(self._places):
            self._places = np.full(1 << (4 * self._size).bit_length(), -1, dtype=np.int64)
            self._settle(0)
        else:
            self._settle(first)
        return np.arange(first, self._size)

    def _settle(self, first: int) -> None:
        """Give places to the rows from `first` on."""
        pending = np.arange(first, self._size)
        places = self._hash(self._rows[first : self._size])
        while len(pending):
            free = self._places[places] < 0
            # Of several rows that want a free place, one gets it.
            self._places[places[free]] = pending[free]
            on = np.flatnonzero(self._places[places] != pending)
            pending = pending[on]
            places = (places[on] + 1) & (len(self._places) - 1)

    def _hash(self, rows: IntArray) -> IntArray:
        """`[L]` the place to begin with."""
        mixed: NDArray[np.uint64] = np.zeros(len(rows), dtype=np.uint64)
        for i, column in enumerate(rows.T.view(np.uint64) if len(rows) else ()):
            mixed = (mixed ^ column) * np.uint64(_FACTORS[i % len(_FACTORS)])
            mixed ^= mixed >> np.uint64(29)
        return (mixed & np.uint64(len(self._places) - 1)).astype(np.int64)
