"""Redraws a bag that is followed from bags of earlier turns: further and further back, with ever
more entries, until it is half full.

In a long game the last set that was enumerated is far back, and samples drawn from there on hardly
ever agree with so many turns. So bags on the way are remembered (`BagHistory`), the more sparsely
the longer ago:

    turn     0 ... 32 .. 48 .. 56 .. 64 . 68 . 72 . 76 78 80 82 84 85 86 87 | 88

Samples drawn from one of them restart with its weights. They are as good as that bag was: what it
had lost does not come back.
"""

from __future__ import annotations

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.finder import Finder, Setting
from ggp.belief.finding.exact import ExactSets
from ggp.belief.finding.forward import REFILL_FACTOR, Forward
from ggp.belief.paths import PathTree
from ggp.belief.segments import Segments
from ggp.machine.base import BoolArray, IntArray

NEAR = 4
"""Of this many recent turns each is remembered; of twice as many before, every second; and so
on."""


LONG_AGO = 6
"""From this many turns after the last exact set on, a bag is drawn from earlier bags instead."""

OWN_SHARE = 0.5
"""Share of the available time after which it leaves an empty bag to other finders."""

RETRACED = 100
"""Lanes stepped for each free place in a bag that is not yet empty, to draw it again: enough for a
few turns."""


class BagHistory:
    """Sampled bags on the way to one path."""

    def __init__(self) -> None:
        self._sets: dict[int, tuple[int, Segments]] = {}
        self._starts: tuple[int, list[tuple[int, Segments]]] | None = None  # of the last path

    def __len__(self) -> int:
        """Number of bags."""
        return len(self._sets)

    @property
    def views(self) -> IntArray:
        """Nodes that these bags refer to, and their paths."""
        views = [s.views.ravel() for _, s in self._sets.values() if s.views is not None]
        return np.concatenate([np.array(list(self._sets), dtype=np.int64), *views])

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        self._starts = None
        self._sets = {
            int(numbers[path]): (depth, bag.renumbered(numbers))
            for path, (depth, bag) in self._sets.items()
            if numbers[path] >= 0
        }

    def keep(self, path: int, depth: int, bag: Segments) -> None:
        """Remember the bag of a path of `depth` turns, and forget bags that are not needed any
        more."""
        self._starts = None
        self._sets[path] = depth, bag
        self._sets = {
            path: (then, bag)
            for path, (then, bag) in self._sets.items()
            if depth - then < NEAR * (then & -then if then else depth + 1)
        }

    def starts(self, tree: PathTree, path: int) -> list[tuple[int, Segments]]:
        """The remembered bags of a path, each with its number of turns before the end, last
        first."""
        if self._starts is None or self._starts[0] != path:
            nodes = [int(node) for (node,) in tree.beginnings(np.array([path]))][-2::-1]
            found = [
                (back, self._sets[node][1])
                for back, node in enumerate(nodes, start=1)
                if node in self._sets
            ]
            self._starts = path, found  # asked for again with every sample
        return self._starts[1]


class Earlier(Finder):
    """A `Finder` that draws from bags of earlier turns; see the module.

    Args:
        trail: where the bags of earlier turns are.
        leaves_time: whether another finder comes after it, and needs some of the time.
    """

    def __init__(
        self,
        setting: Setting,
        exact: ExactSets,
        forward: Forward,
        trail: BagHistory,
        *,
        leaves_time: bool = False,
    ) -> None:
        self._setting, self._exact, self._forward = setting, exact, forward
        self._trail, self._share = trail, OWN_SHARE if leaves_time else 1.0

    def helps(self, bags: Bags) -> BoolArray:
        wanted = self._setting.wanting(bags.sets)
        return wanted if wanted.any() and self.adds(bags.paths) else np.zeros_like(wanted)

    def adds(self, paths: IntArray) -> bool:
        """Whether the last exact set is long ago, and there are bags since then."""
        if len(paths) != 1 or not self._trail:
            return False
        tree, node = self._setting.tree, paths
        for _ in range(LONG_AGO):
            if not tree.depth(int(node[0])) or self._exact.holds(node)[0]:
                return False
            node = tree.parents(node)
        return bool(self._starts(paths))

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        room, stop, sets = self._setting.most_entries, self._setting.stop, bags.sets
        if not len(sets.states):
            stop = self._is_late
        limit = RETRACED * room if len(sets.states) else self._setting.most_attempts
        # Ever more, but not so many that a turn takes longer than there may be time for.
        capacity, spent = room, 0
        most = max(room, REFILL_FACTOR * self._setting.capacity)
        for back, start in self._starts(bags.paths):
            half_full = 2 * len(sets.states) >= self._setting.capacity
            if spent >= limit or half_full or stop():
                break
            capacity = min(2 * capacity, most)
            drawn, stepped = self._forward.onward(
                bags.role, bags.paths, start, back, capacity, rng, stop
            )
            spent += int(stepped[0])
            if len(drawn.states) > len(sets.states):
                sets = drawn.thinned(room, rng)
        return sets

    def _is_late(self) -> bool:
        return self._setting.stop() or self._setting.is_past(self._share)

    def more(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        starts = self._starts(bags.paths)
        back, start = starts[int(rng.integers(len(starts)))]
        drawn = self._forward.onward(bags.role, bags.paths, start, back, size, rng).sets
        return self._forward.pooled(bags.sets, drawn, rng)

    def _starts(self, paths: IntArray) -> list[tuple[int, Segments]]:
        return self._trail.starts(self._setting.tree, int(paths[0]))

    def learn(self, path: int, sets: Segments) -> None:
        self._trail.keep(path, self._setting.tree.depth(path), sets)

    @property
    def views(self) -> IntArray:
        return self._trail.views

    def renumber(self, numbers: IntArray) -> None:
        self._trail.renumber(numbers)
