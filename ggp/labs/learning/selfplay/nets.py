"""Dense nets that read bits: forward and backward on whole batches, in float32.

A `Net` takes rows of bits as changes (`RowChanges`), and returns logits or values; an `Optimiser`
fits its weights. The first layer sums the weights of the bits that are set (`accumulate`); its cost
is proportional to the number of bits that changed since the previous row. The other layers are
matrix products, which numpy's BLAS computes at about 90 thousand million operations a second and
core; kernels do the rest.

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
# Theory of operation: everything that is not a product of two matrices.
#
# The first layer of a net reads bits, and most bits are the same as in the previous row. So its
# sums are copied from there, and only the weights of changed bits are added or subtracted, as in
# the efficiently updatable nets of chess programs (Y. Nasu, 2018).
#
# Rule: sums[n] = sums[previous[n]] + weights of bits set - weights of bits cleared. So a change at
# row n counts in n and in all rows that follow from it: the gradient of its weights is the sum of
# the slopes of these rows. `scatter` goes backwards, and adds each row's slopes to its previous
# row, so that each row has this sum when its changes are read.

# ------------------------------------------------------------------------
# Kernels of policies: probabilities of legal moves, draws from them, and the slopes of their loss.


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
    """Replace logits by probabilities of legal moves, 0 for illegal ones.

    Args:
        rows: `[N, W]`; the first `words` words are the legal moves.
        logits: `[N, A]`, changed in place.
    """
    for n in range(len(logits)):
        _softmax(rows, words, logits, n)
        for a in range(logits.shape[1]):
            if not (rows[n, a >> 6] >> np.uint64(a & 63)) & np.uint64(1):
                logits[n, a] = np.float32(0)


@kernel
def draw(masks: U64, logits: F32, key: np.uint64, moves: I64, logs: F32) -> None:
    """Draw a move for each of N rows.

    Args:
        masks: `[N, words]` legal moves.
        logits: `[N, A]`, replaced by probabilities of legal moves.
        key: random bits of this call.
        moves, logs: `[N]` the move drawn, and the log of its probability, filled in.
    """
    # Inverse transform: probabilities are subtracted from a uniform number until it is below 0. If
    # rounding leaves it above, the last move with a probability above 0 stays.
    words = masks.shape[1]
    for n in range(len(logits)):
        _softmax(masks, words, logits, n)
        key += GOLDEN
        remainder = np.float32(finalised(key) >> np.uint64(40)) * np.float32(1.0 / 16777216.0)
        action = -1
        for w in range(words):
            bits = masks[n, w]
            while bits:
                a = 64 * w + lowest_one(bits)
                if logits[n, a] > np.float32(0) and (action < 0 or remainder >= np.float32(0)):
                    action = a
                    remainder -= logits[n, a]
                bits &= bits - np.uint64(1)
        moves[n] = action
        logs[n] = math.log(logits[n, action])


@kernel
def improve(
    masks: U64,
    logits: F32,
    moves: I64,
    logs: F32,
    advantages: F32,
    temperature: float,
    clip: float,
    spare: F32,
    totals: F32,
) -> None:
    """Replace logits by slopes of the loss: clipped policy gradient, and entropy.

    The loss of a row is PPO's (J. Schulman et al., 2017), minus the temperature times the entropy
    of the policy; the loss of the batch is the mean over rows.

    Args:
        masks: `[N, words]` legal moves.
        logits: `[N, A]`, replaced; 0 for illegal moves.
        moves: `[N]` moves that were made; `logs`: `[N]` the logs of their probabilities then.
        advantages: `[N]` how much better than expected each came out.
        clip: the ratio of probabilities counts up to this distance from 1.
        spare: `[2, A]` scratch.
        totals: `[2]` sum of entropies, and number of clipped rows; added to.
    """
    scale = np.float32(1.0 / max(len(logits), 1))
    weight, words = np.float32(temperature), masks.shape[1]
    for n in range(len(logits)):
        top = _highest(masks, words, logits, n)
        total = weighted = np.float32(0)
        for w in range(words):
            bits = masks[n, w]
            while bits:
                a = 64 * w + lowest_one(bits)
                depth = logits[n, a] - top
                power = np.float32(math.exp(depth))
                spare[0, a], spare[1, a] = depth, power
                total += power
                weighted += power * depth
                bits &= bits - np.uint64(1)
        divisor = np.float32(math.log(total))
        entropy = divisor - weighted / total
        action = moves[n]
        ratio = math.exp(min(float(spare[0, action] - divisor - logs[n]), 20.0))
        advantage = float(advantages[n])
        push = np.float32(ratio * advantage)
        if (advantage > 0 and ratio > 1 + clip) or (advantage < 0 and ratio < 1 - clip):
            push = np.float32(0)
            totals[1] += np.float32(1)
        totals[0] += entropy
        for a in range(logits.shape[1]):
            logits[n, a] = np.float32(0)
        for w in range(words):
            bits = masks[n, w]
            while bits:
                a = 64 * w + lowest_one(bits)
                share = spare[1, a] / total
                pull = push + weight * (spare[0, a] - divisor + entropy)
                logits[n, a] = scale * share * pull
                bits &= bits - np.uint64(1)
        logits[n, action] -= scale * push


@kernel
def advantages(values: F32, rewards: F32, ended: np.ndarray, decay: float, gains: F32) -> None:
    """Generalised advantage estimates (J. Schulman et al., ICLR 2016), without discount.

    Args:
        values: `[S + 1, L, Q]` values of the state before each turn, and of the last state.
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
    """The input of a change."""
    return change if change >= 0 else ~change


