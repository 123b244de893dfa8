"""Plays random playouts to their ends: makes queues, plays them on several threads, sums results.

In come packed states and limits, out come goals and steps for each state or for each trial. The
kernels of `kernels.block_playouts` play; this module divides a queue among threads, watches the
clock between calls of kernels, and warns of unusual goal values.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ggp.machine.abilities import MAX_SUM, PlayoutLimits, PlayoutSums, TrialBatch
from ggp.machine.arrays import Packed
from ggp.machine.base import BoolArray, FloatArray, IntArray, Playouts
from ggp.machine.compiling.vectors import WIDTH, aligned_words, words_of
from ggp.machine.goal_values import GoalValues, number_or_nan
from ggp.machine.propnet.play.kernels.block_playouts import play
from ggp.machine.propnet.play.kernels.blocks import (
    END,
    LAST,
    MAX_RUNS,
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
from ggp.machine.propnet.play.kernels.tapes import I32
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.threads import made_once
from ggp.run.clocks import TellsTime

UNIFORM: I32 = np.zeros(0, dtype=np.int32)
"""`Queue.odds` for uniform draws."""

NO_CREDITS: FloatArray = np.zeros((0, 2))
"""`Queue.credits` for none."""


class _Even(NamedTuple):
    """Read-only arrays of a queue in which every state is its own entry, played once."""

    place: IntArray
    once: IntArray
    none: I32

    @classmethod
    def of(cls, size: int) -> _Even:
        once = np.ones(size, dtype=np.int64)
        return cls(np.arange(size), once, np.full(size, -1, dtype=np.int32))


LANES_A_RUN = 1 << 14
"""Number of playouts of a run, which share one random stream; more if an entry has more."""

PARTS_A_THREAD = 16
"""Number of parts for each thread into which a queue is divided, if it has enough runs."""

LOOK_AT_CLOCK_S = 0.02
"""Greatest number of seconds that a kernel should play between two looks at the clock."""

Report = Callable[[int, int], None]
"""Called with the range of entries that have just been played: the first, and the end."""


class _Run(NamedTuple):
    """Entries `first .. end` of a queue, and the key of their random bits."""

    first: int
    end: int
    key: int


class CircuitPlayouts:
    """Random playouts of one circuit. Several threads may call it at once.

    Queues are played in runs of similar size, each with a random stream of its own. So results do
    not depend on the number of threads, nor on which thread plays which run: random bits come from
    a run's key, and no two runs add to the same sum.

    Args:
        goal_values: warns about unusual goal values.
        goal_range: the least and the greatest usual goal value.
        threads: number of processors to use.
    """

    def __init__(
        self,
        queries: Queries,
        goal_values: GoalValues,
        goal_range: tuple[float, float],
        threads: int,
    ) -> None:
        self._circuit, self._plan = queries.circuit, queries.playout
        self._num_roles = len(queries.circuit.roles)
        self._goal_values = goal_values
        low, high = goal_range
        values = [
            (role, number_or_nan(name))
            for role, outputs in enumerate(queries.circuit.goals)
            for name in outputs.names
        ]
        # Role, index and number (NaN if it is not a number) of unusual values.
        self._unusual = [(r, k, v) for k, (r, v) in enumerate(values) if not low <= v <= high]
        self._even = _Even.of(0)
        # The last weights, and their odds for kernels: valid again if the array is read-only, so
        # that nobody can have changed it since.
        self._last_odds: tuple[IntArray | None, I32] = (None, UNIFORM)
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self._blocks: list[Block] = []
        self._code: Callable[..., bool] | None = None  # machine code of `play`
        # Number of steps of a block between two looks at the clock.
        self._budget = 1
        # Seconds of a step, measured in the last call of a kernel.
        self._step_s = 0.0

    # ---------------------------------------------------------------- queues

    def queue_of(
        self, packed: Packed, odds: I32 = UNIFORM, credits: FloatArray = NO_CREDITS
    ) -> Queue:
        """A queue that plays every lane once, for the goals of all roles.

        Its sums are arbitrary until the lanes are played.

        Args:
            odds, credits: see `Queue`.
        """
        num_entries, even = len(packed), self._even
        if num_entries > len(even.place):
            # Reused, because touching new memory costs more than short playouts.
            self._even = even = _Even.of(2 * num_entries)
        return Queue(
            np.ascontiguousarray(packed),  # as machine code for it expects
            even.place[:num_entries],
            even.once[:num_entries],
            -1,
            even.none[:num_entries],
            np.array([0, self._num_roles], dtype=np.int32),
            0.0,
            np.empty((num_entries, self._num_roles)),
            np.empty((num_entries, 1)),
            np.empty(num_entries, dtype=np.int64),
            *self._blank_flags(),
            odds,
            credits,
        )

    def queue_of_trials(
        self,
        packed: Packed,
        role: int,
        trials: TrialBatch,
        indices: I32,
        cut_value: float,
        *,
        spread: bool,
    ) -> Queue:
        """A queue of trials of a role's moves, for the goals of that role.

        Its sums are arbitrary until it is played.

        Args:
            indices: index of each move among the moves of the role.
            cut_value, spread: see `TrialPlayer.playouts_after`.
        """
        size = len(trials.lanes)
        return Queue(
            np.ascontiguousarray(packed),  # as machine code for it expects
            np.ascontiguousarray(trials.lanes),
            np.ascontiguousarray(trials.counts),
            role,
            indices,
            np.array([role, role + 1], dtype=np.int32),
            cut_value,
            np.empty((size, 1)),
            np.empty((size, 3 if spread else 0)),
            np.empty(size, dtype=np.int64),
            *self._blank_flags(),
            UNIFORM,
            NO_CREDITS,
        )

    def _blank_flags(self) -> tuple[BoolArray, BoolArray]:
        """New arrays for `Queue.occurred` and `Queue.faults`."""
        return (
            np.zeros(len(self._plan.goal_values), dtype=np.bool_),
            np.zeros((self._num_roles, 2), dtype=np.bool_),
        )

    def _warn_of_goals(self, queue: Queue) -> None:
        """Warn about unusual goal values that occurred in a queue."""
        warn = self._goal_values
        if queue.faults.any():
            for role in np.flatnonzero(queue.faults[:, 0]).tolist():
                warn.several(role)
            for role in np.flatnonzero(queue.faults[:, 1]).tolist():
                warn.none(role)
        for role, index, value in self._unusual:
            if queue.occurred[index]:
                if np.isnan(value):
                    warn.no_number(role)
                else:
                    warn.outside(role, value)

    # ---------------------------------------------------------------- results

    def once(
        self, queue: Queue, rng: np.random.Generator, limits: PlayoutLimits
    ) -> tuple[Playouts, int]:
        """The playouts of a queue of `queue_of`, and the number of states stepped."""
        steps = np.empty(len(queue.lanes), dtype=np.int64)
        finished = np.empty(len(queue.lanes), dtype=np.bool_)

        def report(first: int, end: int) -> None:
            steps[first:end] = queue.spread[first:end, 0]
            np.equal(queue.unfinished[first:end], 0, out=finished[first:end])

        visited = self._play(queue, rng, limits, report)
        self._warn_of_goals(queue)
        return Playouts(queue.goals, steps, finished), visited

    def weighed(
        self,
        packed: Packed,
        numbers: Mapping[int, IntArray],
        weights: IntArray,
        credits: FloatArray,
        rng: np.random.Generator,
        limits: PlayoutLimits,
    ) -> tuple[Playouts, int]:
        """The playouts of `WeightedPlayer.playout_by_weights`, and the number of states stepped.

        Args:
            numbers: ids of the moves of each role that draws by weight, in the order of the
                circuit.
        """
        last_weights, odds = self._last_odds
        if last_weights is not weights or weights.flags.writeable:
            odds = self._odds(numbers, weights)
            self._last_odds = weights, odds
        first = self._first_moves
        move_credits = np.zeros((first[-1], 2))
        playouts = self.once(self.queue_of(packed, odds, move_credits), rng, limits)
        for role, moves in numbers.items():
            credits[role, moves] += move_credits[first[role] : first[role + 1]]
        return playouts

    def summed(
        self, queue: Queue, rng: np.random.Generator, limits: PlayoutLimits
    ) -> tuple[PlayoutSums, int]:
        """The sums of a queue of trials, and the number of states stepped."""
        visited = self._play(queue, rng, limits)
        self._warn_of_goals(queue)
        spreads = queue.spread.T if queue.spread.size else np.zeros((3, 0))
        return PlayoutSums(queue.goals[:, 0], not queue.unfinished.any(), *spreads), visited

    def warm_up(self, packed: Packed) -> None:
        """Load every kernel, without warning of goal values."""
        self._play(self.queue_of(packed), np.random.default_rng(0), PlayoutLimits(2))

    def use_one_thread(self) -> None:
        """Use one thread from now on: after a fork, the pool's threads are in the other process."""
        self._threads, self._pool = 1, None

    def _odds(self, numbers: Mapping[int, IntArray], weights: IntArray) -> I32:
        """The weights in the order of `PlayoutPlan.move_rows`.

        Raises:
            ValueError: a weight is less than 1, or the weights of a role are too large together.
        """
        for role, moves in numbers.items():
            # Sliced numbers of kernels have room for no more.
            role_weights = weights[role, moves]
            if role_weights.min(initial=1) < 1 or role_weights.sum() > MAX_SUM:
                raise ValueError(
                    f"the weights of the moves of role {role} must be at least 1, and at most "
                    f"{MAX_SUM:,} together"
                )
        first = self._first_moves
        odds = np.ones(len(self._plan.move_rows), dtype=np.int32)
        circuit_odds = np.ones(first[-1], dtype=np.int32)
        for role, moves in numbers.items():
            circuit_odds[first[role] : first[role + 1]] = weights[role, moves]
        indices, moves_at = self._places
        odds[indices] = circuit_odds[moves_at]
        return odds

    @made_once
    def _places(self) -> tuple[IntArray, IntArray]:
        """Indices of moves in `PlayoutPlan.move_rows`, and the circuit's index of each move."""
        plan = self._plan
        # Rows of moves follow the rows of fluents; fillers have rows beyond both.
        moves = plan.move_rows.astype(np.int64) - (1 + len(plan.state_rows))
        indices = np.flatnonzero(moves < self._first_moves[-1])
        return indices, moves[indices]

    @made_once
    def _first_moves(self) -> list[int]:
        """Where the moves of each role of the circuit begin, and the end."""
        counts = [len(outputs.names) for outputs in self._circuit.legal]
        return [sum(counts[:role]) for role in range(len(counts) + 1)]

    # ---------------------------------------------------------------- runs

    def _play(
        self,
        queue: Queue,
        rng: np.random.Generator,
        limits: PlayoutLimits,
        report: Report | None = None,
    ) -> int:
        """Play every entry to its end; the use of `rng` does not depend on the threads.

        Args:
            report: called for entries `first .. end` when they have been played, by the thread that
                played them.

        Returns:
            number of states stepped.
        """
        max_steps, max_seconds, clock = limits
        if max_seconds is None:
            until_s, clock = np.inf, time.monotonic
        else:
            until_s = clock() + max_seconds
        bounds = _bounds(queue)
        keys = rng.integers(0, 1 << 64, size=len(bounds) - 1, dtype=np.uint64).tolist()
        runs = [_Run(*run) for run in zip(bounds, bounds[1:], keys, strict=False)]
        # All runs add to the same credits, so one thread plays them.
        if self._pool is None or len(runs) < 2 or len(queue.credits):
            return self._play_parts(queue, deque([runs]), max_steps, until_s, clock, report)
        # Enough that all threads end at about the same time.
        size = -(-len(runs) // (PARTS_A_THREAD * self._threads))
        parts = deque(runs[start : start + size] for start in range(0, len(runs), size))
        num_helpers = min(self._threads, len(parts)) - 1
        futures = [
            self._pool.submit(self._play_parts, queue, parts, max_steps, until_s, clock, report)
            for _ in range(num_helpers)
        ]
        visited = self._play_parts(queue, parts, max_steps, until_s, clock, report)
        return visited + sum(future.result() for future in futures)

    def _play_parts(
        self,
        queue: Queue,
        parts: deque[list[_Run]],
        max_steps: int,
        until_s: float,
        clock: TellsTime,
        report: Report | None,
    ) -> int:
        """Play parts until none is left; returns the number of states stepped."""
        # Other threads take parts and blocks, and return blocks, at the same time: so each of
        # these steps is one atomic operation of a list or deque.
        try:
            block = self._blocks.pop()
        except IndexError:
            block = new_block(self._plan, WIDTH)
        block = _with_credits(block, queue, WIDTH)
        visited = 0
        while True:
            try:
                part = parts.popleft()
            except IndexError:
                break
            for start in range(0, len(part), MAX_RUNS):
                runs = part[start : start + MAX_RUNS]
                keys = [run.key for run in runs]
                begin(block, [*(run.first for run in runs), runs[-1].end], keys)
                played = slice(runs[0].first, runs[-1].end)
                for sums in (queue.goals, queue.spread, queue.unfinished):
                    sums[played] = 0
                self._play_block(queue, block, max_steps, until_s, clock)
                visited += int(block.at[VISITED])
                if report is not None:
                    report(played.start, played.stop)
        self._blocks.append(block)
        return visited

    def _play_block(
        self, queue: Queue, block: Block, max_steps: int, until_s: float, clock: TellsTime
    ) -> None:
        started_s = clock()
        while started_s < until_s:
            # Kernels check neither the clock nor interrupts, so a call gets about as many steps as
            # fit the time between two looks.
            budget, left_s = self._budget, until_s - started_s
            if budget * self._step_s > left_s:
                budget = max(1, int(left_s / self._step_s))
            if self._code is None:
                self._code = play.code_for(self._plan, queue, block, max_steps, budget, WIDTH)
            if self._code(self._plan, queue, block, max_steps, budget, WIDTH):
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
    """The entry at which each run begins, and the end; no entry is split over runs."""
    num_entries = len(queue.counts)
    if queue.role < 0:
        return [*range(0, num_entries, LANES_A_RUN), num_entries]
    ends = queue.counts.cumsum()
    if num_entries and ends[-1] <= LANES_A_RUN:
        return [0, num_entries]
    marks = np.arange(LANES_A_RUN, int(ends[-1]) if num_entries else 0, LANES_A_RUN)
    bounds = [0, *dict.fromkeys((np.searchsorted(ends, marks) + 1).tolist())]
    return bounds if bounds[-1] == num_entries else [*bounds, num_entries]


def _give_up(plan: PlayoutPlan, queue: Queue, block: Block) -> None:
    """Judge the lanes that have ended, and record lanes and entries that were not finished."""
    at = block.at
    waiting = slice(at[NEXT], block.bounds[at[LAST]])
    remaining = queue.counts[waiting].copy()
    remaining[:1] -= at[PLACED]
    queue.unfinished[waiting] += remaining
    lost = remaining * queue.cut_value
    queue.goals[waiting] += lost[:, None]
    if queue.spread.shape[1] > 1:
        queue.spread[waiting, 1] += lost * queue.cut_value
    if at[STEP]:
        at[END], at[LAST] = at[NEXT], at[RUN] + 1
        play(plan, queue, block, 0, 1, WIDTH)


def _with_credits(block: Block, queue: Queue, width: tuple[int, ...]) -> Block:
    """The block, with room for the moves of each lane if the queue credits moves."""
    size = len(queue.credits) * words_of(width)
    if size <= len(block.history):
        return block
    return block._replace(history=aligned_words(size))
