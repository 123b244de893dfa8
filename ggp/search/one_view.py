"""Boards valued with the eyes of one role: what it wants, all others want to prevent.

An `Evaluation` values a state for a role, and need not be fair: KS of paper 000 takes something off
for giving check, to the role that gives it only. If each role went by its own values, a search were
not minimax of anything. So whoever searches looks through the eyes of the role it decides for, also
where others choose: they get what that role lacks.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.base import FloatArray, IntArray, Machine, States
from ggp.search.anytime import Deadline
from ggp.search.parts import Evaluation


def goals_of_all(machine: Machine, role: int, own: FloatArray) -> FloatArray:
    """`[L, R]` goals where a role gets `own`, `[L]`, and each other one as much as it lacks."""
    lacked = sum(machine.goal_range) - own
    goals = np.repeat(lacked[:, None], len(machine.roles), axis=1)
    goals[:, role] = own
    return goals


class OneView:
    """A `JointEvaluation` by the values of another one for a single role.

    Args:
        evaluation: whose values for `role` count.

    Attributes:
        role: whose they are.
    """

    def __init__(self, machine: Machine, evaluation: Evaluation, role: int) -> None:
        self.role = role
        self.certain = evaluation.certain
        self._machine, self._evaluation = machine, evaluation

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """`[L]` what states that are not over are worth to a role: see `Evaluation`."""
        goals, turns = self.goals(states, rng, deadline)
        return np.ascontiguousarray(goals[:, role]), turns

    def goals(
        self, states: States, rng: np.random.Generator, deadline: Deadline | None = None
    ) -> tuple[FloatArray, IntArray]:
        """The same for all roles at once: `[L, R]` values, and `[L]` turns."""
        own, turns = self._evaluation.values(states, self.role, rng, deadline)
        return goals_of_all(self._machine, self.role, own), turns
