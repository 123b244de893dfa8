"""99 % confidence intervals of means and shares, such as a player's mean score.

Series of matches, experiments and reports get their intervals here, from lists of values. Intervals
by betting hold after any number of rounds, even if somebody looks and then plays on; they are wide.
If the number of rounds is large and was fixed beforehand, resampling or the exact binomial interval
is narrower and may be used instead.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

LEVEL = 0.99
RESAMPLES = 9999

BETTING, FIXED, STUDENT, UNBOUNDED = "betting", "fixed", "student", "unbounded"

METHODS = {
    BETTING: "by betting: valid after any number of rounds, even if you look and play on",
    FIXED: "resampled or exact binomial: for this number of rounds only, fixed beforehand",
    STUDENT: "by Student's t: valid for values that are nearly normal",
    UNBOUNDED: "are missing: the rules do not bound the scores",
}
"""Methods of intervals, each with the condition on which it holds, or why there is no interval."""

FIXED_ROUNDS = 50
"""Smallest number of rounds for intervals that assume a fixed number: with fewer, somebody is
likely to look and play on."""

GOALS = (0.0, 100.0)
"""Range of the goal values of GDL."""

_DOUBT_SHOWN = 0.6
"""Share of the error probability that resampling may use. It misses a little more often than it
promises, especially if most scores are equal."""

_BATCH = 1_000_000
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 99 % confidence interval.

        >>> f"{share_interval(62, 100).percent:.1f}"
        '62.0 [48.7, 74.2]'

    Attributes:
        value: the estimate; None without values.
        low, high: ends of the interval; None if there are too few values, or no bounds.
        method: one of `METHODS`; None if there are too few values, or no uncertainty.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str | None = None

    @property
    def error(self) -> float | None:
        """The larger distance from the estimate to an end; None without an interval."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return max(self.value - self.low, self.high - self.value)

    @property
    def percent(self) -> Interval:
        """The interval of a share, in percent."""
        ends = (self.value, self.low, self.high)
        value, low, high = (None if end is None else 100 * end for end in ends)
        return Interval(value, low, high, self.method)

    def __format__(self, layout: str) -> str:
        """The interval as `62.50 [48.11, 75.32]`; the estimate or `-` if there is no more.

        Args:
            layout: the format of each number, `.2f` if empty.
        """
        ends = (self.value, self.low, self.high)
        value, low, high = (None if end is None else format(end, layout or ".2f") for end in ends)
        if value is None:
            return "-"
        return value if low is None or high is None else f"{value} [{low}, {high}]"


def methods_text(intervals: Iterable[Interval]) -> list[str]:
    """Lines that explain how intervals were made, one for each method that occurs."""
    methods = dict.fromkeys(i.method for i in intervals if i.method is not None)
    return [f"99 % intervals {METHODS[method]}" for method in methods]


def share_interval(successes: int, trials: int, level: float = LEVEL) -> Interval:
    """Share of successes in a fixed number of trials, with its exact binomial interval
    (Clopper-Pearson).

        >>> share_interval(0, 10).low
        0.0
    """
    from scipy.stats import binomtest

    if not trials:
        return Interval(None)
    ends = binomtest(successes, trials).proportion_ci(level, method="exact")
    return Interval(successes / trials, float(ends.low), float(ends.high), FIXED)


def mean_interval(
    values: Sequence[float],
    seed: int,
    bounds: tuple[float, float] | None = GOALS,
    *,
    fixed: bool,
    level: float = LEVEL,
) -> Interval:
    """Mean of independent values with its interval.

        >>> interval = mean_interval([50.0, 100.0, 100.0, 0.0] * 5, seed=1, fixed=True)
        >>> f"{interval.low:.1f} < {interval.value:.1f} < {interval.high:.1f}"
        '28.9 < 62.5 < 88.9'

    The interval is by betting, unless there are at least `FIXED_ROUNDS` values and their number was
    fixed beforehand, see `fixed_interval`.

        >>> interval = mean_interval([50.0, 60.0, 40.0, 50.0], seed=0, fixed=True)
        >>> interval.value, interval.method
        (50.0, 'betting')

    Args:
        seed: seed of the resampling.
        bounds: the smallest and the largest possible value, known before the first one; None if
            unknown. Without bounds, or with a value outside them, there is no interval: a rare
            large value could move the mean by any amount.
        fixed: whether the number of values was fixed before any was known.
        level: confidence level of the interval.
    """
    num = len(values)
    if not num:
        return Interval(None)
    mean = math.fsum(values) / num
    if num == 1:
        return Interval(mean)
    if bounds is None or not _are_within(values, bounds):
        return Interval(mean, method=UNBOUNDED)
    if not fixed or num < FIXED_ROUNDS:
        return _betting_interval(mean, bounds, level, values)
    return fixed_interval(values, seed, bounds, level)


def _are_within(values: Sequence[float], bounds: tuple[float, float]) -> bool:
    """Whether all values are within the bounds, allowing for the rounding of means."""
    low, high = bounds
    rounding = _ROUNDING * (high - low)
    return low - rounding <= min(values) and max(values) <= high + rounding


