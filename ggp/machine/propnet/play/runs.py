"""Playing a whole queue: runs of fixed size, each with a stream of random bits of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ggp.machine.propnet.play.block_playouts import play
from ggp.machine.propnet.play.blocks import STEP, USED, Block, PlayoutPlan, Queue, new_block
from ggp.machine.propnet.play.packed import Packed
from ggp.machine.propnet.play.vectors import WIDTH

LANES_A_RUN = 1 << 14
"""Playouts that share one block, one after the other, and one stream of random bits."""

LOOK_AT_CLOCK_S = 0.02
"""How long a kernel plays between two looks at the clock."""

Map = Callable[[Callable[[Any], None], Sequence[Any]], object]
"""Calls a function for each item, side by side or not."""


class _Run(NamedTuple):
    """Lanes `first .. end` of a queue, and the key their random bits come from."""

    first: int
    end: int
    key: int


def play_all(
    plan: PlayoutPlan,
    packed: Packed,
    rng: np.random.Generator,
    max_steps: int,
    max_seconds: float | None,
    each: Map,
) -> Queue:
    """Play every state to its end; what `rng` gives does not depend on how runs are spread."""
    num_lanes, num_roles = len(packed), len(plan.role_goals) - 1
    until_s = np.inf if max_seconds is None else time.monotonic() + max_seconds
    queue = Queue(
        packed,
        np.zeros((num_lanes, num_roles)),
        np.zeros(num_lanes, dtype=np.int64),
        np.zeros(num_lanes, dtype=np.bool_),
        np.zeros((num_roles, 2), dtype=np.bool_),
    )
    starts = range(0, num_lanes, LANES_A_RUN)
    # A key for each run, whichever thread plays it: the number of threads changes no result.
    keys = rng.integers(0, 1 << 64, size=len(starts), dtype=np.uint64)
    runs = [
        _Run(first, min(first + LANES_A_RUN, num_lanes), int(key))
        for first, key in zip(starts, keys, strict=True)
    ]
    each(lambda run: _play(plan, queue, run, max_steps, until_s), runs)
    return queue


def _play(plan: PlayoutPlan, queue: Queue, run: _Run, max_steps: int, until_s: float) -> None:
    block = new_block(plan.num_rows, WIDTH, run.first, run.end, run.key)
    budget = 1
    while True:
        started = time.monotonic()
        if started >= until_s:
            _give_up(queue, block)
            return
        if play(plan, queue, block, max_steps, budget, WIDTH):
            return
        took = time.monotonic() - started
        # Kernels do not look at the clock. They are called with about as many steps as fit.
        if took < min(LOOK_AT_CLOCK_S, 0.25 * (until_s - started)):
            budget *= 2
        elif took > LOOK_AT_CLOCK_S:
            budget = max(budget // 2, 1)


def _give_up(queue: Queue, block: Block) -> None:
    """Note the steps of lanes that are still in the block; none of them is finished."""
    words = len(block.masks) // 3
    for lane in range(int(block.at[USED])):
        place = block.lane_of[lane]
        if int(block.masks[lane >> 6]) >> (lane & 63) & 1:
            queue.steps[place] = block.at[STEP] - block.started[lane]
        elif int(block.masks[words + (lane >> 6)]) >> (lane & 63) & 1:
            queue.finished[place] = False
