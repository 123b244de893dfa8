"""Measures whether the order of moves matters: how far the states of two turns merge.

    turn 1    a       b        in one order or the other
    turn 2    b       a        the same two lines are drawn: two joint moves, one state

Where both roles have the same moves, as in Nim or in dots and boxes, most pairs of moves can be
swapped. A search in layers of merged states then looks many more turns ahead than a tree, which has
a branch for each order. Where each role has pieces or marks of its own, no two can be swapped.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.base import Machine
from ggp.search.worlds.layers import Layers
from ggp.study.turns import Turn

TURNS = (0, 4, 8)
"""Turns of a random match after which it is measured: the board at the start may be symmetric."""

MOST_JOINT = 10_000
"""Joint moves of a turn that are tried; states with more are passed over."""


def measure_merging(machine: Machine, seed: int, enough: float = 1.0) -> float | None:
    """The least number, over a few states, of joint moves of two turns for each state they lead to.

    Args:
        enough: if a state has less, no more are looked at.

    Returns:
        1 where all are different, 2 where any two moves can be swapped, and more if moves often
        come to the same; None where no state could be measured: where several roles choose at
        once, or there are too many moves.

    Raises:
        GGPError: a role has no legal move, or a goal value is not a number.
    """
    rng = np.random.default_rng(seed)
    states = machine.initial()
    least: float | None = None
    for turn in range(max(TURNS) + 1):
        if machine.terminal(states)[0]:
            break
        if turn in TURNS:
            found = _after_two(Layers(machine, states, 0))
            if found is not None:
                least = found if least is None else min(least, found)
                if least < enough:
                    break
        states = machine.step(states, Turn(machine, states).random(rng)).states
    return least


def _after_two(layers: Layers) -> float | None:
    """Joint moves of the second turn for each state after it; None if that cannot be said."""
    for _ in range(2):
        moves = layers.moves()
        if not 0 < moves.number <= MOST_JOINT or (moves.counts > 1).sum(axis=1).max() > 1:
            return None
        layers.grow()
    after = layers.layers[-1].after
    return len(after) / len(np.unique(after))
