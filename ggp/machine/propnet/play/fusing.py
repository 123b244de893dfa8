"""Gates that only one other gate reads are evaluated inside it, and stored nowhere.

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

from ggp.machine.propnet.circuit import Circuit, Literals

INSIDE = 2
"""Literals of gates that may be inside others."""

Gates = NDArray[np.int64]


class Shape(NamedTuple):
    """What a fused gate reads; kernels read it in this order.

    Attributes:
        plus: rows as they are.
        minus: rows inverted.
        both, one, none: pairs, at least one row of which must not be as the pair wants it: both
            held; the first held and the second not; none held.
    """

    plus: int
    minus: int
    both: int = 0
    one: int = 0
    none: int = 0

    @property
    def reads(self) -> int:
        """Rows that are read."""
        return self.plus + self.minus + 2 * (self.both + self.one + self.none)


class Fused(NamedTuple):
    """A gate with those inside it.

    Attributes:
        gate: its number in the circuit.
        shape: see `Shape`.
        nets: what it reads, in the order of the shape.
    """

    gate: int
    shape: Shape
    nets: list[int]


def fuse(
    circuit: Circuit, stages: Sequence[Gates], targets: Sequence[Literals]
) -> list[list[Fused]]:
    """The gates of each stage, in circuit order; those that are inside others are left out.

    Args:
        stages: gates that each stage evaluates, in circuit order.
        targets: literals that are wanted of each stage; they are not inside others.
    """
    base = 1 + circuit.num_inputs
    sizes = np.diff(circuit.offsets)
    in_loop = np.zeros(circuit.num_gates, dtype=np.bool_)
    for loop in circuit.loops:
        in_loop[loop.start : loop.end] = True
    # Gates of loops are evaluated again and again, each for itself: they count twice.
    weights = np.repeat(1 + in_loop, sizes)
    readers = np.zeros(base + circuit.num_gates, dtype=np.int64)
    nets = circuit.literals >> 1
    for gates, wanted in zip(stages, targets, strict=True):
        evaluated = np.zeros(circuit.num_gates, dtype=np.bool_)
        evaluated[gates] = True
        readers += np.bincount(
            nets, weights * np.repeat(evaluated, sizes), minlength=len(readers)
        ).astype(np.int64)
        readers[wanted >> 1] += 2
    fits = (readers[base:] == 1) & (sizes == INSIDE) & ~in_loop
    fuser = _Fuser(circuit, [False] * base + fits.tolist())
    return [fuser.fused(gates.tolist()) for gates in stages]


class _Fuser:
    """Puts gates together.

    Args:
        fits: `[nets]` whether a net may be inside another.
    """

    def __init__(self, circuit: Circuit, fits: list[bool]) -> None:
        self._base = 1 + circuit.num_inputs
        # Lists, because reading arrays item by item takes several times as long.
        self._offsets = circuit.offsets.tolist()
        self._literals = circuit.literals.tolist()
        self._fits = fits

    def fused(self, gates: list[int]) -> list[Fused]:
        """Some gates, as many as possible inside others of them."""
        fits, base, offsets, all_literals = self._fits, self._base, self._offsets, self._literals
        here = set(gates)
        inside: set[int] = set()
        found = []
        # From the last, so that readers come first.
        for gate in reversed(gates):
            if gate in inside:
                continue
            plus: list[int] = []
            minus: list[int] = []
            pairs: list[list[int]] = [[], [], []]
            for literal in all_literals[offsets[gate] : offsets[gate + 1]]:
                net = literal >> 1
                if not literal & 1:
                    plus.append(net)
                elif fits[net] and net - base in here:
                    inside.add(net - base)
                    a, b = all_literals[offsets[net - base] : offsets[net - base + 1]]
                    if (a & 1) > (b & 1):
                        a, b = b, a
                    pairs[(a & 1) + (b & 1)] += (a >> 1, b >> 1)
                else:
                    minus.append(net)
            shape = Shape(len(plus), len(minus), *(len(each) // 2 for each in pairs))
            found.append(Fused(gate, shape, plus + minus + pairs[0] + pairs[1] + pairs[2]))
        return found[::-1]
