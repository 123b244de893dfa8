"""Bags of earlier turns of one path, which later ones can be drawn from again.

In a long game the last set that was enumerated is far back, and what is drawn from there on hardly
ever agrees with so many turns. So a player remembers bags on its way, the more sparsely the longer
ago:

    turn     0 ... 32 .. 48 .. 56 .. 64 . 68 . 72 . 76 78 80 82 84 85 86 87 | 88

What is drawn from one of them restarts with its weights. It is as good as the bag was: what had
been left out of that does not come back.
"""

from __future__ import annotations

import numpy as np

from ggp.belief.paths import PathTree
from ggp.belief.segments import Segments
from ggp.machine.base import IntArray

NEAR = 4
"""Of so many turns in a row each is remembered; of twice as many before every second, and so on."""


class Trail:
    """Sampled bags on the way to one path."""

    def __init__(self) -> None:
        self._sets: dict[int, tuple[int, Segments]] = {}

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
        self._sets = {
            int(numbers[path]): (depth, bag.renumbered(numbers))
            for path, (depth, bag) in self._sets.items()
            if numbers[path] >= 0
        }

    def keep(self, path: int, depth: int, bag: Segments) -> None:
        """Remember the bag of a path of so many turns, and forget what is no longer needed."""
        self._sets[path] = depth, bag
        self._sets = {
            path: (then, bag)
            for path, (then, bag) in self._sets.items()
            if depth - then < NEAR * (then & -then if then else depth + 1)
        }

    def starts(self, tree: PathTree, path: int) -> list[tuple[int, Segments]]:
        """The turns before the end of a path of which there is a bag, and these, the last first."""
        nodes = [int(node) for (node,) in tree.beginnings(np.array([path]))][-2::-1]
        return [
            (back, self._sets[node][1])
            for back, node in enumerate(nodes, start=1)
            if node in self._sets
        ]
