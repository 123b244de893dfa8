"""The circuit of a game: AND gates with inverted wires, and the nets that depend on each other.

`propnet` builds circuits from ground rules; machines evaluate them; beliefs and searches ask for
cones. A *net* is an input or the output of a gate; a *literal* is `2 * net + inverted`. Net 0 is
the constant false, so literal 0 is false and literal 1 is true. `x or y` is
`not (not x and not y)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import Kernel, kernel

FALSE = 0
TRUE = 1
"""The literals of the constants."""

Literals = NDArray[np.int32]


@dataclass(frozen=True)
class Loop:
    """Gates `start` to `end` (exclusive) that depend on each other.

    They are evaluated repeatedly, from `initial[end - start]` (bool), until nothing changes. That
    is their least fixpoint.
    """

    start: int
    end: int
    initial: NDArray[np.bool_]


@dataclass(frozen=True)
class Outputs:
    """Named literals of one role: moves or percepts, sorted by name, or goal values.

    Goal values are in the order of the rules that give them, because the first one that holds
    counts; a value may occur several times.
    """

    names: tuple[str, ...]
    literals: Literals


@dataclass(frozen=True)
class Circuit:
    """The circuit of a game.

    The nets, in order, are the constant, one for each fluent, one for each move of each role (in
    the order of `legal[role].names`, role by role), and one for each gate. A gate reads only
    earlier nets, except within a `Loop`.

    Attributes:
        roles: names in the order of the rulesheet.
        fluents: the fluents that can change, sorted.
        initial: `[F]` whether each fluent holds in the initial state.
        constant: the fluents that hold in every reachable state, sorted.
        offsets: `[G + 1]` offsets of the literals of each gate.
        literals: the inputs of all gates; a gate has two or more (in a `Loop`, one or more).
        loops: the loops in order; they do not overlap.
        next: `[F]` literal of each fluent in the next state.
        legal: all moves of each role, and the literals that are true if they are legal.
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


class PassReport(NamedTuple):
    """The size of a circuit before and after a pass, and the seconds of processor time."""

    name: str
    gates_before: int
    literals_before: int
    gates_after: int
    literals_after: int
    seconds: float


def gates_of(circuit: Circuit) -> list[tuple[int, ...]]:
    """The literals of each gate."""
    literals = circuit.literals.tolist()
    offsets = circuit.offsets.tolist()
    return [tuple(literals[start:end]) for start, end in pairwise(offsets)]


def net_levels(circuit: Circuit) -> list[int]:
    """The level of each net: the length of the longest path from an input. The gates of a loop
    have the same level."""
    first_net = 1 + circuit.num_inputs
    gates = gates_of(circuit)
    levels = [0] * (first_net + len(gates))
    in_loop = {gate: loop for loop in circuit.loops for gate in range(loop.start, loop.end)}
    for index, gate in enumerate(gates):
        loop = in_loop.get(index)
        if loop is None:
            levels[first_net + index] = 1 + max(levels[literal >> 1] for literal in gate)
        elif index == loop.start:
            inner = gates[loop.start : loop.end]
            level = 1 + max(levels[literal >> 1] for inner_gate in inner for literal in inner_gate)
            levels[first_net + loop.start : first_net + loop.end] = [level] * len(inner)
    return levels


# ------------------------------------------------------------------------
# Cones of influence: the nets that a net depends on, and the nets that depend on it.

LARGE = 10_000
"""Number of literals from which loading kernels takes less time than running Python."""

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def is_large(circuit: Circuit) -> bool:
    """Whether a circuit is worth the loading of kernels."""
    return circuit.num_literals >= LARGE


def suited(compiled: Kernel[_P, _R], circuit: Circuit) -> Callable[_P, _R]:
    """The function to call: the kernel for a large circuit, plain Python for a small one."""
    return compiled if is_large(circuit) else compiled.on_views


