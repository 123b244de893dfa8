"""How far layers of states grow: by count, or by what time and states there are.

A layer is begun where it surely fits in, as far as the one before tells. Whether its states can
also be valued is only known when they are found, for most joint moves of a large layer lead to the
same states. Where there are too many, the last layer is taken back: of many values of few playouts
each the best is far too high.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

PLAYOUTS = 16
"""Random playouts of each state that is not gone through further, where nothing says how many."""

PLAYOUTS_A_STEP = 4
"""Playouts of all these states together, for each joint move that may be tried."""

LEAST_PLAYOUTS = 8
"""Of each of these states, where time or states are limited: there must be room for them."""

GROW_SHARE = 0.6
"""Share of what there is that may be spent on finding states; the rest is for playouts."""

VALUE_SHARE = 0.8
"""Share of what is left then in which the playouts must fit."""

CAUTION = 1.25
"""The joint moves of a layer may be so much dearer than those of the one before."""

MOST_JOINT = 1 << 23
"""Joint moves of all layers: bounds memory."""


class Limit(Protocol):
    """Says how far layers may grow."""

    def allows(self, num_joint: float) -> bool:
        """Whether so many joint moves may be tried, besides those before."""
        ...

    def tried(self, num_joint: int) -> None:
        """So many were tried."""
        ...

    def can_value(self, num_states: int) -> bool:
        """Whether there is room for playouts of so many states."""
        ...


class CountLimit:
    """A number of joint moves, of all layers together."""

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
    """So many turns, within another limit.

    Args:
        limit: the other one.
        depth: turns to go through at most.
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
    """An amount of seconds, or of states visited.

    Args:
        spent: tells what is spent so far, e.g. a clock.
        budget: what may be spent from now on.
        joint_cost: of a joint move, as far as it is known.
        playout_cost: of a playout.
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
