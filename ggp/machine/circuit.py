"""A game as a circuit of AND gates with inverted wires.

A *net* is an input or the output of a gate; a *literal* is `2 * net + inverted`. Net 0 is the
constant false, so literal 0 is false and literal 1 true. `x or y` is `not (not x and not y)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import Kernel, kernel

FALSE = 0
TRUE = 1
"""The literals of the constants."""

Literals = NDArray[np.int32]


@dataclass(frozen=True)
class Loop:
    """Gates `start` to `end` (exclusive) that depend on each other: they are evaluated again and
    again from `initial[end - start]` (bool) until nothing changes, which is their least
    fixpoint."""

    start: int
    end: int
    initial: NDArray[np.bool_]


@dataclass(frozen=True)
class Outputs:
    """Named literals of one role: moves or percepts, sorted by name, or goal values.

    Of the goal values that hold, the first counts, so they are in the order of the rules that
    give them, and one may occur several times.
    """

    names: tuple[str, ...]
    literals: Literals


@dataclass(frozen=True)
class Circuit:
    """A game as a circuit.

    Its nets, in order, are the constant, one for each fluent, one for each move of each role (in
    the order of `legal[role].names`, role after role), and one for each gate. The literals of a
    gate come before it, except within a `Loop`.

    Attributes:
        roles: names in the order of the rulesheet.
        fluents: fluents that can change, sorted.
        initial: `[F]` whether each holds in the initial state.
        constant: fluents that hold in every reachable state, sorted.
        offsets: `[G + 1]` literals of each gate.
        literals: inputs of the gates; a gate has two or more (in a `Loop`: one or more).
        loops: in order, not overlapping.
        next: `[F]` literal of each fluent in the next state.
        legal: the moves that each role can ever have, and the literals for when they are legal.
        sees: the percepts of each role.
        goals: the goal values of each role.
        terminal: the literal of `terminal`.
    """

    roles: tuple[str, ...]
    fluents: tuple[str, ...]
    initial: NDArray[np.bool_]
    constant: tuple[str, ...]
    offsets: NDArray[np.int64]
    literals: Literals
    loops: tuple[Loop, ...]
    next: Literals
    legal: tuple[Outputs, ...]
    sees: tuple[Outputs, ...]
    goals: tuple[Outputs, ...]
    terminal: int

    @property
    def num_inputs(self) -> int:
        """Number of fluents and moves."""
        return len(self.fluents) + sum(len(outputs.names) for outputs in self.legal)

    @property
    def num_gates(self) -> int:
        return len(self.offsets) - 1

    @property
    def num_literals(self) -> int:
        """Number of inputs of all gates together."""
        return len(self.literals)


def gates_of(circuit: Circuit) -> list[tuple[int, ...]]:
    """The literals of each gate."""
    literals = circuit.literals.tolist()
    offsets = circuit.offsets.tolist()
    return [tuple(literals[start:end]) for start, end in pairwise(offsets)]


def net_levels(circuit: Circuit) -> list[int]:
    """Length of the longest path from an input to each net; the same for all gates of a loop."""
    first_net = 1 + circuit.num_inputs
    gates = gates_of(circuit)
    levels = [0] * (first_net + len(gates))
    in_loop = {gate: loop for loop in circuit.loops for gate in range(loop.start, loop.end)}
    for place, gate in enumerate(gates):
        loop = in_loop.get(place)
        if loop is None:
            levels[first_net + place] = 1 + max(levels[literal >> 1] for literal in gate)
        elif place == loop.start:
            inner = gates[loop.start : loop.end]
            level = 1 + max(levels[literal >> 1] for each in inner for literal in each)
            levels[first_net + loop.start : first_net + loop.end] = [level] * len(inner)
    return levels


# ------------------------------------------------------------------------
# Cones of influence: the nets that others depend on, and those that depend on them.

LARGE = 10_000
"""Literals of a circuit from which on loading kernels takes less time than doing without."""

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

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


def following(circuit: Circuit, held: Bools) -> Bools | None:
    """`[2, F]` whether fluents may be false, and hold, one step later; None if it is surely over.

    Args:
        held: `[2, F]` whether each fluent may be false, and may hold, now.
    """
    base, num_fluents = 1 + circuit.num_inputs, len(circuit.fluents)
    may = np.zeros((2, base + circuit.num_gates), dtype=np.bool_)
    may[0, 0] = True
    may[:, 1 : 1 + num_fluents] = held
    may[:, 1 + num_fluents : base] = True
    evaluate = suited(_evaluate, circuit)
    evaluate(circuit.offsets, circuit.literals, base, may)
    if not may[circuit.terminal & 1, circuit.terminal >> 1]:
        return None
    first = 1 + num_fluents
    for outputs in circuit.legal:
        some = may[1 - (outputs.literals & 1), outputs.literals >> 1]
        may[1, first : first + len(some)] = some
        first += len(some)
    evaluate(circuit.offsets, circuit.literals, base, may)
    inverted, nets = circuit.next & 1, circuit.next >> 1
    return np.stack([may[inverted, nets], may[1 - inverted, nets]])


@kernel
def _evaluate(offsets: I64, literals: Literals, base: int, may: Bools) -> None:
    """Find the possible values of gates.

    Args:
        base: net of the first gate.
        may: `[2, nets]` whether each may be false, and whether it may hold; filled in for gates.
    """
    for gate in range(len(offsets) - 1):
        false, holds = False, True
        for k in range(offsets[gate], offsets[gate + 1]):
            net, inverted = literals[k] >> 1, literals[k] & 1
            if not may[1 - inverted, net]:
                holds = False
            if may[inverted, net]:
                false = True
        may[0, base + gate] = false
        may[1, base + gate] = holds
