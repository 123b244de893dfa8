"""Means with 99 % confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

NORMAL_99 = 2.5758293035489
"""Two-sided 99 % quantile of the normal distribution."""

STUDENT_99 = (
    *(63.6567, 9.9248, 5.8409, 4.6041, 4.0321, 3.7074, 3.4995, 3.3554, 3.2498, 3.1693),
    *(3.1058, 3.0545, 3.0123, 2.9768, 2.9467, 2.9208, 2.8982, 2.8784, 2.8609, 2.8453),
    *(2.8314, 2.8188, 2.8073, 2.7969, 2.7874, 2.7787, 2.7707, 2.7633, 2.7564),
)
"""Two-sided 99 % quantiles of Student's t with 1 to 29 degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean of independent values.

    Attributes:
        mean: None of no values.
        ci99: half-width of its 99 % confidence interval, None of fewer than two values.
    """

    mean: float | None
    ci99: float | None


def student_99(freedom: int) -> float:
    """Two-sided 99 % quantile of Student's t.

    From 30 degrees of freedom on by the expansion of Cornish and Fisher around the normal
    quantile, which is within 0.001 of it there.
    """
    if freedom <= len(STUDENT_99):
        return STUDENT_99[freedom - 1]
    z = NORMAL_99
    first = (z**3 + z) / (4 * freedom)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return z + first + second


def mean_of(values: Sequence[float]) -> Mean:
    """Mean and 99 % confidence half-width by Student's t."""
    if not values:
        return Mean(None, None)
    num = len(values)
    mean = math.fsum(values) / num
    if num == 1:
        return Mean(mean, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (num - 1)
    return Mean(mean, student_99(num - 1) * math.sqrt(variance / num))
