"""Dense nets on bits: forward and backward on whole batches, in float32.

The first layer sums up the weights of the bits that are set (`net_kernels.accumulate`), which costs
as much as bits have changed since the row before. The others are products of matrices, which
numpy's BLAS makes at some 90 thousand million operations a second and core; kernels do the rest.

All weights are one array, so that a step of Adam is one loop, and so is an average.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ggp.errors import ConfigError
from ggp.labs.learning.env.kernels import I32, I64, U64
from ggp.labs.learning.selfplay.features import Features, Joined, RowChanges
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.compiling.vectors import (
    FLOATS,
    aligned_words,
    item,
    load_floats,
    lowest_one,
    plus_times,
    store_floats,
)
from ggp.machine.mixing import GOLDEN, finalised

# ------------------------------------------------------------------------
# Kernels of nets: all that is not a product of two matrices.
#
# The first layer of a net reads bits. Most of them are as they were in the row before, so its sums
# are not made anew: only bits that changed are added or taken away, as in the efficiently updatable
# nets of chess programs (Y. Nasu, 2018). Backwards the same holds: the gradient of a bit's weights
# is the sum of those of all rows from the one in which it was set to the one in which it was
# cleared.

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


# ------------------------------------------------------------------------

MOST_WEIGHTS = 1 << 26
"""Most weights of a net."""

TYPICAL_BITS = 16
"""About as many inputs are 1 at a time; weights are drawn accordingly."""

LAST_LAYER = 0.1
"""Factor of the first weights of the last layer: what comes out is small to begin with."""


@dataclass(frozen=True)
class NetShape:
    """The layers of a net.

    Attributes:
        inputs: bits that it reads.
        hidden: units of each layer between, at least one layer.
        outputs: numbers that come out.
    """

    inputs: int
    hidden: tuple[int, ...]
    outputs: int

    def __post_init__(self) -> None:
        if not self.hidden or min(self.inputs, *self.hidden, self.outputs) < 1:
            raise ConfigError(f"a net needs at least one unit in each layer, not {self}")
        if self.num_weights > MOST_WEIGHTS:
            raise ConfigError(
                f"a net of {self.num_weights:,} weights is too large; the most is "
                f"{MOST_WEIGHTS:,}: give fewer units"
            )

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Rows and columns of the matrix of each layer."""
        widths = (self.inputs, *self.hidden, self.outputs)
        return list(pairwise(widths))

    @property
    def num_weights(self) -> int:
        """The number of weights, those of biases with them."""
        return sum((rows + 1) * columns for rows, columns in self.sizes)


class Weights:
    """The matrices and biases of a net, as views of one array.

    Attributes:
        flat: `[N]` float32.
        matrices: `[rows, columns]` of each layer; `biases`: `[columns]`.
    """

    def __init__(self, shape: NetShape, flat: F32) -> None:
        self.flat = flat
        self.matrices: list[F32] = []
        self.biases: list[F32] = []
        start = 0
        for rows, columns in shape.sizes:
            end = start + rows * columns
            self.matrices.append(flat[start:end].reshape(rows, columns))
            self.biases.append(flat[end : end + columns])
            start = end + columns


def first_weights(shape: NetShape, rng: np.random.Generator) -> F32:
    """`[N]` random weights to begin with (K. He et al., ICCV 2015)."""
    flat = np.zeros(shape.num_weights, dtype=np.float32)
    matrices = Weights(shape, flat).matrices
    for number, matrix in enumerate(matrices):
        size = min(TYPICAL_BITS, len(matrix)) if number == 0 else len(matrix)
        matrix[:] = rng.standard_normal(matrix.shape) * sqrt(2 / size)
    matrices[-1] *= LAST_LAYER
    return flat


