"""Hash tables of rows of words: equal rows get the same number, in order of appearance.

Machines merge equal states this way, and beliefs find equal paths. `grouped` numbers the rows of
one array; `RowTable` keeps its rows between calls.

Open addressing with linear probing: the hash of a row gives its first slot. A slot holds the number
of a row in the table, or -1 if it is free. A look-up goes from slot to slot until it meets the row,
or a free slot: then the row is new. At least half of the slots are free, so every look-up ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.mixing import START, ended, mixed_in

_FIRST_ROWS = 64

_MANY_WORDS = 12
"""Number of words from which a row is hashed in four parts."""

_FEW_WORDS = 4
"""Greatest number of words that are compared without branches: the first difference is hard to
predict."""


def grouped(rows: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Groups of equal rows of `[L, K]`, in order of appearance.

    Returns:
        `[G]` index of the first row of each group, and `[L]` the group of each row.
    """
    rows = np.ascontiguousarray(rows)
    # A power of two, since a mask of the hash gives the slot. Half of the slots stay free.
    slots = np.full(1 << (2 * len(rows)).bit_length(), -1, dtype=np.int64)
    group, first = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    group_all = group_rows.for_steps(rows.size)
    return first[: group_all(rows, slots, group, first)], group


class RowTable:
    """A hash table of rows of K words. It compares rows, not just hashes."""

    def __init__(self, words: int) -> None:
        self._rows = np.zeros((_FIRST_ROWS, words), dtype=np.uint64)
        self._slots = _free_slots(_FIRST_ROWS)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> NDArray[np.uint64]:
        """`[N, K]` the rows, by number."""
        return self._rows[: self._size]

    def numbers(self, rows: NDArray[np.uint64]) -> NDArray[np.int64]:
        """`[L]` the number of each row; new ones are added."""
        rows = np.ascontiguousarray(rows)
        ids = np.empty(len(rows), dtype=np.int64)
        num_done = 0
        number = number_rows.for_steps(rows.size)
        while num_done < len(rows):
            num_done, self._size = number(rows, self._rows, self._slots, self._size, ids, num_done)
            if num_done < len(rows):
                self._grow(len(rows))
        return ids

    @property
    def tables(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Rows, with room for more, and slots: for kernels that add rows with `number_lanes`."""
        return self._rows, self._slots

    def set_size(self, size: int) -> None:
        """Set the number of rows, after a kernel added some."""
        self._size = size

    def make_room(self, count: int) -> None:
        """Make room for `count` more rows."""
        if self._size + count > len(self._rows):
            self._grow(self._size + count)

    def _grow(self, min_rows: int) -> None:
        # A power of two, since a mask of the hash gives the slot.
        size = max(4 * len(self._rows), 1 << min(min_rows, 1 << 16).bit_length())
        rows = np.empty((size, self._rows.shape[1]), dtype=np.uint64)
        rows[: self._size] = self.rows
        self._rows = rows
        self._slots = _free_slots(size)
        place_rows(rows, self._slots, self._size)


def _free_slots(rows: int) -> NDArray[np.int32]:
    """Free slots, two for each row: clearing more would cost more time than it saves in probing."""
    return np.full(2 * rows, -1, dtype=np.int32)


@inlined
def _hash(rows: NDArray[np.uint64], lane: int) -> np.uint64:
    value, size = START, rows.shape[1]
    start = 0
    if size >= _MANY_WORDS:
        # A step of a hash waits for the step before, so four hashes run in parallel.
        second, third, fourth = START, START, START
        while start + 3 < size:
            value = mixed_in(value, rows[lane, start])
            second = mixed_in(second, rows[lane, start + 1])
            third = mixed_in(third, rows[lane, start + 2])
            fourth = mixed_in(fourth, rows[lane, start + 3])
            start += 4
        value = mixed_in(mixed_in(mixed_in(value, second), third), fourth)
    for k in range(start, size):
        value = mixed_in(value, rows[lane, k])
    return ended(value)


@inlined
def _is_repeated(rows: NDArray[np.uint64], lane: int) -> bool:
    """Whether a row equals the row before it, which is frequent."""
    if rows.shape[1] <= _FEW_WORDS:
        return _is_row(rows, lane, rows, lane - 1)
    is_equal = True
    for k in range(rows.shape[1]):
        if rows[lane, k] != rows[lane - 1, k]:
            is_equal = False
            break
    return is_equal


@inlined
def _is_row(rows: NDArray[np.uint64], lane: int, table: NDArray[np.uint64], number: int) -> bool:
    """Whether two rows are equal, without a branch for each word."""
    difference = np.uint64(0)
    i, j = np.uint64(lane), np.uint64(number)  # without checks for negative indices
    for k in range(np.uint64(rows.shape[1])):
        difference |= rows[i, k] ^ table[j, k]
    return bool(difference == np.uint64(0))


@kernel
def place_rows(rows: NDArray[np.uint64], slots: NDArray[np.int32], size: int) -> None:
    """Give slots to the first `size` rows; all slots must be free (-1)."""
    mask = np.uint64(len(slots) - 1)
    for number in range(size):
        slot = _hash(rows, number) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number


@inlined
def place_of_row(
    rows: NDArray[np.uint64], lane: int, table: NDArray[np.uint64], slots: NDArray[np.int32]
) -> np.uint64:
    """The slot of the row of `table` that equals row number `lane`, or the free slot for it."""
    mask = np.uint64(len(slots) - 1)
    slot = _hash(rows, lane) & mask
    while slots[slot] >= 0:
        number = slots[slot]
        is_equal = True
        for k in range(rows.shape[1]):
            if table[number, k] != rows[lane, k]:
                is_equal = False
                break
        if is_equal:
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@inlined
def number_lanes(
    rows: NDArray[np.uint64],
    table: NDArray[np.uint64],
    slots: NDArray[np.int32],
    size: int,
    numbers: NDArray[np.int64],
    start: int,
    end: int,
) -> tuple[int, int]:
    """Like `number_rows`, for the lanes from `start` to `end`."""
    for lane in range(start, end):
        if lane > start and _is_repeated(rows, lane):
            numbers[lane] = numbers[lane - 1]
            continue
        slot = place_of_row(rows, lane, table, slots)
        if slots[slot] < 0:
            if size == len(table):
                return lane, size
            for k in range(rows.shape[1]):
                table[size, k] = rows[lane, k]
            slots[slot] = size
            size += 1
        numbers[lane] = slots[slot]
    return end, size


@kernel
def number_rows(
    rows: NDArray[np.uint64],
    table: NDArray[np.uint64],
    slots: NDArray[np.int32],
    size: int,
    numbers: NDArray[np.int64],
    start: int,
) -> tuple[int, int]:
    """Number the rows from lane `start` on, until the table is full.

    A caller that finds it full enlarges the table and calls again from the lane where it stopped.

    Args:
        rows: `[L, K]` rows to number.
        table, slots, size: the rows of a `RowTable`, its slots, and its number of rows.
        numbers: `[L]` filled in.
        start: the first lane.

    Returns:
        the lane where it stopped, and the new number of rows.
    """
    return number_lanes(rows, table, slots, size, numbers, start, len(rows))


@kernel
def group_rows(
    rows: NDArray[np.uint64],
    slots: NDArray[np.int64],
    group: NDArray[np.int64],
    first: NDArray[np.int64],
) -> int:
    """Number groups of equal rows in order of appearance; returns the number of groups.

    Args:
        rows: `[L, K]` rows.
        slots: all free (-1), and more than there are rows.
        group: `[L]` the group of each row; filled in.
        first: `[L]` the first row of each group; the first G entries are filled in.
    """
    mask = np.uint64(len(slots) - 1)
    size = 0
    for lane in range(len(rows)):
        slot = _hash(rows, lane) & mask
        while True:
            number = slots[slot]
            if number < 0:
                slots[slot] = size
                first[size] = lane
                number = size
                size += 1
                break
            if _is_row(rows, lane, rows, first[number]):
                break
            slot = (slot + np.uint64(1)) & mask
        group[lane] = number
    return size
