"""Makes circuits for the phases of a game, such as those in which it is one role's turn.

Where roles take turns, all lanes of a block usually agree whose turn it is. Half of what is legal,
and half of what moves may change, cannot matter then. So large circuits are replaced by a smaller
one for each turn, in which the fluents that identify the turn are constants:

    legal white (move 1 2)  =  control white and pawn 1 and free 2
    while it is black's turn:   never; and no effect of this move is possible

Fluents that cannot hold in any step of a game are constants, too (see `reach`), and so are those of
an opening that is over (see `openings`).

A *clock* is a set of fluents whose next values depend on nothing but themselves: it goes through
the same values in every match. Clocks that repeat themselves after a few steps identify the phase.
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
# circuits are evaluated once, step by step, with three values: a fluent holds, or does not, or may
# hold. Fluents that never may hold are left out of circuits for playouts:
#
# step                        1       2       3
#     (setup 1), (setup 2), ...   1 0 0   0 1 0   0 0 1     a clock is known exactly
#     (hand 1), (hand 2), ...     0 0 0   ? 0 0   ? ? 0     a card may have been dealt
#
# The step that a state belongs to is not needed: a state that is within what may hold in one of the
# steps leads to one that is within the next. Others may be played, too, by the whole circuit.

Bools = NDArray[np.bool_]

MIN_REACH_LITERALS = 10_000
"""Smaller circuits play fast enough, and would be evaluated without a kernel."""

MAX_STEPS = 100

MAX_LITERALS = 15_000_000
"""Number of literals that may be evaluated: a tenth of a second."""


def reachable(circuit: Circuit) -> Bools:
    """`[T, 2, F]` whether each fluent may be false, and may hold, in T steps; T may be 0.

    A state that is within one of them in all fluents leads to states within them, whatever legal
    moves are made, until the game is over. T is 0 if they would say little.
    """
    held = np.stack([~circuit.initial, circuit.initial]).astype(np.bool_)
    steps, ever = [], np.zeros_like(held[1])
    if circuit.num_literals < MIN_REACH_LITERALS or circuit.loops:
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


MIN_LITERALS = 4000
"""Smaller circuits are not worth it: most of their cost is something else."""

MAX_PERIOD = 4

WORTH = 0.8
"""Literals after an opening, as a share of all, below which it has a circuit of its own."""


class Phases(NamedTuple):
    """P phases: those of a clock, or the part after an opening, or all states within reach.

    Attributes:
        within: `[T, 2, F]` whether each fluent may be false, and whether it may hold, in states
            that are played in phases, see `reachable`; T is 0 if any state is.
        fluents: `[S]` the clock, or the opening.
        values: `[P, S]` their values in each phase.
        asked: `[P]` whether these are tested.
        clock: whether the phases follow each other again and again.
        circuits: one for each phase, with the same inputs and outputs as the whole circuit.
    """

    within: NDArray[np.bool_]
    fluents: NDArray[np.int64]
    values: NDArray[np.bool_]
    asked: NDArray[np.bool_]
    clock: bool
    circuits: tuple[Circuit, ...]


def phases_of(circuit: Circuit) -> Phases:
    """The phases of a game that starts in its initial state; none if nothing can be left out."""
    fluents, values = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.bool_)
    within = np.zeros((0, 2, len(circuit.fluents)), dtype=np.bool_)
    if circuit.num_literals < MIN_LITERALS or circuit.loops:
        return Phases(within, fluents, values, np.zeros(0, dtype=np.bool_), False, ())
    fluents, values = _clock(circuit)
    within = reachable(circuit)
    bounded = _bounded(circuit, within) if len(within) else circuit
    circuits = [within_phase(bounded, fluents, held) for held in values]
    clock = len(circuits) > 0
    if not clock:
        fluents, circuits = _after_opening(bounded)
        values = np.zeros((len(circuits), len(fluents)), dtype=np.bool_)
    asked = np.ones(len(circuits), dtype=np.bool_)
    if len(within) and not clock:
        circuits.append(within_phase(bounded, fluents[:0], np.zeros(0, dtype=np.bool_)))
        values = np.zeros((len(circuits), len(fluents)), dtype=np.bool_)
        asked = np.append(asked, False)
    return Phases(within, fluents, values, asked, clock, tuple(circuits))


def _after_opening(circuit: Circuit) -> tuple[NDArray[np.int64], list[Circuit]]:
    """An opening, and the circuit for after it, if that is much smaller."""
    least, best, found = WORTH * circuit.num_literals, np.zeros(0, dtype=np.int64), []
    for fluents in openings(circuit):
        after = within_phase(circuit, fluents, np.zeros(len(fluents), dtype=np.bool_))
        if after.num_literals < least:
            least, best, found = after.num_literals, fluents, [after]
    return best, found


def _bounded(circuit: Circuit, within: NDArray[np.bool_]) -> Circuit:
    """A circuit that is equivalent in all states within what may hold in some step."""
    false, holds = np.logical_or.reduce(within, axis=0)
    constant = np.flatnonzero(false != holds)
    values = holds[constant].tolist()
    assumed = _assuming(circuit, dict(zip((1 + constant).tolist(), values, strict=True)))
    following = assumed.next.copy()
    following[constant] = 2 * (1 + constant)
    return replace(assumed, next=following)


def _clock(circuit: Circuit) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Fluents that repeat themselves after a few steps, and their values by step."""
    own = _untouched(circuit)
    history = _history(circuit, own)
    for period in range(2, MAX_PERIOD + 1):
        again = (history[period:] == history[:-period]).all(axis=0)
        for shorter in range(1, period):
            again &= (history[shorter:] != history[:-shorter]).any(axis=0)
        if again.any():
            return own[again], history[:period, again]
    return own[:0], history[:0, :0]


