"""What goal values mean, whichever backend finds them."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

from ggp.errors import GoalError

_log = logging.getLogger(__name__)


def goal_number(text: str) -> float:
    """The number that a goal value (canonical KIF) stands for.

    Raises:
        GoalError: it is not a number.
    """
    value = number_or_nan(text)
    if math.isnan(value):
        raise GoalError(f"the goal value {text} is not a number; goal values go from 0 to 100")
    return value


def number_or_nan(text: str) -> float:
    """The number that a goal value stands for, NaN if it is not a finite number."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


class GoalWarnings:
    """Says once for each role that it has several goal values, or none.

    `random` needs no goal value.
    """

    def __init__(self, roles: Sequence[str], random_role: int | None) -> None:
        self._roles = roles
        self._random_role = random_role
        self._said: set[tuple[int, bool]] = set()

    def several(self, role: int, texts: Sequence[str] = ()) -> None:
        """The role has these goal values, or several that nobody listed."""
        listed = f" ({', '.join(sorted(texts))})" if texts else ""
        self._say(role, True, f"has several goal values{listed}: the highest counts")

    def none(self, role: int) -> None:
        """The role has no goal value."""
        if role != self._random_role:
            self._say(role, False, "has no goal value: it counts as 0")

    def _say(self, role: int, several: bool, what: str) -> None:
        if (role, several) not in self._said:
            self._said.add((role, several))
            _log.warning("%s %s", self._roles[role], what)
