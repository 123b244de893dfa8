"""A search for one complete path that agrees with an incomplete one, depth first.

What the others may have done in a turn is tried in random order. Where nothing goes on, the search
goes back to the last turn in which something is left to try. (So timed AOSP finds boards, paper
002.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ggp.belief.move_models import UNIFORM, MoveModel
from ggp.belief.one_turn import advance
from ggp.belief.paths import PathTree
from ggp.belief.segments import Segments, depleted_segments, initial_segments
from ggp.machine.base import IntArray, Machine

CHILDREN = 1024
"""Of a turn: of more ways to go on, so many are drawn."""

MOST_STEPS = 2_000
"""Turns that are gone through before the search is given up."""


def depth_first(
    machine: Machine,
    tree: PathTree,
    role: int,
    path: int,
    rng: np.random.Generator,
    *,
    keep_views: bool,
    model: MoveModel = UNIFORM,
    stop: Callable[[], bool],
) -> Segments:
    """One set of one entry, or of none where nothing was found."""
    steps: list[IntArray] = tree.beginnings(np.array([path]))
    current = initial_segments(machine, 1, keep_views=keep_views)
    waiting: list[tuple[Segments, list[int]]] = []
    for _ in range(MOST_STEPS):
        if len(waiting) == len(steps) - 1:
            return current
        if stop():
            break
        after = advance(
            machine,
            tree,
            role,
            current,
            steps[len(waiting) + 1],
            capacity=CHILDREN,
            rng=rng,
            model=model,
            stop=stop,
        ).sets
        waiting.append((after, rng.permutation(len(after.states)).tolist()))
        while waiting and not waiting[-1][1]:
            waiting.pop()
        if not waiting:
            break
        boards, order = waiting[-1]
        current = boards.entry(order.pop())
    return depleted_segments(machine, 1, keep_views=keep_views)