@inlined
def _sign(change: int) -> np.float32:
    """1 if the bit was set, -1 if it was cleared."""
    return np.float32(1) if change >= 0 else np.float32(-1)


@kernel
def accumulate(
    starts: I64, changes: I32, sources: I64, targets: I64, weights: F32, bias: F32, sums: F32
) -> None:
    """Sum the weights of the bits that are set in N rows, in order.

    Args:
        starts: `[N + 1]`, changes: `[K]` the changes of each row, see `take_choices`.
        sources: `[N]` the row of `sums` from which each row changed, or -1.
        targets: `[N]` the row of `sums` that each row fills.
        weights: `[F, H]` of each input; `bias`: `[H]`.
        sums: `[M, H]` changed in place.
    """
    width = len(bias)
    whole = width - width % FLOATS
    for n in range(len(targets)):
        first, end = starts[n], starts[n + 1]
        source, target = sources[n], targets[n]
        for start in range(0, whole, FLOATS):
            if source < 0:
                total = load_floats(bias, start)
            else:
                total = load_floats(sums, source * width + start)
            for k in range(first, end):
                change = item(changes, k)
                row = load_floats(weights, _input(change) * width + start)
                total = plus_times(total, row, _sign(change))
            store_floats(sums, target * width + start, total)
        if whole == width:
            continue
        for h in range(whole, width):
            sums[target, h] = bias[h] if source < 0 else sums[source, h]
        for k in range(first, end):
            change = item(changes, k)
            index, sign = _input(change), _sign(change)
            for h in range(whole, width):
                sums[target, h] += sign * weights[index, h]


