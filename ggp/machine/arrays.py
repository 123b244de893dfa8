"""Small array operations that batches are made of. None depends on the size of ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import IntArray, Ragged


def first_seen(rows: NDArray[np.int64]) -> tuple[IntArray, IntArray]:
    """Distinct rows in order of first appearance.

    Args:
        rows: `[L]` or `[L, K]`.

    Returns:
        `[G]` lane at which each distinct row first appears, increasing, and `[L]` number of
        the distinct row of each lane.
    """
    if not len(rows):
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty
    keys: NDArray[Any] = rows
    if rows.ndim == 2:
        packed = np.ascontiguousarray(rows)
        keys = packed.view(np.dtype((np.void, packed.dtype.itemsize * packed.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order].astype(np.int64), rank[inverse.ravel()].astype(np.int64)


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
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
