"""99 % confidence intervals, by scipy."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

LEVEL = 0.99
RESAMPLES = 9999

GOALS = (0.0, 100.0)
"""The goal values of GDL go from 0 to 100."""

_BATCH = 1_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 99 % confidence interval.

    Attributes:
        value: None of no values.
        low, high: None where there are too few values to say.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


def interval_text(interval: Interval, layout: str = ".2f", scale: float = 1.0) -> str:
    """`62.50 [48.11, 75.32]`, as much of it as there is."""
    if interval.value is None:
        return "-"
    value = format(scale * interval.value, layout)
    if interval.low is None or interval.high is None:
        return value
    low, high = (format(scale * end, layout) for end in (interval.low, interval.high))
    return f"{value} [{low}, {high}]"


def share_interval(successes: int, trials: int) -> Interval:
    """A share between 0 and 1 with its exact binomial (Clopper-Pearson) interval."""
    from scipy.stats import binomtest

    if not trials:
        return Interval(None)
    found = binomtest(successes, trials).proportion_ci(LEVEL, method="exact")
    return Interval(successes / trials, float(found.low), float(found.high))


def mean_interval(
    values: Sequence[float], seed: int, bounds: tuple[float, float] = GOALS
) -> Interval:
    """A mean of independent values with its interval.

    Values that are all at one of the bounds make an exact binomial interval. If all are equal,
    resampling would say there is no doubt at all; instead, the share of values that may differ
    has an exact binomial bound, and these may be anywhere between the bounds. All others are
    resampled (bias-corrected and accelerated bootstrap).

    Args:
        seed: of the resampling.
        bounds: what the values may be at least and at most; wider if they are not.
    """
    num = len(values)
    if not num:
        return Interval(None)
    mean = math.fsum(values) / num
    if num == 1:
        return Interval(mean)
    low, high = min(bounds[0], *values), max(bounds[1], *values)
    if all(value in (low, high) for value in values):
        share = share_interval(sum(value == high for value in values), num)
        return Interval(
            mean, *(low + (high - low) * (end or 0.0) for end in (share.low, share.high))
        )
    if all(value == values[0] for value in values):
        others = share_interval(0, num).high or 0.0
        return Interval(mean, mean - others * (mean - low), mean + others * (high - mean))
    return Interval(mean, *_bootstrap(np.asarray(values, dtype=np.float64), seed))


def student_interval(values: Sequence[float]) -> Interval:
    """A mean and its interval by Student's t, for values that are nearly normal.

    All may be equal; then there is no doubt.
    """
    num = len(values)
    if not num:
        return Interval(None)
    mean = math.fsum(values) / num
    if num == 1:
        return Interval(mean)
    half = _student_quantile(num - 1) * statistics.stdev(values) / math.sqrt(num)
    return Interval(mean, mean - half, mean + half)


@cache
def _student_quantile(degrees: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + LEVEL) / 2, degrees))


def _bootstrap(values: np.ndarray[tuple[int], np.dtype[np.float64]], seed: int) -> list[float]:
    from scipy.stats import bootstrap

    # BCa has no answer (NaN) for some few values; plain percentiles always have one.
    for method in ("BCa", "percentile"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # BCa on few values: looked at below
            found = bootstrap(
                (values,),
                np.mean,
                n_resamples=RESAMPLES,
                batch=max(1, _BATCH // len(values)),
                confidence_level=LEVEL,
                method=method,
                rng=np.random.default_rng(seed),
            ).confidence_interval
        ends = [float(found.low), float(found.high)]
        if all(map(math.isfinite, ends)):
            break
    return ends
