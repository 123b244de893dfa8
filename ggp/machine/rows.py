"""Numbers for rows of words: equal rows get the same number, in order of first appearance.

By open addressing with linear probing. A row's hash names a slot. A slot holds the number of a row
that is known, or -1. If it is another row's, the next slots are looked at, until one holds this row
or is free: then the row is new.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.mixing import START, ended, mixed_in

_FIRST_ROWS = 64

_MANY_WORDS = 12
"""Rows of so many words are hashed in four parts."""

_FEW_WORDS = 4
"""Rows of so many words are compared whole: it is hard to guess which word differs first."""


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
        found = np.empty(len(rows), dtype=np.int64)
        done = 0
        number = number_rows.for_steps(rows.size)
        while done < len(rows):
            done, self._size = number(rows, self._rows, self._slots, self._size, found, done)
            if done < len(rows):
                self._grow(len(rows))
        return found

    @property
    def tables(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """For kernels that add rows by `number_some`: the rows, with room for more, and slots."""
        return self._rows, self._slots

    def has_grown(self, size: int) -> None:
        """Follow kernels that added rows, up to so many in all."""
        self._size = size

    def make_room(self, count: int) -> None:
        """Make room for so many more rows."""
        if self._size + count > len(self._rows):
            self._grow(self._size + count)

    def _grow(self, wanted: int) -> None:
        # A power of two, as slots are found by masking the hash.
        size = max(4 * len(self._rows), 1 << min(wanted, 1 << 16).bit_length())
        rows = np.empty((size, self._rows.shape[1]), dtype=np.uint64)
        rows[: self._size] = self.rows
        self._rows = rows
        self._slots = _free_slots(size)
        place_rows(rows, self._slots, self._size)


def _free_slots(rows: int) -> NDArray[np.int32]:
    """Free slots, twice as many as rows: to clear more would take longer than to probe more."""
    return np.full(2 * rows, -1, dtype=np.int32)


@inlined
def _hash(rows: NDArray[np.uint64], lane: int) -> np.uint64:
    value, size = START, rows.shape[1]
    done = 0
    if size >= _MANY_WORDS:
        # Each word has to wait for the one before, so four hashes go side by side.
        second, third, fourth = START, START, START
        while done + 3 < size:
            value = mixed_in(value, rows[lane, done])
            second = mixed_in(second, rows[lane, done + 1])
            third = mixed_in(third, rows[lane, done + 2])
            fourth = mixed_in(fourth, rows[lane, done + 3])
            done += 4
        value = mixed_in(mixed_in(mixed_in(value, second), third), fourth)
    for k in range(done, size):
        value = mixed_in(value, rows[lane, k])
    return ended(value)


@inlined
def _is_repeated(rows: NDArray[np.uint64], lane: int) -> bool:
    """Whether a row equals the one before, as often as not."""
    if rows.shape[1] <= _FEW_WORDS:
        return _is_row(rows, lane, rows, lane - 1)
    same = True
    for k in range(rows.shape[1]):
        if rows[lane, k] != rows[lane - 1, k]:
            same = False
            break
    return same


@inlined
def _is_row(rows: NDArray[np.uint64], lane: int, others: NDArray[np.uint64], number: int) -> bool:
    """Whether two rows are equal, without a branch for each word."""
    different = np.uint64(0)
    one, other = np.uint64(lane), np.uint64(number)  # without checks for negative indices
    for k in range(np.uint64(rows.shape[1])):
        different |= rows[one, k] ^ others[other, k]
    return bool(different == np.uint64(0))


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
    rows: NDArray[np.uint64], lane: int, known: NDArray[np.uint64], slots: NDArray[np.int32]
) -> np.uint64:
    """The slot of the known row that equals row number `lane`, or the free one for it."""
    mask = np.uint64(len(slots) - 1)
    slot = _hash(rows, lane) & mask
    while slots[slot] >= 0:
        number = slots[slot]
        same = True
        for k in range(rows.shape[1]):
            if known[number, k] != rows[lane, k]:
                same = False
                break
        if same:
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@inlined
def number_some(
    rows: NDArray[np.uint64],
    known: NDArray[np.uint64],
    slots: NDArray[np.int32],
    size: int,
    found: NDArray[np.int64],
    start: int,
    end: int,
) -> tuple[int, int]:
    """The same as `number_rows` of the lanes up to `end`."""
    for lane in range(start, end):
        if lane > start and _is_repeated(rows, lane):
            found[lane] = found[lane - 1]
            continue
        slot = place_of_row(rows, lane, known, slots)
        if slots[slot] < 0:
            if size == len(known):
                return lane, size
            for k in range(rows.shape[1]):
                known[size, k] = rows[lane, k]
            slots[slot] = size
            size += 1
        found[lane] = slots[slot]
    return end, size


@kernel
def number_rows(
    rows: NDArray[np.uint64],
    known: NDArray[np.uint64],
    slots: NDArray[np.int32],
    size: int,
    found: NDArray[np.int64],
    start: int,
) -> tuple[int, int]:
    """Numbers from lane `start` on; stops when the table is full. Returns (lanes done, size)."""
    return number_some(rows, known, slots, size, found, start, len(rows))


@kernel
def group_rows(
    rows: NDArray[np.uint64],
    slots: NDArray[np.int64],
    group: NDArray[np.int64],
    first: NDArray[np.int64],
) -> int:
    """Number distinct rows by first appearance: `group` of each row, `first` row of each group.

    All slots must be free (-1), and more than there are rows. Returns the number of groups.
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
