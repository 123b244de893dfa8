"""Thins weighted entries without changing any expectation, in many sets at once.

At most K entries of a set are kept: those heavier than a threshold c with their weight, and a
systematic sample of the lighter ones that keeps each with probability weight / c and gives it
weight c. The threshold is chosen so that K are kept. No entry is kept twice, and among all unbiased
methods this one changes the weights least (Fearnhead & Clifford, J. R. Statist. Soc. B 65, 2003,
section 3).

Weights .5, .3, .1, .06, .04 and K = 3: the threshold is c = .2, because .5 and .3 are above it and
the other three make (.1 + .06 + .04) / .2 = 1 place. The first two stay as they are; of the others
one stays, with probability .5, .3 and .2, and weighs .2. Every expectation is what it was:
.5 * .2 = .1, and so on.

Sets of similar size are processed side by side, as rows of a matrix: sums go along a row, one
entry after the other, so that no set's result depends on its neighbours. Shapes: S sets, N
entries, E entries in a row.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ggp.machine.base import BoolArray, FloatArray, IntArray

_WASTE = 4
"""A row of a matrix is at most this many times as long as its set; otherwise there is one matrix of
at most this many times the entries."""


def matrices(offsets: IntArray, sets: IntArray) -> Iterator[tuple[IntArray, IntArray, BoolArray]]:
    """Sets as rows of matrices; empty sets are left out.

    Args:
        offsets: `[S + 1]` entries of each set.
        sets: the sets wanted.

    Yields:
        the positions in `sets` of the rows of one matrix, the `[rows, E]` index of each entry
        (padded with the row's first), and `[rows, E]` which of them are not padding.
    """
    counts = offsets[sets + 1] - offsets[sets]
    if not counts.any():
        return
    longest = int(counts.max())
    if longest * len(counts) <= _WASTE * int(counts.sum()) + 1024:
        bounds = [(0, longest)]
    else:
        steps = [0, *(_WASTE**k for k in range(1, 32) if _WASTE ** (k - 1) < longest)]
        bounds = list(itertools.pairwise(steps))
    for low, high in bounds:
        rows = np.flatnonzero((counts > low) & (counts <= high))
        if not len(rows):
            continue
        places = np.arange(int(counts[rows].max()))
        inside = places < counts[rows, None]
        yield rows, offsets[sets[rows], None] + np.where(inside, places, 0), inside


def choose_entries(
    log_weights: FloatArray, offsets: IntArray, limits: IntArray, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, IntArray]:
    """Thin every set to its limit.

    Args:
        log_weights: `[N]` log of weights that sum to 1 in each set.
        offsets: `[S + 1]` entries of each set.
        limits: `[S]` most entries to keep.
        rng: draws one number for each set that is thinned.

    Returns:
        `[K]` indices of the entries kept, in order; their log weights, normalised in each
        set; and the `[S + 1]` new offsets.
    """
    counts = offsets[1:] - offsets[:-1]
    kept = np.repeat(limits > 0, counts)
    log_weights = log_weights.copy()
    thinned = np.flatnonzero((counts > limits) & (limits > 0))
    starts = rng.random(len(thinned))
    for rows, entries, inside in matrices(offsets, thinned):
        logs = np.where(inside, log_weights[entries], -np.inf)
        new, _ = _thin_logs(logs, limits[thinned[rows]], starts[rows])
        kept[entries[inside]] = new[inside] > -np.inf
        log_weights[entries[inside]] = new[inside]
    before = np.concatenate([[0], np.cumsum(kept)])
    return np.flatnonzero(kept), log_weights[kept], before[offsets]


def _thin_logs(
    logs: FloatArray, limits: IntArray, starts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """`[S, E]` log of the new weights, which sum to 1, -inf for dropped entries.

    Entries whose weights are 0 as floats get the places that are left, if any.

    Args:
        logs: `[S, E]` log weights, the greatest of each row about 0; -inf for no entry.

    Returns:
        also the `[S, 1]` log of the sum of the new weights before normalisation.
    """
    weights = np.exp(logs)
    new = _thin(weights, limits, starts)
    total = np.cumsum(new, axis=1)[:, -1:]
    with np.errstate(divide="ignore"):
        found = np.log(new / total)
    log_total = np.log(total)
    faint = (weights == 0) & (logs > -np.inf)
    room = limits - np.count_nonzero(new, axis=1)
    rows = np.flatnonzero(faint.any(axis=1) & (room > 0))
    if len(rows):
        rest = np.where(faint[rows], logs[rows], -np.inf)
        top = rest.max(axis=1, keepdims=True)
        light, log_light = _thin_logs(rest - top, room[rows], starts[rows])
        light += log_light + top - log_total[rows]
        found[rows] = np.maximum(found[rows], light)
    return found, log_total


def _thin(weights: FloatArray, limits: IntArray, starts: FloatArray) -> FloatArray:
    """`[S, E]` new weights, 0 for dropped entries."""
    threshold = _thresholds(weights, limits)[:, None]
    light = weights <= threshold
    with np.errstate(divide="ignore", invalid="ignore"):
        keep = np.where(light, weights / threshold, 1.0)
    keep[np.isnan(keep)] = 0.0  # weights of 0 below a threshold of 0
    ends = np.cumsum(keep, axis=1)
    # Rounding must not lose the last entry.
    ends = np.where((ends >= ends[:, -1:]) & (threshold > 0), limits[:, None], ends)
    # A systematic sample: marks at distance 1 from a random start, and entries laid end to end with
    # their `keep` as lengths. An entry stays if a mark falls on it; as lengths are at most 1, no
    # entry gets two.
    marks = np.floor(np.column_stack([starts, ends + starts[:, None]]))
    return np.where(marks[:, 1:] > marks[:, :-1], np.maximum(weights, threshold), 0.0)


def _thresholds(weights: FloatArray, limits: IntArray) -> FloatArray:
    """`[S]` the c of each row with sum(min(1, weight / c)) = limit; more entries than limit."""
    rising = np.sort(weights, axis=1)
    falling, tails = rising[:, ::-1], np.cumsum(rising, axis=1)[:, ::-1]
    # If the k heaviest stay as they are, the others share the limit - k places left, so c is their
    # sum over that. The first k that leaves none above c is the right one.
    room = limits[:, None] - np.arange(weights.shape[1])
    candidates = tails / np.maximum(room, 1)
    fits = (falling <= candidates) & (room > 0)
    return np.asarray(candidates[np.arange(len(weights)), np.argmax(fits, axis=1)])
