"""Bounds on a mean that hold after any number of values, even if one looks and then goes on.

If the mean of values between 0 and 1 were at most m, nobody could expect to win by betting, value
by value, that they are above m. The chance of ever having 200 times the initial money is then at
most 1/200 (Ville's inequality). So if a bettor does reach it, the mean is above m with 99.5 %
confidence, however often one has looked. Bets on the other side bound the mean from above.

These are the hedged grid bets (hgKelly) of Waudby-Smith & Ramdas, *Estimating means of bounded
random variables by betting*, J. R. Stat. Soc. B 86 (2024). The money is split evenly, first
between both sides, then among constant bets of the fraction g/20 of the current wealth,
g = 1 ... 20. After values x

    K(m) = 1/20 sum_g prod_x (1 + g/20 (x/m - 1))

is the wealth of those who bet that the mean is above m, as a multiple of what they began with. It
has three properties that bets chosen from value to value lack. The order of values does not matter,
and equal values cost no extra time. K falls as m grows, so that each bound is found by bisection.
And K is at most 1 at the mean of the values, which is therefore always between the bounds.
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
