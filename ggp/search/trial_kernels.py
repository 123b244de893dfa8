"""The kernels of trials: how often each candidate is tried, bag by bag, and which is best."""

from __future__ import annotations

import numpy as np

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import inlined, kernel


@inlined
def _draw(
    weights: FloatArray, first: int, size: int, count: int, start: float, out: IntArray
) -> None:
    """`out[:size]`: number of `count` trials that each of some weighted entries gets.

    Systematic draws by weight, at (start + k) * total / number for k = 0, 1, ...: of all trials,
    or, if there are enough, of those left after one for every entry.
    """
    enough = size <= count
    number = count - size if enough else count
    total = 0.0
    for i in range(size):
        wanted = weights[first + i]
        if enough:
            wanted = wanted * count - 1.0
            if wanted < 0.0:
                wanted = 0.0
        total += wanted
    below = 0
    end = 0.0
    for i in range(size):
        wanted = weights[first + i]
        if enough:
            wanted = wanted * count - 1.0
            if wanted < 0.0:
                wanted = 0.0
        end += wanted
        upto = number
        if end < total:
            upto = int(np.ceil(end * (number / total) - start))
            if upto < 0:
                upto = 0
            if upto > number:
                upto = number
        out[i] = upto - below
        if enough:
            out[i] += 1
        below = upto


@kernel
def plan(
    set_offsets: IntArray,
    weights: FloatArray,
    segment: IntArray,
    move_offsets: IntArray,
    chosen: IntArray,
    count: int,
    starts: FloatArray,
    by_entry: bool,
    repeats: IntArray,
    entries: IntArray,
    candidates: IntArray,
    counts: IntArray,
    shares: FloatArray,
) -> int:
    """Write the `[S]` strata of all chosen bags: entry, candidate, trials, and share in the value.

    Args:
        weights: of all entries; they sum to 1 in each set.
        segment: set of each bag.
        move_offsets: candidates of each bag.
        starts: a random number for each chosen bag.
        repeats: scratch, as long as the largest set.

    Returns:
        S.
    """
    at = 0
    for b in range(len(chosen)):
        bag = chosen[b]
        first = set_offsets[segment[bag]]
        size = set_offsets[segment[bag] + 1] - first
        _draw(weights, first, size, count, starts[b], repeats)
        num_moves = move_offsets[bag + 1] - move_offsets[bag]
        num_used = 0
        for i in range(size):
            if repeats[i]:
                num_used += 1
        used = 0
        for i in range(size):
            if repeats[i] == 0:
                continue
            # Drawn entries count as often as they were drawn: the draws already used their weights.
            share = weights[first + i] if size <= count else repeats[i] / count
            for c in range(num_moves):
                place = at + (used * num_moves + c if by_entry else c * num_used + used)
                entries[place] = first + i
                candidates[place] = move_offsets[bag] + c
                counts[place] = repeats[i]
                shares[place] = share
            used += 1
        at += num_used * num_moves
    return at


@kernel
def pick_best(
    offsets: IntArray, values: FloatArray, tolerance: float, points: FloatArray, best: IntArray
) -> None:
    """`best[B]`: index of the best candidate of each bag, -1 if it has none.

    Args:
        offsets: `[B + 1]` candidates of each bag.
        tolerance: values are equal if they differ by this, relative to the larger one.
        points: `[B]` from 0 to 1: chooses among equal ones.
    """
    for bag in range(len(best)):
        best[bag] = -1
        first, end = offsets[bag], offsets[bag + 1]
        if first == end:
            continue
        highest, scale = values[first], abs(values[first])
        for k in range(first, end):
            if values[k] > highest:
                highest = values[k]
        for k in range(first, end):
            if abs(values[k]) > scale:
                scale = abs(values[k])
        least = highest - tolerance * scale
        ties = 0
        for k in range(first, end):
            if values[k] >= least:
                ties += 1
        nth = int(points[bag] * ties)
        for k in range(first, end):
            if values[k] >= least:
                if nth == 0:
                    best[bag] = k
                nth -= 1
