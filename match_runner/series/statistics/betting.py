"""Bounds on a mean that hold after any number of values, also where one looks and goes on.

If the mean of values between 0 and 1 were at most m, nobody could expect to win by betting, value
by value, that they are above m. To have 200 times the money at any time then has a chance of 1/200
at most (Ville's inequality). So where somebody comes to have it, the mean is above m, however often
one has looked. Bets on the other side bound the mean from above.

These are the hedged grid bets (hgKelly) of Waudby-Smith & Ramdas, *Estimating means of bounded
random variables by betting*, J. R. Stat. Soc. B 86 (2024). The money is split evenly, first
between both sides, then among constant bets g/20 of all one has, g = 1 ... 20. After values x

    K(m) = 1/20 sum_g prod_x (1 + g/20 (x/m - 1))

is the wealth of those who bet that the mean is above m, as a multiple. It has three properties
that bets chosen from value to value lack. The order of values does not matter, nor, for time,
how many of them are equal. K falls as m grows, so that each bound is found by halving. And K is
at most 1 at the mean of the values, which is therefore always between the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

NUM_BETS = 20
_BETS: FloatArray = np.arange(1, NUM_BETS + 1)[:, None] / NUM_BETS
_HALVINGS = 48


@dataclass(frozen=True, slots=True)
class Sample:
    """Independent values of V kinds, scaled to lie between 0 and 1.

    Attributes:
        values: `[V]` between 0 and 1.
        counts: `[V]` how often each came; above 0.
    """

    values: FloatArray
    counts: FloatArray

    @property
    def mean(self) -> float:
        """Of the values."""
        return float(self.counts @ self.values / self.counts.sum())

    @property
    def other_side(self) -> Sample:
        """The same values counted down from 1."""
        return replace(self, values=1.0 - self.values)


def sample_of(bounds: tuple[float, float], values: Sequence[float]) -> Sample:
    """Values as bets see them.

    Args:
        bounds: what values may be at least and at most, the first below the second.
        values: at least one.
    """
    low, high = bounds
    kinds, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    scaled: FloatArray = np.clip((kinds - low) / (high - low), 0.0, 1.0)
    return Sample(scaled, counts.astype(np.float64))


def log_wealth(sample: Sample, mean: float, times: float = 1.0) -> float:
    """The logarithm of what those have who bet that the mean is above this one; they began with 1.

    Args:
        mean: above 0.
        times: as if all values had come so often.
    """
    return _wealth_of(_growth(sample, mean), times)


def bounds_of(sample: Sample, alpha: float) -> tuple[float, float]:
    """Between which the mean is, with a chance of at least 1 - alpha, however often one looks."""
    return _lowest(sample, alpha), 1.0 - _lowest(sample.other_side, alpha)


def is_above(sample: Sample, mean: float, alpha: float) -> bool:
    """Whether the lower one of `bounds_of` is above a mean; faster."""
    return 0.0 < mean < 1.0 and log_wealth(sample, mean) >= _needed(alpha)


def times_until_above(sample: Sample, mean: float, alpha: float, most: float) -> float | None:
    """How many times the values have to come, on and on as they did, until `is_above`.

    None if more than `most` times.

    Args:
        mean: above 0.
    """
    growth, needed = _growth(sample, mean), _needed(alpha)
    if _wealth_of(growth, most) < needed:
        return None
    # Wealth begins at 1, is convex, and so comes to what is needed only once.
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _wealth_of(growth, middle) >= needed else (middle, high)
    return high


def _needed(alpha: float) -> float:
    """Each side begins with half of the money."""
    return math.log(2 / alpha)


def _growth(sample: Sample, mean: float) -> FloatArray:
    """`[20]` by what the logarithm of each bet's wealth has grown."""
    with np.errstate(divide="ignore"):  # who bets all of it may lose all of it
        gains = np.log1p(_BETS * (sample.values / mean - 1.0))
    found: FloatArray = gains @ sample.counts
    return found


def _wealth_of(growth: FloatArray, times: float) -> float:
    most = float(growth.max()) * times
    if most == -math.inf:
        return most
    return most + math.log(float(np.exp(growth * times - most).mean()))


def _lowest(sample: Sample, alpha: float) -> float:
    """The least mean that the bets leave possible; where it is not exact, it is below."""
    low, high, needed = 0.0, sample.mean, _needed(alpha)
    for _ in range(_HALVINGS if high > 0.0 else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if log_wealth(sample, middle) >= needed else (low, middle)
    return low
