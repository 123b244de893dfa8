"""99 % confidence intervals.

Those by betting hold after any number of rounds, even if somebody looks and then plays on. They
are wide. For many rounds whose number was fixed beforehand, resampling and the exact binomial
interval are narrower, and may be used.
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
    BETTING: "by betting: valid at any number of rounds, also when more are played after looking",
    FIXED: "resampled or exact binomial: for this number of rounds only, fixed beforehand",
    STUDENT: "by Student's t: valid for values that are nearly normal",
    UNBOUNDED: "are missing: the rules do not bound the scores",
}
"""Methods by which intervals are made, and when these hold; or why there is none."""

FIXED_ROUNDS = 50
"""Least number of rounds for intervals that assume a fixed number: with fewer, somebody is likely
to look and play on."""

GOALS = (0.0, 100.0)
"""The goal values of GDL go from 0 to 100."""

_DOUBT_SHOWN = 0.6
"""Share of the error probability that resampling is given: it misses a little more often than it
promises, most of all where scores are mostly equal."""

_BATCH = 1_000_000
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 99 % confidence interval.

    Attributes:
        value: the estimate; None without values.
        low, high: ends of the interval; None if there are too few values, or no bounds.
        method: one of `METHODS`; None where there are too few values, or no uncertainty.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str | None = None

    @property
    def error(self) -> float | None:
        """The larger distance from the estimate to an end; None where there is no interval."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return max(self.value - self.low, self.high - self.value)

    @property
    def percent(self) -> Interval:
        """The same of a share, in percent."""
        ends = (self.value, self.low, self.high)
        value, low, high = (None if end is None else 100 * end for end in ends)
        return Interval(value, low, high, self.method)

    def __format__(self, layout: str) -> str:
        """The interval as `62.50 [48.11, 75.32]`, as much of it as there is.

        Args:
            layout: the format of each number, `.2f` if empty.
        """
        ends = (self.value, self.low, self.high)
        value, low, high = (None if end is None else format(end, layout or ".2f") for end in ends)
        if value is None:
            return "-"
        return value if low is None or high is None else f"{value} [{low}, {high}]"


def methods_text(intervals: Iterable[Interval]) -> list[str]:
    """Lines that say how some intervals were made, one for each method."""
    found = dict.fromkeys(each.method for each in intervals if each.method is not None)
    return [f"99 % intervals {METHODS[method]}" for method in found]


def share_interval(successes: int, trials: int, level: float = LEVEL) -> Interval:
    """Share of successes in a fixed number of trials, from 0 to 1, with its exact binomial
    (Clopper-Pearson) interval."""
    from scipy.stats import binomtest

    if not trials:
        return Interval(None)
    found = binomtest(successes, trials).proportion_ci(level, method="exact")
    return Interval(successes / trials, float(found.low), float(found.high), FIXED)


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

    The interval is by betting (`ggp.statistics`), unless there are
    `FIXED_ROUNDS` values or more and their number was fixed beforehand, see `fixed_interval`.

    Args:
        seed: seed of the resampling.
        bounds: the least and the greatest possible value, known before the first one; None if
            they are not known. Then, and if a value shows them to be wrong, there is no interval:
            a rare large value could move the mean as far as it likes.
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
    """Whether all are, but for rounding: means of several values may be a last digit off."""
    low, high = bounds
    rounding = _ROUNDING * (high - low)
    return low - rounding <= min(values) and max(values) <= high + rounding


def fixed_interval(
    values: Sequence[float], seed: int, bounds: tuple[float, float], level: float = LEVEL
) -> Interval:
    """Mean with an interval for values whose number was fixed beforehand and is large.

    If every value is at one of the bounds, the interval is exact binomial. If all are equal,
    resampling would leave no uncertainty at all; instead, the share of values that may differ
    has an exact binomial bound, and these may be anywhere between the bounds. All others are
    resampled (bootstrap-t; the accelerated one misses too often where values are skewed). Where
    nearly all are equal resampling says nothing, and bets are narrower.

    Args:
        values: at least two, within the bounds.
        seed: seed of the resampling.
    """
    num, (low, high) = len(values), bounds
    mean = math.fsum(values) / num
    if all(value in (low, high) for value in values):
        share = share_interval(sum(value == high for value in values), num, level)
        least, most = (low + (high - low) * (end or 0.0) for end in (share.low, share.high))
        return Interval(mean, least, most, FIXED)
    if all(value == values[0] for value in values):
        others = share_interval(0, num, level).high or 0.0
        return Interval(mean, mean - others * (mean - low), mean + others * (high - mean), FIXED)
    least, most = _studentised(values, seed, level)
    least, most = max(low, least), min(high, most)
    bets = _betting_interval(mean, bounds, level, values)
    assert bets.low is not None
    assert bets.high is not None
    narrower = most - least <= bets.high - bets.low
    return Interval(mean, least, most, FIXED) if narrower else bets


def mean_of_means(
    groups: Sequence[Sequence[float]], bounds: tuple[float, float] | None = GOALS
) -> Interval:
    """Mean of the means of some groups of independent values, with its interval by betting.

    Each of k groups has an interval with 1/k of the error probability, and their ends are averaged.
    So it holds whatever decided the number of values in each, for example if a duel ends when it is
    clear who is better. (The mean itself is then a little too far from a draw.)

    Args:
        groups: groups of values; those without values say nothing.
        bounds: see `mean_interval`.
    """
    given = [group for group in groups if group]
    if not given:
        return Interval(None)
    mean = math.fsum(math.fsum(group) / len(group) for group in given) / len(given)
    if any(len(group) == 1 for group in given):
        return Interval(mean)
    level = 1 - (1 - LEVEL) / len(given)
    found = [mean_interval(group, 0, bounds, fixed=False, level=level) for group in given]
    if any(each.method == UNBOUNDED for each in found):
        return Interval(mean, method=UNBOUNDED)
    low, high = (
        math.fsum(end for end in ends if end is not None) / len(given)
        for ends in ((each.low for each in found), (each.high for each in found))
    )
    return Interval(mean, min(mean, low), max(mean, high), BETTING)


