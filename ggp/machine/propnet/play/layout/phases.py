"""Makes smaller circuits for the phases of a game, for example one for each role's turn.

Where roles take turns, all lanes of a block usually agree whose turn it is. Half of the legal
moves, and half of their effects, cannot matter then. So a large circuit is replaced by a smaller
one for each turn, in which the fluents that identify the turn are constants:

    legal white (move 1 2)  =  control white and pawn 1 and free 2
    while it is black's turn:   never; and no effect of this move is possible

Fluents that cannot hold in any step of a game are constants, too (see `reachable`).

A *clock* is a set of fluents whose next values depend on nothing but themselves, so that it goes
through the same values in every match. Clocks that repeat after a few steps identify the phase.

The invariant: in the states of its phase, a circuit gives every output the value that the whole
circuit gives, as long as only legal moves are made. A kernel that uses it must check the phase
first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import offsets_of
from ggp.machine.circuit import FALSE, I64, TRUE, Circuit, Literals, following, suited, touched_by
from ggp.machine.compiling.jit import inlined, kernel

# ------------------------------------------------------------------------
# Finds the fluents that can hold in each step of a game from its initial state.
#
# Rules allow more than a game can reach: a hand of up to fifty cards, where ten are dealt. So large
# circuits are evaluated once, step by step, with three values: a fluent holds, does not hold, or
# may hold. Fluents that can never hold become constants in circuits for playouts:
#
#     step                        1       2       3
#     (setup 1), (setup 2), ...   1 0 0   0 1 0   0 0 1     a clock is known exactly
#     (hand 1), (hand 2), ...     0 0 0   ? 0 0   ? ? 0     a card may have been dealt
#
# This is sound for playouts from any state that lies within the possible values of some step, since
# its successors lie within those of the next step; which step it is need not be known. A state
# within none of them is played by the whole circuit.

Bools = NDArray[np.bool_]

MIN_REACH_LITERALS = 10_000
"""Smaller circuits play fast enough, and would be evaluated without a kernel."""

MAX_STEPS = 100

MAX_LITERALS = 15_000_000
"""Number of literals that may be evaluated, over all steps: a tenth of a second."""


def reachable(circuit: Circuit) -> Bools:
    """`[T, 2, F]` whether each fluent may be false, and may hold, in each of T steps.

    From a state that lies within the possible values of one step, legal moves lead only to states
    that lie within those of another, until the game is over. T is 0 for small circuits, and if this
    would exclude few fluents or take too long to compute.
    """
    possible = np.stack([~circuit.initial, circuit.initial]).astype(np.bool_)
    steps, ever = [], np.zeros_like(possible[1])
    if circuit.num_literals < MIN_REACH_LITERALS or circuit.loops:
        return np.zeros((0, *possible.shape), dtype=np.bool_)
    for _ in range(min(MAX_STEPS, MAX_LITERALS // (2 * circuit.num_literals))):
        steps.append(possible)
        ever |= possible[1]
        if np.count_nonzero(ever) > WORTH * len(ever):
            break
        successors = following(circuit, possible)
        if successors is None or any(np.array_equal(successors, step) for step in steps):
            return np.stack(steps)
        possible = successors
    return np.zeros((0, *possible.shape), dtype=np.bool_)


MIN_LITERALS = 4000
"""Smaller circuits get no phases: evaluating gates is not most of their cost."""

MAX_PERIOD = 4

WORTH = 0.8
"""The share of the fluents that may hold at most, or nothing is left out for what cannot hold."""


class Phases(NamedTuple):
    """P phases: those of a clock, or one of all states within reach.

    Attributes:
        possible: `[T, 2, F]` whether each fluent may be false, and whether it may hold, in states
            that are played in phases, see `reachable`; T is 0 if any state is.
        fluents: `[S]` the clock.
        values: `[P, S]` their values in each phase.
        circuits: one for each phase, with the same inputs and outputs as the whole circuit.
    """

    possible: NDArray[np.bool_]
    fluents: NDArray[np.int64]
    values: NDArray[np.bool_]
    circuits: tuple[Circuit, ...]


def phases_of(circuit: Circuit) -> Phases:
    """The phases of a game that starts in its initial state; none if nothing can be left out."""
    fluents, values = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.bool_)
    possible = np.zeros((0, 2, len(circuit.fluents)), dtype=np.bool_)
    if circuit.num_literals < MIN_LITERALS or circuit.loops:
        return Phases(possible, fluents, values, ())
    fluents, values = _clock(circuit)
    possible = reachable(circuit)
    bounded = _bounded(circuit, possible) if len(possible) else circuit
    if len(possible) and not len(values):
        values = np.zeros((1, 0), dtype=np.bool_)
    circuits = tuple(within_phase(bounded, fluents, phase) for phase in values)
    return Phases(possible, fluents, values, circuits)


def _bounded(circuit: Circuit, possible: NDArray[np.bool_]) -> Circuit:
    """A circuit that is equivalent in all states that lie within the possible values of a step."""
    false, holds = np.logical_or.reduce(possible, axis=0)
    constant = np.flatnonzero(false != holds)
    values = holds[constant].tolist()
    assumed = _assuming(circuit, dict(zip((1 + constant).tolist(), values, strict=True)))
    following = assumed.next.copy()
    following[constant] = 2 * (1 + constant)
    return replace(assumed, next=following)


def _clock(circuit: Circuit) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The clock: fluents that repeat with the shortest period, and their values in each step.

    A fluent belongs to it if it repeats after exactly this many steps and no fewer.
    """
    candidates = _untouched(circuit)
    history = _history(circuit, candidates)
    for period in range(2, MAX_PERIOD + 1):
        repeats = (history[period:] == history[:-period]).all(axis=0)
        for shorter in range(1, period):
            repeats &= (history[shorter:] != history[:-shorter]).any(axis=0)
        if repeats.any():
            return candidates[repeats], history[:period, repeats]
    return candidates[:0], history[:0, :0]


