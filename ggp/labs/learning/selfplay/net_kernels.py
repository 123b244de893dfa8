"""Kernels of nets: all that is not a product of two matrices.

The first layer of a net reads bits. Most of them are as they were in the row before, so its sums
are not made anew: only bits that changed are added or taken away, as in the efficiently updatable
nets of chess programs (Y. Nasu, 2018). Backwards the same holds: the gradient of a bit's weights is
the sum of those of all rows from the one in which it was set to the one in which it was cleared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.labs.learning.env.kernels import I32, I64, U64
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.propnet.play.kernels.vectors import (
    FLOATS,
    item,
    load_floats,
    lowest_one,
    plus_times,
    store_floats,
)

F32 = NDArray[np.float32]


@inlined
def _input(change: int) -> int:
    """The input that a change is of."""
    return change if change >= 0 else ~change


@inlined
def _sign(change: int) -> np.float32:
    """1 if its bit was set, -1 if cleared."""
    return np.float32(1) if change >= 0 else np.float32(-1)


@kernel
def accumulate(
    starts: I64, changes: I32, before: I64, places: I64, weights: F32, bias: F32, sums: F32
) -> None:
    """Sum up the weights of the bits that are set in N rows, one after the other.

    Args:
        starts: `[N + 1]`, changes: `[K]` what changed in each, see `take_choices`.
        before: `[N]` where the sums are from which it changed, or -1.
        places: `[N]` where its sums are to be.
        weights: `[F, H]` of each input; `bias`: `[H]`.
        sums: `[M, H]` changed in place.
    """
    width = len(bias)
    whole = width - width % FLOATS
    for n in range(len(places)):
        first, end = starts[n], starts[n + 1]
        source, place = before[n], places[n]
        for start in range(0, whole, FLOATS):
            if source < 0:
                total = load_floats(bias, start)
            else:
                total = load_floats(sums, source * width + start)
            for k in range(first, end):
                change = item(changes, k)
                added = load_floats(weights, _input(change) * width + start)
                total = plus_times(total, added, _sign(change))
            store_floats(sums, place * width + start, total)
        if whole == width:
            continue
        for h in range(whole, width):
            sums[place, h] = bias[h] if source < 0 else sums[source, h]
        for k in range(first, end):
            change = item(changes, k)
            at, sign = _input(change), _sign(change)
            for h in range(whole, width):
                sums[place, h] += sign * weights[at, h]


@kernel
def sum_up_bits(rows: U64, input_of: I32, weights: F32, bias: F32, inputs: I32, sums: F32) -> None:
    """Sum up the weights of the bits that are set in N rows, none of which follows another.

    Args:
        rows: `[N, W]`
        input_of: `[64 * W]` the number of the input that each bit is, -1 for none.
        weights: `[F, H]` of each input; `bias`: `[H]`.
        inputs: `[64 * W]` any values; used up.
        sums: `[N, H]` filled in.
    """
    width = len(bias)
    whole = width - width % FLOATS
    one = np.float32(1)
    for n in range(len(rows)):
        count = 0
        for w in range(rows.shape[1]):
            bits = rows[n, w]
            while bits:
                found = input_of[64 * w + lowest_one(bits)]
                if found >= 0:
                    inputs[count] = found
                    count += 1
                bits &= bits - np.uint64(1)
        for start in range(0, whole, FLOATS):
            total = load_floats(bias, start)
            for k in range(count):
                total = plus_times(total, load_floats(weights, inputs[k] * width + start), one)
            store_floats(sums, n * width + start, total)
        for h in range(whole, width):
            sums[n, h] = bias[h]
            for k in range(count):
                sums[n, h] += weights[inputs[k], h]


@kernel
def scatter(starts: I64, changes: I32, previous: I64, slopes: F32, gradient: F32) -> None:
    """Add the gradient of the first layer's weights, given that of its sums.

    Args:
        starts, changes: as in `accumulate`.
        previous: `[N]` the earlier row from which each changed, or -1.
        slopes: `[N, H]` of the sums; afterwards each has those of all rows that follow it.
        gradient: `[F, H]` added to.
    """
    width = slopes.shape[1]
    whole = width - width % FLOATS
    one = np.float32(1)
    for back in range(len(previous)):
        n = len(previous) - 1 - back
        before = previous[n]
        first, end = starts[n], starts[n + 1]
        for start in range(0, whole, FLOATS):
            slope = load_floats(slopes, n * width + start)
            if before >= 0:
                place = before * width + start
                store_floats(slopes, place, plus_times(load_floats(slopes, place), slope, one))
            for k in range(first, end):
                change = item(changes, k)
                place = _input(change) * width + start
                added = plus_times(load_floats(gradient, place), slope, _sign(change))
                store_floats(gradient, place, added)
        if whole == width:
            continue
        if before >= 0:
            for h in range(whole, width):
                slopes[before, h] += slopes[n, h]
        for k in range(first, end):
            change = item(changes, k)
            at, sign = _input(change), _sign(change)
            for h in range(whole, width):
                gradient[at, h] += sign * slopes[n, h]


@kernel
def rectify(sums: F32, places: I64, out: F32) -> None:
    """`out[n] = max(sums[places[n]], 0)`"""
    for n in range(len(places)):
        place = places[n]
        for h in range(sums.shape[1]):
            out[n, h] = max(sums[place, h], np.float32(0))


@kernel
def rectify_with(sums: F32, bias: F32) -> None:
    """`sums = max(sums + bias, 0)`, in place."""
    for n in range(len(sums)):
        for h in range(sums.shape[1]):
            sums[n, h] = max(sums[n, h] + bias[h], np.float32(0))


@kernel
def add_bias(sums: F32, bias: F32) -> None:
    """`sums += bias`, row by row, in place."""
    for n in range(len(sums)):
        for h in range(sums.shape[1]):
            sums[n, h] += bias[h]


@kernel
def sum_up(slopes: F32, gradient: F32) -> None:
    """The gradient of biases: `gradient += ` the sum of all rows of slopes."""
    for n in range(len(slopes)):
        for h in range(slopes.shape[1]):
            gradient[h] += slopes[n, h]


@kernel
def mask_slopes(activations: F32, slopes: F32, gradient: F32) -> None:
    """Slopes become 0 where a unit is; then see `sum_up`."""
    for n in range(len(slopes)):
        for h in range(slopes.shape[1]):
            slope = slopes[n, h] if activations[n, h] > np.float32(0) else np.float32(0)
            slopes[n, h] = slope
            gradient[h] += slope


@kernel
def adam(
    weights: F32,
    gradient: F32,
    mean: F32,
    square: F32,
    average: F32,
    rate: np.float32,
    scale: np.float32,
    correction: np.float32,
    share: np.float32,
) -> None:
    """A step of Adam (D. P. Kingma, J. Ba, ICLR 2015), down the gradient.

    Args:
        weights, gradient, mean, square, average: `[N]`; the gradient is cleared.
        rate: of learning, divided by the bias of the mean.
        scale: factor of the gradient, which limits its length.
        correction: 1 / the bias of the square.
        share: of the new weights in their average.
    """
    b1, b2 = np.float32(0.9), np.float32(0.99)
    one = np.float32(1)
    for n in range(len(weights)):
        slope = gradient[n] * scale
        gradient[n] = np.float32(0)
        mean[n] = b1 * mean[n] + (one - b1) * slope
        square[n] = b2 * square[n] + (one - b2) * slope * slope
        weights[n] -= rate * mean[n] / (np.sqrt(square[n] * correction) + np.float32(1e-6))
        average[n] += share * (weights[n] - average[n])
