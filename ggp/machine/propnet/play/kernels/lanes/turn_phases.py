"""Circuits for the phases of a game in kernels that make turns.

Where it is the same role's turn in all lanes of a block, half of the circuit cannot matter. So what
a few *deciding* fluents say is looked up for each block, and if all lanes agree, a smaller circuit
is evaluated (see `layout.phases`). No clock is needed for that: as in kriegspiel, a role may have
several turns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.base import IntArray
from ggp.machine.compiling.jit import by_reference, inlined
from ggp.machine.propnet.play.kernels.lanes.turn_parts import TurnCircuit
from ggp.machine.propnet.play.kernels.tapes import I32, U64
from ggp.machine.propnet.play.kernels.vectors import out_of_line

_NONE = np.uint64(0)
_ONE = np.uint64(1)

NO_PHASE = -1


@by_reference
class TurnPhases(NamedTuple):
    """Circuits that say the same in some states; D deciding fluents.

    A phase is a number of D bits: which of these fluents hold.

    Attributes:
        whole: in all states; `first`, `second`: in two phases.
        phases: `[2]` these, `NO_PHASE` if there are none yet.
        fluents: `[D]`.
    """

    whole: TurnCircuit
    first: TurnCircuit
    second: TurnCircuit
    phases: IntArray
    fluents: I32


@inlined
def phase_before(circuits: TurnPhases, packed: U64, lanes: IntArray, first: int, count: int) -> int:
    """The phase of the states of lanes `first .. first + count`; `NO_PHASE` if they differ."""
    out_of_line()
    found, last = NO_PHASE, -1
    for k in range(first, first + count):
        state = lanes[k]
        if state == last:
            continue
        last, phase = state, 0
        for d in range(len(circuits.fluents)):
            fluent = circuits.fluents[d]
            held = packed[state, fluent >> 6] >> np.uint64(fluent & 63) & _ONE
            if held:
                phase += 1 << d
        if found not in (NO_PHASE, phase):
            return NO_PHASE
        found = phase
    return found


@inlined
def phase_after(
    circuits: TurnPhases, stepped: TurnCircuit, rows: U64, wanted: U64, words: int
) -> int:
    """The phase of the successors in the wanted lanes of a block where `step` was evaluated;
    `NO_PHASE` if they differ."""
    out_of_line()
    found = 0
    for d in range(len(circuits.fluents)):
        fluent = circuits.fluents[d]
        row = np.int64(stepped.next_.rows[fluent]) * words
        true, false = _NONE, _NONE
        for word in range(words):
            held = rows[row + word] ^ stepped.next_.inverted[fluent]
            true |= held & wanted[word]
            false |= ~held & wanted[word]
        if true and false:
            return NO_PHASE
        if true:
            found |= 1 << d
    return found


@inlined
def circuit_in(circuits: TurnPhases, phase: int) -> TurnCircuit:
    """The smallest circuit that will do in a phase."""
    if phase == NO_PHASE:
        return circuits.whole
    if phase == circuits.phases[0]:
        return circuits.first
    if phase == circuits.phases[1]:
        return circuits.second
    return circuits.whole