def fixed_interval(
    values: Sequence[float], seed: int, bounds: tuple[float, float], level: float = LEVEL
) -> Interval:
    """Mean with its interval, for a large number of values that was fixed beforehand.

    If every value is at one of the bounds, the interval is exact binomial. If all values are equal,
    resampling would show no uncertainty at all; instead, an exact binomial bound limits the share
    of values that may differ, and those may be anywhere between the bounds. All other values are
    resampled (bootstrap-t; the accelerated bootstrap misses too often if values are skewed). If
    nearly all are equal, resampling says nothing, and the interval by betting is narrower.

    Args:
        values: at least two, within the bounds.
        seed: seed of the resampling.
    """
    num, (low, high) = len(values), bounds
    mean = math.fsum(values) / num
    if all(value in (low, high) for value in values):
        wins = share_interval(sum(value == high for value in values), num, level)
        lower, upper = (low + (high - low) * (end or 0.0) for end in (wins.low, wins.high))
        return Interval(mean, lower, upper, FIXED)
    if all(value == values[0] for value in values):
        share = share_interval(0, num, level).high or 0.0
        return Interval(mean, mean - share * (mean - low), mean + share * (high - mean), FIXED)
    lower, upper = _studentised(values, seed, level)
    lower, upper = max(low, lower), min(high, upper)
    bets = _betting_interval(mean, bounds, level, values)
    assert bets.low is not None
    assert bets.high is not None
    narrower = upper - lower <= bets.high - bets.low
    return Interval(mean, lower, upper, FIXED) if narrower else bets


def mean_of_means(
    groups: Sequence[Sequence[float]], bounds: tuple[float, float] | None = GOALS
) -> Interval:
    """Mean of the means of groups of independent values, with its interval by betting.

    Each of k groups gets an interval with 1/k of the error probability, and the ends are averaged.
    So the interval holds whatever decided the size of each group, for example if a duel stops once
    it is clear who is better. (The mean itself is then a little too far from a draw.)

        >>> mean_of_means([[0.0, 100.0], [50.0, 50.0]]).value
        50.0

    Args:
        groups: groups of values; empty groups are ignored.
        bounds: see `mean_interval`.
    """
    samples = [group for group in groups if group]
    if not samples:
        return Interval(None)
    mean = math.fsum(math.fsum(group) / len(group) for group in samples) / len(samples)
    if any(len(group) == 1 for group in samples):
        return Interval(mean)
    level = 1 - (1 - LEVEL) / len(samples)
    intervals = [mean_interval(group, 0, bounds, fixed=False, level=level) for group in samples]
    if any(interval.method == UNBOUNDED for interval in intervals):
        return Interval(mean, method=UNBOUNDED)
    low, high = (
        math.fsum(end for end in ends if end is not None) / len(samples)
        for ends in ((i.low for i in intervals), (i.high for i in intervals))
    )
    return Interval(mean, min(mean, low), max(mean, high), BETTING)


def _betting_interval(
    mean: float, bounds: tuple[float, float], level: float, values: Sequence[float]
) -> Interval:
    low, high = bounds
    ends = bounds_of(sample_of(bounds, values), 1 - level)
    # The mean lies between the two, except for rounding in the last digit.
    lower, upper = (low + (high - low) * end for end in ends)
    return Interval(mean, min(mean, lower), max(mean, upper), BETTING)


def student_interval(values: Sequence[float]) -> Interval:
    """Mean with its interval by Student's t, for nearly normal values.

    If all values are equal, the interval is a point.
    """
    num = len(values)
    if not num:
        return Interval(None)
    mean = math.fsum(values) / num
    if num == 1:
        return Interval(mean)
    half = _student_quantile(num - 1) * statistics.stdev(values) / math.sqrt(num)
    return Interval(mean, mean - half, mean + half, STUDENT)


@cache
def _student_quantile(degrees: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + LEVEL) / 2, degrees))


