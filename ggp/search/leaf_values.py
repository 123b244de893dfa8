"""Values of the states in which lanes leave a tree: by random playouts, guided by what moves were
worth in earlier ones; or by what was learnt of states, if anything was.

A circuit plays a thousand lanes in hardly more time than one. So a wave fills the lanes that there
are anyway with several playouts of each leaf, whose mean says more than one of them does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from ggp.machine.abilities import MOST_SUM
from ggp.machine.base import FloatArray, IntArray, Machine, Playouts, States
from ggp.machine.on_circuit import on_circuit
from ggp.search.anytime import Deadline, check, time_left

if TYPE_CHECKING:
    from ggp.machine.on_circuit import OnCircuit

PLAYOUTS = 16
"""Most playouts of a leaf where they are guided: as many as the machine plays side by side."""

UNKNOWN_WORTH: FloatArray = np.zeros((0, 0))
"""Averages of moves where there are none."""


class StateValues(Protocol):
    """What states are worth, without a playout."""

    def __call__(self, states: States) -> FloatArray:
        """`[L, R]` goals from 0 to 1 that roles are expected to reach from states."""
        ...


class LeafValues:
    """Values leaves on one machine.

    Attributes:
        values: what states are worth, instead of playouts; None where nothing was learnt.
    """

    def __init__(self, machine: Machine, most_steps: int, *, guided: bool) -> None:
        self._machine, self._most_steps = machine, most_steps
        self.values: StateValues | None = None
        self._player: OnCircuit | None = None
        self._averages: MoveAverages | None = None
        if guided and on_circuit(machine):
            self._player, self._averages = machine, MoveAverages(machine)

    @property
    def is_guided(self) -> bool:
        """Whether playouts draw moves by what they were worth."""
        return self._averages is not None

    def begin(self) -> None:
        """Begin a decision: what was learned in those before counts less."""
        if self._averages is not None:
            self._averages.fade()

    def averages(self) -> FloatArray:
        """`[R, M]` what moves of roles are worth on average, from 0 to 1, or `UNKNOWN_WORTH`."""
        return UNKNOWN_WORTH if self._averages is None else self._averages.values

    def of_leaves(
        self, states: States, rng: np.random.Generator, deadline: Deadline | None
    ) -> tuple[FloatArray, IntArray | FloatArray]:
        """`[L, R]` goals from 0 to 1, and `[L]` turns to the end: means of playouts, or what was
        learnt, of which the turns are not known and count as 0.

        Unfinished playouts count as the middle.

        Raises:
            OutOfTime: the deadline has passed.
        """
        size = len(states)
        if not size:  # all lanes reached known ends, as nearly all do in small games
            return np.zeros((0, len(self._machine.roles))), np.zeros(0, dtype=np.int64)
        if self.values is not None:
            check(deadline)
            return self.values(states), np.zeros(size)
        each = 1
        if self._player is not None:
            each = max(1, min(PLAYOUTS, self._player.side_by_side // size))
        if each > 1:
            states = states.take(np.repeat(np.arange(size), each))
        ended = self._ended(states, rng, deadline)
        if not ended.finished.all():
            check(deadline)
        goals, steps = self._in_range(ended), ended.steps
        if each == 1:
            return goals, steps
        goals, steps = goals.reshape(size, each, -1), steps.reshape(size, each)
        return goals.sum(axis=1) / each, steps.sum(axis=1) / each

    def of_ends(self, states: States) -> FloatArray:
        """`[L, R]` goals from 0 to 1 of states that are over, or stuck: the middle then."""
        # A playout of a state that is over returns its goals, however odd they are; one that is
        # stuck is not finished.
        return self._in_range(self._machine.playout(states, np.random.default_rng(0), 1))

    def _ended(
        self, states: States, rng: np.random.Generator, deadline: Deadline | None
    ) -> Playouts:
        left = time_left(deadline)
        if self._player is None or self._averages is None:
            return self._machine.playout(states, rng, self._most_steps, **left)
        averages = self._averages
        averages.update()
        return self._player.playout_by_weights(
            states, averages.weights, averages.credits, rng, self._most_steps, **left
        )

    def _in_range(self, ended: Playouts) -> FloatArray:
        low, high = self._machine.goal_range
        goals = np.where(ended.finished[:, None], ended.goals, (low + high) / 2)
        return np.clip((goals - low) / (high - low), 0.0, 1.0)


# ------------------------------------------------------------------------
# Average goals of moves, wherever in playouts they were made (MAST).
#
# A move that often led to good goals is drawn more often in later playouts (Finnsson & Bjornsson,
# AAAI 2008), and tried earlier in states in which it was not tried yet.

UNIT, MOST = 8, 63
"""The weight of a move that is worth as much as all of its role on average, and the greatest."""

GREED = 10.0
"""How much more often better moves are drawn: a weight grows with the exponential of this times
what the move was worth on average, from 0 to 1."""

DOUBT = 16.0
"""Playouts, worth the mean of the role, that are added to those of each move."""

KEPT = 0.5
"""Share of what is known that is kept from decision to decision."""

NEWS = 1.2
"""Growth of the number of playouts after which weights are made anew."""


class MoveAverages:
    """Averages of the moves of all roles.

    Attributes:
        credits: `[R, M, 2]` number of playouts in which a role made a move, and the sum of its
            goals.
        weights: `[R, M]` for `playout_by_weights`, as of the last update.
        values: `[R, M]` averages from 0 to 1, as of the last update; goals beyond `goal_range` do
            not take them any further.
    """

    def __init__(self, machine: OnCircuit) -> None:
        shape = len(machine.roles), machine.num_moves
        self.credits: FloatArray = np.zeros((*shape, 2))
        # With hundreds of thousands of moves, weights would add up to too much.
        self._most = max(1, min(MOST, MOST_SUM // max(machine.num_moves, 1)))
        self.weights: IntArray = np.full(shape, min(UNIT, self._most), dtype=np.int64)
        self.values: FloatArray = np.full(shape, 0.5)
        self._low, self._high = machine.goal_range
        self._known = 0.0

    def fade(self) -> None:
        """Let what is known count less than what is to come."""
        self.credits *= KEPT
        self._known *= KEPT

    def update(self) -> None:
        """Make values and weights anew, if there is much news."""
        counts = self.credits[:, :, 0]
        known = float(counts.sum())
        if known <= NEWS * self._known:
            return
        self._known = known
        sums = (self.credits[:, :, 1] - self._low * counts) / (self._high - self._low)
        of_role = counts.sum(axis=1, keepdims=True)
        mean = np.clip(sums.sum(axis=1, keepdims=True) / np.maximum(of_role, 1.0), 0.0, 1.0)
        # Kernels look for the best of all actions from 0 on: less than that would be no action.
        self.values = np.clip((sums + DOUBT * mean) / (counts + DOUBT), 0.0, 1.0)
        weights = np.rint(UNIT * np.exp(GREED * (self.values - mean)))
        self.weights = np.clip(weights, 1, self._most).astype(np.int64)
        self.weights.flags.writeable = False  # so machines need to look at them only once