def _untouched(circuit: Circuit) -> NDArray[np.int64]:
    """Fluents that depend on no move, now or in earlier steps."""
    base, num_fluents = 1 + circuit.num_inputs, len(circuit.fluents)
    touched = np.zeros(base + circuit.num_gates, dtype=np.bool_)
    touched[1 + num_fluents : base] = True
    fluents, known = touched[1 : 1 + num_fluents], -1
    while known != np.count_nonzero(fluents):
        known = int(np.count_nonzero(fluents))
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
    held = dict(zip((1 + fluents).tolist(), circuit.initial[fluents].tolist(), strict=True))

    def gate(net: int) -> list[int]:
        return literals[offsets[net - base] : offsets[net - base + 1]]

    steps = []
    for _ in range(3 * MAX_PERIOD):
        steps.append([held[1 + f] for f in fluents.tolist()])
        known = {0: False} | held

        def value(literal: int, known: dict[int, bool] = known) -> bool:
            pending = [literal >> 1]
            while pending:
                net = pending[-1]
                inputs = [] if net in known else gate(net)
                missing = [each >> 1 for each in inputs if each >> 1 not in known]
                pending += missing
                if not missing:
                    known.setdefault(net, all(known[x >> 1] != bool(x & 1) for x in inputs))
                    pending.pop()
            return known[literal >> 1] != bool(literal & 1)

        held = {1 + f: value(following[f]) for f in fluents.tolist()}
    return np.array(steps, dtype=np.bool_).reshape(len(steps), len(fluents))


def within_phase(circuit: Circuit, fluents: NDArray[np.int64], held: NDArray[np.bool_]) -> Circuit:
    """A circuit that is equivalent while some fluents hold and others do not, and legal moves are
    made."""
    assumed = _assuming(circuit, dict(zip((1 + fluents).tolist(), held.tolist(), strict=True)))
    # Moves that are never legal then are not made, and one that alone is legal is.
    known = {}
    first = 1 + len(circuit.fluents)
    for outputs in assumed.legal:
        possible = np.count_nonzero(outputs.literals != FALSE)
        for k, literal in enumerate(outputs.literals.tolist(), first):
            if literal == FALSE or (literal == TRUE and possible == 1):
                known[k] = literal == TRUE
        first += len(outputs.names)
    return _assuming(assumed, known)