def _studentised(values: Sequence[float], seed: int, level: float) -> tuple[float, float]:
    """The bootstrap-t interval of a mean; an end may be infinite.

    The error of the mean is resampled in units of each resample's own standard error, as skewed
    values need it.
    """
    kinds, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    num = len(values)
    rng = np.random.default_rng(seed)
    batches = []
    for start in range(0, RESAMPLES, chunk := max(1, _BATCH // len(kinds))):
        shares = rng.multinomial(num, counts / num, min(chunk, RESAMPLES - start)) / num
        means = shares @ kinds
        spreads = np.sqrt(np.maximum(shares @ kinds**2 - means**2, 0.0))
        batches.append((means, spreads))
    means, spreads = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    mean = float(counts @ kinds) / num
    spread = math.sqrt(max(float(counts @ kinds**2) / num - mean**2, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.nan_to_num((means - mean) / spreads, nan=0.0, posinf=np.inf, neginf=-np.inf)
    tail = _DOUBT_SHOWN * (1 - level) / 2
    low = float(np.quantile(errors, tail, method="lower"))
    high = float(np.quantile(errors, 1 - tail, method="higher"))
    return mean - high * spread, mean - low * spread


# ------------------------------------------------------------------------
# Bounds on a mean that hold after any number of values, even if somebody looks and then goes on.
#
# If the mean of values between 0 and 1 were at most m, nobody could expect to win by betting, value
# by value, that they are above m. The chance of ever having 200 times the initial money is then at
# most 1/200 (Ville's inequality). So if a bettor does reach it, the mean is above m with 99.5 %
# confidence, however often one has looked. Bets on the other side bound the mean from above.
#
# These are the hedged grid bets (hgKelly) of Waudby-Smith & Ramdas, *Estimating means of bounded
# random variables by betting*, J. R. Stat. Soc. B 86 (2024). The money is split evenly, first
# between both sides, then among constant bets of the fraction g/20 of the current wealth, g = 1 ...
# 20. After values x
#
# K(m) = 1/20 sum_g prod_x (1 + g/20 (x/m - 1))
#
# is the wealth of those who bet that the mean is above m, as a multiple of what they began with. It
# has three properties that bets chosen from value to value lack. The order of values does not
# matter, and equal values cost no extra time. K falls as m grows, so that each bound is found by
# bisection. And K is at most 1 at the mean of the values, which is therefore always between the
# bounds.

FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

NUM_BETS = 20
_BETS: FloatArray = np.arange(1, NUM_BETS + 1)[:, None] / NUM_BETS
_HALVINGS = 48


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of independent values, scaled to lie between 0 and 1; V of them are different.

    Attributes:
        values: `[V]` different values, between 0 and 1.
        counts: `[V]` number of occurrences of each; above 0.
    """

    values: FloatArray
    counts: FloatArray

    @property
    def mean(self) -> float:
        """Mean of all values."""
        return float(self.counts @ self.values / self.counts.sum())

    @property
    def other_side(self) -> Sample:
        """The sample of `1 - value`."""
        return replace(self, values=1.0 - self.values)


def sample_of(bounds: tuple[float, float], values: Sequence[float]) -> Sample:
    """A sample of values, scaled to lie between 0 and 1.

        >>> sample_of((0.0, 100.0), [0.0, 50.0, 50.0]).counts.tolist()
        [1.0, 2.0]

    Args:
        bounds: the smallest and the largest possible value; the first is below the second.
        values: at least one.
    """
    low, high = bounds
    kinds, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    scaled: FloatArray = np.clip((kinds - low) / (high - low), 0.0, 1.0)
    return Sample(scaled, counts.astype(np.float64))


def log_wealth(sample: Sample, mean: float) -> float:
    """Logarithm of the wealth of bettors who began with 1 and bet that the mean is above `mean`.

    Args:
        mean: above 0.
    """
    return _wealth_of(_growth(sample, mean), 1.0)


def bounds_of(sample: Sample, alpha: float) -> tuple[float, float]:
    """Bounds of the mean with a confidence of at least 1 - alpha, however often one looks."""
    return _lowest(sample, alpha), 1.0 - _lowest(sample.other_side, alpha)


def is_above(sample: Sample, mean: float, alpha: float) -> bool:
    """Whether the lower bound of `bounds_of` is above `mean`; faster."""
    return 0.0 < mean < 1.0 and log_wealth(sample, mean) >= _log_target(alpha)


def times_until_above(sample: Sample, mean: float, alpha: float, most: float) -> float | None:
    """How often the same values would have to repeat until `is_above`.

    None if more than `most` times.

    Args:
        mean: above 0.
    """
    growth, threshold = _growth(sample, mean), _log_target(alpha)
    if _wealth_of(growth, most) < threshold:
        return None
    # Wealth begins at 1 and is convex in the number of times, so it crosses the threshold once.
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _wealth_of(growth, middle) >= threshold else (middle, high)
    return high


def _log_target(alpha: float) -> float:
    """Logarithm of the wealth that decides; each side begins with half of the money."""
    return math.log(2 / alpha)


def _growth(sample: Sample, mean: float) -> FloatArray:
    """`[20]` growth of the logarithm of each bet's wealth."""
    with np.errstate(divide="ignore"):  # a bet of everything may lose everything
        gains = np.log1p(_BETS * (sample.values / mean - 1.0))
    growth: FloatArray = gains @ sample.counts
    return growth


def _wealth_of(growth: FloatArray, times: float) -> float:
    most = float(growth.max()) * times
    if most == -math.inf:
        return most
    return most + math.log(float(np.exp(growth * times - most).mean()))


def _lowest(sample: Sample, alpha: float) -> float:
    """The smallest mean that the bets do not exclude, rounded down if inexact."""
    low, high, threshold = 0.0, sample.mean, _log_target(alpha)
    for _ in range(_HALVINGS if high > 0.0 else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if log_wealth(sample, middle) >= threshold else (low, middle)
    return low
