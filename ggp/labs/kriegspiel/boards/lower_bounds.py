"""Lower bounds that leave out open states that cannot matter: alpha-beta cut-offs, in batches.

If captures are played out (`quiescence`), a state is costly to value, but a lower bound for the
role to move is known at once: it may stand pat. The other role, which chooses the state to go to,
takes the one of least value. So states are valued a few at a time, for each state before them the
least promising first, until none is left that could be worth less than the least so far:

    bound       44   50   51   51   52
    value       49   50+  51+  51+  52+      one of five was valued
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from ggp.labs.kriegspiel.boards.board_kernels import order_runs
from ggp.machine.base import BoolArray, FloatArray, IntArray, States
from ggp.search.anytime import Deadline
from ggp.search.worlds.clairvoyant import SharedWorlds

WAVE_GROWTH = 4
"""A wave values this many times as many states as the one before."""


@runtime_checkable
class FloorEvaluation(Protocol):
    """An `Evaluation` that knows lower bounds of some states at once.

    Attributes:
        role: the role whose values are bounded.
    """

    role: int

    def floors(
        self, states: States, choices: IntArray | None = None
    ) -> tuple[FloatArray, BoolArray]:
        """`[L]` values of states for the role at first sight, and `[L]` whether these are lower
        bounds.

        Args:
            choices: `[L, R]` number of moves of each role, if it is known.
        """
        ...


def value_open(
    worlds: SharedWorlds,
    evaluation: FloorEvaluation,
    rng: np.random.Generator,
    deadline: Deadline | None = None,
) -> None:
    """Value the open states of worlds, except those that cannot matter for our moves.

    Those left out get their lower bounds.

    Args:
        evaluation: that of the worlds, for the role that they belong to.

    Raises:
        OutOfTime: not all could be valued.
    """
    if len(worlds.layers.layers) == 1:
        # Each of our first moves has a value of its own, so everything it leads to matters.
        worlds.play_out(1, rng, deadline)
        return
    floors, is_floor = evaluation.floors(worlds.layers.open, worlds.layers.choices)
    before, chooser, place = worlds.layers.leading()
    can_wait = is_floor[place] & (chooser != evaluation.role)
    at_once = np.zeros(len(floors), dtype=np.bool_)
    at_once[place[~can_wait]] = True
    worlds.play_out(1, rng, deadline, at_once)
    valued = at_once
    least = np.full(int(before.max(initial=-1)) + 1, np.inf)
    known = np.flatnonzero(valued[place])
    np.minimum.at(least, before[known], worlds.worth(evaluation.role, place[known]))
    order = ordered(before, floors[place])
    order = order[(can_wait & ~valued[place])[order]]
    before, place = before[order], place[order]
    size = 1
    while True:
        open_ = np.flatnonzero(floors[place] < least[before])
        before, place = before[open_], place[open_]
        if not len(place):
            break
        chosen = np.zeros(len(floors), dtype=np.bool_)
        chosen[place[first_open(before, size)]] = True
        worlds.play_out(1, rng, deadline, chosen)
        valued = valued | chosen
        known = np.flatnonzero(chosen[place])
        np.minimum.at(least, before[known], worlds.worth(evaluation.role, place[known]))
        rest = np.flatnonzero(~chosen[place])
        before, place = before[rest], place[rest]
        size *= WAVE_GROWTH
    worlds.note(np.flatnonzero(~valued), floors[~valued])


def ordered(owner: IntArray, key: FloatArray) -> IntArray:
    """`[N]` the order by key within each owner; those of an owner are neighbours."""
    order = np.empty(len(owner), dtype=np.int64)
    order_runs.for_steps(len(owner))(owner, key, order)
    return order


def first_open(owner: IntArray, size: int) -> IntArray:
    """Places of the first `size` open states of each owner; those of an owner are neighbours."""
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    rank = np.arange(len(owner)) - np.repeat(begins, np.diff(begins, append=len(owner)))
    return np.flatnonzero(rank < size)
