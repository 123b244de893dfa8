"""Resampling: thins sets of weighted entries to their limits without changing any expectation.

`Segments.thinned` passes in log weights and gets indices of entries with new log weights back. A
set of more than K entries keeps K. Entries heavier than a threshold c stay with their weight; of
the lighter ones a systematic sample stays, each with probability weight / c, and gets weight c. The
threshold is the one for which K entries stay. No entry is duplicated, and among all unbiased
methods this one changes the weights least (Fearnhead & Clifford, J. R. Statist. Soc. B 65, 2003,
section 3).

Weights .5, .3, .1, .06, .04 and K = 3: the threshold is c = .2, because .5 and .3 are above it and
the other three share (.1 + .06 + .04) / .2 = 1 place. The first two stay; of the others one stays,
with probability .5, .3 and .2, and weighs .2. Expectations do not change: .5 * .2 = .1, and so on.

Sets of similar size are processed side by side, as rows of a matrix. Sums run along a row, entry
by entry, so that no set depends on its neighbours. Shapes: S sets, N entries, E entries in a row.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ggp.machine.base import BoolArray, FloatArray, IntArray

_WASTE = 4
"""A row of a matrix is at most this many times as long as its set, or one matrix for all sets has
at most this many times their entries."""


def matrices(offsets: IntArray, sets: IntArray) -> Iterator[tuple[IntArray, IntArray, BoolArray]]:
    """Sets as rows of matrices; empty sets are left out.

    Args:
        offsets: `[S + 1]` entries of each set.
        sets: indices of the sets.

    Yields:
        for one matrix: the positions of its rows in `sets`, the `[rows, E]` index of each entry
        (padded with the row's first), and `[rows, E]` whether it is an entry and not padding.
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
        columns = np.arange(int(counts[rows].max()))
        inside = columns < counts[rows, None]
        yield rows, offsets[sets[rows], None] + np.where(inside, columns, 0), inside


def choose_entries(
    log_weights: FloatArray, offsets: IntArray, limits: IntArray, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, IntArray]:
    """Thin every set to its limit.

    >>> import numpy as np
    >>> from ggp.belief.turns.resample import choose_entries
    >>> weights, rng = np.array([0.5, 0.3, 0.1, 0.06, 0.04]), np.random.default_rng(0)
    >>> entries, log_weights, offsets = choose_entries(
    ...     np.log(weights), np.array([0, 5]), np.array([3]), rng
    ... )
    >>> np.exp(log_weights).round(2)
    array([0.5, 0.3, 0.2])

    Args:
        log_weights: `[N]` log of weights that sum to 1 in each set.
        offsets: `[S + 1]` entries of each set.
        limits: `[S]` most entries to keep.
        rng: draws one number for each set that is thinned.

    Returns:
        `[K]` indices of the remaining entries, in order; their log weights, normalised in each
        set; and the `[S + 1]` new offsets.
    """
    counts = offsets[1:] - offsets[:-1]
    mask = np.repeat(limits > 0, counts)
    log_weights = log_weights.copy()
    thinned = np.flatnonzero((counts > limits) & (limits > 0))
    starts = rng.random(len(thinned))
    for rows, entries, inside in matrices(offsets, thinned):
        logs = np.where(inside, log_weights[entries], -np.inf)
        new, _ = _thin_logs(logs, limits[thinned[rows]], starts[rows])
        mask[entries[inside]] = new[inside] > -np.inf
        log_weights[entries[inside]] = new[inside]
    num_before = np.concatenate([[0], np.cumsum(mask)])
    return np.flatnonzero(mask), log_weights[mask], num_before[offsets]


def _thin_logs(
    logs: FloatArray, limits: IntArray, starts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """`[S, E]` log of the new weights, which sum to 1, -inf for dropped entries; and `[S, 1]` log
    of their sum before normalisation.

    Entries whose weights underflow to 0 get the free places, if any.

    Args:
        logs: `[S, E]` log weights, the greatest of each row about 0; -inf for no entry.
    """
    weights = np.exp(logs)
    new = _thin(weights, limits, starts)
    total = np.cumsum(new, axis=1)[:, -1:]
    with np.errstate(divide="ignore"):
        new_logs = np.log(new / total)
    log_total = np.log(total)
    faint = (weights == 0) & (logs > -np.inf)
    room = limits - np.count_nonzero(new, axis=1)
    rows = np.flatnonzero(faint.any(axis=1) & (room > 0))
    if len(rows):
        faint_logs = np.where(faint[rows], logs[rows], -np.inf)
        top = faint_logs.max(axis=1, keepdims=True)
        light, log_light = _thin_logs(faint_logs - top, room[rows], starts[rows])
        light += log_light + top - log_total[rows]
        new_logs[rows] = np.maximum(new_logs[rows], light)
    return new_logs, log_total


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
    """`[S]` the threshold c of each row: sum(min(1, weight / c)) = limit.

    A row must have more entries than its limit.
    """
    rising = np.sort(weights, axis=1)
    falling, tails = rising[:, ::-1], np.cumsum(rising, axis=1)[:, ::-1]
    # If the k heaviest keep their weights, the others share limit - k places, so c is their sum
    # divided by limit - k. The right k is the first for which no other entry exceeds this c.
    room = limits[:, None] - np.arange(weights.shape[1])
    candidates = tails / np.maximum(room, 1)
    fits = (falling <= candidates) & (room > 0)
    return np.asarray(candidates[np.arange(len(weights)), np.argmax(fits, axis=1)])
