"""Random orders: each number comes once, and all orders are equally likely."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief.turns.completions import shuffled


def keys(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 63, count, dtype=np.uint64)


@pytest.mark.parametrize("size", [2, 3, 33, 255, 256, 257, 300, 65_537])
def test_an_order_has_every_number_once(size: int) -> None:
    for key in keys(3):
        order = shuffled(np.arange(size), np.full(size, float(size)), np.full(size, key))
        assert sorted(order.tolist()) == list(range(size))


def test_numbers_of_large_ranges_are_in_range_and_distinct() -> None:
    for size in (2.0**31, 2.0**53 - 1, 2.0**53):
        order = shuffled(np.arange(1000), np.full(1000, size), np.full(1000, keys(1)[0]))
        assert len(set(order.tolist())) == 1000
        assert order.min() >= 0
        assert order.max() < size


@pytest.mark.parametrize("size", [33, 50, 300])
def test_pairs_of_places_are_uniform(size: int) -> None:
    trials = 400_000
    order = keys(trials, seed=size)
    sizes = np.full(trials, float(size))
    first = shuffled(np.zeros(trials, dtype=np.int64), sizes, order)
    sixth = shuffled(np.full(trials, 5), sizes, order)
    seen = np.bincount(first * size + sixth, minlength=size * size).reshape(size, size)
    assert np.trace(seen) == 0
    pairs = size * (size - 1)
    off_diagonal = ~np.eye(size, dtype=np.bool_)
    chi_square = ((seen[off_diagonal] - trials / pairs) ** 2).sum() / (trials / pairs)
    freedom = pairs - 1
    assert abs(chi_square - freedom) < 6 * np.sqrt(2 * freedom)