def cone(
    circuit: Circuit,
    targets: Literals,
    *,
    excluded: NDArray[np.bool_] | None = None,
    through_time: bool = False,
) -> NDArray[np.bool_]:
    """`[nets]` whether each net is in the cone of `targets`: one of these depends on it.

    Args:
        excluded: `[nets]` nets at which to stop; they are not in the cone.
        through_time: also follow each fluent to the nets that determined it one step before.
    """
    base = 1 + circuit.num_inputs
    reached = np.zeros(base + circuit.num_gates, dtype=np.bool_)
    if excluded is not None:
        reached[excluded] = True
    # A loop is evaluated as a whole, so all of its gates are needed: each one depends on the next.
    ring = np.full(circuit.num_gates if circuit.loops else 0, -1, dtype=np.int64)
    for loop in circuit.loops:
        ring[loop.start : loop.end] = np.roll(np.arange(loop.start, loop.end), -1)
    following = circuit.next if through_time else circuit.next[:0]
    stack = np.empty(len(reached), dtype=np.int64)
    nets = np.unique(targets >> 1)
    nets = nets[~reached[nets]]
    reached[nets] = True
    stack[: len(nets)] = nets
    suited(_reach, circuit)(
        circuit.offsets,
        circuit.literals,
        base,
        following,
        ring,
        reached,
        stack,
        len(nets),
    )
    return reached if excluded is None else reached & ~excluded


def touched_by(circuit: Circuit, nets: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """`[nets]` whether each net of a circuit without loops is in `nets` or depends on one."""
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
    """Mark all nets that the nets on a stack depend on (depth-first search).

    A net is marked when it is pushed, so it is pushed at most once, and the stack cannot overflow.

    Args:
        base: net of the first gate.
        following: a further literal for each of the first fluents, that it depends on.
        ring: for each gate, a further gate that it depends on, or -1; or empty.
        reached: `[nets]` marks, filled in.
        stack: `[nets]` marked nets whose inputs are not yet visited; changed.
        top: the number of nets on the stack.
    """
    while top:
        top -= 1
        net = stack[top]
        gate = net - base
        if gate >= 0:
            for k in range(offsets[gate], offsets[gate + 1]):
                source = literals[k] >> 1
                if not reached[source]:
                    reached[source] = True
                    stack[top] = source
                    top += 1
        source = -1
        if 0 <= gate < len(ring) and ring[gate] >= 0:
            source = base + ring[gate]
        elif 0 < net <= len(following):
            source = following[net - 1] >> 1
        if source >= 0 and not reached[source]:
            reached[source] = True
            stack[top] = source
            top += 1


@kernel
def _spread(offsets: I64, literals: Literals, base: int, touched: NDArray[np.bool_]) -> None:
    """Mark all gates that depend on a marked net.

    One pass is enough, because a gate reads only earlier nets.
    """
    for gate in range(len(offsets) - 1):
        for k in range(offsets[gate], offsets[gate + 1]):
            if touched[literals[k] >> 1]:
                touched[base + gate] = True
                break


def following(circuit: Circuit, possible: Bools) -> Bools | None:
    """The possible values of fluents one step later; None if the game is certainly over.

    This is an upper bound, since it takes fluents and moves to be independent.

    Args:
        possible: `[2, F]` whether each fluent may be false, and whether it may be true.

    Returns:
        the same for the next state.
    """
    base, num_fluents = 1 + circuit.num_inputs, len(circuit.fluents)
    may = np.zeros((2, base + circuit.num_gates), dtype=np.bool_)
    may[0, 0] = True
    may[:, 1 : 1 + num_fluents] = possible
    may[:, 1 + num_fluents : base] = True
    evaluate = suited(_evaluate, circuit)
    evaluate(circuit.offsets, circuit.literals, base, may)
    if not may[circuit.terminal & 1, circuit.terminal >> 1]:
        return None
    first = 1 + num_fluents
    for outputs in circuit.legal:
        is_legal = may[1 - (outputs.literals & 1), outputs.literals >> 1]
        may[1, first : first + len(is_legal)] = is_legal
        first += len(is_legal)
    evaluate(circuit.offsets, circuit.literals, base, may)
    inverted, nets = circuit.next & 1, circuit.next >> 1
    return np.stack([may[inverted, nets], may[1 - inverted, nets]])


@kernel
def _evaluate(offsets: I64, literals: Literals, base: int, may: Bools) -> None:
    """Find the possible values of gates: an AND may be true if all inputs may be, and may be false
    if any input may be.

    Args:
        base: net of the first gate.
        may: `[2, nets]` whether each may be false, and whether it may be true; filled in for gates.
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