def _untouched(circuit: Circuit) -> NDArray[np.int64]:
    """Fluents that depend on no move, now or in earlier steps."""
    base, num_fluents = 1 + circuit.num_inputs, len(circuit.fluents)
    touched = np.zeros(base + circuit.num_gates, dtype=np.bool_)
    touched[1 + num_fluents : base] = True
    fluents, num_touched = touched[1 : 1 + num_fluents], -1
    while num_touched != np.count_nonzero(fluents):
        num_touched = int(np.count_nonzero(fluents))
        touched = touched_by(circuit, touched)
        fluents = touched[1 : 1 + num_fluents]
        fluents |= touched[circuit.next >> 1]
    return np.flatnonzero(~fluents)


def _history(circuit: Circuit, fluents: NDArray[np.int64]) -> NDArray[np.bool_]:
    """`[T, S]` values of fluents that depend on nothing else, step by step."""
    base = 1 + circuit.num_inputs
    offsets: list[int] = circuit.offsets.tolist()
    literals: list[int] = circuit.literals.tolist()
    following = circuit.next.tolist()
    values = dict(zip((1 + fluents).tolist(), circuit.initial[fluents].tolist(), strict=True))

    def gate(net: int) -> list[int]:
        return literals[offsets[net - base] : offsets[net - base + 1]]

    steps = []
    for _ in range(3 * MAX_PERIOD):
        steps.append([values[1 + f] for f in fluents.tolist()])
        value_of = {0: False} | values

        def value(literal: int, value_of: dict[int, bool] = value_of) -> bool:
            pending = [literal >> 1]
            while pending:
                net = pending[-1]
                inputs = [] if net in value_of else gate(net)
                missing = [x >> 1 for x in inputs if x >> 1 not in value_of]
                pending += missing
                if not missing:
                    value_of.setdefault(net, all(value_of[x >> 1] != bool(x & 1) for x in inputs))
                    pending.pop()
            return value_of[literal >> 1] != bool(literal & 1)

        values = {1 + f: value(following[f]) for f in fluents.tolist()}
    return np.array(steps, dtype=np.bool_).reshape(len(steps), len(fluents))


