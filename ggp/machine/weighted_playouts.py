"""The ability of some machines to draw the moves of playouts by weight, see `abilities`."""

from __future__ import annotations

import time
from typing import Protocol, runtime_checkable

import numpy as np

from ggp.machine.base import DEFAULT_MAX_STEPS, FloatArray, IntArray, Playouts, States
from ggp.run.clocks import TellsTime

MOST_SUM = (1 << 24) - 1
"""Greatest sum of the weights of a role's moves."""


@runtime_checkable
class WeightedPlayer(Protocol):
    """A machine whose playouts draw moves by weight, and tell what moves were worth in them.

    Attributes:
        roles, goal_range: see `Machine`.
        side_by_side: see `TrialPlayer`.
    """

    roles: tuple[str, ...]
    goal_range: tuple[float, float]
    side_by_side: int

    @property
    def num_moves(self) -> int:
        """M: ids of moves of all roles but `random` are below it."""
        ...

    def playout_by_weights(
        self,
        states: States,
        weights: IntArray,
        credits: FloatArray,
        rng: np.random.Generator,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> Playouts:
        """Like `Machine.playout`, but each role draws its legal moves by weight.

        With weights of 1 everywhere the playouts are those of `Machine.playout`.

        Args:
            weights: `[R, M]` by move id, at least 1; those of `random` are not looked at. Those of
                the moves that a role has add up to at most `MOST_SUM`.
            credits: `[R, M, 2]` gets added, for each move, in how many finished playouts its role
                made it, and the sum of the role's goals in them.

        Raises:
            ValueError: a weight is less than 1, or there is too much weight.
        """
        ...