def _assuming(circuit: Circuit, known: Mapping[int, bool]) -> Circuit:
    """A circuit that is equivalent while some inputs are constant, with the same numbers of nets.

    Gates that are no longer needed have no literals.
    """
    base, num_gates = 1 + circuit.num_inputs, circuit.num_gates
    become = np.arange(0, 2 * (base + num_gates), 2, dtype=np.int32)
    become[list(known)] = [TRUE if value else FALSE for value in known.values()]
    sizes = np.zeros(num_gates, dtype=np.int64)
    literals = np.empty_like(circuit.literals)
    num_literals = suited(_assume, circuit)(
        circuit.offsets, circuit.literals, base, become, sizes, literals
    )

    def now(some: Literals) -> Literals:
        found: Literals = become[some >> 1] ^ (some & 1)
        return found

    return replace(
        circuit,
        offsets=offsets_of(sizes),
        literals=literals[:num_literals],
        next=now(circuit.next),
        legal=tuple(replace(each, literals=now(each.literals)) for each in circuit.legal),
        sees=tuple(replace(each, literals=now(each.literals)) for each in circuit.sees),
        terminal=int(now(np.array([circuit.terminal], dtype=np.int32))[0]),
    )


@kernel
def _assume(
    offsets: I64, literals: Literals, base: int, become: Literals, sizes: I64, left: Literals
) -> int:
    """Simplify gates where some nets are constant.

    Args:
        base: net of the first gate.
        become: `[nets]` the literal that each net has become; changed for gates.
        sizes: `[G]` number of literals left of each gate, filled in.
        left: these literals, gate by gate, filled in.

    Returns:
        the number of literals left.
    """
    at = 0
    for gate in range(len(sizes)):
        start, changed = at, False
        for k in range(offsets[gate], offsets[gate + 1]):
            left[at] = become[literals[k] >> 1] ^ (literals[k] & 1)
            if left[at] != literals[k]:
                changed = True
            at += 1
        if changed:
            at = _tidied(left, start, at)
            if at == start:
                become[base + gate] = TRUE
            elif left[start] == FALSE:
                become[base + gate], at = FALSE, start
            elif at == start + 1:
                become[base + gate], at = left[start], start
        sizes[gate] = at - start
    return at


@inlined
def _tidied(literals: Literals, start: int, end: int) -> int:
    """Sort the literals of a gate, and drop those that it does not need; returns their new end.

    If the gate can never be true, its first literal is false.
    """
    for k in range(start + 1, end):
        # They are nearly sorted already.
        literal, place = literals[k], k
        while place > start and literals[place - 1] > literal:
            literals[place] = literals[place - 1]
            place -= 1
        literals[place] = literal
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


# ------------------------------------------------------------------------
# Finds openings: parts of a game that are over for good, such as dealing or setting up.
#
# An *opening* is a set of fluents such that once none holds, none holds ever again. Where it
# decides what is legal, much of a circuit does nothing else:
#
# legal (write 3) while (line 1) or (line 2)        and one of these follows the other
#     when neither holds:  never; and what was written stays as it is
#
# So there is a circuit for after the opening, in which these fluents are constants.

MOST = 16
"""Number of openings that are looked at; a game has few."""


def openings(circuit: Circuit) -> list[NDArray[np.int64]]:
    """The fluents of each opening that alone decides whether some move is legal."""
    found: list[NDArray[np.int64]] = []
    if circuit.num_literals < MIN_LITERALS:
        return found
    for fluents in _deciding(circuit)[:MOST]:
        may = np.ones((2, len(circuit.fluents)), dtype=np.bool_)
        may[1, fluents] = False
        after = following(circuit, may)
        if after is not None and not after[1, fluents].any():
            found.append(fluents)
    return found


def _deciding(circuit: Circuit) -> list[NDArray[np.int64]]:
    """Sets of fluents such that some move's legality is decided when none of them holds."""
    base, num_fluents = 1 + circuit.num_inputs, len(circuit.fluents)
    nets = np.unique(np.concatenate([each.literals for each in circuit.legal]) >> 1)
    gates = nets[nets >= base] - base
    found = [np.array([net - 1]) for net in nets[(nets > 0) & (nets <= num_fluents)].tolist()]
    for first, end in zip(circuit.offsets[gates], circuit.offsets[gates + 1], strict=True):
        literals = circuit.literals[first:end].astype(np.int64)
        if (literals & 1).all() and (literals <= 2 * num_fluents + 1).all():
            found.append((literals >> 1) - 1)
    return sorted(found, key=len, reverse=True)
