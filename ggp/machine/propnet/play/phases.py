"""Circuits for one phase of a game: what holds whenever it is this role's turn.

Where roles take turns, all lanes of a block usually agree whose turn it is. Half of what is legal,
and half of what moves may change, cannot matter then. So large circuits are evaluated by a smaller
one for each turn, where the fluents that say so are constants:

    legal white (move 1 2)  =  control white and pawn 1 and free 2
    while it is black's turn:   never; and no effect of this move is possible

A *clock* is a set of fluents whose next values depend on nothing but themselves: it goes through
the same values in every match. Clocks that repeat themselves after a few steps say the phase.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.circuit import FALSE, TRUE, Circuit, Literals

MIN_LITERALS = 4000
"""Smaller circuits are not worth it: what they cost is mostly something else."""

MAX_PERIOD = 4


class Phases(NamedTuple):
    """P phases.

    Attributes:
        fluents: `[S]` the clock.
        values: `[P, S]` what it says in each phase.
        circuits: of each phase; the same inputs and outputs as the whole circuit.
    """

    fluents: NDArray[np.int64]
    values: NDArray[np.bool_]
    circuits: tuple[Circuit, ...]


def phases_of(circuit: Circuit) -> Phases:
    """The phases of a game that starts in its initial state; none if it has no such clock."""
    fluents, values = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.bool_)
    if circuit.num_literals >= MIN_LITERALS and not circuit.loops:
        fluents, values = _clock(circuit)
    return Phases(fluents, values, tuple(_within(circuit, fluents, held) for held in values))


def _clock(circuit: Circuit) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Fluents that repeat themselves after a few steps, and what they are then."""
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
    offsets, nets = circuit.offsets.tolist(), (circuit.literals >> 1).tolist()
    following = (circuit.next >> 1).tolist()
    touched = [False] * (base + circuit.num_gates)
    touched[1 + num_fluents : base] = [True] * (base - 1 - num_fluents)
    gates = list(range(circuit.num_gates))
    while True:
        left = []
        for gate in gates:
            if any(map(touched.__getitem__, nets[offsets[gate] : offsets[gate + 1]])):
                touched[base + gate] = True
            else:
                left.append(gate)
        gates = left
        changed = [f for f, net in enumerate(following) if touched[net] and not touched[1 + f]]
        if not changed:
            return np.flatnonzero(~np.array(touched[1 : 1 + num_fluents]))
        for f in changed:
            touched[1 + f] = True


def _history(circuit: Circuit, fluents: NDArray[np.int64]) -> NDArray[np.bool_]:
    """`[T, S]` what fluents that depend on nothing else are, step by step."""
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


def _within(circuit: Circuit, fluents: NDArray[np.int64], held: NDArray[np.bool_]) -> Circuit:
    """A circuit that says the same while some fluents hold and others do not."""
    assumed = _assuming(circuit, dict(zip((1 + fluents).tolist(), held.tolist(), strict=True)))
    # What is never legal then is not done, and what alone is legal is.
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
    """A circuit that says the same where some inputs are constant; its nets have the same numbers.

    Gates that are no longer needed have no literals.
    """
    base = 1 + circuit.num_inputs
    offsets, literals = circuit.offsets.tolist(), circuit.literals.tolist()
    become = list(range(0, 2 * (base + circuit.num_gates), 2))
    for net, value in known.items():
        become[net] = TRUE if value else FALSE
    gates: list[list[int]] = []
    for net, (first, end) in enumerate(pairwise(offsets), base):
        before = literals[first:end]
        after = [become[literal >> 1] ^ (literal & 1) for literal in before]
        if after != before:
            after = sorted({*after} - {TRUE})
            if FALSE in after or any(x ^ 1 == y for x, y in pairwise(after)):
                become[net], after = FALSE, []
            elif len(after) < 2:
                become[net], after = after[0] if after else TRUE, []
        gates.append(after)
    moved = np.array(become, dtype=np.int32)

    def now(some: Literals) -> Literals:
        found: Literals = moved[some >> 1] ^ (some & 1)
        return found

    return replace(
        circuit,
        offsets=np.cumsum([0, *map(len, gates)], dtype=np.int64),
        literals=np.array([x for gate in gates for x in gate], dtype=np.int32),
        next=now(circuit.next),
        legal=tuple(replace(each, literals=now(each.literals)) for each in circuit.legal),
        terminal=int(now(np.array([circuit.terminal], dtype=np.int32))[0]),
    )
