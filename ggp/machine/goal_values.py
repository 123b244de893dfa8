"""Turns the goal values that rules give into numbers, in the same way for all backends.

A goal value is a number from 0 to 100 (Love et al. 2006). A rulesheet may give other values:

| | `goals` | at the end of a playout |
|---|---|---|
| a number below 0 or above 100 | kept | kept |
| something that is not a number | `GoalError` | 0 |
| several values | the first rule's in the rulesheet; of one rule, the highest | the same |
| none | 0 | 0 |

Dresden's game servers take the first rule that holds, too. The score of a match must not be a
guess, but a player has to move whatever the rules say. Each case except the error is warned of
once for each role.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence

import numpy as np

from ggp.errors import GoalError
from ggp.gdl.program import MAX_GOAL, MIN_GOAL, number_of
from ggp.machine.base import FloatArray

_log = logging.getLogger(__name__)

NO_NUMBER = 0.0
"""The number that playouts use for a goal value that is not a number."""


def number_or_nan(text: str) -> float:
    """The number that a goal value (canonical KIF) spells; NaN if it is not a number."""
    number = number_of(text)
    return math.nan if number is None else number


class GoalValues:
    """Gives a number for any goal values of a role, and warns once for each role.

    `random` needs no goal value.
    """

    def __init__(self, roles: Sequence[str], random_role: int | None) -> None:
        self._roles = roles
        self._random_role = random_role
        self._warned: dict[tuple[int, str], object] = {}

    def settle(self, role: int, texts: Sequence[str]) -> float:
        """The goal value of a role as a number.

        Args:
            texts: all its goal values, in the order in which they count.

        Raises:
            GoalError: the first goal value is not a number.
        """
        if texts and math.isnan(number_or_nan(texts[0])):
            raise GoalError(
                f"{self._roles[role]}: the goal value {texts[0]} is not a number; "
                f"goal values go from {MIN_GOAL:g} to {MAX_GOAL:g}"
            )
        return self.settle_playout(role, texts)

    def settle_playout(self, role: int, texts: Sequence[str]) -> float:
        """Like `settle`, for the end of a playout, where nothing is an error."""
        if not texts:
            self.none(role)
            return 0.0
        value, *rest = map(number_or_nan, texts)
        if any(number != value for number in rest):
            self.several(role, texts)
        if math.isnan(value):
            self.no_number(role)
            return NO_NUMBER
        if not MIN_GOAL <= value <= MAX_GOAL:
            self.outside(role, value)
        return value

    def settled(
        self, texts: Sequence[Sequence[Sequence[str]]], *, in_playout: bool = False
    ) -> FloatArray:
        """`[L, R]` goals of lanes, from all values of each lane and role."""
        settle = self.settle_playout if in_playout else self.settle
        goals = [[settle(role, values) for role, values in enumerate(lane)] for lane in texts]
        return np.array(goals, dtype=np.float64).reshape(len(texts), len(self._roles))

    def several(self, role: int, texts: Iterable[str] = ()) -> None:
        """Warn that the role has several goal values; `texts` may list them."""
        names = ", ".join(sorted(set(texts)))
        end = f" ({names})" if names else ""
        self._warn(role, "several", f"has several goal values{end}: the first rule's counts")

    def none(self, role: int) -> None:
        """Warn that the role has no goal value."""
        if role != self._random_role:
            self._warn(role, "none", "has no goal value: it counts as 0")

    def outside(self, role: int, value: float) -> None:
        """Warn that the goal value of a role is outside the bounds."""
        bounds = f"{MIN_GOAL:g}..{MAX_GOAL:g}"
        self._warn(role, "outside", f"has the goal value {value:g} outside {bounds}: it is kept")

    def no_number(self, role: int) -> None:
        """Warn that the goal value of a role in a playout is not a number."""
        self._warn(
            role, "no number", "has a goal value that is not a number: playouts count it as 0"
        )

    def _warn(self, role: int, kind: str, text: str) -> None:
        mark = object()
        if self._warned.setdefault((role, kind), mark) is mark:  # only one of several threads warns
            _log.warning("%s %s", self._roles[role], text)
