"""Lines of moves, and what searches for them have in common."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ggp.machine.abilities import OnCircuit
from ggp.machine.base import UNKNOWN, IntArray, Machine, States
from ggp.machine.goal_values import number_or_nan
from ggp.search.anytime import Deadline

ROLE = 0
"""The one role of a puzzle."""


class Line(NamedTuple):
    """Moves from a state to the end of the game.

    Attributes:
        moves: ids, one a turn.
        goal: what the role gets for them.
    """

    moves: tuple[int, ...]
    goal: float


class LineSearch(Protocol):
    """A search for lines from one state.

    Attributes:
        line: the best found so far; None before there is one.
        is_done: whether it has nothing left to do.
        is_proved: whether no line is better than `line`.
    """

    line: Line | None
    is_done: bool
    is_proved: bool

    def advance(self, deadline: Deadline | None) -> None:
        """Do a piece of work, the same whatever the clock says.

        Raises:
            OutOfTime: the deadline passed within.
        """
        ...


def is_puzzle(machine: Machine) -> bool:
    """Whether a game has one role and no chance: whoever knows its moves knows everything."""
    return len(machine.roles) == 1 and machine.random_role is None


def best_possible(machine: Machine) -> float:
    """A bound of the role's goal: the highest value that the rules have."""
    if isinstance(machine, OnCircuit):
        values = [number_or_nan(name) for name in machine.circuit.goals[ROLE].names]
        if not np.isnan(values).all():
            return float(np.nanmax(values))
    return machine.goal_range[1]


def better(line: Line | None, other: Line | None) -> Line | None:
    """The line with the higher goal; of equal ones the first."""
    if line is None or (other is not None and other.goal > line.goal):
        return other
    return line


def stepped(machine: Machine, states: States, moves: IntArray) -> States:
    """The states after a move in each lane."""
    return machine.step(states, moves[:, None]).states


def replayed(machine: Machine, state: States, moves: IntArray) -> Line | None:
    """What becomes of moves by the rules; None if they are not legal, or do not lead to the end.

    Args:
        state: one.
        moves: `UNKNOWN` for any that is legal. Those after the end are left out.
    """
    made: list[int] = []
    for move in moves.tolist():
        if machine.terminal(state)[0]:
            break
        legal = machine.legal(state, ROLE, allow_stuck=True).values
        if move == UNKNOWN and len(legal):
            move = int(legal[0])
        if move not in legal:
            return None
        made.append(move)
        state = stepped(machine, state, np.array([move]))
    if not machine.terminal(state)[0]:
        return None
    return Line(tuple(made), float(machine.goals(state)[0, ROLE]))
