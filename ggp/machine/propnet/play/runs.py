"""Playing a whole queue: runs of similar size, each with a stream of random bits of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ggp.machine.propnet.play.block_playouts import play
from ggp.machine.propnet.play.blocks import (
    END,
    NEXT,
    PLACED,
    STEP,
    VISITED,
    Block,
    PlayoutPlan,
    Queue,
    begin,
    new_block,
)
from ggp.machine.propnet.play.vectors import WIDTH

LANES_A_RUN = 1 << 14
"""Playouts that share one block, one after the other, and one stream of random bits; more if they
are of one entry of the queue."""

LOOK_AT_CLOCK_S = 0.02
"""How long a kernel plays between two looks at the clock."""

Map = Callable[[Callable[[Any], None], Sequence[Any]], object]
"""Calls a function for each item, side by side or not."""


class _Run(NamedTuple):
    """Entries `first .. end` of a queue, and the key their random bits come from."""

    first: int
    end: int
    key: int


class QueuePlayer:
    """Plays queues out.

    Attributes:
        visited: states stepped so far.
    """

    def __init__(self, plan: PlayoutPlan) -> None:
        self._plan = plan
        self._blocks: list[Block] = []
        # How many steps of a block take about as long as there is between two looks at the clock.
        self._budget = 1
        # Seconds of a step, by the last call.
        self._step_s = 0.0
        self.visited = 0

    def play(
        self,
        queue: Queue,
        rng: np.random.Generator,
        max_steps: int,
        max_seconds: float | None,
        each: Map,
    ) -> None:
        """Play every entry to its end; what `rng` gives does not depend on how runs are spread.

        Args:
            each: may call side by side only where each entry has a sum of its own.
        """
        until_s = np.inf if max_seconds is None else time.monotonic() + max_seconds
        bounds = _bounds(queue)
        # A key for each run, whichever thread plays it: the number of threads changes no result.
        keys = rng.integers(0, 1 << 64, size=len(bounds) - 1, dtype=np.uint64).tolist()
        runs = [_Run(*run) for run in zip(bounds, bounds[1:], keys, strict=False)]
        each(lambda run: self._play(queue, run, max_steps, until_s), runs)

    def _play(self, queue: Queue, run: _Run, max_steps: int, until_s: float) -> None:
        # Threads may take and give back blocks at the same time: both are one operation.
        block = self._blocks.pop() if self._blocks else new_block(self._plan, WIDTH)
        begin(block, *run)
        self._play_block(queue, block, max_steps, until_s)
        self.visited += int(block.at[VISITED])
        self._blocks.append(block)

    def _play_block(self, queue: Queue, block: Block, max_steps: int, until_s: float) -> None:
        started_s = time.monotonic()
        while started_s < until_s:
            # Kernels look neither at the clock nor whether they are interrupted. They are called
            # with about as many steps as fit.
            budget, left_s = self._budget, until_s - started_s
            if budget * self._step_s > left_s:
                budget = max(1, int(left_s / self._step_s))
            if play(self._plan, queue, block, max_steps, budget, WIDTH):
                return
            now_s = time.monotonic()
            took_s = now_s - started_s
            self._step_s = took_s / budget
            if took_s < min(LOOK_AT_CLOCK_S / 2, 0.25 * left_s):
                self._budget = max(self._budget, 2 * budget)
            elif took_s > LOOK_AT_CLOCK_S:
                self._budget = max(budget // 2, 1)
            started_s = now_s
        _give_up(self._plan, queue, block)


def _bounds(queue: Queue) -> list[int]:
    """Where each run begins, and the end."""
    num = len(queue.counts)
    if queue.role < 0:
        return [*range(0, num, LANES_A_RUN), num]
    ends = np.cumsum(queue.counts)
    marks = np.arange(LANES_A_RUN, int(ends[-1]) if num else 0, LANES_A_RUN)
    bounds = [0, *dict.fromkeys((np.searchsorted(ends, marks) + 1).tolist())]
    return bounds if bounds[-1] == num else [*bounds, num]


def _give_up(plan: PlayoutPlan, queue: Queue, block: Block) -> None:
    """Judge what has ended, and note what is not finished: lanes, and entries not begun."""
    at = block.at
    waiting = slice(at[NEXT], at[END])
    left, into = queue.counts[waiting].copy(), queue.into[waiting]
    left[:1] -= at[PLACED]
    np.add.at(queue.unfinished, into, left)
    lost = queue.weights[waiting] * left * queue.cut_value
    np.add.at(queue.goals, into, lost[:, None])
    if queue.spread.shape[1] > 1:
        np.add.at(queue.spread[:, 1], into, lost * queue.cut_value)
    if at[STEP]:
        at[END] = at[NEXT]
        play(plan, queue, block, 0, 1, WIDTH)
