"""Compiling the kernels of trees, or loading them from the cache, before a clock runs."""

from __future__ import annotations

import numpy as np

from ggp.search.trees.growth_kernels import add_worlds
from ggp.search.trees.keeping_kernels import count_depths, keep_nodes, keep_worlds
from ggp.search.trees.proof_kernels import prove
from ggp.search.trees.regret_kernels import learn_regrets, relative_shares
from ggp.search.trees.tree_kernels import back_up, place_worlds, walk
from ggp.search.trees.tree_tables import new_nodes, new_wave, new_worlds


def load_kernels(*, proves: bool = False, regrets: bool = False) -> None:
    """Load the kernels, by calling each of them on empty input.

    Args:
        proves: also those of trees that prove wins and losses.
        regrets: also those of lanes that match regrets.
    """
    worlds, nodes = new_worlds(1), new_nodes()
    none = np.zeros(0, dtype=np.int64)
    nothing = np.zeros(0, dtype=np.bool_)
    wave = new_wave(none, nothing[:, None], 0)
    walk(worlds, nodes, wave, 1, 1, 1.0, 1.0, 1.0, np.zeros((0, 0)))
    place_worlds(worlds)
    node_of, paths = np.zeros(1, dtype=np.int32), np.zeros((0, 1), dtype=np.int64)
    offsets, reals = np.zeros((1, 1), dtype=np.int64), np.zeros(0)
    add_worlds(worlds, nodes, node_of, nothing, paths, offsets, none, -1, reals, -1, nothing.copy())
    back_up(nodes, wave, np.zeros((0, 1)), reals, nothing, 1.0)
    numbers = np.zeros(0, dtype=np.int32)
    count_depths(worlds, numbers)
    keep_nodes(nodes, nothing.copy(), numbers, numbers.copy())
    keep_worlds(worlds, nodes, nothing.copy(), numbers, numbers, numbers.copy())
    if proves:
        prove(worlds, nodes, wave)
    if regrets:
        learn_regrets(nodes, wave, np.zeros((0, 1)), nothing)
        relative_shares(nodes, np.zeros(0, dtype=np.int32), none, reals)
