"""Kernels of nets: all that is not a product of two matrices.

The first layer of a net reads bits. Most of them are as they were in the row before, so its sums
are not made anew: only bits that changed are added or taken away, as in the efficiently updatable
nets of chess programs (Y. Nasu, 2018). Backwards the same holds: the gradient of a bit's weights is
the sum of those of all rows from the one in which it was set to the one in which it was cleared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.env.kernels import I32, I64, U64
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.propnet.play.kernels.vectors import lowest_one

F32 = NDArray[np.float32]


@inlined
def _add_four(
    weights: F32,
    a0: int,
    a1: int,
    a2: int,
    a3: int,
    s0: np.float32,
    s1: np.float32,
    s2: np.float32,
    s3: np.float32,
    sums: F32,
    n: int,
) -> None:
    """Add four rows of weights to a row of sums, each with its sign."""
    for h in range(weights.shape[1]):
        some = s0 * weights[a0, h] + s1 * weights[a1, h]
        sums[n, h] += some + (s2 * weights[a2, h] + s3 * weights[a3, h])


@kernel
def accumulate(
    rows: U64,
    previous: I64,
    first: int,
    end: int,
    input_of: I32,
    weights: F32,
    bias: F32,
    sums: F32,
) -> None:
    """Sum up the weights of the bits that are set in rows `first .. end`.

    Args:
        rows: `[N, W]` packed bits.
        previous: `[N]` an earlier row that is alike, whose sums are known, or -1.
        input_of: `[64 * W]` the number of the input that each bit is.
        weights: `[F, H]` of each input; `bias`: `[H]`.
        sums: `[N, H]` filled in.
    """
    for n in range(first, end):
        before = previous[n]
        if before < 0:
            for h in range(len(bias)):
                sums[n, h] = bias[h]
        else:
            for h in range(len(bias)):
                sums[n, h] = sums[before, h]
        # Changes are made in fours: most of the time goes into reading and writing the sums.
        held = 0
        a0 = a1 = a2 = 0
        s0 = s1 = s2 = np.float32(0)
        for w in range(rows.shape[1]):
            bits = rows[n, w]
            changed = bits if before < 0 else bits ^ rows[before, w]
            while changed:
                b = lowest_one(changed)
                changed &= changed - np.uint64(1)
                at = int(input_of[64 * w + b])
                is_set = (bits >> np.uint64(b)) & np.uint64(1)
                sign = np.float32(1) if is_set else np.float32(-1)
                if held == 0:
                    a0, s0, held = at, sign, 1
                elif held == 1:
                    a1, s1, held = at, sign, 2
                elif held == 2:
                    a2, s2, held = at, sign, 3
                else:
                    _add_four(weights, a0, a1, a2, at, s0, s1, s2, sign, sums, n)
                    held = 0
        if held:
            nothing = np.float32(0)
            s1 = s1 if held > 1 else nothing
            s2 = s2 if held > 2 else nothing
            _add_four(weights, a0, a1, a2, a0, s0, s1, s2, nothing, sums, n)


@kernel
def scatter(rows: U64, previous: I64, input_of: I32, slopes: F32, gradient: F32) -> None:
    """Add the gradient of the first layer's weights, given that of its sums.

    Args:
        rows, previous, input_of: as in `accumulate`.
        slopes: `[N, H]` of the sums; afterwards each has those of all rows that follow it.
        gradient: `[F, H]` added to.
    """
    width = slopes.shape[1]
    for k in range(len(rows)):
        n = len(rows) - 1 - k
        before = previous[n]
        if before >= 0:
            for h in range(width):
                slopes[before, h] += slopes[n, h]
        for w in range(rows.shape[1]):
            bits = rows[n, w]
            changed = bits if before < 0 else bits ^ rows[before, w]
            while changed:
                b = lowest_one(changed)
                at = input_of[64 * w + b]
                is_set = (bits >> np.uint64(b)) & np.uint64(1)
                sign = np.float32(1) if is_set else np.float32(-1)
                for h in range(width):
                    gradient[at, h] += sign * slopes[n, h]
                changed &= changed - np.uint64(1)


@kernel
def rectify(sums: F32, out: F32) -> None:
    """`out = max(sums, 0)`; the two may be one array."""
    for n in range(len(sums)):
        for h in range(sums.shape[1]):
            out[n, h] = max(sums[n, h], np.float32(0))


@kernel
def rectify_with(sums: F32, bias: F32) -> None:
    """`sums = max(sums + bias, 0)`, in place."""
    for n in range(len(sums)):
        for h in range(sums.shape[1]):
            sums[n, h] = max(sums[n, h] + bias[h], np.float32(0))


@kernel
def mask_slopes(activations: F32, slopes: F32) -> None:
    """Slopes are 0 where a unit is."""
    for n in range(len(slopes)):
        for h in range(slopes.shape[1]):
            if activations[n, h] <= np.float32(0):
                slopes[n, h] = np.float32(0)


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
