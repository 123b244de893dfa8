"""Compiling the kernels of trees, or loading them from the cache, before a clock runs."""

from __future__ import annotations

import numpy as np

from ggp.belief import PathTree
from ggp.machine.base import Machine
from ggp.search.trees.growing.grower import Walk, grower_of
from ggp.search.trees.growth_kernels import add_worlds
from ggp.search.trees.keeping_kernels import count_depths, keep_nodes, keep_worlds, prove
from ggp.search.trees.node_table import NodeTable
from ggp.search.trees.regret_kernels import learn_regrets, relative_shares
from ggp.search.trees.tree_kernels import back_up, place_worlds, walk
from ggp.search.trees.tree_tables import new_nodes, new_wave, new_worlds
from ggp.search.trees.world_table import WorldTable


def load_kernels(machine: Machine, *, proves: bool = False, regrets: bool = False) -> None:
    """Load the kernels, by calling each of them on empty input.

    Args:
        machine: on a circuit waves have a kernel of their own.
        proves: also those of trees that prove wins and losses.
        regrets: also those of lanes that match regrets.
    """
    worlds, nodes = new_worlds(1), new_nodes()
    none = np.zeros(0, dtype=np.int64)
    nothing = np.zeros(0, dtype=np.bool_)
    wave = new_wave(none, nothing[:, None], 0)
    _load_walk(machine)
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


def _load_walk(machine: Machine) -> None:
    paths, none = PathTree(machine), np.zeros(0, dtype=np.int64)
    known, nodes = WorldTable(machine, 1), NodeTable(paths)
    wave = new_wave(none, np.zeros((0, len(machine.roles)), dtype=np.bool_), 0)
    how = Walk(1.0, 1.0, 1.0, np.zeros((0, 0)), pauses=False)
    grower = grower_of(machine, known, nodes, paths, alone=False)
    if grower is None:
        walk(known.table, nodes.table, wave, 1, 1, *how[:-1])
    else:
        grower.go(wave, how)
