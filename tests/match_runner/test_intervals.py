"""Intervals against known values, scipy, and their promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import bootstrap

from match_runner.series.intervals import RESAMPLES, mean_interval, share_interval


def test_a_share_has_the_interval_of_clopper_and_pearson() -> None:
    found = share_interval(8, 10)
    assert found.value == 0.8
    # Tables of Clopper-Pearson limits.
    assert found.low == pytest.approx(0.35178, abs=1e-4)
    assert found.high == pytest.approx(0.98915, abs=1e-4)
    none = share_interval(0, 20)
    assert (none.value, none.low) == (0, 0)
    assert none.high == pytest.approx(1 - 0.005 ** (1 / 20))
    assert share_interval(0, 0).value is None


def test_values_at_the_bounds_are_a_share() -> None:
    found = mean_interval([0, 100, 100, 100], seed=0)
    share = share_interval(3, 4)
    assert share.low is not None
    assert found.value == 75
    assert found.low == pytest.approx(100 * share.low)


def test_other_values_are_resampled_as_by_scipy() -> None:
    values = np.random.default_rng(0).choice([0, 25, 75, 100], 60).tolist()
    found = mean_interval(values, seed=5)
    direct = bootstrap(
        (np.array(values, dtype=float),),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=0.99,
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert found.low == pytest.approx(direct.low, abs=1.0)
    assert found.high == pytest.approx(direct.high, abs=1.0)
    assert found == mean_interval(values, seed=5)


def test_equal_values_leave_doubt() -> None:
    found = mean_interval([90.0] * 20, seed=0)
    doubt = 1 - 0.005 ** (1 / 20)
    assert found.value == 90
    assert found.low == pytest.approx(90 - 90 * doubt)
    assert found.high == pytest.approx(90 + 10 * doubt)


def test_few_values_have_no_interval() -> None:
    assert mean_interval([], seed=0).value is None
    assert (mean_interval([50], seed=0).value, mean_interval([50], seed=0).low) == (50, None)
    two = mean_interval([25, 50], seed=0)
    assert (two.low, two.high) == (25, 50)


def test_intervals_cover_the_mean_about_as_often_as_they_promise() -> None:
    rng = np.random.default_rng(1)
    goals, weights = [0, 25, 75, 100], [0.3, 0.2, 0.3, 0.2]
    mean = float(np.dot(goals, weights))
    covered = 0
    for number in range(60):
        found = mean_interval(rng.choice(goals, 40, p=weights).tolist(), seed=number)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= mean <= found.high
    assert covered >= 56


def test_values_beyond_the_bounds_widen_them() -> None:
    found = mean_interval([120.0] * 5, seed=0)
    assert found.value == found.high == 120
    mixed = mean_interval([-20.0, 120.0, 120.0], seed=0)
    assert mixed.low is not None
    assert mixed.high is not None
    assert -20 <= mixed.low < 73 < mixed.high <= 120