def _betting_interval(
    mean: float, bounds: tuple[float, float], level: float, values: Sequence[float]
) -> Interval:
    low, high = bounds
    ends = bounds_of(sample_of(bounds, values), 1 - level)
    # The mean is between them, except for rounding in the last digit.
    least, most = (low + (high - low) * end for end in ends)
    return Interval(mean, min(mean, least), max(mean, most), BETTING)


def student_interval(values: Sequence[float]) -> Interval:
    """Mean with its interval by Student's t, for values that are nearly normal.

    All may be equal; then the interval is a point.
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
    """The bootstrap-t interval of a mean: its error is resampled in units of the standard error
    that each resample shows, which skewed values need. An end may be infinite."""
    kinds, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    num = len(values)
    rng = np.random.default_rng(seed)
    found = []
    for start in range(0, RESAMPLES, chunk := max(1, _BATCH // len(kinds))):
        shares = rng.multinomial(num, counts / num, min(chunk, RESAMPLES - start)) / num
        means = shares @ kinds
        spreads = np.sqrt(np.maximum(shares @ kinds**2 - means**2, 0.0))
        found.append((means, spreads))
    means, spreads = (np.concatenate(each) for each in zip(*found, strict=True))
    mean = float(counts @ kinds) / num
    spread = math.sqrt(max(float(counts @ kinds**2) / num - mean**2, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.nan_to_num((means - mean) / spreads, nan=0.0, posinf=np.inf, neginf=-np.inf)
    tail = _DOUBT_SHOWN * (1 - level) / 2
    low = float(np.quantile(errors, tail, method="lower"))
    high = float(np.quantile(errors, 1 - tail, method="higher"))
    return mean - high * spread, mean - low * spread


# ------------------------------------------------------------------------
# Bounds on a mean that hold after any number of values, even if one looks and then goes on.
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
    """A sample of independent values, V different ones, scaled to lie between 0 and 1.

    Attributes:
        values: `[V]` between 0 and 1.
        counts: `[V]` number of times each occurred; above 0.
    """

    values: FloatArray
    counts: FloatArray

    @property
    def mean(self) -> float:
        """Mean of the values."""
        return float(self.counts @ self.values / self.counts.sum())

    @property
    def other_side(self) -> Sample:
        """The sample of `1 - value`."""
        return replace(self, values=1.0 - self.values)


def sample_of(bounds: tuple[float, float], values: Sequence[float]) -> Sample:
    """Make a sample of values by scaling them to lie between 0 and 1.

    Args:
        bounds: the least and the greatest possible value, the first below the second.
        values: at least one.
    """
    low, high = bounds
    kinds, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    scaled: FloatArray = np.clip((kinds - low) / (high - low), 0.0, 1.0)
    return Sample(scaled, counts.astype(np.float64))


def log_wealth(sample: Sample, mean: float) -> float:
    """Logarithm of the wealth of those who bet that the mean is above `mean`; they began with 1.

    Args:
        mean: above 0.
    """
    return _wealth_of(_growth(sample, mean), 1.0)


def bounds_of(sample: Sample, alpha: float) -> tuple[float, float]:
    """Bounds of the mean with confidence of at least 1 - alpha, however often one looks."""
    return _lowest(sample, alpha), 1.0 - _lowest(sample.other_side, alpha)


def is_above(sample: Sample, mean: float, alpha: float) -> bool:
    """Whether the lower bound of `bounds_of` is above `mean`; faster."""
    return 0.0 < mean < 1.0 and log_wealth(sample, mean) >= _needed(alpha)


def times_until_above(sample: Sample, mean: float, alpha: float, most: float) -> float | None:
    """How often the same values would have to occur again and again until `is_above`.

    None if more than `most` times.

    Args:
        mean: above 0.
    """
    growth, needed = _growth(sample, mean), _needed(alpha)
    if _wealth_of(growth, most) < needed:
        return None
    # Wealth begins at 1 and is convex, so it reaches the needed value only once.
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _wealth_of(growth, middle) >= needed else (middle, high)
    return high


def _needed(alpha: float) -> float:
    """Logarithm of the wealth that is needed; each side begins with half of the money."""
    return math.log(2 / alpha)


def _growth(sample: Sample, mean: float) -> FloatArray:
    """`[20]` growth of the logarithm of each bet's wealth."""
    with np.errstate(divide="ignore"):  # a bet of everything may lose everything
        gains = np.log1p(_BETS * (sample.values / mean - 1.0))
    found: FloatArray = gains @ sample.counts
    return found


def _wealth_of(growth: FloatArray, times: float) -> float:
    most = float(growth.max()) * times
    if most == -math.inf:
        return most
    return most + math.log(float(np.exp(growth * times - most).mean()))


def _lowest(sample: Sample, alpha: float) -> float:
    """The least mean that the bets do not exclude, rounded down where it is not exact."""
    low, high, needed = 0.0, sample.mean, _needed(alpha)
    for _ in range(_HALVINGS if high > 0.0 else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if log_wealth(sample, middle) >= needed else (low, middle)
    return low
