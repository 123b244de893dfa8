"""Sizes that adapt to the clock: the work between two looks (`Slices`), and the bag (`BagGrowth`).

A bag grows while nobody waits for a move, and this work must stop within milliseconds when somebody
does. The time of a thousand lanes differs a thousandfold between machines, so samplers report their
looks at the clock here (`BeliefWatch`) and get the number of lanes until the next look. It doubles
if looks come much more often than every `SLICE_S`, and halves if they come later:

    look   0.0 ms   0.3 ms   0.9 ms   3.0 ms   9.2 ms
    lanes  128      256      512      512      256
"""

from __future__ import annotations

from ggp.belief import Bags
from ggp.belief.sampler import LARGER
from ggp.belief.turns.completions import LANES_AT_ONCE
from ggp.machine.base import Machine
from ggp.search.anytime import Deadline

SLICE_S = 0.004
SLICE_SHARE, LONGEST_SLICE_S = 0.01, 0.02
"""Most time between two looks: a share of the available time, between the first and the last of
these. One call of a large circuit takes some milliseconds, for few lanes as for many."""

FIRST_LANES, MIN_LANES = 128, 32
"""First and least number of lanes between two looks."""

FIRST_LANES_PER_S, NEWS = 250_000.0, 0.5
"""The assumed speed at first, and the weight of each new measurement."""

FIRST_SIZE, MIN_SIZE, MAX_SIZE = 32, 4, 1024
"""First, least and largest number of particles of a new sample."""


