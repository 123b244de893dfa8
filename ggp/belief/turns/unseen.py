"""How many different states there are, when only some of the ways to them were tried.

Different complete paths often end in the same state. If few states were reached in two ways, few
of many were found; if nearly all were, nearly all were found. So what was not found is estimated
from the numbers of what was reached once and twice (Chao & Lin, "Nonparametric lower bounds for
species richness and shared species richness under sampling without replacement", Biometrics 68,
2012).
"""

from __future__ import annotations

import numpy as np

from ggp.machine.base import FloatArray, IntArray


def estimated_sizes(times: IntArray, set_of: IntArray, totals: FloatArray) -> FloatArray:
    """`[S]` estimated number of different states in each of several sets.

    It is the number of states that were found where all ways were tried, and the number of ways
    where no state was reached twice.

    Args:
        times: `[K]` in how many of the ways that were tried each state was reached.
        set_of: `[K]` set of each state.
        totals: `[S]` estimated number of ways that there are.
    """
    num_sets = len(totals)
    found = np.bincount(set_of, minlength=num_sets)
    tried = np.bincount(set_of, times, minlength=num_sets)
    once = np.bincount(set_of[times == 1], minlength=num_sets)
    twice = np.bincount(set_of[times == 2], minlength=num_sets)
    totals = np.maximum(totals, tried)
    with np.errstate(divide="ignore", invalid="ignore"):
        known = 2.0 * twice * tried / (tried - 1) + once * tried / (totals - tried)
        unknown = np.where(once > 0, once * (once / known), 0.0)
    return np.asarray(np.fmin(found + unknown, totals))
