"""Sums over leaves, in one go: calls of numpy for each of them would gather the same again and
again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import kernel
from ggp.machine.mixing import START, ended, mixed_in


@kernel
def merge_leaves(
    some: IntArray,
    nodes: IntArray,
    masses: FloatArray,
    keys: IntArray,
    slots: NDArray[np.int32],
    first: IntArray,
    merged: FloatArray,
) -> int:
    """Merge leaves of one node with equal keys, in order of first appearance.

    Args:
        some: `[N]` those of K leaves that are merged.
        nodes, masses, keys: `[K]`, `[K]`, `[K, 2]` of each.
        slots: all free (-1): a power of two of them, more than N.
        first, merged: `[N]` out: the first leaf of each, and their masses summed in order.

    Returns:
        the number of different ones.
    """
    mask, size = np.uint64(len(slots) - 1), 0
    for n in range(len(some)):
        k = some[n]
        slot = ended(mixed_in(mixed_in(START, np.uint64(nodes[k])), np.uint64(keys[k, 0]))) & mask
        while True:
            number = slots[slot]
            if number < 0:
                slots[slot] = size
                first[size], merged[size] = k, masses[k]
                size += 1
                break
            known = first[number]
            if (
                nodes[known] == nodes[k]
                and keys[known, 0] == keys[k, 0]
                and keys[known, 1] == keys[k, 1]
            ):
                merged[number] += masses[k]
                break
            slot = (slot + np.uint64(1)) & mask
    return size


@kernel
def sum_leaves(
    nodes: IntArray,
    masses: FloatArray,
    values: FloatArray,
    promptness: FloatArray,
    sums: FloatArray,
    least: FloatArray,
) -> None:
    """Sum up leaves that were valued once.

    Args:
        nodes, masses, values, promptness: `[K]` of each.
        sums: `[5, N]` to add to, by node: masses, their squares, and what values, their squares and
            promptness are, times masses.
        least: `[N]` the smallest value of each node so far.
    """
    for k in range(len(nodes)):
        node, mass, value = nodes[k], masses[k], values[k]
        sums[0, node] += mass
        sums[1, node] += mass * mass
        sums[2, node] += mass * value
        sums[3, node] += mass * (value * value)
        sums[4, node] += mass * promptness[k]
        least[node] = min(least[node], value)