class Slices:
    """Sizes of the next pieces of work.

    Attributes:
        size: particles to draw at once.
        lanes_per_s: lanes that can be stepped in a second, in batches that fill a slice.
    """

    def __init__(self) -> None:
        self.size = FIRST_SIZE
        self.lanes_per_s = FIRST_LANES_PER_S
        self._lanes = FIRST_LANES
        self._began_s = self._looked_s = 0.0
        self._num_looks = 0
        self._slice_s = SLICE_S

    def lanes(self) -> int:
        """Number of lanes to step until the next look at the clock."""
        return self._lanes

    def begin(self, now_s: float, until_s: float) -> None:
        """Begin work that must end at a given time."""
        self._began_s = self._looked_s = now_s
        self._num_looks = 0
        self._slice_s = min(max(SLICE_SHARE * (until_s - now_s), SLICE_S), LONGEST_SLICE_S)

    def look(self, now_s: float, num_lanes: int) -> None:
        """Record a look at the clock, after `num_lanes` lanes."""
        took_s = now_s - self._looked_s
        self._looked_s = now_s
        self._num_looks += 1
        if took_s > self._slice_s / 4 and 2 * num_lanes >= self._lanes:
            self.lanes_per_s += NEWS * (num_lanes / took_s - self.lanes_per_s)
        if took_s > self._slice_s:
            self._lanes = max(self._lanes // 2, MIN_LANES)
        elif took_s < self._slice_s / 4 and 2 * num_lanes >= self._lanes:
            self._lanes = min(2 * self._lanes, LANES_AT_ONCE)

    def end(self) -> None:
        """Record that a sample was drawn since `begin`, and adapt the size of the next one.

        The mean time between looks counts, because a busy computer delays single looks.
        """
        mean_s = (self._looked_s - self._began_s) / max(self._num_looks, 1)
        if mean_s > self._slice_s:
            self.size = max(self.size // 2, MIN_SIZE)
        elif mean_s < self._slice_s / 2:
            self.size = min(2 * self.size, MAX_SIZE)


class BeliefWatch:
    """The clock of the beliefs of one machine: when to stop, and how often to look.

    Args:
        machine: counts the lanes that are stepped.

    Attributes:
        slices: adapted by all the work that is watched.
        began_s: when the present work began, if it has a deadline.
    """

    def __init__(self, machine: Machine) -> None:
        self.slices = Slices()
        self.began_s = 0.0
        self._machine = machine
        self._deadline: Deadline | None = None
        self._looked_at = 0

    def begin(self, deadline: Deadline | None) -> None:
        """Begin work that must end at a deadline, if there is one."""
        self._deadline = deadline
        if deadline is not None:
            self.began_s = deadline.clock()
            self.slices.begin(self.began_s, deadline.at_s)
            self._looked_at = self._machine.states_visited

    def is_over(self) -> bool:
        """Whether the deadline has passed; for `Sampler.stop`."""
        if self._deadline is None:
            return False
        now_s = self._deadline.clock()
        if now_s >= self._deadline.at_s:
            return True
        visited = self._machine.states_visited
        self.slices.look(now_s, visited - self._looked_at)
        self._looked_at = visited
        return False

    def is_past(self, share: float) -> bool:
        """Whether more than this share of the time from begin to deadline is over."""
        if self._deadline is None:
            return False
        now_s = self._deadline.clock()
        return now_s - self.began_s > share * (self._deadline.at_s - self.began_s)

    def affordable(self, share: float) -> int | None:
        """Lanes that can be stepped in this share of the time; None if there is no deadline."""
        if self._deadline is None:
            return None
        return int(self.slices.lanes_per_s * share * max(self._deadline.at_s - self.began_s, 0.0))

    def lanes(self) -> int:
        """Number of lanes to step until the next call; for `Sampler.lanes_at_once`."""
        return LANES_AT_ONCE if self._deadline is None else self.slices.lanes()


# ------------------------------------------------------------------------
# The size of the bag of a match under a clock, adapted turn by turn.
#
# It doubles as long as advancing the bag takes little of the available time. If many entries die in
# a turn, the bag may be larger and take more time, because a later turn could kill all of it.

FIRST_ROOM = 256
ROOM_SHARE, RISKY_SHARE = 0.1, 0.5
"""The size of a bag doubles if advancing it takes less than half of the first share of the
available time, and halves if it takes more than all of it. The second share is the least for games
in which whole bags die in one turn."""

RISKY, MAX_ROOM = 20, 1 << 15
"""Most factor for the entries of a bag whose entries die; the second number bounds its memory."""

MANY_DIED = 0.5
"""If a greater share of a bag died, the time may include a search for new entries."""

RISK_KEPT = 0.9
"""Share of the risk that remains a turn later."""

SURVIVORS, SCARCE_TURNS = 4, 2
"""A bag is likely to die if, for this many turns in a row, fewer entries than this would survive a
turn as bad as the worst recent one."""


class BagGrowth:
    """Adapts the size of the bag of one match.

    Attributes:
        room: entries that the bag may be grown to, and advanced with.

    Args:
        most: largest `room` for a bag that is not at risk.
        share: share of the available time for advancing such a bag.
    """

    def __init__(self, most: int, share: float = ROOM_SHARE) -> None:
        self._usual_most, self._usual_share = most, share
        self.room = min(FIRST_ROOM, most)
        self._risk = 0.0
        self._scarce = 0  # turns in a row after which the bag was likely to die

    @property
    def is_scarce(self) -> bool:
        """Whether one more turn as bad as the worst recent one would leave almost no entry."""
        return self._scarce > 0

    @property
    def is_at_risk(self) -> bool:
        """Whether the bag is likely to die."""
        return self._scarce >= SCARCE_TURNS

    def learn(
        self, old_bags: Bags, new_bags: Bags, took_s: float, there_was_s: float, capacity: int
    ) -> None:
        """Record that a bag was advanced by one turn.

        Args:
            took_s, there_was_s: time spent, and time available.
            capacity: least entries of a bag.
        """
        size, is_exact = len(new_bags.sets.states), bool(new_bags.exact[0])
        # The risk is the worst recent death rate: it rises immediately and decays slowly.
        death_rate = 1 - size / max(len(old_bags.sets.states), 1)
        self._risk = max(0.0 if is_exact else death_rate, RISK_KEPT * self._risk)
        is_scarce = 0 < size * (1 - self._risk) < SURVIVORS
        lacks = not is_exact and new_bags.sets.sizes[new_bags.segment[0]] > LARGER * size
        self._scarce = self._scarce + 1 if is_scarce and lacks else 0
        if is_exact:
            return
        most = max(min(int(self._usual_most * RISKY**self._risk), MAX_ROOM), self._usual_most)
        usual = self._usual_share
        share = usual + self._risk * max(RISKY_SHARE - usual, 0.0)
        searched = death_rate >= MANY_DIED or 2 * size < capacity  # the time includes a search
        if took_s > share * there_was_s and not searched:
            self.room = max(self.room // 2, min(capacity, most))
        elif took_s < share / 2 * there_was_s and 2 * len(old_bags.sets.states) >= self.room:
            self.room = min(2 * self.room, most)
