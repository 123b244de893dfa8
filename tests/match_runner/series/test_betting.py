"""Bounds by betting: against the paper's formula written out, and their promise by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.intervals import CASES, FEW, misses_of
from ggp.statistics import (
    bounds_of,
    is_above,
    mean_interval,
    mean_of_means,
    sample_of,
    times_until_above,
)
from tests.support.effort import examples

ALPHA = 0.01
GRID = np.arange(1, 1000) / 1000


def possible_means(values: list[float]) -> list[float]:
    """The confidence set of hgKelly on a grid of means: the product, bet by bet and in order."""
    means = []
    for mean in GRID:
        above, below = [1.0] * 20, [1.0] * 20
        for value in values:
            for bet in range(20):
                above[bet] *= 1 + (bet + 1) / 20 / mean * (value - mean)
                below[bet] *= 1 - (bet + 1) / 20 / (1 - mean) * (value - mean)
        if max(sum(above) / 20, sum(below) / 20) / 2 < 1 / ALPHA:
            means.append(float(mean))
    return means


@pytest.mark.parametrize(
    "values",
    [
        [0.5],
        [1.0] * 12,
        [0.0] * 3,
        [0.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0],
        [0.9] * 20,
        [0.03, 0.5, 0.51, 0.2],
        np.random.default_rng(0).choice([0, 0.1, 1], 30, p=[0.7, 0.2, 0.1]).tolist(),
    ],
    ids=lambda values: f"{len(values)} from {values[0]}",
)
def test_bounds_are_those_of_the_paper(values: list[float]) -> None:
    low, high = bounds_of(sample_of((0.0, 1.0), values), ALPHA)
    possible = possible_means(values)
    assert low == pytest.approx(possible[0], abs=1.1 / 1000)
    assert high == pytest.approx(possible[-1], abs=1.1 / 1000)
    assert len(possible) == round((possible[-1] - possible[0]) * 1000) + 1  # no holes
    for mean in (0.1, 0.5, 0.7):
        assert is_above(sample_of((0.0, 1.0), values), mean, ALPHA) == (low > mean)


def test_bounds_do_not_depend_on_order_scale_or_side() -> None:
    values = np.random.default_rng(1).choice([0.0, 25.0, 75.0, 100.0], 40, p=[0.1, 0.2, 0.3, 0.4])
    low, high = bounds_of(sample_of((0.0, 100.0), values.tolist()), ALPHA)
    assert (low, high) == bounds_of(sample_of((0.0, 100.0), values[::-1].tolist()), ALPHA)
    scaled = bounds_of(sample_of((-10.0, 190.0), (2 * values - 10).tolist()), ALPHA)
    assert scaled == pytest.approx((low, high))
    mirrored = bounds_of(sample_of((0.0, 100.0), (100 - values).tolist()), ALPHA)
    assert mirrored == pytest.approx((1 - high, 1 - low))
    assert low < values.mean() / 100 < high


def test_many_values_leave_little_room() -> None:
    rng = np.random.default_rng(2)
    for num, width in ((100, 0.5), (1_000, 0.16), (10_000, 0.06)):
        low, high = bounds_of(sample_of((0.0, 1.0), rng.integers(0, 2, num).tolist()), ALPHA)
        assert high - low < width


def test_means_of_groups_hold_where_values_decide_how_many_there_are() -> None:
    """Each group ends when it is clear on which side of 50 its mean is."""
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(examples(60)):
        groups = []
        for _ in range(6):
            values = rng.choice([0.0, 100.0], 60, p=[0.35, 0.65]).tolist()
            ends = (
                n for n in range(4, 60, 4) if is_above(sample_of((0, 100), values[:n]), 0.5, ALPHA)
            )
            groups.append(values[: next(ends, 60)])
        interval = mean_of_means(groups)
        assert interval.low is not None
        assert interval.high is not None
        missed += not interval.low <= 65 <= interval.high
    assert missed == 0


def test_how_often_values_must_come_is_when_they_decide() -> None:
    sample = sample_of((0, 1), [0.4, 0.8, 0.5, 0.7])
    times = times_until_above(sample, 0.5, ALPHA, 1000)
    assert times is not None
    often = math.ceil(times)
    assert is_above(sample_of((0, 1), [0.4, 0.8, 0.5, 0.7] * often), 0.5, ALPHA)
    assert not is_above(sample_of((0, 1), [0.4, 0.8, 0.5, 0.7] * (often - 1)), 0.5, ALPHA)
    assert times_until_above(sample, 0.5, ALPHA, times - 0.01) is None
    assert times_until_above(sample_of((0, 1), [0.4, 0.6]), 0.5, ALPHA, 1e6) is None


@pytest.mark.parametrize("case", CASES)
def test_few_values_miss_the_mean_in_one_and_a_half_percent_at_most(case: str) -> None:
    misses = misses_of(case, FEW, repeats=examples(4_000), seed=4)
    assert all(share <= 0.015 for share in misses.betting.values()), misses
    assert misses.peeking <= 0.015


@pytest.mark.verify
@pytest.mark.parametrize("case", CASES)
def test_it_is_one_percent_at_most_in_many_runs(case: str) -> None:
    misses = misses_of(case, FEW, repeats=20_000, seed=6)
    assert misses.peeking <= 0.01


def test_the_misses_are_those_of_the_interval_that_is_shown() -> None:
    """The simulation counts with arrays what `mean_interval` says one by one."""
    for name, case in CASES.items():
        rng = np.random.default_rng(5)
        for _ in range(20):
            values = case.draw(rng, 20).tolist()
            interval = mean_interval(values, 0, case.bounds, fixed=False)
            assert interval.low is not None
            assert interval.high is not None
            sample = sample_of(case.bounds, values)
            low, high = case.bounds
            at = (case.mean - low) / (high - low)
            missed = is_above(sample, at, ALPHA) or is_above(sample.other_side, 1 - at, ALPHA)
            assert missed == (not interval.low <= case.mean <= interval.high), name
