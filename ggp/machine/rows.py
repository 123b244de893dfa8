"""Numbers rows of words: equal rows get the same number, in order of first appearance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.row_kernels import group_rows, number_rows, place_rows

_FIRST_ROWS = 64


def grouped(rows: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct rows of `[L, K]`, in order of first appearance.

    Returns:
        `[G]` where each distinct row first appears, and `[L]` the number of each row's one.
    """
    rows = np.ascontiguousarray(rows)
    # A power of two, as slots are found by masking the hash. Half of them stay free.
    slots = np.full(1 << (2 * len(rows)).bit_length(), -1, dtype=np.int64)
    group, first = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    group_all = group_rows.for_steps(rows.size)
    return first[: group_all(rows, slots, group, first)], group


class RowTable:
    """A hash table of rows of K words each. Rows are compared, not just their hashes."""

    def __init__(self, words: int) -> None:
        self._rows = np.zeros((_FIRST_ROWS, words), dtype=np.uint64)
        self._slots = _free_slots(_FIRST_ROWS)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> NDArray[np.uint64]:
        """`[N, K]` the rows by number."""
        return self._rows[: self._size]

    def numbers(self, rows: NDArray[np.uint64]) -> NDArray[np.int64]:
        """`[L]` the number of each row; new ones are added."""
        rows = np.ascontiguousarray(rows)
        found = np.zeros(len(rows), dtype=np.int64)
        done = 0
        number = number_rows.for_steps(rows.size)
        while done < len(rows):
            done, self._size = number(rows, self._rows, self._slots, self._size, found, done)
            if done < len(rows):
                self._grow(len(rows))
        return found

    def _grow(self, wanted: int) -> None:
        # A power of two, as slots are found by masking the hash.
        size = max(4 * len(self._rows), 1 << min(wanted, 1 << 16).bit_length())
        rows = np.zeros((size, self._rows.shape[1]), dtype=np.uint64)
        rows[: self._size] = self.rows
        self._rows = rows
        self._slots = _free_slots(size)
        place_rows(rows, self._slots, self._size)


def _free_slots(rows: int) -> NDArray[np.int32]:
    """Free slots, twice as many as rows: to clear more would take longer than to probe more."""
    return np.full(2 * rows, -1, dtype=np.int32)
