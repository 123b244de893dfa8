"""Values of the leaves of a tree: by random playouts, which the moves' goals in earlier playouts
guide; or by an evaluation, such as a critic.

`PathsTree` passes the states in which lanes leave the tree, and backs up the goals that it gets. A
circuit plays a thousand lanes in hardly more time than one, so each leaf gets several playouts,
whose mean is less noisy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ggp.machine.abilities import MAX_SUM
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    FloatArray,
    IntArray,
    Machine,
    States,
)
from ggp.machine.on_circuit import on_circuit
from ggp.search.anytime import Deadline, check, time_left
from ggp.search.parts import JointEvaluation
from ggp.search.playouts import RandomPlayouts, goals_or_middle

if TYPE_CHECKING:
    from ggp.machine.on_circuit import OnCircuit

PLAYOUTS = 16
"""Greatest number of guided playouts of a leaf, if the machine plays so many side by side."""

UNKNOWN_WORTH: FloatArray = np.zeros((0, 0))
"""Averages of moves if there are none."""


class LeafValues:
    """Values leaves on one machine.

    Attributes:
        evaluation: what replaces guided playouts; None for playouts.
    """

    def __init__(self, machine: Machine, *, guided: bool) -> None:
        self._machine, self._playouts = machine, RandomPlayouts(machine)
        self.evaluation: JointEvaluation | None = None
        self._player: OnCircuit | None = None
        self._averages: MoveAverages | None = None
        if guided and on_circuit(machine):
            self._player, self._averages = machine, MoveAverages(machine)

    @property
    def is_guided(self) -> bool:
        """Whether playouts draw moves by their average goals."""
        return self._averages is not None

    def begin(self) -> None:
        """Begin a decision: earlier playouts count less from now on."""
        if self._averages is not None:
            self._averages.fade()

    def averages(self) -> FloatArray:
        """`[R, M]` average goals of moves of roles, from 0 to 1, or `UNKNOWN_WORTH`."""
        return UNKNOWN_WORTH if self._averages is None else self._averages.values

    def of_leaves(
        self, states: States, rng: np.random.Generator, deadline: Deadline | None
    ) -> tuple[FloatArray, IntArray | FloatArray]:
        """`[L, R]` goals from 0 to 1, and `[L]` turns to the end, 0 if unknown.

        An unfinished playout counts as the middle, or as in `RandomPlayouts`.

        Raises:
            OutOfTime: the deadline has passed.
        """
        num_leaves = len(states)
        if not num_leaves:  # all lanes reached known ends, as nearly all do in small games
            return np.zeros((0, len(self._machine.roles))), np.zeros(0, dtype=np.int64)
        if self.evaluation is not None or self._player is None or self._averages is None:
            goals, steps = (self.evaluation or self._playouts).goals(states, rng, deadline)
            return self._in_range(goals), steps
        playouts = max(1, min(PLAYOUTS, self._player.side_by_side // num_leaves))
        if playouts > 1:
            states = states.take(np.repeat(np.arange(num_leaves), playouts))
        self._averages.update()
        ends = self._player.playout_by_weights(
            states,
            self._averages.weights,
            self._averages.credits,
            rng,
            DEFAULT_MAX_STEPS,
            **time_left(deadline),
        )
        if not ends.finished.all():
            check(deadline)
        goals, steps = self._in_range(goals_or_middle(self._machine, ends)), ends.steps
        if playouts == 1:
            return goals, steps
        goals, steps = goals.reshape(num_leaves, playouts, -1), steps.reshape(num_leaves, playouts)
        return goals.sum(axis=1) / playouts, steps.sum(axis=1) / playouts

    def of_ends(self, states: States) -> FloatArray:
        """`[L, R]` goals from 0 to 1 of terminal states; the middle for states without moves."""
        # A playout of a terminal state returns its goals, however odd; one that is stuck is not
        # finished.
        ended = self._machine.playout(states, np.random.default_rng(0), 1)
        return self._in_range(goals_or_middle(self._machine, ended))

    def _in_range(self, goals: FloatArray) -> FloatArray:
        low, high = self._machine.goal_range
        return np.minimum(np.maximum((goals - low) / (high - low), 0.0), 1.0)


# ------------------------------------------------------------------------
# Average goals of moves over all playouts (move-average sampling, MAST).
#
# A move with high goals is drawn more often in later playouts (Finnsson & Bjornsson, AAAI 2008),
# and tried earlier in states in which it is untried:
#
#     value(a) = (sum of goals + 16 mean) / (playouts + 16)
#     weight(a) = 8 exp(10 (value(a) - mean)), rounded, from 1 to 63

UNIT, MOST = 8, 63
"""Weight of a move with its role's mean goal, and the greatest weight."""

GREED = 10.0
"""Factor of a move's average goal, from 0 to 1, in the exponent of its weight."""

DOUBT = 16.0
"""Playouts with the role's mean goal that are added to those of each move."""

KEPT = 0.5
"""Share of the playouts' weight that remains from decision to decision."""

NEWS = 1.2
"""Growth of the number of playouts after which weights are updated."""


class MoveAverages:
    """Average goals of the moves of all roles.

    Attributes:
        credits: `[R, M, 2]` number of playouts in which a role made a move, and the sum of its
            goals.
        weights: `[R, M]` for `playout_by_weights`, since the last update.
        values: `[R, M]` averages since the last update, clipped to 0 to 1.
    """

    def __init__(self, machine: OnCircuit) -> None:
        shape = len(machine.roles), machine.num_moves
        self.credits: FloatArray = np.zeros((*shape, 2))
        # The weights of hundreds of thousands of moves must not overflow their sum.
        self._most = max(1, min(MOST, MAX_SUM // max(machine.num_moves, 1)))
        self.weights: IntArray = np.full(shape, min(UNIT, self._most), dtype=np.int64)
        self.values: FloatArray = np.full(shape, 0.5)
        self._low, self._high = machine.goal_range
        self._num_playouts = 0.0

    def fade(self) -> None:
        """Reduce the weight of all playouts so far."""
        self.credits *= KEPT
        self._num_playouts *= KEPT

    def update(self) -> None:
        """Update values and weights if there are enough new playouts."""
        counts = self.credits[:, :, 0]
        num_playouts = float(counts.sum())
        if num_playouts <= NEWS * self._num_playouts:
            return
        self._num_playouts = num_playouts
        sums = (self.credits[:, :, 1] - self._low * counts) / (self._high - self._low)
        of_role = counts.sum(axis=1, keepdims=True)
        mean = np.clip(sums.sum(axis=1, keepdims=True) / np.maximum(of_role, 1.0), 0.0, 1.0)
        # Kernels look for the best action from a value of 0 on: none may be below.
        self.values = np.clip((sums + DOUBT * mean) / (counts + DOUBT), 0.0, 1.0)
        weights = np.rint(UNIT * np.exp(GREED * (self.values - mean)))
        self.weights = np.clip(weights, 1, self._most).astype(np.int64)
        self.weights.flags.writeable = False  # so machines need to look at them only once
