"""HyperPlay values: random playouts from particles (paper 004, Definition 7).

A player gets the values of its candidates from `PlayoutSearch`; other searches use
`RandomPlayouts` as the value of a state, and `HyperPlayPolicy` for the moves of simulated roles.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ggp.belief import UNIFORM, Bags, MoveModel
from ggp.machine.abilities import GoalTexts, PlayoutLimits, PlayoutSums, TrialBatch
from ggp.machine.arrays import chunks, first_seen, first_seen_columns
from ggp.machine.base import FloatArray, IntArray, Machine, Playouts, States, replace_lanes
from ggp.machine.goal_values import number_or_nan
from ggp.machine.on_circuit import on_circuit
from ggp.search.anytime import Deadline, Pace, check, time_left
from ggp.search.estimates import (
    Estimates,
    Results,
    Tally,
    Trials,
    best_moves,
    candidates,
    plan_round,
    plan_trials,
)
from ggp.search.moves import MoveLists

if TYPE_CHECKING:
    from ggp.machine.on_circuit import OnCircuit

TIMED_LANES = 32
"""Playouts of the first batch under a clock."""

LANES_AT_ONCE = 1 << 18
"""Greatest number of playouts side by side: bounds memory."""

TRY, PART, SOME = 1 / 8, 1 / 4, 4
"""Share of the time for the first playout, share of its turns in short ones, and number of short
ones whose goals must differ."""

RETRY = 1.25
"""A first playout is tried again only if it gets more than this many times as long as it took."""


def goals_or_middle(machine: Machine, ended: Playouts) -> FloatArray:
    """`[L, R]` goals of playouts; the middle of the goal range for unfinished ones."""
    if ended.finished.all():
        return ended.goals
    return np.where(ended.finished[:, None], ended.goals, sum(machine.goal_range) / 2)


class RandomPlayouts:
    """The `Evaluation` of a state by one random playout.

    A playout that does not end counts as the middle of the goal range. On a slow machine even one
    may take longer than a decision: decks grow for hundreds of turns before a random match of
    dominion ends. If a first one does not end within `TRY` of the time, playouts until that
    deadline stop after `PART` of its turns, and count as the goals that the rules give there: the
    points so far. If these never change in so few turns, playouts are made to the end as usual.
    """

    certain = False

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._until_s = math.inf if on_circuit(machine) else -math.inf
        self._slow_s = 0.0  # what a playout takes at least
        self._turns = 0  # of a short one; 0: play to the end

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        goals, turns = self.goals(states, rng, deadline)
        return np.ascontiguousarray(goals[:, role]), turns

    def goals(
        self, states: States, rng: np.random.Generator, deadline: Deadline | None = None
    ) -> tuple[FloatArray, IntArray]:
        """`[L, R]` goals of one playout for all roles, and `[L]` its turns."""
        machine = self._machine
        if deadline is not None and deadline.at_s > self._until_s and len(states):
            self._until_s = deadline.at_s
            self._try(states.take(rng.integers(len(states), size=1)), rng, deadline)
        if deadline is not None and self._turns:
            return self._points(states, rng, deadline)
        ended = machine.playout(states, rng, **time_left(deadline))
        if not ended.finished.all():
            check(deadline)
        return goals_or_middle(machine, ended), ended.steps

    def _try(self, state: States, rng: np.random.Generator, deadline: Deadline) -> None:
        """Find out whether playouts until a deadline are short."""
        until, seconds = deadline.part(TRY), TRY * deadline.left_s()
        if seconds <= RETRY * self._slow_s or not isinstance(self._machine, GoalTexts):
            return
        ended = self._machine.playout(state, rng, **time_left(until))
        self._turns, self._slow_s = 0, 0.0
        if not ended.finished[0] and until.passed():
            self._turns, self._slow_s = 1 + int(ended.steps[0] * PART), seconds
            copies = state.take(np.zeros(SOME, dtype=np.int64))
            if not np.ptp(self._points(copies, rng, deadline.part(TRY))[0], axis=0).any():
                self._turns = 0

    def _points(
        self, states: States, rng: np.random.Generator, deadline: Deadline
    ) -> tuple[FloatArray, IntArray]:
        """What `goals` returns for short playouts; they stop early if time runs out."""
        machine, roles = self._machine, range(len(self._machine.roles))
        steps, going = np.zeros(len(states), dtype=np.int64), np.arange(len(states))
        for _ in range(self._turns):
            going = going[~machine.terminal(states.take(going))]
            lists = [MoveLists(machine, states.take(going), role) for role in roles]
            can_move = np.flatnonzero(np.all([moves.counts > 0 for moves in lists], axis=0))
            going = going[can_move]
            if deadline.passed() or not len(going):
                break
            joint = [moves.at(can_move, moves.draw(can_move, rng)) for moves in lists]
            stepped = machine.step(states.take(going), np.column_stack(joint)).states
            states = replace_lanes(machine, states, going, stepped)
            steps[going] += 1
        ended = machine.playout(states, rng, 0)
        if 2 * ended.finished.sum() > len(states):
            self._slow_s = 0.0  # the end is near: try again for the next decision
        assert isinstance(machine, GoalTexts)
        goals, (low, high) = ended.goals, machine.goal_range
        for lane in np.flatnonzero(~ended.finished).tolist():
            (texts,) = machine.goal_texts(states.take(np.array([lane])))
            points = [number_or_nan(of_role[0]) if of_role else math.nan for of_role in texts]
            goals[lane] = [p if low <= p <= high else (low + high) / 2 for p in points]
        return goals, steps


class PlayoutSearch:
    """HyperPlay values of every candidate of every bag, improved round by round.

    The value of a move is the weighted mean, over the particles, of random playouts after that
    move and random moves of the others. In a particle in which the move is illegal, a random legal
    one replaces it.

    Args:
        bags: B bags of one role, none depleted.
        deadline: checked during rounds.
        model: draws the others' moves in the first step.
    """

    def __init__(
        self,
        machine: Machine,
        bags: Bags,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
        model: MoveModel = UNIFORM,
    ) -> None:
        self._machine, self._bags, self._rng = machine, bags, rng
        self._playouts = TrialPlayouts(machine, deadline, model)
        self.moves = candidates(machine, bags)
        self._tally = Tally(len(self.moves.values))
        self.side_by_side = self._playouts.side_by_side

    def round(self, count: int, subset: IntArray | None = None) -> None:
        """Make `count` more playouts of every candidate, or of a subset.

        If time runs out in the first round, and its playouts run side by side, they are cut off and
        count as the middle of the goal range, which is better than no value.

        Raises:
            OutOfTime: time was too short; only candidates with all their playouts count.
        """
        trials = plan_round(self._bags, self.moves, count, self._rng, subset)
        results = Results(trials, sum(self._machine.goal_range) / 2)
        first = not self._tally.least_visits(subset)
        cut = first and len(trials) <= self.side_by_side
        try:
            self._playouts.play(self._bags, results, self._rng, cut=cut)
        finally:
            self._tally.add(results, count, exact=bool(self._bags.exact.all()))

    def estimates(self) -> Estimates:
        """The values so far."""
        return self._tally.estimates(self.moves)


class TrialPlayouts:
    """Plays trials out, as many side by side as the clock and memory allow.

    If the others move uniformly, a circuit plays whole trials in one call, without stopping after
    their first steps.

    Attributes:
        side_by_side: number of trials that take about as long together as a single one.
    """

    def __init__(
        self,
        machine: Machine,
        deadline: Deadline | None = None,
        model: MoveModel = UNIFORM,
    ) -> None:
        self._machine, self._deadline, self._model = machine, deadline, model
        self._playouts = RandomPlayouts(machine)
        self._player: OnCircuit | None = None
        if model is UNIFORM and on_circuit(machine):
            self._player = machine
        self.side_by_side = 1 if self._player is None else self._player.side_by_side
        first = max(TIMED_LANES, self.side_by_side)
        self._pace = Pace(deadline, first, LANES_AT_ONCE, min_lanes=self.side_by_side)

    def play(
        self, bags: Bags, results: Results, rng: np.random.Generator, *, cut: bool = False
    ) -> None:
        """Play the trials of `results`, and add the goal of each.

        Args:
            cut: count playouts that the deadline cuts off as the middle of the goal range.

        Raises:
            OutOfTime: the deadline has passed; some trials have their results.
        """
        trials = results.trials
        for start, end in self._pace.batches(len(trials)):
            if self._player is not None:
                strata, counts = trials.part(start, end)
                batch = TrialBatch(trials.lanes[strata], trials.moves[strata], counts)
                sums = self._sums(bags, batch, rng, spread=True, cut=cut)
                results.add_sums(start, counts, sums)
            else:
                states = first_steps(self._machine, bags, trials, start, end, rng, self._model)
                values, turns = self._playouts.values(states, bags.role, rng, self._deadline)
                results.add(start, values, 1 + turns)

    def values(
        self, bags: Bags, trials: Trials, num_candidates: int, rng: np.random.Generator
    ) -> FloatArray:
        """`[C]` values of candidates by trials, 0 for untried ones.

        Raises:
            OutOfTime: the deadline has passed.
        """
        if self._player is None or len(trials) > LANES_AT_ONCE:
            results = Results(trials)
            self.play(bags, results, rng)
            return results.values(num_candidates)
        batch = TrialBatch(trials.lanes, trials.moves, trials.counts)
        means = self._sums(bags, batch, rng, spread=False).goals / trials.counts
        values = np.bincount(trials.candidate, trials.share * means, num_candidates)
        return np.asarray(values, dtype=np.float64)

    def _sums(
        self,
        bags: Bags,
        batch: TrialBatch,
        rng: np.random.Generator,
        *,
        spread: bool,
        cut: bool = False,
    ) -> PlayoutSums:
        assert self._player is not None
        sums = self._player.playouts_after(
            bags.sets.states,
            bags.role,
            batch,
            rng,
            cut_value=sum(self._machine.goal_range) / 2,
            spread=spread,
            limits=PlayoutLimits(**time_left(self._deadline)),
        )
        if not sums.finished and not cut:
            check(self._deadline)
        return sums


def first_steps(
    machine: Machine,
    bags: Bags,
    trials: Trials,
    start: int,
    end: int,
    rng: np.random.Generator,
    model: MoveModel = UNIFORM,
) -> States:
    """The states after the candidate moves and random moves of the others.

    A random legal move replaces an illegal candidate. Trials with the same state and joint move
    share one step.

    Args:
        start, end: range of the trials.
        model: draws the others' moves.
    """
    strata, repeats = trials.part(start, end)
    moves = trials.moves[strata]
    first, lanes = first_seen(trials.lanes[strata])
    states = bags.sets.states.take(trials.lanes[strata][first])
    views = bags.sets.views
    lists = [
        MoveLists(
            machine,
            states,
            j,
            model,
            None if views is None else views[trials.lanes[strata][first], j],
        )
        for j in range(len(machine.roles))
    ]
    positions = lists[bags.role].find(lanes, moves)
    by_chance = bool((positions < 0).any()) or any(
        bool((lists[j].counts != 1).any()) for j in range(len(lists)) if j != bags.role
    )
    # Without chance, all trials of a stratum begin with the same step.
    if by_chance:  # trials of a stratum differ
        lanes, positions = np.repeat(lanes, repeats), np.repeat(positions, repeats)
    columns = [lanes]
    for j in range(len(lists)):
        if j != bags.role:
            columns.append(lists[j].draw(lanes, rng) if by_chance else np.zeros_like(lanes))
        else:
            illegal = np.flatnonzero(positions < 0)
            positions[illegal] = lists[j].draw(lanes[illegal], rng)
            columns.append(positions)
    first, group = first_seen_columns(columns)
    lanes = lanes[first]
    joint_moves = np.column_stack(
        [lists[j].at(lanes, columns[1 + j][first]) for j in range(len(lists))]
    )
    successors = machine.step(states.take(lanes), joint_moves).states
    return successors.take(group if by_chance else np.repeat(group, repeats))


class HyperPlayPolicy:
    """The `Policy` of the move with the best HyperPlay value; ties are broken at random.

    A bag with one candidate costs nothing; a bag without candidates gets `UNKNOWN`.

    Attributes:
        playouts: number for each candidate of a bag; may be changed between calls.
    """

    def __init__(self, machine: Machine, playouts: int, deadline: Deadline | None = None) -> None:
        self.playouts = playouts
        self._machine = machine
        self._player = TrialPlayouts(machine, deadline)

    def __call__(self, bags: Bags, rng: np.random.Generator) -> IntArray:
        moves = candidates(self._machine, bags)
        values = np.zeros(len(moves.values))
        open_ = np.flatnonzero(moves.counts > 1)
        for start, end in chunks(moves.counts[open_] * self.playouts, LANES_AT_ONCE):
            bag_ids = open_[start:end]
            trials = plan_trials(bags, moves, self.playouts, rng, bag_ids, by_entry=True)
            values += self._player.values(bags, trials, len(values), rng)
        return best_moves(moves, values, rng)
