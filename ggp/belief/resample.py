"""Thinning weighted entries without moving any expectation.

Of the entries of a set at most K are kept: those heavier than a threshold c with their weight,
of the lighter ones a systematic sample that keeps each with probability weight / c, and those
weigh c. c is such that K are kept. No entry is kept twice, and among all unbiased choices this
one changes the weights least (Fearnhead & Clifford, J. R. Statist. Soc. B 65, 2003, section 3).
"""

from __future__ import annotations

import numpy as np

from ggp.machine.arrays import offsets_of
from ggp.machine.base import FloatArray, IntArray


def choose_entries(
    log_weights: FloatArray, offsets: IntArray, limits: IntArray, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, IntArray]:
    """Thin every set to its limit.

    Args:
        log_weights: `[N]` log of weights that sum to 1 in each set.
        offsets: `[S + 1]` entries of each set.
        limits: `[S]` how many entries to keep at most.
        rng: draws one number for each set that is thinned.

    Returns:
        `[K]` indices of the entries kept, in order; their log weights, normalised in each
        set; and the `[S + 1]` new offsets.
    """
    kept, weights, counts = [], [], []
    for s, limit in enumerate(limits.tolist()):
        lanes = np.arange(offsets[s], offsets[s + 1])
        logs = log_weights[offsets[s] : offsets[s + 1]]
        if not limit:
            lanes, logs = lanes[:0], logs[:0]
        elif len(lanes) > limit:
            chosen, logs = _thin(np.exp(logs), limit, float(rng.random()))
            lanes = lanes[chosen]
        kept.append(lanes)
        weights.append(logs)
        counts.append(len(lanes))
    if not kept:
        return np.zeros(0, dtype=np.int64), np.zeros(0), offsets
    return np.concatenate(kept), np.concatenate(weights), offsets_of(np.array(counts))


def _thin(weights: FloatArray, limit: int, start: float) -> tuple[IntArray, FloatArray]:
    threshold = _threshold(weights, limit)
    keep = np.minimum(weights / threshold, 1.0)
    ends = np.cumsum(keep) + start
    chosen = np.flatnonzero(np.floor(ends) > np.floor(np.concatenate([[start], ends[:-1]])))
    new = np.maximum(weights[chosen], threshold)
    return chosen.astype(np.int64), np.log(new / new.sum())


def _threshold(weights: FloatArray, limit: int) -> float:
    """The c with sum(min(1, weight / c)) = limit."""
    falling = np.sort(weights)[::-1]
    below = falling.sum() - np.concatenate([[0.0], np.cumsum(falling)[:-1]])
    for heavy in range(limit):
        threshold = below[heavy] / (limit - heavy)
        if falling[heavy] <= threshold:
            return float(threshold)
    return float(falling[0])


def systematic(weights: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """`[count]` indices drawn by weight with one random number, increasing, repeats allowed."""
    ends = np.cumsum(weights)
    points = (rng.random() + np.arange(count)) * (ends[-1] / count)
    drawn = np.searchsorted(ends, points, side="right")
    return np.asarray(np.minimum(drawn, len(weights) - 1), dtype=np.int64)
