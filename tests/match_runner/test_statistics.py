"""Means and their confidence intervals."""

from __future__ import annotations

import math

import pytest

from match_runner.statistics import Mean, mean_of, student_99


def test_mean_of_several_values_has_a_student_interval() -> None:
    found = mean_of([0.0, 100.0, 50.0])
    assert found.mean == 50.0
    assert found.ci99 == pytest.approx(9.9248 * 50.0 / math.sqrt(3))


def test_equal_values_have_an_interval_of_zero() -> None:
    assert mean_of([90.0] * 100) == Mean(90.0, 0.0)


def test_a_single_value_has_no_interval() -> None:
    assert mean_of([75.0]) == Mean(75.0, None)


def test_no_values_have_no_mean() -> None:
    assert mean_of([]) == Mean(None, None)


# Reference: scipy.stats.t.ppf(0.995, freedom).
@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 63.6567), (5, 4.0321), (29, 2.7564), (30, 2.7500), (60, 2.6603), (10_000, 2.5763)],
)
def test_student_quantile(freedom: int, quantile: float) -> None:
    assert student_99(freedom) == pytest.approx(quantile, abs=1e-3)


def test_student_quantiles_fall_towards_the_normal_one() -> None:
    quantiles = [student_99(freedom) for freedom in range(1, 200)]
    assert quantiles == sorted(quantiles, reverse=True)
    assert quantiles[-1] > 2.5758