@kernel
def sum_up_bits(rows: U64, input_of: I32, weights: F32, bias: F32, inputs: I32, sums: F32) -> None:
    """Sum the weights of the bits that are set in N independent rows.

    Args:
        rows: `[N, W]`
        input_of: `[64 * W]` the input of each bit, -1 for none.
        weights: `[F, H]` of each input; `bias`: `[H]`.
        inputs: `[64 * W]` scratch.
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
                index = input_of[64 * w + lowest_one(bits)]
                if index >= 0:
                    inputs[count] = index
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
    """Add the gradient of the first layer's weights, given the slopes of its sums.

    Args:
        starts, changes: as in `accumulate`.
        previous: `[N]` the earlier row from which each changed, or -1.
        slopes: `[N, H]` of the sums; changed: the slopes of following rows are added to each.
        gradient: `[F, H]` added to.
    """
    width = slopes.shape[1]
    whole = width - width % FLOATS
    one = np.float32(1)
    for back in range(len(previous)):
        n = len(previous) - 1 - back
        source = previous[n]
        first, end = starts[n], starts[n + 1]
        for start in range(0, whole, FLOATS):
            slope = load_floats(slopes, n * width + start)
            if source >= 0:
                offset = source * width + start
                store_floats(slopes, offset, plus_times(load_floats(slopes, offset), slope, one))
            for k in range(first, end):
                change = item(changes, k)
                offset = _input(change) * width + start
                total = plus_times(load_floats(gradient, offset), slope, _sign(change))
                store_floats(gradient, offset, total)
        if whole == width:
            continue
        if source >= 0:
            for h in range(whole, width):
                slopes[source, h] += slopes[n, h]
        for k in range(first, end):
            change = item(changes, k)
            index, sign = _input(change), _sign(change)
            for h in range(whole, width):
                gradient[index, h] += sign * slopes[n, h]


@kernel
def rectify(sums: F32, rows: I64, out: F32) -> None:
    """`out[n] = max(sums[rows[n]], 0)`"""
    for n in range(len(rows)):
        row = rows[n]
        for h in range(sums.shape[1]):
            out[n, h] = max(sums[row, h], np.float32(0))


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
    """Add the gradient of biases: the sum of all rows of slopes."""
    for n in range(len(slopes)):
        for h in range(slopes.shape[1]):
            gradient[h] += slopes[n, h]


@kernel
def mask_slopes(activations: F32, slopes: F32, gradient: F32) -> None:
    """Set slopes to 0 where a unit is 0; then add them to the gradient, as `sum_up`."""
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
    """Make a step of Adam (D. P. Kingma, J. Ba, ICLR 2015), down the gradient.

    Args:
        weights, gradient, mean, square, average: `[N]`; the gradient is cleared.
        rate: the learning rate, divided by the bias of the mean.
        scale: factor of the gradient, which limits its length.
        correction: 1 / the bias of the square.
        share: weight of the new weights in their average.
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

MAX_WEIGHTS = 1 << 26
"""Most weights of a net."""

TYPICAL_BITS = 16
"""A typical number of inputs that are 1; it scales the initial weights."""

LAST_LAYER = 0.1
"""Factor of the initial weights of the last layer: outputs are small at first."""


