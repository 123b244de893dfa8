"""Cones of influence: the nets that others depend on, and those that depend on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import Kernel, kernel
from ggp.machine.propnet.circuit import Circuit, Literals

LARGE = 10_000
"""Literals of a circuit from which on loading kernels takes less time than doing without."""

I64 = NDArray[np.int64]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def is_large(circuit: Circuit) -> bool:
    """Whether a circuit is laid out with kernels."""
    return circuit.num_literals >= LARGE


def suited(what: Kernel[_P, _R], circuit: Circuit) -> Callable[_P, _R]:
    """The kernel for a large circuit, the function as it was written for others."""
    return what if is_large(circuit) else what.on_views


def cone(
    circuit: Circuit,
    targets: Literals,
    *,
    known: NDArray[np.bool_] | None = None,
    through_time: bool = False,
) -> NDArray[np.bool_]:
    """`[nets]` whether some literals depend on each net, directly or not.

    Args:
        known: `[nets]` whether to stop at each net; these are left out.
        through_time: also follow each fluent to what its value depended on one step before.
    """
    base = 1 + circuit.num_inputs
    reached = np.zeros(base + circuit.num_gates, dtype=np.bool_)
    if known is not None:
        reached[known] = True
    # A loop is evaluated as a whole: each of its gates needs the next, and the last the first.
    ring = np.full(circuit.num_gates if circuit.loops else 0, -1, dtype=np.int64)
    for loop in circuit.loops:
        ring[loop.start : loop.end] = np.roll(np.arange(loop.start, loop.end), -1)
    following = circuit.next if through_time else circuit.next[:0]
    stack = np.empty(len(reached), dtype=np.int64)
    wanted = np.unique(targets >> 1)
    wanted = wanted[~reached[wanted]]
    reached[wanted] = True
    stack[: len(wanted)] = wanted
    suited(_reach, circuit)(
        circuit.offsets,
        circuit.literals,
        base,
        following,
        ring,
        reached,
        stack,
        len(wanted),
    )
    return reached if known is None else reached & ~known


def touched_by(circuit: Circuit, nets: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """`[nets]` whether each net of a circuit without loops is in a set or depends on one in it."""
    touched = nets.copy()
    suited(_spread, circuit)(circuit.offsets, circuit.literals, 1 + circuit.num_inputs, touched)
    return touched


@kernel
def _reach(
    offsets: I64,
    literals: Literals,
    base: int,
    following: Literals,
    ring: I64,
    reached: NDArray[np.bool_],
    stack: I64,
    top: int,
) -> None:
    """Mark the nets that some nets depend on.

    Args:
        base: net of the first gate.
        following: for the first fluents, literals that they depend on as well.
        ring: for each gate, another one that it depends on, -1 for none; or empty.
        reached: `[nets]` filled in.
        stack: `[nets]` nets that are reached, but not yet those that they depend on; changed.
        top: the number of nets on the stack.
    """
    while top:
        top -= 1
        net = stack[top]
        gate = net - base
        if gate >= 0:
            for k in range(offsets[gate], offsets[gate + 1]):
                other = literals[k] >> 1
                if not reached[other]:
                    reached[other] = True
                    stack[top] = other
                    top += 1
        other = -1
        if 0 <= gate < len(ring) and ring[gate] >= 0:
            other = base + ring[gate]
        elif 0 < net <= len(following):
            other = following[net - 1] >> 1
        if other >= 0 and not reached[other]:
            reached[other] = True
            stack[top] = other
            top += 1


@kernel
def _spread(offsets: I64, literals: Literals, base: int, touched: NDArray[np.bool_]) -> None:
    """Mark gates that read a marked net; gates come after the nets they read."""
    for gate in range(len(offsets) - 1):
        for k in range(offsets[gate], offsets[gate + 1]):
            if touched[literals[k] >> 1]:
                touched[base + gate] = True
                break
