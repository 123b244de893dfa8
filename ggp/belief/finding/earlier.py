"""A bag that is followed, drawn again from those of earlier turns: further and further back, with
ever more entries, until it is half full.

In a long game the last set that was enumerated is far back, and what is drawn from there on hardly
ever agrees with so many turns. So the bags on the way are remembered (`trail`).
"""

from __future__ import annotations

import numpy as np

from ggp.belief.finder import Finder, GivenUp, Setting
from ggp.belief.finding.exact import ExactSets
from ggp.belief.finding.forward import REFILL_FACTOR, Forward
from ggp.belief.finding.trail import Trail
from ggp.belief.segments import Segments
from ggp.machine.base import BoolArray, IntArray

LONG_AGO = 6
"""Turns since the last exact set from which on a bag is rather drawn from earlier bags."""

RETRACED = 100
"""Lanes stepped for each entry that there is room for, to draw a bag again that is not yet empty:
those of a few turns."""


class Earlier(Finder):
    """See above.

    Args:
        trail: where the bags of earlier turns are.
    """

    def __init__(self, setting: Setting, exact: ExactSets, forward: Forward, trail: Trail) -> None:
        self._setting, self._exact, self._forward = setting, exact, forward
        self._trail = trail

    def helps(self, paths: IntArray, sets: Segments) -> BoolArray:
        wanted = self._setting.few(sets) | (sets.counts == 0)
        return wanted if wanted.any() and self.adds(paths) else np.zeros_like(wanted)

    def adds(self, paths: IntArray) -> bool:
        """Whether it is long since there was an exact set, and there are bags since then."""
        if len(paths) != 1 or not self._trail:
            return False
        tree, node = self._setting.tree, paths
        for _ in range(LONG_AGO):
            if not tree.depth(int(node[0])) or self._exact.holds(node)[0]:
                return False
            node = tree.parents(node)
        return bool(self._trail.starts(tree, int(paths[0])))

    def fill(
        self, role: int, paths: IntArray, sets: Segments, rng: np.random.Generator
    ) -> Segments:
        room, stop = self._setting.most_entries, self._setting.stop
        limit = RETRACED * room if len(sets.states) else self._setting.most_attempts
        # Ever more, but not so many that a turn takes longer than there may be time for.
        capacity, spent = room, 0
        most = max(room, REFILL_FACTOR * self._setting.capacity)
        for back, start in self._trail.starts(self._setting.tree, int(paths[0])):
            half_full = 2 * len(sets.states) >= self._setting.capacity
            if spent >= limit or half_full or stop():
                break
            capacity = min(2 * capacity, most)
            try:
                drawn, stepped = self._forward.onward(role, paths, start, back, capacity, rng)
            except GivenUp:
                break
            spent += int(stepped[0])
            if len(drawn.states) > len(sets.states):
                sets = drawn.thinned(room, rng)
        return sets

    def more(
        self, role: int, paths: IntArray, sets: Segments, size: int, rng: np.random.Generator
    ) -> Segments | None:
        starts = self._trail.starts(self._setting.tree, int(paths[0]))
        back, start = starts[int(rng.integers(len(starts)))]
        try:
            drawn = self._forward.onward(role, paths, start, back, size, rng).sets
        except GivenUp:
            return None
        return self._forward.pooled(sets, drawn, rng)

    def learn(self, path: int, sets: Segments) -> None:
        self._trail.keep(path, self._setting.tree.depth(path), sets)

    @property
    def views(self) -> IntArray:
        return self._trail.views

    def renumber(self, numbers: IntArray) -> None:
        self._trail.renumber(numbers)
