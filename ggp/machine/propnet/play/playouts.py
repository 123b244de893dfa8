"""Whole random playouts: queues of them are made, played and summed up; unusual goal values that
they meet are warned about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ggp.clocks import TellsTime
from ggp.machine.abilities import PlayoutSums, TrialBatch
from ggp.machine.base import BoolArray, FloatArray, IntArray, Playouts
from ggp.machine.goal_values import GoalValues, number_or_nan
from ggp.machine.propnet.play.kernels.blocks import Queue
from ggp.machine.propnet.play.kernels.packed import Packed
from ggp.machine.propnet.play.kernels.tapes import I32
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.runs import Done, QueuePlayer
from ggp.machine.threads import made_once
from ggp.machine.weighted_playouts import MOST_SUM

UNIFORM: I32 = np.zeros(0, dtype=np.int32)
"""The odds of a queue whose moves are drawn uniformly."""

NO_CREDITS: FloatArray = np.zeros((0, 2))
"""The credits of a queue that does not want any."""


class _Even(NamedTuple):
    """The arrays of entries that are all played once; they are never written to."""

    place: IntArray
    once: IntArray
    none: I32
    weight: FloatArray

    @classmethod
    def of(cls, size: int) -> _Even:
        return cls(
            np.arange(size),
            np.ones(size, dtype=np.int64),
            np.full(size, -1, dtype=np.int32),
            np.ones(size),
        )


class Queues:
    """Makes queues of playouts of one machine.

    Args:
        goal_values: warns about unusual goal values.
        goal_range: the bounds of usual ones.
    """

    def __init__(
        self, queries: Queries, goal_values: GoalValues, goal_range: tuple[float, float]
    ) -> None:
        self._plan = queries.playout
        self._num_roles = queries.num_roles
        self._goal_values = goal_values
        low, high = goal_range
        values = [
            (role, number_or_nan(name))
            for role, outputs in enumerate(queries.circuit.goals)
            for name in outputs.names
        ]
        # Role, place and number (NaN if it is not a number) of unusual values.
        self._unusual = [(r, k, v) for k, (r, v) in enumerate(values) if not low <= v <= high]
        self._even = _Even.of(0)

    def once(self, packed: Packed, odds: I32 = UNIFORM, credits: FloatArray = NO_CREDITS) -> Queue:
        """A queue in which every lane is played out once, and the goals of all roles are wanted.

        Sums have arbitrary values before the lanes are played.

        Args:
            odds, credits: see `Queue`.
        """
        num, even = len(packed), self._even
        if num > len(even.place):
            # Kept, because memory that was never touched before costs more than short playouts.
            self._even = even = _Even.of(2 * num)
        return Queue(
            packed,
            even.place[:num],
            even.once[:num],
            -1,
            even.none[:num],
            even.place[:num],
            even.weight[:num],
            np.array([0, self._num_roles], dtype=np.int32),
            0.0,
            np.empty((num, self._num_roles)),
            np.empty((num, 1)),
            np.empty(num, dtype=np.int64),
            *self._seen(),
            odds,
            credits,
        )

    def of_trials(
        self,
        packed: Packed,
        role: int,
        trials: TrialBatch,
        places: I32,
        cut_value: float,
        *,
        spread: bool,
    ) -> Queue:
        """A queue of trials of a role's moves, for the goals of that role.

        Args:
            places: place of each move among those of the role.
            cut_value, spread: see `TrialPlayer.playouts_after`.
        """
        return Queue(
            packed,
            np.ascontiguousarray(trials.lanes),
            np.ascontiguousarray(trials.counts),
            role,
            places,
            np.ascontiguousarray(trials.into),
            trials.weights,
            np.array([role, role + 1], dtype=np.int32),
            cut_value,
            np.zeros((trials.num_sums, 1)),
            np.zeros((trials.num_sums, 3 if spread else 0)),
            np.zeros(trials.num_sums, dtype=np.int64),
            *self._seen(),
            UNIFORM,
            NO_CREDITS,
        )

    def _seen(self) -> tuple[BoolArray, BoolArray]:
        """Arrays for goal values met, and for faults of goals: none yet."""
        return (
            np.zeros(len(self._plan.goal_values), dtype=np.bool_),
            np.zeros((self._num_roles, 2), dtype=np.bool_),
        )

    def warn_of_goals(self, queue: Queue) -> None:
        """Warn about unusual goal values that were met."""
        warn = self._goal_values
        for role in np.flatnonzero(queue.faults[:, 0]).tolist():
            warn.several(role)
        for role in np.flatnonzero(queue.faults[:, 1]).tolist():
            warn.none(role)
        for role, place, value in self._unusual:
            if queue.met[place]:
                if np.isnan(value):
                    warn.no_number(role)
                else:
                    warn.outside(role, value)


class CircuitPlayouts:
    """Random playouts of one circuit.

    Args:
        goal_values, goal_range: see `Queues`.
        threads: number of processors to use.
    """

    def __init__(
        self,
        queries: Queries,
        goal_values: GoalValues,
        goal_range: tuple[float, float],
        threads: int,
    ) -> None:
        self._queries = queries
        self.queues = Queues(queries, goal_values, goal_range)
        self.player = QueuePlayer(queries.playout, threads)
        # The weights last drawn by, and what they are to kernels: used again if nobody can have
        # changed them since.
        self._last_odds: tuple[IntArray | None, I32] = (None, UNIFORM)

    def once(
        self,
        packed: Packed,
        rng: np.random.Generator,
        max_steps: int,
        max_seconds: float | None,
        clock: TellsTime,
    ) -> tuple[Playouts, int]:
        """See `Machine.playout`; with the number of states stepped."""
        return self._played(self.queues.once(packed), rng, max_steps, max_seconds, clock)

    def weighed(
        self,
        packed: Packed,
        numbers: Mapping[int, IntArray],
        weights: IntArray,
        credits: FloatArray,
        rng: np.random.Generator,
        max_steps: int,
        max_seconds: float | None,
        clock: TellsTime,
    ) -> tuple[Playouts, int]:
        """See `WeightedPlayer.playout_by_weights`; with the number of states stepped.

        Args:
            numbers: ids of the moves of each role that draws by weight, in the order of the
                circuit.
        """
        known, odds = self._last_odds
        if known is not weights or weights.flags.writeable:
            odds = self._odds(numbers, weights)
            self._last_odds = weights, odds
        first = self._first_moves
        found = np.zeros((first[-1], 2))
        queue = self.queues.once(packed, odds, found)
        played = self._played(queue, rng, max_steps, max_seconds, clock)
        for role, moves in numbers.items():
            credits[role, moves] += found[first[role] : first[role + 1]]
        return played

    def _odds(self, numbers: Mapping[int, IntArray], weights: IntArray) -> I32:
        """The weights as those of `PlayoutPlan.move_rows`."""
        for role, moves in numbers.items():
            # Kernels have room for no more.
            chosen = weights[role, moves]
            if chosen.min(initial=1) < 1 or chosen.sum() > MOST_SUM:
                raise ValueError(
                    f"the weights of the moves of role {role} must be at least 1, and at most "
                    f"{MOST_SUM:,} together"
                )
        first = self._first_moves
        odds = np.ones(len(self._queries.playout.move_rows), dtype=np.int32)
        every = np.ones(first[-1], dtype=np.int32)
        for role, moves in numbers.items():
            every[first[role] : first[role + 1]] = weights[role, moves]
        places, moves_there = self._places
        odds[places] = every[moves_there]
        return odds

    @made_once
    def _places(self) -> tuple[IntArray, IntArray]:
        """Places of moves among `PlayoutPlan.move_rows`, and which move of the circuit each is."""
        plan = self._queries.playout
        # Rows of moves follow those of fluents; what is beyond fills groups up.
        moves = plan.move_rows.astype(np.int64) - (1 + len(plan.state_rows))
        places = np.flatnonzero(moves < self._first_moves[-1])
        return places, moves[places]

    @made_once
    def _first_moves(self) -> list[int]:
        """Where the moves of each role of the circuit begin, and the end."""
        counts = [len(outputs.names) for outputs in self._queries.circuit.legal]
        return [sum(counts[:role]) for role in range(len(counts) + 1)]

    def _played(
        self,
        queue: Queue,
        rng: np.random.Generator,
        max_steps: int,
        max_seconds: float | None,
        clock: TellsTime,
    ) -> tuple[Playouts, int]:
        """Play a queue in which each state is an entry and a sum of its own."""
        steps = np.empty(len(queue.lanes), dtype=np.int64)
        finished = np.empty(len(queue.lanes), dtype=np.bool_)

        def done(first: int, end: int) -> None:
            steps[first:end] = queue.spread[first:end, 0]
            np.equal(queue.unfinished[first:end], 0, out=finished[first:end])

        visited = self._play(queue, rng, max_steps, max_seconds, clock, done)
        return Playouts(queue.goals, steps, finished), visited

    def after(
        self,
        packed: Packed,
        role: int,
        trials: TrialBatch,
        places: I32,
        rng: np.random.Generator,
        *,
        cut_value: float,
        spread: bool,
        max_steps: int,
        max_seconds: float | None,
        clock: TellsTime,
    ) -> tuple[PlayoutSums, int]:
        """See `TrialPlayer.playouts_after`; with the number of states stepped.

        Args:
            places: place of each move tried among those of the role.
        """
        queue = self.queues.of_trials(packed, role, trials, places, cut_value, spread=spread)
        visited = self._play(queue, rng, max_steps, max_seconds, clock)
        found = queue.spread.T if spread else np.zeros((3, 0))
        return PlayoutSums(queue.goals[:, 0], not queue.unfinished.any(), *found), visited

    def _play(
        self,
        queue: Queue,
        rng: np.random.Generator,
        max_steps: int,
        max_seconds: float | None,
        clock: TellsTime,
        done: Done | None = None,
    ) -> int:
        visited = self.player.play(queue, rng, max_steps, max_seconds, done, clock)
        self.queues.warn_of_goals(queue)
        return visited

    def warm_up(self, packed: Packed) -> None:
        """Load every kernel; goal values that are met are not warned about."""
        self.player.play(self.queues.once(packed), np.random.default_rng(0), 2, None)

    def use_one_thread(self) -> None:
        """See `QueuePlayer.use_one_thread`."""
        self.player.use_one_thread()
