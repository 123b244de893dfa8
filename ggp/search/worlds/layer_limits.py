"""Limits of the growth of layers: by count, or by the available time and states.

A layer is begun if it surely fits, judging by the one before. Whether its states can also be valued
is only known when they are found, since most joint moves of a large layer lead to the same states.
If there are too many, the last layer is taken back: of many values from few playouts each, the best
is far too high.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

PLAYOUTS = 16
"""Random playouts of each state that is not searched further, by default."""

PLAYOUTS_A_STEP = 4
"""Total playouts of these states, for each joint move that may be tried."""

LEAST_PLAYOUTS = 8
"""Least playouts of each of these states, if time or states are limited: there must be room."""

GROW_SHARE = 0.6
"""Share of the budget that may be spent on finding states; the rest is for playouts."""

VALUE_SHARE = 0.8
"""Share of the rest into which the playouts must fit."""

CAUTION = 1.25
"""The joint moves of a layer may cost this many times as much as those of the one before."""

MOST_JOINT = 1 << 23
"""Joint moves of all layers: bounds memory."""


class Limit(Protocol):
    """A limit of the growth of layers."""

    def allows(self, num_joint: float) -> bool:
        """Whether this many joint moves may be tried in addition to earlier ones."""
        ...

    def tried(self, num_joint: int) -> None:
        """Record that this many were tried."""
        ...

    def can_value(self, num_states: int) -> bool:
        """Whether there is room for playouts of this many states."""
        ...


class CountLimit:
    """Limits the number of joint moves of all layers together."""

    def __init__(self, most_joint: int) -> None:
        self._most = most_joint
        self._left = most_joint

    def allows(self, num_joint: float) -> bool:
        return num_joint <= self._left

    def tried(self, num_joint: int) -> None:
        self._left -= num_joint

    def can_value(self, num_states: int) -> bool:
        return num_states * PLAYOUTS <= PLAYOUTS_A_STEP * self._most


class DepthLimit:
    """Limits the number of turns, within another limit.

    Args:
        limit: the other one.
        depth: most turns to search.
    """

    def __init__(self, limit: Limit, depth: int) -> None:
        self._limit, self._left = limit, depth

    def allows(self, num_joint: float) -> bool:
        return self._left > 0 and self._limit.allows(num_joint)

    def tried(self, num_joint: int) -> None:
        self._left -= 1
        self._limit.tried(num_joint)

    def can_value(self, num_states: int) -> bool:
        return self._limit.can_value(num_states)


class CostLimit:
    """Limits seconds, or states visited.

    Args:
        spent: returns what is spent so far, e.g. a clock.
        budget: what may be spent from now on.
        joint_cost: cost of a joint move, as far as known.
        playout_cost: cost of a playout.
    """

    def __init__(
        self, spent: Callable[[], float], budget: float, joint_cost: float, playout_cost: float
    ) -> None:
        self._spent, self._budget = spent, budget
        self._joint_cost, self._playout_cost = joint_cost, playout_cost
        self._began = self._looked = spent()
        self._left = MOST_JOINT

    def allows(self, num_joint: float) -> bool:
        left = GROW_SHARE * self._budget - (self._spent() - self._began)
        return num_joint <= self._left and CAUTION * num_joint * self._joint_cost <= left

    def tried(self, num_joint: int) -> None:
        now = self._spent()
        self._joint_cost = (now - self._looked) / max(num_joint, 1)
        self._looked = now
        self._left -= num_joint

    def can_value(self, num_states: int) -> bool:
        left = self._budget - (self._spent() - self._began)
        return LEAST_PLAYOUTS * num_states * self._playout_cost <= VALUE_SHARE * left
