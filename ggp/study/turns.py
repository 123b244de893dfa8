"""Turns of many lanes at once: legal moves of all roles, and turns in which nobody has a choice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.base import BoolArray, IntArray, Machine, States
from ggp.search.moves import MoveLists

MAX_TURNS = 500
"""Number of turns after which a walk or a match is given up."""


class LaneTurn:
    """The moves of all roles in L lanes, none of which is terminal.

    Attributes:
        lists: the moves of each role.
        counts: `[L, R]` number of moves of each role.
        decides: `[L, R]` whether a role other than `random` has a choice.
    """

    def __init__(self, machine: Machine, states: States) -> None:
        num_roles = len(machine.roles)
        self.lists = [MoveLists(machine, states, role) for role in range(num_roles)]
        self.counts = np.stack([moves.counts for moves in self.lists], axis=1)
        self.decides: BoolArray = self.counts > 1
        if machine.random_role is not None:
            self.decides[:, machine.random_role] = False

    def random(self, rng: np.random.Generator) -> IntArray:
        """`[L, R]` random moves, those of `random` by their probabilities.

        Raises:
            NoLegalMoveError: a role has no move.
        """
        lanes = np.arange(len(self.counts))
        columns = [moves.at(lanes, moves.draw(lanes, rng)) for moves in self.lists]
        return np.stack(columns, axis=1)


class Collapsed(NamedTuple):
    """Lanes after all turns in which no role except `random` had a choice.

    Attributes:
        states: L lanes, each terminal or with a choice.
        terminal: `[L]` whether each is terminal.
        by_chance: `[L]` whether `random` had a choice on the way.
    """

    states: States
    terminal: BoolArray
    by_chance: BoolArray


def collapse(machine: Machine, states: States, rng: np.random.Generator) -> Collapsed:
    """Play on while nobody has a choice; chance is drawn.

    Lanes in which nobody ever has a choice stay where they are after `MAX_TURNS` turns.
    """
    terminal = machine.terminal(states)
    by_chance = np.zeros(len(states), dtype=np.bool_)
    pending = np.flatnonzero(~terminal)
    for _ in range(MAX_TURNS):
        turn = LaneTurn(machine, states.take(pending))
        forced = np.flatnonzero(~turn.decides.any(axis=1))
        if not len(forced):
            break
        pending_joint = turn.random(rng)[forced]
        drawn = (turn.counts[forced] > 1).any(axis=1)
        pending = pending[forced]
        by_chance[pending] |= drawn
        after = machine.step(states.take(pending), pending_joint).states
        where = np.arange(len(states))
        where[pending] = len(states) + np.arange(len(pending))
        states = machine.concatenate([states, after]).take(where)
        terminal[pending] = machine.terminal(after)
        pending = pending[~terminal[pending]]
    return Collapsed(states, terminal, by_chance)
