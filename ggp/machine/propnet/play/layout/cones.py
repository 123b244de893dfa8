"""What nets depend on, and what depends on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import Kernel, kernel
from ggp.machine.propnet.circuit import Circuit, Literals

LARGE = 10_000
"""Literals of circuits for which it takes less time to load kernels than to do without them."""

I64 = NDArray[np.int64]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def is_large(circuit: Circuit) -> bool:
    """Whether to lay a circuit out with kernels."""
    return circuit.num_literals >= LARGE


def suited(what: Kernel[_P, _R], circuit: Circuit) -> Callable[_P, _R]:
    """The kernel for a large circuit, or else the function as it was written."""
    return what if is_large(circuit) else what.on_views


def cone(
    circuit: Circuit,
    targets: Literals,
    *,
    known: NDArray[np.bool_] | None = None,
    through_time: bool = False,
) -> NDArray[np.bool_]:
    """`[nets]` which nets literals depend on, directly or not.

    Args:
        known: `[nets]` where to stop; these nets are left out.
        through_time: a fluent depends on what it depended on one step before.
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
        *(circuit.offsets, circuit.literals, base, following, ring),
        *(reached, stack, len(wanted)),
    )
    return reached if known is None else reached & ~known


def touched_by(circuit: Circuit, nets: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """`[nets]` which of the nets of a circuit without loops depend on some of them, or are some."""
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
    """Reach what some nets depend on.

    Args:
        base: net of the first gate.
        following: of the first fluents, literals on which they depend, too.
        ring: of each gate another one on which it depends, -1 for none; or nothing at all.
        reached: `[nets]` filled in.
        stack: `[nets]` nets that are reached, but not what they depend on; changed.
        top: how many these are.
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
    """Touch gates that read a net that is touched; they come after what they read."""
    for gate in range(len(offsets) - 1):
        for k in range(offsets[gate], offsets[gate + 1]):
            if touched[literals[k] >> 1]:
                touched[base + gate] = True
                break
