"""Particles by solving for complete paths (`ggp.belief.solving`), for a bag that is followed.

Where no particle is left, windows begin in the bags of earlier turns, and at last where the set is
known. A bag that is likely to die gets more particles in the same way, while there is time: unlike
samples, solutions are no harder to find when few particles are left.
"""

from __future__ import annotations

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.finder import Finder, Setting
from ggp.belief.finding.earlier import BagHistory
from ggp.belief.finding.exact import ExactSets
from ggp.belief.segments import Segments, with_more
from ggp.belief.solving.finder import Solved, Start
from ggp.belief.solving.windows import MOST_STARTS
from ggp.machine.base import BoolArray, IntArray

RICHER, MOST_ADDED = 2, 1_000
"""A bag that has some particles gets more from earlier bags with at least this times as many; and
at most this many, since chains of more could not be left at any time."""


class Solving(Finder):
    """A `Finder` that solves for complete paths; see the module.

    Args:
        setting: of a machine that can be unrolled, see `is_solvable`.
        trail: bags of earlier turns.

    Attributes:
        found_for: the path that particles were last found for; -1 for none.
    """

    def __init__(self, setting: Setting, exact: ExactSets, trail: BagHistory) -> None:
        self._setting, self._exact, self._trail = setting, exact, trail
        self._solved = Solved(setting.machine, setting.tree, setting.model)
        self.found_for = -1

    def helps(self, bags: Bags) -> BoolArray:
        return np.asarray((bags.sets.counts == 0) & (len(bags) == 1))

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        room = self._setting.most_entries
        found = self._find(bags, self._starts(int(bags.paths[0])), room, rng)
        return bags.sets if found is None else found

    def adds(self, paths: IntArray) -> bool:
        """Whether to solve: once for a path, if there is a clock and the bag is likely to die."""
        is_one = len(paths) == 1 and self._setting.timed and self._setting.at_risk
        return is_one and self.found_for != int(paths[0])

    def more(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        # What the bag has lost since it was larger cannot be found from what is left of it.
        *earlier, last = self._starts(int(bags.paths[0]))
        rich = [start for start in earlier if start.bag.counts[0] >= RICHER * len(bags.sets.states)]
        most = min(self._setting.most_entries, MOST_ADDED)
        found = self._find(bags, [*rich, last], most, rng)
        if found is None or not len(found.states):
            return None
        both = with_more(self._setting.machine, bags.sets, found)
        return both.thinned(self._setting.most_entries, rng)

    def learn(self, path: int, sets: Segments) -> None:
        self._solved.forget(self._setting.tree.depth(path))

    @property
    def views(self) -> IntArray:
        return self._solved.views

    def renumber(self, numbers: IntArray) -> None:
        self._solved.renumber(numbers)
        self.found_for = int(numbers[self.found_for]) if self.found_for >= 0 else -1

    def _find(
        self, bags: Bags, starts: list[Start], most: int, rng: np.random.Generator
    ) -> Segments | None:
        setting, path = self._setting, int(bags.paths[0])
        found = self._solved.find(
            *(bags.role, path, starts, most, rng, setting.stop), timed=setting.timed
        )
        if found is not None:
            self.found_for = path
        return found

    def _starts(self, path: int) -> list[Start]:
        """Bags of earlier turns; then the last set that is known, or the initial state."""
        nodes = self._setting.tree.beginnings(np.array([path]))[::-1]
        known = next((back for back, node in enumerate(nodes) if self._exact.holds(node)[0]), None)
        starts = [Start(*each) for each in self._trail.starts(self._setting.tree, path)]
        starts = [start for start in starts if known is None or start.back < known]
        if known is not None:
            starts.append(Start(known, self._exact.get(nodes[known])))
        if known is None or starts[-1].bag.counts[0] > MOST_STARTS:
            starts.append(Start(len(nodes) - 1, self._setting.beginning(1)))
        return starts
