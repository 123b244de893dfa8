"""Size of the bag that is followed under a clock, learned turn by turn.

A bag is advanced with twice as many entries as long as that takes little of the available time. It
may be larger, and take more time, if many entries die in a turn: such a bag may die at once later.
"""

from __future__ import annotations

from ggp.belief import Bags
from ggp.belief.finder import LARGER

FIRST_ROOM = 256
ROOM_SHARE, RISKY_SHARE = 0.1, 0.5
"""A grown bag is advanced with twice as many entries as long as that takes less than half of this
share of the available time, and with half as many if it takes more than all of it. The second share
is at least allowed in games in which whole bags die at once."""

RISKY = 20
"""Factor for the entries of a bag if many of them die."""

MANY_DIED = 0.5
"""Share of a bag that counts as many; with more dead, a search for others may have taken place."""

RISK_KEPT = 0.9
"""Share of the risk that a bag dies that remains a turn later."""

SURVIVORS, SCARCE_TURNS = 4, 2
"""A bag is likely to die if fewer entries than this would survive a turn as bad as the worst recent
one, for this many turns in a row."""


class BagGrowth:
    """Learns the size of the bag of one match.

    Attributes:
        room: entries that the bag may be grown to, and advanced with.

    Args:
        most: largest `room` for a bag that is not at risk.
        share: what advancing such a bag may take of the available time.
    """

    def __init__(self, most: int, share: float = ROOM_SHARE) -> None:
        self._usual_most, self._usual_share = most, share
        self.room = min(FIRST_ROOM, most)
        self._risk = 0.0
        self._scarce = 0  # turns in a row after which the bag was likely to die

    @property
    def is_scarce(self) -> bool:
        """Whether one more turn as bad as the worst recent one would leave next to nothing."""
        return self._scarce > 0

    @property
    def is_at_risk(self) -> bool:
        """Whether the bag is likely to die."""
        return self._scarce >= SCARCE_TURNS

    def learn(
        self, before: Bags, after: Bags, took_s: float, there_was_s: float, capacity: int
    ) -> None:
        """Record that a bag was advanced by one turn.

        Args:
            took_s, there_was_s: time that this took, and time that was available.
            capacity: least entries of a bag.
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
        usual = self._usual_share
        share = usual + self._risk * max(RISKY_SHARE - usual, 0.0)
        if took_s > share * there_was_s and died < MANY_DIED:  # else it includes finding others
            self.room = max(self.room // 2, min(capacity, most))
        elif took_s < share / 2 * there_was_s and 2 * len(before.sets.states) >= self.room:
            self.room = min(2 * self.room, most)
