"""Array operations for batches: ragged lists, segments, groups of equal rows, and packed bits.

Their cost depends on the lengths of arrays, not on the size of the ids in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import BoolArray, FloatArray, IntArray, Ragged
from ggp.machine.rows import grouped

Packed = NDArray[np.uint64]
"""`[L, words]`: bit b of word w of a lane is item `64 * w + b`."""

_T = TypeVar("_T", bound=np.generic)

_MANY = 16
"""Sorting one number takes as long as scanning the marks of this many numbers."""


def first_seen(rows: NDArray[np.int64]) -> tuple[IntArray, IntArray]:
    """Groups of equal rows in order of appearance.

    >>> first_seen(np.array([7, 3, 7, 7]))
    (array([0, 1]), array([0, 1, 0, 0]))

    Args:
        rows: `[L]` or `[L, K]`.

    Returns:
        `[G]` the first lane of each group, increasing, and `[L]` the group of each lane.
    """
    return first_seen_columns([rows] if rows.ndim == 1 else list(rows.T))


def first_seen_columns(columns: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Like `first_seen`, for rows given as one or more columns `[L]`."""
    if len(columns) == 1:
        rows = np.ascontiguousarray(columns[0])[:, None]
    else:
        rows = np.stack(columns, axis=1)
    return grouped(rows.view(np.uint64))


def ragged(lists: Sequence[IntArray]) -> Ragged:
    """Pack lists of ids into one value."""
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    if lists:
        np.cumsum([len(x) for x in lists], out=offsets[1:])
    values = np.concatenate(lists) if lists else np.zeros(0, dtype=np.int64)
    return Ragged(offsets, values.astype(np.int64))


def distinct(numbers: IntArray | NDArray[np.int32], limit: int) -> IntArray:
    """The distinct numbers, ascending; all must be at least 0 and below `limit`.

    Many numbers are marked in an array, which is much faster than sorting or hashing.
    """
    if _MANY * len(numbers) < limit:
        return np.unique(numbers).astype(np.int64)
    marked = np.zeros(limit, dtype=np.bool_)
    marked[numbers] = True
    return np.flatnonzero(marked)


def offsets_of(counts: IntArray) -> IntArray:
    """`[L + 1]` offsets of consecutive segments with these lengths."""
    offsets = np.empty(len(counts) + 1, dtype=np.int64)
    offsets[0] = 0
    counts.cumsum(out=offsets[1:])  # half the time of `np.cumsum`, which looks for this method
    return offsets


def segment_ids(offsets: IntArray) -> IntArray:
    """The segment number of every element of segments with these offsets."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), offsets[1:] - offsets[:-1])


def joined(parts: Sequence[Ragged]) -> Ragged:
    """The lists of several parts, one after the other; there must be at least one part."""
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([part.counts for part in parts])
    return Ragged(offsets_of(counts), np.concatenate([part.values for part in parts]))


def take_segments(offsets: IntArray, segments: IntArray) -> tuple[IntArray, IntArray]:
    """The elements of some segments, one segment after the other.

    Args:
        offsets: `[S + 1]` offsets of all segments.
        segments: `[K]` the segments to take, repeats allowed.

    Returns:
        `[K + 1]` offsets of the segments taken, and the indices of their elements.
    """
    starts = offsets[segments]
    counts = offsets[segments + 1] - starts
    new_offsets = offsets_of(counts)
    return new_offsets, np.arange(new_offsets[-1]) + np.repeat(starts - new_offsets[:-1], counts)


def enlarged(array: NDArray[_T], length: int, fill: int) -> NDArray[_T]:
    """The array with room for at least `length` rows; if it must grow, more, set to `fill`."""
    if length <= len(array):
        return array
    larger = np.empty((2 * length, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    larger[len(array) :] = fill
    return larger


def chunks(sizes: IntArray, limit: int | Callable[[], int]) -> Iterator[tuple[int, int]]:
    """Start and end of consecutive runs of elements.

    The sizes of a run sum up to at most the limit, except where a run is a single element.

    Args:
        limit: a number, or a function that returns the limit of the next run.
    """
    ends = sizes.cumsum()
    start, total = 0, 0
    while start < len(ends):
        most = limit() if callable(limit) else limit
        if ends[-1] <= total + most:
            yield start, len(ends)
            return
        end = max(int(np.searchsorted(ends, total + most, side="right")), start + 1)
        yield start, end
        start, total = end, int(ends[end - 1])


def log_sums(logs: FloatArray, group: IntArray, num_groups: int) -> FloatArray:
    """`[G]` log of the sum of the exponentials of `[N]` logs, for each group; -inf for no logs.

    The sum of each group is relative to its greatest term, so groups of very different size lose
    no precision.
    """
    top = np.full(num_groups, -np.inf)
    np.maximum.at(top, group, logs)
    summed = np.bincount(group, weights=np.exp(logs - top[group]), minlength=num_groups)
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(summed))


def sums_by(keys: IntArray, values: FloatArray, size: int) -> FloatArray:
    """`[..., size]` sums of `[..., N]` values by their `[N]` keys."""
    if values.ndim == 1:
        return np.bincount(keys, values, size).astype(np.float64, copy=False)
    rows = values.reshape(-1, len(keys))
    places = keys + size * np.arange(len(rows))[:, None]
    sums = np.bincount(places.ravel(), rows.ravel(), size * len(rows)).astype(
        np.float64, copy=False
    )
    return sums.reshape(*values.shape[:-1], size)


# ------------------------------------------------------------------------
# Bits, packed into words: bit b of word w is item `64 * w + b`.


def words_for(num_bits: int) -> int:
    """Number of words of a packed row of bits; at least one."""
    return max(1, -(-num_bits // 64))


def pack(bits: BoolArray) -> Packed:
    """`[words]` a row of bits, packed."""
    row: Packed = pack_rows(np.asarray(bits, dtype=np.bool_)[None])[0]
    return row


def pack_rows(bits: BoolArray) -> Packed:
    """`[L, words]` rows of bits, packed."""
    rows = np.zeros((len(bits), 64 * words_for(bits.shape[1])), dtype=np.uint8)
    rows[:, : bits.shape[1]] = bits
    words = np.packbits(rows, axis=1, bitorder="little").view("<u8")
    return np.ascontiguousarray(words.astype(np.uint64))


def unpack(packed: Packed, count: int) -> BoolArray:
    """`[L, count]` the first bits of packed rows."""
    words = np.ascontiguousarray(packed.astype("<u8"))
    as_bytes = words.view(np.uint8).reshape(len(packed), 8 * packed.shape[1])
    return np.unpackbits(as_bytes, axis=1, count=count, bitorder="little").astype(np.bool_)


def places_of_bits(packed: Packed) -> tuple[IntArray, IntArray]:
    """The lanes and bits of all ones in `[L, words]` rows, in order; for rows with few ones."""
    lanes, words = np.nonzero(packed)
    index, bits = np.nonzero(unpack(packed[lanes, words][:, None], 64))
    return lanes[index], 64 * words[index] + bits


def rows_of_bits(lanes: IntArray, bits: IntArray, count: int, words: int) -> Packed:
    """`[count, words]` rows with ones at the given lanes and bits."""
    packed = np.zeros((count, words), dtype=np.uint64)
    masks = np.uint64(1) << (bits % 64).astype(np.uint64)
    np.bitwise_or.at(packed, (lanes, bits // 64), masks)
    return packed
