"""The kernels of `rows.RowTable`: open addressing with linear probing.

A row's hash gives a slot. A slot holds the number of a known row, or -1. If it holds another row,
the next slots are looked at, until one holds this row or is free: then the row is new.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.mixing import START, ended, mixed_in


@inlined
def _hash(rows: NDArray[np.uint64], lane: int) -> np.uint64:
    value = START
    for k in range(rows.shape[1]):
        value = mixed_in(value, rows[lane, k])
    return ended(value)


@kernel
def place_rows(rows: NDArray[np.uint64], slots: NDArray[np.int32], size: int) -> None:
    """Give slots to the first `size` rows; all slots must be free (-1)."""
    mask = np.uint64(len(slots) - 1)
    for number in range(size):
        slot = _hash(rows, number) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number


@kernel
def number_rows(
    rows: NDArray[np.uint64],
    known: NDArray[np.uint64],
    slots: NDArray[np.int32],
    size: int,
    found: NDArray[np.int64],
    start: int,
) -> tuple[int, int]:
    """Number rows from lane `start`; stops when the table is full. Returns (lanes done, size)."""
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
            same = True
            for k in range(rows.shape[1]):
                if rows[first[number], k] != rows[lane, k]:
                    same = False
                    break
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        group[lane] = number
    return size
