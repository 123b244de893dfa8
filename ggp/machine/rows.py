"""Numbers for rows of words: equal rows get the same number, in order of first appearance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.jit import inlined, kernel

_FIRST_ROWS = 64


class RowTable:
    """A hash table of rows of K words each. Rows are compared, not just their hashes."""

    def __init__(self, words: int) -> None:
        self._rows = np.zeros((_FIRST_ROWS, words), dtype=np.uint64)
        self._slots = np.full(4 * _FIRST_ROWS, -1, dtype=np.int64)
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
        while done < len(rows):
            done, self._size = _number(rows, self._rows, self._slots, self._size, found, done)
            if done < len(rows):
                self._grow(len(rows))
        return found

    def _grow(self, wanted: int) -> None:
        # A power of two: slots are found by masking the hash.
        size = max(4 * len(self._rows), 1 << min(wanted, 1 << 16).bit_length())
        rows = np.zeros((size, self._rows.shape[1]), dtype=np.uint64)
        rows[: self._size] = self.rows
        self._rows = rows
        self._slots = np.full(4 * size, -1, dtype=np.int64)
        _place(rows, self._slots, self._size)


@inlined
def _hash(rows: NDArray[np.uint64], lane: int) -> np.uint64:
    value = np.uint64(0x9E3779B97F4A7C15)
    for k in range(rows.shape[1]):
        value = (value ^ rows[lane, k]) * np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(29)
    value *= np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(32))


@kernel
def _place(rows: NDArray[np.uint64], slots: NDArray[np.int64], size: int) -> None:
    mask = np.uint64(len(slots) - 1)
    for number in range(size):
        slot = _hash(rows, number) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number


@kernel
def _number(
    rows: NDArray[np.uint64],
    known: NDArray[np.uint64],
    slots: NDArray[np.int64],
    size: int,
    found: NDArray[np.int64],
    start: int,
) -> tuple[int, int]:
    """Numbers from lane `start` on; stops when the table is full. Returns (lanes done, size)."""
    mask = np.uint64(len(slots) - 1)
    for lane in range(start, len(rows)):
        slot = _hash(rows, lane) & mask
        while True:
            number = slots[slot]
            if number < 0:
                if size == len(known):
                    return lane, size
                for k in range(rows.shape[1]):
                    known[size, k] = rows[lane, k]
                slots[slot] = size
                number = size
                size += 1
                break
            same = True
            for k in range(rows.shape[1]):
                if known[number, k] != rows[lane, k]:
                    same = False
                    break
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        found[lane] = number
    return len(rows), size
