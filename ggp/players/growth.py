"""How many entries the bag that is followed may have where there is a clock: learned turn by turn.

A bag is carried on with twice as many entries as long as that takes little of the time there is. It
may have more, and take more, where many die in a turn: such a bag may die at once later.
"""

from __future__ import annotations

from ggp.belief import Bags
from ggp.belief.finder import LARGER

FIRST_ROOM = 256
ROOM_SHARE, RISKY_SHARE = 0.1, 0.5
"""A bag that is grown is carried on with twice as many entries as long as that takes less than half
of this share of the time there is, with half as many where it takes more than all of it. The second
is where whole bags die at once."""

RISKY = 20
"""Times as many entries as else a bag may have where many of them die."""

MANY_DIED = 0.5
"""Share of a bag; with more, others may have been searched for."""

RISK_KEPT = 0.9
"""Of the risk that a bag dies, what is left of it a turn later."""

SURVIVORS, SCARCE_TURNS = 4, 2
"""A bag is likely to die where fewer entries than this would survive a turn as bad as the worst one
lately, for so many turns in a row."""


class Growth:
    """Follows the bag of one match.

    Attributes:
        room: entries that the bag may be grown to, and carried on with.

    Args:
        most: of these, where the bag is at no risk.
    """

    def __init__(self, most: int) -> None:
        self._usual_most, self.room = most, min(FIRST_ROOM, most)
        self._risk = 0.0
        self._scarce = 0  # turns in a row after which the bag was likely to die

    @property
    def is_scarce(self) -> bool:
        """Whether one more turn as bad as the worst one lately would leave next to nothing."""
        return self._scarce > 0

    @property
    def is_at_risk(self) -> bool:
        """Whether the bag is likely to die."""
        return self._scarce >= SCARCE_TURNS

    def learn(
        self, before: Bags, after: Bags, took_s: float, there_was_s: float, capacity: int
    ) -> None:
        """A bag was carried on by a turn.

        Args:
            took_s, there_was_s: how long that took, and how much time there was for it.
            capacity: entries of a bag at least.
        """
        left, is_exact = len(after.sets.states), bool(after.exact[0])
        died = 1 - left / max(len(before.sets.states), 1)
        self._risk = max(0.0 if is_exact else died, RISK_KEPT * self._risk)
        is_scarce = 0 < left * (1 - self._risk) < SURVIVORS
        lacks = not is_exact and after.sets.sizes[after.segment[0]] > LARGER * left
        self._scarce = self._scarce + 1 if is_scarce and lacks else 0
        if is_exact:
            return
        most = int(self._usual_most * RISKY**self._risk)
        share = ROOM_SHARE + self._risk * (RISKY_SHARE - ROOM_SHARE)
        if took_s > share * there_was_s and died < MANY_DIED:  # else it took time to find others
            self.room = max(self.room // 2, min(capacity, most))
        elif took_s < share / 2 * there_was_s and 2 * len(before.sets.states) >= self.room:
            self.room = min(2 * self.room, most)
