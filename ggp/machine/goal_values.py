"""What goal values mean, whichever backend finds them.

A goal value is a number from 0 to 100 (Love et al. 2006). What else a rulesheet may give:

| | `goals` | at the end of a playout |
|---|---|---|
| a number below 0 or above 100 | kept | kept |
| something that is not a number | `GoalError` | 0 |
| several values | the highest, if all are numbers | the same |
| none | 0 | 0 |

A match must not be scored by guessing, but a player has to move, whatever else the rules say.
Each is warned of once for each role, except for the error.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

from ggp.errors import GoalError
from ggp.gdl.program import LEAST_GOAL, MOST_GOAL, number_of

_log = logging.getLogger(__name__)

NO_NUMBER = 0.0
"""What a goal value that is not a number counts as in playouts."""


def number_or_nan(text: str) -> float:
    """The number that a goal value (canonical KIF) stands for, NaN if it is not a number."""
    number = number_of(text)
    return math.nan if number is None else number


class GoalValues:
    """Settles what unusual goal values count as, and says so once for each role.

    `random` needs no goal value.
    """

    def __init__(self, roles: Sequence[str], random_role: int | None) -> None:
        self._roles = roles
        self._random_role = random_role
        self._said: set[tuple[int, str]] = set()

    def settle(self, role: int, texts: Sequence[str]) -> float:
        """The goal value of a role that has these.

        Raises:
            GoalError: one is not a number.
        """
        for text in texts:
            if math.isnan(number_or_nan(text)):
                raise GoalError(
                    f"{self._roles[role]}: the goal value {text} is not a number; "
                    f"goal values go from {LEAST_GOAL:g} to {MOST_GOAL:g}"
                )
        return self.settle_playout(role, texts)

    def settle_playout(self, role: int, texts: Sequence[str]) -> float:
        """The same at the end of a playout, where nothing is an error."""
        numbers = list(map(number_or_nan, texts))
        if any(map(math.isnan, numbers)):
            self.no_number(role)
            return NO_NUMBER
        if not numbers:
            self.none(role)
        elif len(numbers) > 1:
            self.several(role, texts)
        value = max(numbers, default=0.0)
        if not LEAST_GOAL <= value <= MOST_GOAL:
            self.outside(role, value)
        return value

    def several(self, role: int, texts: Sequence[str] = ()) -> None:
        """The role has these goal values, or several that nobody listed."""
        listed = f" ({', '.join(sorted(texts))})" if texts else ""
        self._say(role, "several", f"has several goal values{listed}: the highest counts")

    def none(self, role: int) -> None:
        """The role has no goal value."""
        if role != self._random_role:
            self._say(role, "none", "has no goal value: it counts as 0")

    def outside(self, role: int, value: float) -> None:
        """The role has a goal value that no game may have."""
        bounds = f"{LEAST_GOAL:g}..{MOST_GOAL:g}"
        self._say(role, "outside", f"has the goal value {value:g} outside {bounds}: it is kept")

    def no_number(self, role: int) -> None:
        """The role has a goal value in a playout that is not a number."""
        self._say(
            role, "no number", "has a goal value that is not a number: playouts count it as 0"
        )

    def _say(self, role: int, kind: str, what: str) -> None:
        if (role, kind) not in self._said:
            self._said.add((role, kind))
            _log.warning("%s %s", self._roles[role], what)
