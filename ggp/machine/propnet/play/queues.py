"""Makes queues of playouts, and warns about unusual goal values that they meet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.abilities import TrialBatch
from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.goal_values import GoalValues, number_or_nan
from ggp.machine.propnet.parts import parts_of
from ggp.machine.propnet.play.kernels.blocks import Queue
from ggp.machine.propnet.play.kernels.packed import Packed
from ggp.machine.propnet.play.kernels.tapes import I32
from ggp.machine.propnet.play.layout.queries import Queries


class _Even(NamedTuple):
    """The arrays of entries that are all played once; they are never written to."""

    place: IntArray
    once: IntArray
    none: I32
    weight: FloatArray

    @classmethod
    def of(cls, size: int) -> _Even:
        return cls(
            np.arange(size),
            np.ones(size, dtype=np.int64),
            np.full(size, -1, dtype=np.int32),
            np.ones(size),
        )


class Queues:
    """Makes queues of playouts of one machine.

    Args:
        goal_values: warns about unusual goal values.
        goal_range: the bounds of usual ones.
    """

    def __init__(
        self, queries: Queries, goal_values: GoalValues, goal_range: tuple[float, float]
    ) -> None:
        self._plan = queries.playout
        self._num_roles = parts_of(queries.circuit).num_roles
        self._goal_values = goal_values
        low, high = goal_range
        values = [
            (role, number_or_nan(name))
            for role, outputs in enumerate(queries.circuit.goals)
            for name in outputs.names
        ]
        # Role, place and number (NaN if it is not a number) of unusual values.
        self._unusual = [(r, k, v) for k, (r, v) in enumerate(values) if not low <= v <= high]
        self._even = _Even.of(0)

    def once(self, packed: Packed) -> Queue:
        """A queue in which every lane is played out once, and the goals of all roles are wanted.

        Sums have arbitrary values before the lanes are played.
        """
        num, even = len(packed), self._even
        if num > len(even.place):
            # Kept, because memory that was never touched before costs more than short playouts.
            self._even = even = _Even.of(2 * num)
        return Queue(
            packed,
            even.place[:num],
            even.once[:num],
            -1,
            even.none[:num],
            even.place[:num],
            even.weight[:num],
            np.array([0, self._num_roles], dtype=np.int32),
            0.0,
            np.empty((num, self._num_roles)),
            np.empty((num, 1)),
            np.empty(num, dtype=np.int64),
            *self._seen(),
        )

    def of_trials(
        self,
        packed: Packed,
        role: int,
        trials: TrialBatch,
        places: I32,
        cut_value: float,
        *,
        spread: bool,
    ) -> Queue:
        """A queue of trials of a role's moves, for the goals of that role.

        Args:
            places: place of each move among those of the role.
            cut_value, spread: see `TrialPlayer.playouts_after`.
        """
        return Queue(
            packed,
            np.ascontiguousarray(trials.lanes),
            np.ascontiguousarray(trials.counts),
            role,
            places,
            np.ascontiguousarray(trials.into),
            trials.weights,
            np.array([role, role + 1], dtype=np.int32),
            cut_value,
            np.zeros((trials.num_sums, 1)),
            np.zeros((trials.num_sums, 3 if spread else 0)),
            np.zeros(trials.num_sums, dtype=np.int64),
            *self._seen(),
        )

    def _seen(self) -> tuple[BoolArray, BoolArray]:
        """Arrays for goal values met, and for faults of goals: none yet."""
        return (
            np.zeros(len(self._plan.goal_values), dtype=np.bool_),
            np.zeros((self._num_roles, 2), dtype=np.bool_),
        )

    def warn_of_goals(self, queue: Queue) -> None:
        """Warn about unusual goal values that were met."""
        warn = self._goal_values
        for role in np.flatnonzero(queue.faults[:, 0]).tolist():
            warn.several(role)
        for role in np.flatnonzero(queue.faults[:, 1]).tolist():
            warn.none(role)
        for role, place, value in self._unusual:
            if queue.met[place]:
                if np.isnan(value):
                    warn.no_number(role)
                else:
                    warn.outside(role, value)
