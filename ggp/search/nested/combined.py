"""Two kinds of values of the same candidates, combined as far as they are seen to agree.

HyperPlay values are precise, but biased wherever knowing or hiding something matters. Simulations
have no such bias, but are costly, so their values are noisy. Each kind has what the other lacks;
but how far the precise values can be trusted differs from decision to decision. The differences
over the candidates show it:

    precise     noisy          differences, less their mean     so
    52 55 61    40 71 63 ±15   -10 18 0: no more than noise     precise values decide
    50 45       50 90 ±1       -20 20: far more than noise      noisy values decide

Both kinds are tried on the same entries of the bag, so the choice of entries blurs no difference.

This is a random-effects meta-analysis. What both methods disagree about in the same way is no
reason to trust either less: simulated opponents are better than random ones, say, and all values
are lower. So playouts are compared after a shift: each goes the same share s of its way to the end
of the goal range that simulations are nearer to. The noisy value of candidate c is shifted_c + u_c,
plus an error of known variance v_c; u_c is the difference between the methods, with variance t^2,
and shifted_c has an error of its own, of variance p_c. Given t^2 a value is the posterior mean,
shifted_c + w_c (noisy_c - shifted_c) with w_c = (t^2 + p_c) / (t^2 + p_c + v_c): a mean of two
values in the goal range, so that none leaves it. Its variance is w_c v_c, and (1 - w_c)^2 times
that of the shift. To take a bias for noise would be worse than the reverse, so t^2 is not the best
guess, but the upper end of a one-sided interval of 75 %, by the Q-profile method (Viechtbauer 2007,
Statistics in Medicine 26): the t^2 for which the weighted sum of squared differences is the lower
quartile of its distribution, chi-squared with one degree of freedom less than there are candidates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ggp.machine.base import FloatArray
from ggp.search.estimates import Estimates

LOWER_QUARTILE = -0.6745
"""Lower quartile of the standard normal distribution."""

_HALVINGS = 60
_TINY = 1e-12


def combine(noisy: Estimates, precise: Estimates, goal_range: tuple[float, float]) -> Estimates:
    """The noisy values of one bag, drawn towards the precise ones as far as both agree.

    Visits and promptness are those of the noisy values. Exact values stay as they are, and say
    nothing about the others.

    Args:
        noisy: all candidates tried.
        precise: of the same candidates; they are ignored unless all have been tried.
    """
    exact = np.zeros(len(noisy.values), dtype=np.bool_) if noisy.exact is None else noisy.exact
    some = np.flatnonzero(~exact)
    if len(some) < 2 or not precise.visits.all() or not noisy.visits.all():
        return noisy
    noise, others = (each.cautious_errors(goal_range)[some] ** 2 for each in (noisy, precise))
    values, theirs = noisy.values[some], precise.values[some]
    differences, variances = values - theirs, noise + others
    way = _way(differences, variances, theirs, goal_range)
    between = between_variance(differences, variances, way)
    weights = 1 / (variances + between)
    shifted = theirs + _share(differences, weights, way) * way
    trust = (between + others) * weights
    error_of_shift = way**2 / max(float(np.sum(weights * way**2)), _TINY)
    # Both kinds share the error from the choice of entries, as far as it shows: a mean of trials
    # has at most the error of trials that win or lose.
    whole = np.nan_to_num(noisy.stderrs[some]) ** 2
    of_trials = np.minimum(whole, (np.ptp(goal_range) / 2) ** 2 / noisy.visits[some])
    squares = whole - (1 - trust) * of_trials + (1 - trust) ** 2 * error_of_shift
    means, errors = noisy.values.copy(), noisy.stderrs.copy()
    means[some] = trust * values + (1 - trust) * shifted
    errors[some] = np.sqrt(squares)
    return replace(noisy, values=means, stderrs=errors)


def _way(
    differences: FloatArray,
    variances: FloatArray,
    values: FloatArray,
    goal_range: tuple[float, float],
) -> FloatArray:
    """`[C]` how far values are from the end of the goal range that others are nearer to."""
    is_higher = np.average(differences, weights=1 / variances) > 0
    return goal_range[int(is_higher)] - values


def _share(differences: FloatArray, weights: FloatArray, way: FloatArray) -> float:
    """The share of their ways, from 0 to 1, that accounts best for differences."""
    whole = float(np.sum(weights * way**2))
    return float(np.clip(np.sum(weights * way * differences) / whole, 0, 1)) if whole else 0.0


def between_variance(differences: FloatArray, variances: FloatArray, way: FloatArray) -> float:
    """The largest variance between two methods that is consistent with their differences (75 %).

    Args:
        differences: `[C]` of the values of C candidates, C > 1.
        variances: `[C]` variances of the differences that noise explains; above 0.
        way: `[C]` how far the values of one method are shifted at most, all by the same share.
    """
    freedom = len(differences) - 1
    # The quantile of chi-squared by Wilson and Hilferty's approximation.
    cube = 2 / (9 * freedom)
    bound = freedom * float(1 - cube + LOWER_QUARTILE * cube**0.5) ** 3

    def excess(between: float) -> float:
        weights = 1 / (variances + between)
        left = differences - _share(differences, weights, way) * way
        return float(np.sum(weights * left**2)) - bound

    low, high = 0.0, float(np.sum(differences**2)) / bound
    if excess(low) <= 0:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high
