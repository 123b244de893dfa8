"""Random orders of large ranges, of which only a few places are looked up.

A random order of 0..size-1 is a Feistel network on the next power of two, whose values beyond
the range are mapped again until they fall into it (Black & Rogaway, CT-RSA 2002, section 5).
It needs no memory, and any number of orders are looked up side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import offsets_of
from ggp.machine.base import FloatArray, IntArray
from ggp.machine.mixing import GOLDEN, finalised

MAX_SIZE = 2.0**53
"""Largest range: sizes up to here are exact as floats."""

_ROUNDS = 10

_MIN_BITS = 8
"""With fewer bits the orders are not random enough, as pairs of places show."""

UInts = NDArray[np.uint64]


def shuffled(places: IntArray, sizes: FloatArray, keys: UInts) -> IntArray:
    """`[K]` the number at a given place of a random order of 0..size-1.

    Args:
        places: `[K]` less than the sizes.
        sizes: `[K]` whole numbers from 2 to `MAX_SIZE`.
        keys: `[K]` identify the orders: drawn at random, one for each order.
    """
    bits = np.maximum(np.frexp(sizes - 1)[1], _MIN_BITS).astype(np.uint64)
    limits = sizes.astype(np.uint64)
    found = places.astype(np.uint64)
    pending = np.arange(len(places))
    # A range of more than `_MIN_BITS` bits is more than half of its power of two, so that few
    # numbers are mapped more than once or twice.
    while len(pending):
        found[pending] = _network(found[pending], bits[pending], keys[pending])
        pending = pending[found[pending] >= limits[pending]]
    return found.astype(np.int64)


def pairs_in_random_order(
    counts: IntArray, at_once: Callable[[], int], rng: np.random.Generator
) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs of (index of a lane, number in it) in pieces drawn from all, each in order of lanes.

    Args:
        counts: `[D]` how many numbers each lane has; there are `MAX_SIZE` pairs at most.
        at_once: gives the size of the next piece.
    """
    offsets = offsets_of(counts)
    total = int(offsets[-1])
    key = rng.integers(0, 1 << 63, dtype=np.uint64)
    start = 0
    while start < total:
        end = min(start + max(at_once(), 1), total)
        places = np.arange(start, end)
        pairs = shuffled(places, np.full(len(places), float(total)), np.full(len(places), key))
        pairs.sort()  # neighbours are stepped faster
        at = np.searchsorted(offsets, pairs, side="right") - 1
        yield at, pairs - offsets[at]
        start = end


def _network(numbers: UInts, bits: UInts, keys: UInts) -> UInts:
    """A permutation of the numbers with this many bits."""
    one = np.uint64(1)
    low_bits = bits >> one
    low_mask = (one << low_bits) - one
    high_mask = (one << (bits - low_bits)) - one
    low, high = numbers & low_mask, numbers >> low_bits
    for step in range(_ROUNDS):
        if step % 2:
            low = low ^ (_mix(high, keys, step) & low_mask)
        else:
            high = high ^ (_mix(low, keys, step) & high_mask)
    return np.asarray(high << low_bits | low)


def _mix(numbers: UInts, keys: UInts, step: int) -> UInts:
    """Pseudo-random numbers."""
    mixed: UInts = finalised((numbers + np.uint64(step + 1)) * GOLDEN ^ keys)
    return mixed
