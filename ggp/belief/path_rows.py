"""The tables of a `PathTree`, for kernels that extend paths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import IntArray
from ggp.machine.compiling.jit import by_reference, inlined
from ggp.machine.rows import number_some


@by_reference
class PathRows(NamedTuple):
    """The paths of a `PathTree`, with room for more.

    Attributes:
        sizes: `[1]` number of paths.
        rows: `[N, 4]` parent, move, percepts and refused move of each; see `PathTree.extend`.
        slots: of these rows, see `ggp.machine.rows`.
        depths: `[N]` number of turns of each.
    """

    sizes: IntArray
    rows: NDArray[np.uint64]
    slots: NDArray[np.int32]
    depths: IntArray


@inlined
def number_paths(paths: PathRows, wanted: NDArray[np.uint64], count: int, found: IntArray) -> bool:
    """Find `count` paths, and add those that are new; their parents existed before.

    Args:
        wanted: `[K, 4]` their rows.
        found: `[K]` out: the number of each.

    Returns:
        whether there was room for all; if not, it must be called again for the same ones.
    """
    before = paths.sizes[0]
    done, size = number_some(wanted, paths.rows, paths.slots, before, found, 0, count)
    paths.sizes[0] = size
    for path in range(before, size):
        paths.depths[path] = 1 + paths.depths[np.int64(paths.rows[path, 0])]
    return done == count
