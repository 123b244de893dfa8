"""Kernels of nets: all that is not a product of two matrices.

The first layer of a net reads bits. Most of them are as they were in the row before, so its sums
are not made anew: only bits that changed are added or taken away, as in the efficiently updatable
nets of chess programs (Y. Nasu, 2018). Backwards the same holds: the gradient of a bit's weights is
the sum of those of all rows from the one in which it was set to the one in which it was cleared.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ggp.labs.learning.env.kernels import I32, I64, U64
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.compiling.vectors import (
    FLOATS,
    item,
    load_floats,
    lowest_one,
    plus_times,
    store_floats,
)
from ggp.machine.mixing import GOLDEN, finalised

# ------------------------------------------------------------------------
# Kernels of policies: probabilities of legal moves, draws from them, and how to improve them.


@inlined
def _highest(rows: U64, words: int, logits: F32, n: int) -> np.float32:
    """The highest logit of a legal move in row n."""
    top = np.float32(-np.inf)
    for w in range(words):
        bits = rows[n, w]
        while bits:
            top = max(top, logits[n, 64 * w + lowest_one(bits)])
            bits &= bits - np.uint64(1)
    return top


@inlined
def _softmax(rows: U64, words: int, logits: F32, n: int) -> None:
    """Replace the logits of legal moves in row n by their probabilities."""
    top = _highest(rows, words, logits, n)
    total = np.float32(0)
    for w in range(words):
        bits = rows[n, w]
        while bits:
            a = 64 * w + lowest_one(bits)
            share = np.float32(math.exp(logits[n, a] - top))
            logits[n, a] = share
            total += share
            bits &= bits - np.uint64(1)
    for w in range(words):
        bits = rows[n, w]
        while bits:
            logits[n, 64 * w + lowest_one(bits)] /= total
            bits &= bits - np.uint64(1)


@kernel
def probabilities(rows: U64, words: int, logits: F32) -> None:
    """Replace logits by probabilities of legal moves, 0 for all others.

    Args:
        rows: `[N, W]`, of which the first `words` words say what is legal.
        logits: `[N, A]`, changed in place.
    """
    for n in range(len(logits)):
        _softmax(rows, words, logits, n)
        for a in range(logits.shape[1]):
            if not (rows[n, a >> 6] >> np.uint64(a & 63)) & np.uint64(1):
                logits[n, a] = np.float32(0)


@kernel
def draw(masks: U64, logits: F32, key: np.uint64, chosen: I64, logs: F32) -> None:
    """Draw a move for each of N rows.

    Args:
        masks: `[N, words]` what is legal.
        logits: `[N, A]`, replaced by probabilities of what is legal.
        key: random bits of this call.
        chosen, logs: `[N]` the move drawn, and the log of its probability, filled in.
    """
    words = masks.shape[1]
    for n in range(len(logits)):
        _softmax(masks, words, logits, n)
        key += GOLDEN
        left = np.float32(finalised(key) >> np.uint64(40)) * np.float32(1.0 / 16777216.0)
        action = -1
        for w in range(words):
            bits = masks[n, w]
            while bits:
                a = 64 * w + lowest_one(bits)
                if logits[n, a] > np.float32(0) and (action < 0 or left >= np.float32(0)):
                    action = a
                    left -= logits[n, a]
                bits &= bits - np.uint64(1)
        chosen[n] = action
        logs[n] = math.log(logits[n, action])


@kernel
def improve(
    masks: U64,
    logits: F32,
    chosen: I64,
    logs: F32,
    advantages: F32,
    temperature: float,
    clip: float,
    spare: F32,
    told: F32,
) -> None:
    """Replace logits by slopes of the loss: clipped policy gradient, and entropy.

    The loss is that of PPO (J. Schulman et al., 2017), minus the temperature times the entropy of
    the policy, in the mean over rows.

    Args:
        masks: `[N, words]` what is legal.
        logits: `[N, A]`, replaced; 0 for what is not legal.
        chosen: `[N]` moves that were made, and `logs`: `[N]` the logs of their probabilities then.
        advantages: `[N]` how much better they were than expected.
        clip: how far the ratio of probabilities may leave 1.
        spare: `[2, A]` for numbers on the way.
        told: `[2]` sum of entropies, and number of rows that were clipped; added to.
    """
    scale = np.float32(1.0 / max(len(logits), 1))
    warm, words = np.float32(temperature), masks.shape[1]
    for n in range(len(logits)):
        top = _highest(masks, words, logits, n)
        total = weighted = np.float32(0)
        for w in range(words):
            bits = masks[n, w]
            while bits:
                a = 64 * w + lowest_one(bits)
                depth = logits[n, a] - top
                part = np.float32(math.exp(depth))
                spare[0, a], spare[1, a] = depth, part
                total += part
                weighted += part * depth
                bits &= bits - np.uint64(1)
        divisor = np.float32(math.log(total))
        entropy = divisor - weighted / total
        action = chosen[n]
        ratio = math.exp(min(float(spare[0, action] - divisor - logs[n]), 20.0))
        gain = float(advantages[n])
        force = np.float32(ratio * gain)
        if (gain > 0 and ratio > 1 + clip) or (gain < 0 and ratio < 1 - clip):
            force = np.float32(0)
            told[1] += np.float32(1)
        told[0] += entropy
        for a in range(logits.shape[1]):
            logits[n, a] = np.float32(0)
        for w in range(words):
            bits = masks[n, w]
            while bits:
                a = 64 * w + lowest_one(bits)
                share = spare[1, a] / total
                pull = force + warm * (spare[0, a] - divisor + entropy)
                logits[n, a] = scale * share * pull
                bits &= bits - np.uint64(1)
        logits[n, action] -= scale * force


@kernel
def advantages(values: F32, rewards: F32, ended: np.ndarray, decay: float, gains: F32) -> None:
    """Generalised advantage estimates (J. Schulman et al., ICLR 2016), without discount.

    Args:
        values: `[S + 1, L, Q]` of the states before each turn, and of the last one.
        rewards: `[S, L, Q]` of each turn; `ended`: `[S, L]` whether the match ended with it.
        decay: lambda.
        gains: `[S, L, Q]` filled in.
    """
    turns, lanes, roles = gains.shape
    for lane in range(lanes):
        for role in range(roles):
            gain = 0.0
            for k in range(turns):
                t = turns - 1 - k
                if ended[t, lane]:
                    gain = float(rewards[t, lane, role]) - float(values[t, lane, role])
                else:
                    step = float(values[t + 1, lane, role]) - float(values[t, lane, role])
                    gain = step + decay * gain
                gains[t, lane, role] = np.float32(gain)


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