def aligned_floats(count: int) -> F32:
    """Floats, all 0, that begin where a vector register may be loaded at once."""
    return aligned_words(-(-count // 2)).view(np.float32)[:count]


class Scratch:
    """Arrays that are used again: new ones of some MB cost as much as what is done with them."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def take(self, name: str, rows: int, columns: int) -> F32:
        """`[rows, columns]` float32 with any values, valid until the name is taken again."""
        size = rows * columns
        array = self._arrays.get(name)
        if array is None or len(array) < size:
            array = self._arrays[name] = aligned_floats(size + size // 4)
        return array[:size].reshape(rows, columns)


class Net:
    """A net that reads bits.

    Args:
        features: what its rows of bits mean.
        hidden, outputs: see `NetShape`.
        flat: `[N]` its weights.
    """

    def __init__(
        self,
        features: Features | Joined,
        hidden: Sequence[int],
        outputs: int,
        flat: F32 | None = None,
    ) -> None:
        self.features = features
        self.shape = NetShape(features.num_inputs, tuple(hidden), outputs)
        self.weights = Weights(self.shape, aligned_floats(self.shape.num_weights))
        if flat is not None:
            self.weights.flat[:] = flat
        self._scratch = Scratch()
        self._active: list[F32] = []

    def sums(self, rows: RowChanges, before: I64, places: I64, out: F32) -> None:
        """Fill in the sums of the first layer.

        Args:
            before: `[N]` where in `out` the sums are from which each row changed, or -1.
            places: `[N]` where its own are to be.
            out: `[M, H]`
        """
        weights = self.weights
        accumulate(
            rows.starts,
            rows.changes,
            before,
            places,
            weights.matrices[0],
            weights.biases[0],
            out,
        )

    def forward(self, sums: F32, places: I64) -> F32:
        """`[N, outputs]` what comes out, given where the sums of the first layer are.

        The result is valid until the next call, and may be written to.
        """
        scratch, weights = self._scratch, self.weights
        active = scratch.take("layer 0", len(places), sums.shape[1])
        rectify(sums, places, active)
        self._active = [active]
        last = len(weights.matrices) - 1
        for number in range(1, last + 1):
            matrix, bias = weights.matrices[number], weights.biases[number]
            out = scratch.take(f"layer {number}", len(places), matrix.shape[1])
            np.matmul(active, matrix, out=out)
            if number == last:
                add_bias(out, bias)
            else:
                rectify_with(out, bias)
                self._active.append(out)
            active = out
        return active

    def backward(self, slopes: F32, gradient: Weights) -> F32:
        """Fill in the gradient of all layers but the first, and add that of all biases.

        Args:
            slopes: `[N, outputs]` of the loss, for the batch of the last `forward`.

        Returns:
            `[N, H]` slopes of the sums of the first layer, for `scatter`.
        """
        sum_up(slopes, gradient.biases[-1])
        for number in range(len(self._active), 0, -1):
            active = self._active[number - 1]
            np.matmul(active.T, slopes, out=gradient.matrices[number])
            below = self._scratch.take(f"slopes {number}", *active.shape)
            np.matmul(slopes, self.weights.matrices[number].T, out=below)
            mask_slopes(active, below, gradient.biases[number - 1])
            slopes = below
        return slopes

    def backward_sums(self, rows: RowChanges, slopes: F32, gradient: Weights) -> None:
        """Add the gradient of the first layer's matrix; slopes are used up."""
        scatter(rows.starts, rows.changes, rows.previous, slopes, gradient.matrices[0])

    def __call__(self, bits: U64) -> F32:
        """`[N, outputs]` what comes out for rows of bits, none of which follows another."""
        weights, every = self.weights, np.arange(len(bits))
        sums = self._scratch.take("sums", len(bits), self.shape.hidden[0])
        input_of = self.features.input_of
        sum_up_bits(
            bits,
            input_of,
            weights.matrices[0],
            weights.biases[0],
            np.empty(len(input_of), dtype=np.int32),
            sums,
        )
        return self.forward(sums, every).copy()


class Optimiser:
    """Adam on the weights of a net, and their average over time.

    The average is one of polynomial decay (O. Shamir, T. Zhang, ICML 2013): later weights count
    more, whatever the number of steps will be.

    Attributes:
        gradient: to be filled in before a step, which clears it.
        average: `[N]` the average.
    """

    DECAY = 8
    LONGEST = 1.0

    def __init__(self, net: Net) -> None:
        self._net = net
        size = net.shape.num_weights
        self.gradient = Weights(net.shape, aligned_floats(size))
        self.mean, self.square = aligned_floats(size), aligned_floats(size)
        self.average = net.weights.flat.copy()
        self.steps = 0

    def kept(self) -> F32:
        """`[4, N]` the weights, their average, and both moments: all that is needed to go on."""
        return np.stack([self._net.weights.flat, self.average, self.mean, self.square])

    def go_on(self, kept: F32, steps: int) -> None:
        """Go on from what was kept after so many steps."""
        self._net.weights.flat[:], self.average[:], self.mean[:], self.square[:] = kept
        self.steps = steps

    def step(self, rate: float) -> None:
        """Go down the gradient."""
        self.steps += 1
        flat = self.gradient.flat
        length = sqrt(float(flat @ flat))
        adam(
            self._net.weights.flat,
            flat,
            self.mean,
            self.square,
            self.average,
            np.float32(rate / (1 - 0.9**self.steps)),
            np.float32(min(1.0, self.LONGEST / max(length, 1e-12))),
            np.float32(1 / (1 - 0.99**self.steps)),
            np.float32((self.DECAY + 1) / (self.DECAY + self.steps)),
        )
