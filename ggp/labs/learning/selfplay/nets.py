"""Dense nets on bits: forward and backward on whole batches, in float32.

The first layer sums up the weights of the bits that are set (`net_kernels.accumulate`), which costs
as much as bits have changed since the row before. The others are products of matrices, which
numpy's BLAS makes at some 90 thousand million operations a second and core; kernels do the rest.

All weights are one array, so that a step of Adam is one loop, and so is an average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np

from ggp.errors import ConfigError
from ggp.labs.learning.env.kernels import I64, U64
from ggp.labs.learning.selfplay.features import Features, Joined, RowChanges
from ggp.labs.learning.selfplay.net_kernels import (
    F32,
    accumulate,
    adam,
    add_bias,
    mask_slopes,
    rectify,
    rectify_with,
    scatter,
    sum_up,
    sum_up_bits,
)
from ggp.machine.compiling.vectors import aligned_words

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
