"""Fuses gates that only one other gate reads into it, so that they are stored nowhere.

Half to nine tenths of the gates of large circuits have a single reader, and most of them have two
inputs. A *fused* gate is the AND of some rows as they are, of others inverted, and of pairs of rows
that are not both as the pair wants them:

    g = not a and b        h = c and not g        becomes        h = c and not (b and not a)

That takes neither a store nor a load for g.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import kernel
from ggp.machine.propnet.circuit import Circuit, Literals
from ggp.machine.propnet.play.layout.cones import I64, suited

INSIDE = 2
"""Number of literals of gates that may be inside others."""


class Shape(NamedTuple):
    """The numbers of rows that a fused gate reads; kernels read them in this order.

    Attributes:
        plus: rows taken as they are.
        minus: rows taken inverted.
        both, one, none: pairs that must not be as the pair wants them: both rows
            holding; the first holding and the second not; neither holding.
    """

    plus: int
    minus: int
    both: int = 0
    one: int = 0
    none: int = 0

    @property
    def reads(self) -> int:
        """Number of rows that are read."""
        return self.plus + self.minus + 2 * (self.both + self.one + self.none)


class FusedGates(NamedTuple):
    """G gates with the gates inside them.

    Attributes:
        gates: `[G]` their numbers in the circuit.
        shapes: `[G, 5]` the `Shape` of each.
        first: `[G + 1]` where in `nets` the nets that each reads begin.
        nets: the nets they read, each in the order of its shape.
    """

    gates: I64
    shapes: I64
    first: I64
    nets: I64


def fuse(circuit: Circuit, stages: Sequence[I64], targets: Sequence[Literals]) -> list[FusedGates]:
    """The gates of each stage, in circuit order; those that are inside others are left out.

    Args:
        stages: gates that each stage evaluates, in circuit order.
        targets: literals that are wanted from each stage; they are not inside others.
    """
    base = 1 + circuit.num_inputs
    sizes = np.diff(circuit.offsets)
    in_loop = np.zeros(circuit.num_gates, dtype=np.bool_)
    for loop in circuit.loops:
        in_loop[loop.start : loop.end] = True
    readers = np.zeros(base + circuit.num_gates, dtype=np.int64)
    count = suited(_count_readers, circuit)
    for gates, wanted in zip(stages, targets, strict=True):
        count(circuit.offsets, circuit.literals, gates, in_loop, readers)
        readers[wanted >> 1] += 2
    fits = (readers[base:] == 1) & (sizes == INSIDE) & ~in_loop
    return [_fused(circuit, gates, fits) for gates in stages]


def _fused(circuit: Circuit, gates: I64, fits: NDArray[np.bool_]) -> FusedGates:
    """Fuse as many of some gates as possible into others. `fits`: `[gates]` whether each may be."""
    offsets = circuit.offsets
    here = np.zeros(circuit.num_gates, dtype=np.bool_)
    here[gates] = fits[gates]
    inside = np.zeros(circuit.num_gates, dtype=np.bool_)
    shapes = np.zeros((len(gates), len(Shape._fields)), dtype=np.int64)
    nets = np.empty((offsets[gates + 1] - offsets[gates]).sum(), dtype=np.int64)
    num_nets = suited(_put_together, circuit)(
        offsets, circuit.literals, 1 + circuit.num_inputs, gates, here, inside, shapes, nets
    )
    alone = ~inside[gates]
    shapes = shapes[alone]
    reads = shapes @ np.array([Shape(*each).reads for each in np.eye(5, dtype=np.int64)])
    return FusedGates(
        gates[alone], shapes, np.concatenate([[0], np.cumsum(reads)]), nets[:num_nets]
    )


@kernel
def _count_readers(
    offsets: I64, literals: Literals, gates: I64, in_loop: NDArray[np.bool_], readers: I64
) -> None:
    """Add to `readers`, `[nets]`, the number of times that gates read each net."""
    for k in range(len(gates)):
        gate = gates[k]
        # Gates of loops are evaluated again and again, one by one: they count twice.
        times = 2 if in_loop[gate] else 1
        for i in range(offsets[gate], offsets[gate + 1]):
            readers[literals[i] >> 1] += times


@kernel
def _put_together(
    offsets: I64,
    literals: Literals,
    base: int,
    gates: I64,
    fits: NDArray[np.bool_],
    inside: NDArray[np.bool_],
    shapes: I64,
    nets: I64,
) -> int:
    """Decide which gates are inside others, and which nets the others read.

    Args:
        base: net of the first gate.
        gates: `[K]` in circuit order.
        fits: `[gates]` whether each may be inside.
        inside: `[gates]` whether each is, filled in.
        shapes: `[K, 5]` shape of each, all 0, filled in; those of gates inside others stay 0.
        nets: nets read by gates that are not inside, filled in.

    Returns:
        the number of nets they read.
    """
    # From the last, so that readers come first.
    for k in range(len(gates) - 1, -1, -1):
        if not inside[gates[k]]:
            for i in range(offsets[gates[k]], offsets[gates[k] + 1]):
                gate = (literals[i] >> 1) - base
                if literals[i] & 1 and gate >= 0 and fits[gate]:
                    inside[gate] = True
    at = 0
    for k in range(len(gates)):
        if inside[gates[k]]:
            continue
        # First the inputs as they are, then those inverted, then each kind of pair.
        pairs = False
        for kind in range(5):
            if kind == 2 and not pairs:
                break
            for i in range(offsets[gates[k]], offsets[gates[k] + 1]):
                net = literals[i] >> 1
                gate = net - base
                if not literals[i] & 1 or gate < 0 or not inside[gate]:
                    if kind == literals[i] & 1:
                        shapes[k, kind] += 1
                        nets[at] = net
                        at += 1
                elif kind < 2:
                    pairs = True
                else:
                    a, b = literals[offsets[gate]], literals[offsets[gate] + 1]
                    if (a & 1) > (b & 1):
                        a, b = b, a
                    if kind == 2 + (a & 1) + (b & 1):
                        shapes[k, kind] += 1
                        nets[at] = a >> 1
                        nets[at + 1] = b >> 1
                        at += 2
    return at
