"""Depth-first search for one complete path that agrees with an incomplete one.

Possible moves of the others in a turn are tried in random order. Where nothing goes on, the search
backtracks to the last turn in which something is left to try. (This is how timed AOSP finds boards,
paper 002.)
"""

from __future__ import annotations

import numpy as np

from ggp.belief.finder import Setting
from ggp.belief.segments import Segments

CHILDREN = 1024
"""Of more ways to go on in a turn, this many are drawn."""

MOST_STEPS = 2_000
"""Turns visited before the search is given up."""


def depth_first(setting: Setting, role: int, path: int, rng: np.random.Generator) -> Segments:
    """One set of one entry, or of none if nothing was found."""
    steps = setting.tree.beginnings(np.array([path]))
    current = setting.beginning(1)
    waiting: list[tuple[Segments, list[int]]] = []
    for _ in range(MOST_STEPS):
        if len(waiting) == len(steps) - 1:
            return current
        if setting.stop():
            break
        node = steps[len(waiting) + 1]
        after = setting.one_turn_on(role, current, node, CHILDREN, rng).sets
        waiting.append((after, rng.permutation(len(after.states)).tolist()))
        while waiting and not waiting[-1][1]:
            waiting.pop()
        if not waiting:
            break
        boards, order = waiting[-1]
        current = boards.entry(order.pop())
    return setting.nothing(1)
