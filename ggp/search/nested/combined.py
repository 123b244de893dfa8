"""Two kinds of values of the same candidates, combined as far as they are seen to agree.

HyperPlay values are precise, but biased wherever knowing or hiding something matters. Simulations
have no such bias, but are costly, so their values are noisy. Each kind has what the other lacks;
but how far the precise values can be trusted differs from decision to decision. The differences
over the candidates show it:

    precise     noisy          differences, less their mean     so
    52 55 61    40 71 63 ±15   -10 18 0: no more than noise     precise values decide
    50 45       50 90 ±1       -20 20: far more than noise      noisy values decide

Both kinds are tried on the same entries of the bag, so the choice of entries blurs no difference.

This is a random-effects meta-analysis. The noisy value of candidate c is precise_c + shift + u_c,
plus an error of known variance v_c; u_c is the difference between the methods, with variance t^2.
Given t^2 a value is the posterior mean, precise_c + shift + t^2 / (t^2 + v_c) * (difference_c -
shift). To take a bias for noise would be worse than the reverse, so t^2 is not the best guess, but
the upper end of a one-sided interval of 75 %, by the Q-profile method (Viechtbauer 2007, Statistics
in Medicine 26): the t^2 for which the weighted sum of squared differences is the lower quartile of
its distribution, chi-squared with one degree of freedom less than there are candidates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ggp.machine.base import FloatArray
from ggp.search.estimates import Estimates

LOWER_QUARTILE = -0.6745
"""Lower quartile of the standard normal distribution."""

_HALVINGS = 60


def combine(noisy: Estimates, precise: Estimates, goal_range: tuple[float, float]) -> Estimates:
    """The noisy values of one bag, drawn towards the precise ones as far as both agree.

    Visits and promptness are those of the noisy values. A shift that all candidates share does
    not count as disagreement, and is kept.

    Args:
        noisy: all candidates tried.
        precise: of the same candidates; they are ignored unless all have been tried.
    """
    if len(noisy.values) < 2 or not precise.visits.all() or not noisy.visits.all():
        return noisy
    variances = noisy.cautious_errors(goal_range) ** 2 + precise.cautious_errors(goal_range) ** 2
    differences = noisy.values - precise.values
    between = between_variance(differences, variances)
    weights = 1 / (variances + between)
    shift = float(np.average(differences, weights=weights))
    trust = between * weights
    return replace(
        noisy,
        values=precise.values + shift + trust * (differences - shift),
        stderrs=np.sqrt(trust * variances),
    )


def between_variance(differences: FloatArray, variances: FloatArray) -> float:
    """The largest variance between two methods that is consistent with their differences (75 %).

    Args:
        differences: `[C]` of the values of C candidates, C > 1.
        variances: `[C]` variances of the differences that noise explains; above 0.
    """
    freedom = len(differences) - 1
    # The quantile of chi-squared by Wilson and Hilferty's approximation.
    cube = 2 / (9 * freedom)
    bound = freedom * float(1 - cube + LOWER_QUARTILE * cube**0.5) ** 3

    def excess(between: float) -> float:
        weights = 1 / (variances + between)
        shift = np.average(differences, weights=weights)
        return float(np.sum(weights * (differences - shift) ** 2)) - bound

    low, high = 0.0, float(np.ptp(differences)) ** 2 * len(differences) / bound
    if excess(low) <= 0:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high
