"""The amount of work between two looks at the clock, learned during the work.

A bag grows while nobody waits for anything, and must be left within milliseconds when somebody
does. The time of a thousand lanes differs a thousandfold between machines, so the code that looks
at the clock reports its looks here: if they come more often than every `SLICE_S`, more is done
until the next look, and less if they come later.

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
"""The time between looks should be at most this: a share of the available time, within bounds. A
call of a large circuit takes some milliseconds for a few lanes as well as for many."""

FIRST_LANES, LEAST_LANES = 128, 32
"""First and least number of lanes between two looks."""

FIRST_LANES_PER_S, NEWS = 250_000.0, 0.5
"""The assumed speed at first, and the share of the last measurement in its update."""

FIRST_SIZE, LEAST_SIZE, MOST_SIZE = 32, 4, 1024
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
        """Number of lanes to step until the next look."""
        return self._lanes

    def begin(self, now_s: float, until_s: float) -> None:
        """Begin work that is to end at a given time."""
        self._began_s = self._looked_s = now_s
        self._num_looks = 0
        self._slice_s = min(max(SLICE_SHARE * (until_s - now_s), SLICE_S), LONGEST_SLICE_S)

    def look(self, now_s: float, done: int) -> None:
        """Record a look at the clock, after `done` lanes."""
        took_s = now_s - self._looked_s
        self._looked_s = now_s
        self._num_looks += 1
        if took_s > self._slice_s / 4 and 2 * done >= self._lanes:
            self.lanes_per_s += NEWS * (done / took_s - self.lanes_per_s)
        if took_s > self._slice_s:
            self._lanes = max(self._lanes // 2, LEAST_LANES)
        elif took_s < self._slice_s / 4 and 2 * done >= self._lanes:
            self._lanes = min(2 * self._lanes, LANES_AT_ONCE)

    def end(self) -> None:
        """Record that a sample was drawn since `begin`, and adapt the size of the next one.

        The mean time between looks counts: a busy machine makes single looks late.
        """
        mean_s = (self._looked_s - self._began_s) / max(self._num_looks, 1)
        if mean_s > self._slice_s:
            self.size = max(self.size // 2, LEAST_SIZE)
        elif mean_s < self._slice_s / 2:
            self.size = min(2 * self.size, MOST_SIZE)


class BeliefWatch:
    """Tells the beliefs of one machine when to stop, and how often to ask.

    Args:
        machine: counts the lanes that are stepped.

    Attributes:
        slices: learned from all the work that is watched.
        began_s: when the present work began, if it has a deadline.
    """

    def __init__(self, machine: Machine) -> None:
        self.slices = Slices()
        self.began_s = 0.0
        self._machine = machine
        self._deadline: Deadline | None = None
        self._looked_at = 0

    def begin(self, deadline: Deadline | None) -> None:
        """Begin work that is to end at a deadline, if there is one."""
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
# Size of the bag that is followed under a clock, learned turn by turn.
#
# A bag is advanced with twice as many entries as long as that takes little of the available time.
# It may be larger, and take more time, if many entries die in a turn: such a bag may die at once
# later.

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