def within_phase(circuit: Circuit, fluents: NDArray[np.int64], bits: NDArray[np.bool_]) -> Circuit:
    """A circuit that is equivalent while some fluents have given values and moves are legal."""
    assumed = _assuming(circuit, dict(zip((1 + fluents).tolist(), bits.tolist(), strict=True)))
    # A move that can never be legal then is not made; a role's only possible move is made if it is
    # always legal.
    moves = {}
    first = 1 + len(circuit.fluents)
    for outputs in assumed.legal:
        num_possible = np.count_nonzero(outputs.literals != FALSE)
        for k, literal in enumerate(outputs.literals.tolist(), first):
            if literal == FALSE or (literal == TRUE and num_possible == 1):
                moves[k] = literal == TRUE
        first += len(outputs.names)
    return _assuming(assumed, moves)


def _assuming(circuit: Circuit, constants: Mapping[int, bool]) -> Circuit:
    """A circuit that is equivalent while some inputs are constant.

    All nets keep their numbers, so that wires and rows stay valid. A gate that has become a
    constant or another literal has no literals.
    """
    base, num_gates = 1 + circuit.num_inputs, circuit.num_gates
    become = np.arange(0, 2 * (base + num_gates), 2, dtype=np.int32)
    become[list(constants)] = [TRUE if value else FALSE for value in constants.values()]
    sizes = np.zeros(num_gates, dtype=np.int64)
    literals = np.empty_like(circuit.literals)
    num_literals = suited(_assume, circuit)(
        circuit.offsets, circuit.literals, base, become, sizes, literals
    )

    def now(old: Literals) -> Literals:
        replaced: Literals = become[old >> 1] ^ (old & 1)
        return replaced

    return replace(
        circuit,
        offsets=offsets_of(sizes),
        literals=literals[:num_literals],
        next=now(circuit.next),
        legal=tuple(replace(o, literals=now(o.literals)) for o in circuit.legal),
        sees=tuple(replace(o, literals=now(o.literals)) for o in circuit.sees),
        terminal=int(now(np.array([circuit.terminal], dtype=np.int32))[0]),
    )


@kernel
def _assume(
    offsets: I64, literals: Literals, base: int, become: Literals, sizes: I64, simplified: Literals
) -> int:
    """Simplify gates where some nets are constant.

    Gates come in topological order, so `become` is final for every input of a gate when the gate is
    reached: one pass is enough. `become` may replace a net by a constant or by another literal,
    never by a chain of replacements.

    Args:
        base: net of the first gate.
        become: `[nets]` the literal that each net has become; changed for gates.
        sizes: `[G]` number of literals left of each gate, filled in.
        simplified: these literals, gate by gate, filled in.

    Returns:
        the number of literals left.
    """
    at = 0
    for gate in range(len(sizes)):
        start, changed = at, False
        for k in range(offsets[gate], offsets[gate + 1]):
            simplified[at] = become[literals[k] >> 1] ^ (literals[k] & 1)
            if simplified[at] != literals[k]:
                changed = True
            at += 1
        if changed:
            at = _tidied(simplified, start, at)
            if at == start:
                become[base + gate] = TRUE
            elif simplified[start] == FALSE:
                become[base + gate], at = FALSE, start
            elif at == start + 1:
                become[base + gate], at = simplified[start], start
        sizes[gate] = at - start
    return at


@inlined
def _tidied(literals: Literals, start: int, end: int) -> int:
    """Sort the literals of a gate, and drop repeats and true ones; returns their new end.

    If the gate can never be true, its first literal is FALSE (which sorts first), as it is where a
    net and its negation, neighbours in this order, both occur.
    """
    for k in range(start + 1, end):
        # Insertion sort: the literals are nearly sorted already.
        literal, hole = literals[k], k
        while hole > start and literals[hole - 1] > literal:
            literals[hole] = literals[hole - 1]
            hole -= 1
        literals[hole] = literal
    at = start
    for k in range(start, end):
        literal = literals[k]
        if literal == TRUE or (at > start and literal == literals[at - 1]):
            continue
        if at > start and literal == literals[at - 1] ^ 1:
            literals[start] = FALSE
            return start + 1
        literals[at] = literal
        at += 1
    return at
