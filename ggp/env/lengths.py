"""Bounds on the number of turns of a match, where the rules prove one.

There are three ways, the most precise first: visit all states, if they are few (`survey`); count
turns, if a game does so itself; and show that every turn makes some progress (`progress`). A proof
does not depend on the clock, but there may be no time for one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ggp.belief import never
from ggp.env.progress import most_turns
from ggp.env.survey import survey
from ggp.errors import GGPError
from ggp.machine.abilities import OnCircuit
from ggp.machine.base import DEFAULT_MAX_STEPS, Machine
from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.parts import parts_of
from ggp.machine.propnet.play.layout.reach import following

FEW_STATES = 20_000
"""States that are visited to know exactly: tenths of a second."""


class Longest(NamedTuple):
    """Bounds that no match exceeds.

    Attributes:
        turns: None if nothing was proved.
        percepts: of a player in one turn; None if nothing was proved.
    """

    turns: int | None
    percepts: int | None


def longest(machine: Machine, stop: Callable[[], bool] = never) -> Longest:
    """The bounds of a game; without a circuit nothing is proved, nor when `stop`, which is asked
    every few thousand states, is true before all states are visited."""
    if _circuit_of(machine) is None:
        return Longest(None, None)
    try:
        found = survey(machine, FEW_STATES, stop)
    except GGPError:  # a role without a move, or an invalid goal, in some state
        found = None
    if found is not None:
        return Longest(found.most_turns, found.most_percepts)
    return Longest(None if stop() else proved_turns(machine), None)


def proved_turns(machine: Machine) -> int | None:
    """A bound on the turns of a match without visiting all states; None if none is proved."""
    if (circuit := _circuit_of(machine)) is None:
        return None
    bounds = [_by_counting(circuit), most_turns(circuit)]
    return min((each for each in bounds if each is not None), default=None)


def _circuit_of(machine: Machine) -> Circuit | None:
    """The circuit that proofs are about; None if there is none, or chance is not listed."""
    if not isinstance(machine, OnCircuit) or parts_of(machine.circuit).apart:
        return None
    return machine.circuit


def _by_counting(circuit: Circuit) -> int | None:
    """The bound by three-valued evaluation from the initial state: a fluent holds, does not, or
    may.

    When `terminal` certainly holds, the match is over.
    """
    if circuit.loops:
        return None
    held = np.stack([~circuit.initial, circuit.initial]).astype(np.bool_)
    seen = set()
    for turn in range(DEFAULT_MAX_STEPS):
        key = held.tobytes()
        if key in seen:
            return None
        seen.add(key)
        after = following(circuit, held)
        if after is None:
            return turn
        held = after
    return None
