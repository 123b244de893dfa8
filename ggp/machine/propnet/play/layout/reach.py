"""Finds the fluents that can hold in each step of a game from its initial state.

Rules allow more than a game can reach: a hand of up to fifty cards, where ten are dealt. So large
circuits are evaluated once, step by step, with three values: a fluent holds, or does not, or may
hold. Fluents that never may hold are left out of circuits for playouts:

    step                        1       2       3
    (setup 1), (setup 2), ...   1 0 0   0 1 0   0 0 1     a clock is known exactly
    (hand 1), (hand 2), ...     0 0 0   ? 0 0   ? ? 0     a card may have been dealt

The step that a state belongs to is not needed: a state that is within what may hold in one of the
steps leads to one that is within the next. Others may be played, too, by the whole circuit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import kernel
from ggp.machine.propnet.circuit import Circuit, Literals
from ggp.machine.propnet.play.layout.cones import I64, suited

Bools = NDArray[np.bool_]

MIN_LITERALS = 10_000
"""Smaller circuits play fast enough, and would be evaluated without a kernel."""

MAX_STEPS = 100

MAX_LITERALS = 15_000_000
"""Number of literals that may be evaluated: a tenth of a second."""

WORTH = 0.8
"""Share of fluents that may ever hold from which on it is not worth it."""


def reachable(circuit: Circuit) -> Bools:
    """`[T, 2, F]` whether each fluent may be false, and may hold, in T steps; T may be 0.

    A state that is within one of them in all fluents leads to states within them, whatever legal
    moves are made, until the game is over. T is 0 if they would say little.
    """
    held = np.stack([~circuit.initial, circuit.initial]).astype(np.bool_)
    steps, ever = [], np.zeros_like(held[1])
    if circuit.num_literals < MIN_LITERALS or circuit.loops:
        return np.zeros((0, *held.shape), dtype=np.bool_)
    for _ in range(min(MAX_STEPS, MAX_LITERALS // (2 * circuit.num_literals))):
        steps.append(held)
        ever |= held[1]
        if np.count_nonzero(ever) > WORTH * len(ever):
            break
        after = following(circuit, held)
        if after is None or any(np.array_equal(after, each) for each in steps):
            return np.stack(steps)
        held = after
    return np.zeros((0, *held.shape), dtype=np.bool_)


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
