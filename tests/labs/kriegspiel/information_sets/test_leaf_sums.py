"""Leaves merged and summed by kernels, against sums of numpy in the same order."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.labs.kriegspiel.set_search import leaves_of
from ggp.labs.kriegspiel.set_tree import sum_leaves
from ggp.machine.arrays import first_seen_columns
from ggp.search.parts import ValuedTurns


@pytest.mark.parametrize("count", [0, 1, 50, 5000])
def test_equal_leaves_of_a_node_are_one_with_their_mass(count: int) -> None:
    rng = np.random.default_rng(count)
    nodes, masses = rng.integers(0, 9, count), rng.random(count)
    keys, values = rng.integers(0, 4, (count, 2)), rng.random(count)
    nothing = np.zeros(count, dtype=np.int64)
    valued = ValuedTurns(nothing, nothing > 0, None, values, keys)
    lanes = np.flatnonzero(rng.random(count) < 0.7)
    merged = leaves_of(valued, nodes, masses, lanes)
    first, group = first_seen_columns([nodes[lanes], *keys[lanes].T])
    assert merged.nodes.tolist() == nodes[lanes][first].tolist()
    assert merged.keys.tolist() == keys[lanes][first].tolist()
    assert merged.values.tobytes() == values[lanes][first].tobytes()
    assert merged.masses.tobytes() == np.bincount(group, masses[lanes], len(first)).tobytes()


def test_leaves_are_summed_as_numpy_sums_them() -> None:
    rng = np.random.default_rng(0)
    nodes, masses = rng.integers(0, 20, 3000), rng.random(3000)
    values, promptness = rng.normal(size=(2, 3000))
    sums, minima = np.zeros((5, 21)), np.full(21, np.inf)
    sum_leaves(nodes, masses, values, promptness, sums, minima)
    expected = (masses, masses * masses, masses * values, masses * values**2, masses * promptness)
    for row, expected_row in zip(sums, expected, strict=True):
        assert row.tobytes() == np.bincount(nodes, expected_row, 21).tobytes()
    lowest = np.full(21, np.inf)
    np.minimum.at(lowest, nodes, values)
    assert minima.tobytes() == lowest.tobytes()
