"""Small array operations that batches are made of. None depends on the size of ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import IntArray, Ragged

_T = TypeVar("_T", bound=np.generic)

_MAX_SPAN = 1 << 62
"""Keys stay below this, so that no sum or product of theirs overflows."""

_TABLE_SPARSITY = 8
"""Keys are looked up in a table of up to this many places for each lane, else by a hash."""

_GOLDEN = 0x9E3779B97F4A7C15


def first_seen(rows: NDArray[np.int64]) -> tuple[IntArray, IntArray]:
    """Distinct rows in order of first appearance.

    Args:
        rows: `[L]` or `[L, K]`.

    Returns:
        `[G]` lane at which each distinct row first appears, increasing, and `[L]` number of
        the distinct row of each lane.
    """
    return first_seen_columns([rows] if rows.ndim == 1 else list(rows.T))


def first_seen_columns(columns: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Like `first_seen`, for rows given as one or more columns of `[L]`."""
    num_lanes = len(columns[0])
    if not num_lanes:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty
    keys, span = _keys(columns)
    if span == 1:
        return np.zeros(1, dtype=np.int64), np.zeros(num_lanes, dtype=np.int64)
    if span <= _TABLE_SPARSITY * num_lanes + 1024:
        first = _least_lanes(keys, np.arange(num_lanes), span)
    else:
        first = _first_lanes(keys)
    is_first = first == np.arange(num_lanes)
    return np.flatnonzero(is_first), (np.cumsum(is_first) - 1)[first]


def _first_lanes(keys: IntArray) -> IntArray:
    """`[L]` the first lane with the same key.

    Lanes meet in a table by a hash of their key, and the first lane of each place settles those
    with its own key. The others meet again, by another hash.
    """
    first = np.empty(len(keys), dtype=np.int64)
    pending = np.arange(len(keys))
    factor = 0
    while len(pending):
        bits = (4 * len(pending)).bit_length()
        factor = (factor + _GOLDEN) % (1 << 64) | 1
        mixed = keys[pending].view(np.uint64) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(32)
        places = ((mixed * np.uint64(_GOLDEN)) >> np.uint64(64 - bits)).astype(np.int64)
        found = _least_lanes(places, pending, 1 << bits)
        same = keys[found] == keys[pending]
        first[pending[same]] = found[same]
        pending = pending[~same]
    return first


def _least_lanes(places: IntArray, lanes: IntArray, num_places: int) -> IntArray:
    """`[L]` the least of the lanes with the same place."""
    table = np.full(num_places, np.iinfo(np.int64).max)
    np.minimum.at(table, places, lanes)
    return np.asarray(table[places])


def _keys(columns: Sequence[IntArray]) -> tuple[IntArray, int]:
    """`[L]` numbers that are equal where rows are, and their range.

    They are from 0 on, except where there is one column of a range beyond `_MAX_SPAN`.
    """
    keys, span = np.zeros(0, dtype=np.int64), 1
    for column in columns:
        low, width = int(column.min()), int(column.max()) - int(column.min()) + 1
        if width == 1:
            continue
        if span == 1:
            keys, span = (column - low if low and width <= _MAX_SPAN else column), width
            continue
        if span * width > _MAX_SPAN:
            keys, span = first_seen(keys)[1], len(keys)
        if span * width > _MAX_SPAN:
            column, low, width = first_seen(column)[1], 0, len(column)
        keys = keys * width + (column - low if low else column)
        span *= width
    return keys, span


def ragged(lists: Sequence[IntArray]) -> Ragged:
    """Pack lists of ids."""
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    if lists:
        np.cumsum([len(x) for x in lists], out=offsets[1:])
    values = np.concatenate(lists) if lists else np.zeros(0, dtype=np.int64)
    return Ragged(offsets, values.astype(np.int64))


def offsets_of(counts: IntArray) -> IntArray:
    """`[L + 1]` offsets of consecutive segments with these lengths."""
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def segment_ids(offsets: IntArray) -> IntArray:
    """The segment number of every element of segments with these offsets."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), offsets[1:] - offsets[:-1])


def take_segments(offsets: IntArray, segments: IntArray) -> tuple[IntArray, IntArray]:
    """The elements of some segments, one segment after the other.

    Args:
        offsets: `[S + 1]`.
        segments: `[K]` which segments, repeats allowed.

    Returns:
        `[K + 1]` offsets of the segments taken, and the indices of their elements.
    """
    starts = offsets[segments]
    counts = offsets[segments + 1] - starts
    taken = offsets_of(counts)
    return taken, np.arange(taken[-1]) + np.repeat(starts - taken[:-1], counts)


def enlarged(array: NDArray[_T], length: int, fill: int) -> NDArray[_T]:
    """The array with room for at least `length` rows; more if it must grow, filled up."""
    if length <= len(array):
        return array
    larger = np.full((2 * length, *array.shape[1:]), fill, dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def chunks(sizes: IntArray, limit: int | Callable[[], int]) -> Iterator[tuple[int, int]]:
    """Start and end of consecutive runs of elements.

    The sizes of a run sum up to at most the limit, except where a run is a single element.

    Args:
        limit: a number, or what says it anew for each run.
    """
    ends = np.cumsum(sizes)
    start, before = 0, 0
    while start < len(ends):
        most = limit() if callable(limit) else limit
        end = max(int(np.searchsorted(ends, before + most, side="right")), start + 1)
        yield start, end
        start, before = end, int(ends[end - 1])
