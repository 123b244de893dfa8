"""Plays a whole queue in runs of similar size, each with a random stream of its own.

Threads share the runs, and it does not matter which thread plays which: bits come from a run's key,
and runs that count in the same sum are played by one thread, in order.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ggp.clocks import TellsTime
from ggp.machine.base import IntArray
from ggp.machine.propnet.play.kernels.block_playouts import play
from ggp.machine.propnet.play.kernels.blocks import (
    END,
    LAST,
    MOST_RUNS,
    NEXT,
    PLACED,
    RUN,
    STEP,
    VISITED,
    Block,
    PlayoutPlan,
    Queue,
    begin,
    new_block,
)
from ggp.machine.propnet.play.kernels.vectors import WIDTH, aligned_words, words_of

LANES_A_RUN = 1 << 14
"""Number of playouts that share one block, one after the other, and one random stream; more if they
are of one entry of the queue."""

PARTS_A_THREAD = 16
"""Number of parts for each thread that a queue is divided into, if it has so many runs."""

LOOK_AT_CLOCK_S = 0.02
"""Seconds that a kernel plays between two looks at the clock."""


Done = Callable[[int, int], None]
"""Called with the first and the end of entries that have been played."""


class _Run(NamedTuple):
    """Entries `first .. end` of a queue, and the key of their random bits."""

    first: int
    end: int
    key: int


class QueuePlayer:
    """Plays queues out.

    Several threads may call it at once.

    Args:
        threads: number of threads that play side by side.
    """

    def __init__(self, plan: PlayoutPlan, threads: int = 1) -> None:
        self._plan = plan
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self._blocks: list[Block] = []
        # Number of steps of a block that fit between two looks at the clock.
        self._budget = 1
        # Seconds of a step, as measured in the last call.
        self._step_s = 0.0

    def play(
        self,
        queue: Queue,
        rng: np.random.Generator,
        max_steps: int,
        max_seconds: float | None,
        done: Done | None = None,
        clock: TellsTime = time.monotonic,
    ) -> int:
        """Play every entry to its end; the use of `rng` does not depend on the threads.

        Args:
            done: called for entries `first .. end` when they have been played, if each has a sum
                of its own, by the thread that played them.
            clock: measures `max_seconds`.

        Returns:
            number of states stepped.
        """
        if max_seconds is None:
            until_s, clock = np.inf, time.monotonic
        else:
            until_s = clock() + max_seconds
        bounds = _bounds(queue)
        keys = rng.integers(0, 1 << 64, size=len(bounds) - 1, dtype=np.uint64).tolist()
        runs = [_Run(*run) for run in zip(bounds, bounds[1:], keys, strict=False)]
        # Threads would add to the same credits.
        if self._pool is None or len(runs) < 2 or len(queue.credits):
            return self._play(queue, deque([runs]), max_steps, until_s, clock, done)
        chains = deque(self._parts(_chains(queue, runs)))
        helpers = min(self._threads, len(chains)) - 1
        others = [
            self._pool.submit(self._play, queue, chains, max_steps, until_s, clock, done)
            for _ in range(helpers)
        ]
        visited = self._play(queue, chains, max_steps, until_s, clock, done)
        return visited + sum(other.result() for other in others)

    def _parts(self, chains: list[list[_Run]]) -> Iterator[list[_Run]]:
        """Parts of neighbouring chains, as many as it takes for all threads to end together."""
        size = -(-len(chains) // (PARTS_A_THREAD * self._threads))
        for start in range(0, len(chains), size):
            yield [run for chain in chains[start : start + size] for run in chain]

    def use_one_thread(self) -> None:
        """Use one thread from now on: threads of the pool may exist in another process only."""
        self._threads, self._pool = 1, None

    def _play(
        self,
        queue: Queue,
        chains: deque[list[_Run]],
        max_steps: int,
        until_s: float,
        clock: TellsTime,
        done: Done | None,
    ) -> int:
        """Play chains of runs as long as there are any; returns the number of states stepped."""
        # Threads take blocks and chains, and give blocks back, at the same time: each of these is
        # one atomic operation.
        try:
            block = self._blocks.pop()
        except IndexError:
            block = new_block(self._plan, WIDTH)
        block = _with_credits(block, queue, WIDTH)
        visited = 0
        while True:
            try:
                chain = chains.popleft()
            except IndexError:
                break
            for start in range(0, len(chain), MOST_RUNS):
                runs = chain[start : start + MOST_RUNS]
                keys = [run.key for run in runs]
                begin(block, [*(run.first for run in runs), runs[-1].end], keys)
                if queue.role < 0:
                    _clear(queue, runs[0].first, runs[-1].end)
                self._play_block(queue, block, max_steps, until_s, clock)
                visited += int(block.at[VISITED])
                if queue.role < 0 and done is not None:
                    done(runs[0].first, runs[-1].end)
        self._blocks.append(block)
        return visited

    def _play_block(
        self, queue: Queue, block: Block, max_steps: int, until_s: float, clock: TellsTime
    ) -> None:
        started_s = clock()
        while started_s < until_s:
            # Kernels check neither the clock nor for interrupts. They are called with about as many
            # steps as fit.
            budget, left_s = self._budget, until_s - started_s
            if budget * self._step_s > left_s:
                budget = max(1, int(left_s / self._step_s))
            if play(self._plan, queue, block, max_steps, budget, WIDTH):
                return
            now_s = clock()
            took_s = now_s - started_s
            self._step_s = took_s / budget
            if took_s < min(LOOK_AT_CLOCK_S / 2, 0.25 * left_s):
                self._budget = max(self._budget, 2 * budget)
            elif took_s > LOOK_AT_CLOCK_S:
                self._budget = max(budget // 2, 1)
            started_s = now_s
        _give_up(self._plan, queue, block)


def _bounds(queue: Queue) -> list[int]:
    """The entry at which each run begins, and the end."""
    num = len(queue.counts)
    if queue.role < 0:
        return [*range(0, num, LANES_A_RUN), num]
    ends = np.cumsum(queue.counts)
    marks = np.arange(LANES_A_RUN, int(ends[-1]) if num else 0, LANES_A_RUN)
    bounds = [0, *dict.fromkeys((np.searchsorted(ends, marks) + 1).tolist())]
    return bounds if bounds[-1] == num else [*bounds, num]


def _chains(queue: Queue, runs: list[_Run]) -> list[list[_Run]]:
    """Chains of runs such that no two chains count in the same sum."""
    if queue.role < 0:
        return [[run] for run in runs]
    so_far, from_here = _extremes(queue.into)
    chains = [[runs[0]]]
    for run in runs[1:]:
        if so_far[run.first - 1] < from_here[run.first]:
            chains.append([])
        chains[-1].append(run)
    return chains


def _clear(queue: Queue, first: int, end: int) -> None:
    """Clear the sums of entries that have one each; threads do so side by side."""
    for sums in (queue.goals, queue.spread, queue.unfinished):
        sums[first:end] = 0


def _extremes(into: IntArray) -> tuple[IntArray, IntArray]:
    """`[E]` the largest number up to each place, and the least from there on."""
    return np.maximum.accumulate(into), np.minimum.accumulate(into[::-1])[::-1]


def _give_up(plan: PlayoutPlan, queue: Queue, block: Block) -> None:
    """Judge lanes that have ended, and record those not finished, and entries not begun."""
    at = block.at
    waiting = slice(at[NEXT], block.bounds[at[LAST]])
    left, into = queue.counts[waiting].copy(), queue.into[waiting]
    left[:1] -= at[PLACED]
    np.add.at(queue.unfinished, into, left)
    lost = queue.weights[waiting] * left * queue.cut_value
    np.add.at(queue.goals, into, lost[:, None])
    if queue.spread.shape[1] > 1:
        np.add.at(queue.spread[:, 1], into, lost * queue.cut_value)
    if at[STEP]:
        at[END], at[LAST] = at[NEXT], at[RUN] + 1
        play(plan, queue, block, 0, 1, WIDTH)


def _with_credits(block: Block, queue: Queue, width: tuple[int, ...]) -> Block:
    """The block, with room to remember moves if the queue wants them credited."""
    number = len(queue.credits) * words_of(width)
    if number <= len(block.made):
        return block
    return block._replace(made=aligned_words(number))