@dataclass(frozen=True)
class NetShape:
    """The layers of a net.

    Attributes:
        inputs: number of bits.
        hidden: units of each hidden layer; at least one layer.
        outputs: number of outputs.
    """

    inputs: int
    hidden: tuple[int, ...]
    outputs: int

    def __post_init__(self) -> None:
        if not self.hidden or min(self.inputs, *self.hidden, self.outputs) < 1:
            raise ConfigError(f"a net needs at least one unit in each layer, not {self}")
        if self.num_weights > MAX_WEIGHTS:
            raise ConfigError(
                f"a net of {self.num_weights:,} weights is too large; the most is "
                f"{MAX_WEIGHTS:,}: give fewer units"
            )

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Numbers of rows and columns of the matrix of each layer."""
        widths = (self.inputs, *self.hidden, self.outputs)
        return list(pairwise(widths))

    @property
    def num_weights(self) -> int:
        """The number of weights, including biases."""
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
    """`[N]` random initial weights (K. He et al., ICCV 2015)."""
    flat = np.zeros(shape.num_weights, dtype=np.float32)
    matrices = Weights(shape, flat).matrices
    for layer, matrix in enumerate(matrices):
        size = min(TYPICAL_BITS, len(matrix)) if layer == 0 else len(matrix)
        matrix[:] = rng.standard_normal(matrix.shape) * sqrt(2 / size)
    matrices[-1] *= LAST_LAYER
    return flat


def aligned_floats(count: int) -> F32:
    """`[count]` zeros, aligned to vector registers."""
    return aligned_words(-(-count // 2)).view(np.float32)[:count]


class Scratch:
    """Arrays that are reused: allocating some MB costs as much as the work on them."""

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
        features: the meaning of the bits.
        hidden, outputs: see `NetShape`.
        flat: `[N]` its weights; default: 0.
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

    def sums(self, rows: RowChanges, sources: I64, targets: I64, out: F32) -> None:
        """Fill in the sums of the first layer.

        Args:
            sources: `[N]` the row of `out` from which each row changed, or -1.
            targets: `[N]` the row of `out` that each row fills.
            out: `[M, H]`
        """
        weights = self.weights
        accumulate(
            rows.starts, rows.changes, sources, targets, weights.matrices[0], weights.biases[0], out
        )

    def forward(self, sums: F32, rows: I64) -> F32:
        """`[N, outputs]` the outputs, from some rows of the sums of the first layer.

        The array is valid until the next call, and may be written to.
        """
        scratch, weights = self._scratch, self.weights
        active = scratch.take("layer 0", len(rows), sums.shape[1])
        rectify(sums, rows, active)
        self._active = [active]
        last = len(weights.matrices) - 1
        for layer in range(1, last + 1):
            matrix, bias = weights.matrices[layer], weights.biases[layer]
            out = scratch.take(f"layer {layer}", len(rows), matrix.shape[1])
            np.matmul(active, matrix, out=out)
            if layer == last:
                add_bias(out, bias)
            else:
                rectify_with(out, bias)
                self._active.append(out)
            active = out
        return active

    def backward(self, slopes: F32, gradient: Weights) -> F32:
        """Fill in the gradient of all matrices but the first, and add the gradient of all biases.

        Args:
            slopes: `[N, outputs]` of the loss, for the batch of the last `forward`.

        Returns:
            `[N, H]` slopes of the sums of the first layer, for `scatter`.
        """
        sum_up(slopes, gradient.biases[-1])
        for layer in range(len(self._active), 0, -1):
            active = self._active[layer - 1]
            np.matmul(active.T, slopes, out=gradient.matrices[layer])
            below = self._scratch.take(f"slopes {layer}", *active.shape)
            np.matmul(slopes, self.weights.matrices[layer].T, out=below)
            mask_slopes(active, below, gradient.biases[layer - 1])
            slopes = below
        return slopes

    def backward_sums(self, rows: RowChanges, slopes: F32, gradient: Weights) -> None:
        """Add the gradient of the first layer's matrix; slopes are overwritten."""
        scatter(rows.starts, rows.changes, rows.previous, slopes, gradient.matrices[0])

    def __call__(self, bits: U64) -> F32:
        """`[N, outputs]` the outputs for independent rows of bits."""
        weights, rows = self.weights, np.arange(len(bits))
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
        return self.forward(sums, rows).copy()


class Optimiser:
    """Adam on the weights of a net, and their average over time.

    The average decays polynomially (O. Shamir, T. Zhang, ICML 2013): later weights count more, and
    the number of steps need not be known.

    Attributes:
        gradient: the caller fills it in before a step, which clears it.
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

    def snapshot(self) -> F32:
        """`[4, N]` the weights, their average, and both moments: the state to resume from."""
        return np.stack([self._net.weights.flat, self.average, self.mean, self.square])

    def resume(self, snapshot: F32, steps: int) -> None:
        """Resume from a snapshot that was taken after `steps` steps."""
        self._net.weights.flat[:], self.average[:], self.mean[:], self.square[:] = snapshot
        self.steps = steps

    def step(self, rate: float) -> None:
        """Make a step down the gradient."""
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
