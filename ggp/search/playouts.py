"""HyperPlay values: random playouts from particles (paper 004, Definition 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ggp.belief import UNIFORM, Bags, MoveModel
from ggp.machine.abilities import PlayoutLimits, PlayoutSums, TrialBatch
from ggp.machine.arrays import chunks, first_seen, first_seen_columns
from ggp.machine.base import FloatArray, IntArray, Machine, States
from ggp.machine.on_circuit import on_circuit
from ggp.search.anytime import Deadline, Pace, check, time_left
from ggp.search.estimates import Estimates, Tally, best_moves, candidates
from ggp.search.moves import MoveLists
from ggp.search.parts import Evaluation
from ggp.search.trials import Results, Trials, plan_round, plan_trials

if TYPE_CHECKING:
    from ggp.machine.on_circuit import OnCircuit

TIMED_LANES = 32
"""Playouts of the first batch before a look at the clock, if there is one."""

LANES_AT_ONCE = 1 << 18
"""Playouts side by side: bounds memory."""


class RandomPlayouts:
    """The `Evaluation` of states by one random playout each.

    Playouts that do not end count as the middle of the goal range.
    """

    certain = False

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

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
        """Playout results for all roles at once: `[L, R]` values, and `[L]` turns."""
        machine = self._machine
        ended = machine.playout(states, rng, **time_left(deadline))
        if ended.finished.all():
            return ended.goals, ended.steps
        check(deadline)
        middle = sum(machine.goal_range) / 2
        return np.where(ended.finished[:, None], ended.goals, middle), ended.steps


class PlayoutSearch:
    """HyperPlay values of every candidate of every bag, improved round by round.

    The value of a move is the weighted mean, over the particles, of random playouts after
    that move and random moves of the others. Where the move is illegal in a particle it counts
    as a random legal one.

    Args:
        bags: B bags of one role, none depleted.
        deadline: looked at during rounds.
        evaluation: of the states after the first step.
        model: how the others make it.
    """

    def __init__(
        self,
        machine: Machine,
        bags: Bags,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
        evaluation: Evaluation | None = None,
        model: MoveModel = UNIFORM,
    ) -> None:
        self._machine, self._bags, self._rng = machine, bags, rng
        self._playouts = TrialPlayouts(machine, deadline, evaluation, model)
        self.moves = candidates(machine, bags)
        self._tally = Tally(len(self.moves.values))
        self.side_by_side = self._playouts.side_by_side

    def round(self, count: int, chosen: IntArray | None = None) -> None:
        """Make `count` more playouts of every candidate, or of those chosen.

        If time runs out in the first round, and its playouts run side by side, they are cut off and
        count as the middle of the goal range: that is better than no value at all.

        Raises:
            OutOfTime: not all could be made; candidates that got all of theirs count.
        """
        trials = plan_round(self._bags, self.moves, count, self._rng, chosen)
        results = Results(trials, sum(self._machine.goal_range) / 2)
        first = not self._tally.least_visits(chosen)
        cut = first and len(trials) <= self.side_by_side
        try:
            self._playouts.play(self._bags, results, self._rng, cut=cut)
        finally:
            self._tally.add(results, count, exact=bool(self._bags.exact.all()))

    def estimates(self) -> Estimates:
        """The values so far."""
        return self._tally.estimates(self.moves)


class TrialPlayouts:
    """Plays trials out, as many at once as the clock and memory allow.

    If the others move uniformly and states are valued by random playouts, a machine that can do so
    plays whole trials by itself: nothing else is needed of their first steps.

    Attributes:
        side_by_side: number of trials that take about as long together as a single one.
    """

    def __init__(
        self,
        machine: Machine,
        deadline: Deadline | None = None,
        evaluation: Evaluation | None = None,
        model: MoveModel = UNIFORM,
    ) -> None:
        self._machine, self._deadline, self._model = machine, deadline, model
        self._evaluation = evaluation or RandomPlayouts(machine)
        self._player: OnCircuit | None = None
        if evaluation is None and model is UNIFORM and on_circuit(machine):
            self._player = machine
        self.side_by_side = 1 if self._player is None else self._player.side_by_side
        first = max(TIMED_LANES, self.side_by_side)
        self._pace = Pace(deadline, first, LANES_AT_ONCE, least=self.side_by_side)

    def play(
        self, bags: Bags, results: Results, rng: np.random.Generator, *, cut: bool = False
    ) -> None:
        """Play the trials of `results`, and add the result of each.

        Args:
            cut: count playouts that the deadline breaks off as the middle of the goal range.

        Raises:
            OutOfTime: the deadline has passed; some trials have their results.
        """
        trials = results.trials
        for start, end in self._pace.batches(len(trials)):
            if self._player is not None:
                strata, counts = trials.part(start, end)
                batch = TrialBatch(
                    trials.lanes[strata],
                    trials.moves[strata],
                    counts,
                    np.arange(len(counts)),
                    np.ones(len(counts)),
                    len(counts),
                )
                sums = self._sums(bags, batch, rng, spread=True, cut=cut)
                results.add_sums(start, counts, sums)
            else:
                states = first_steps(self._machine, bags, trials, start, end, rng, self._model)
                values, turns = self._evaluation.values(states, bags.role, rng, self._deadline)
                results.add(start, values, 1 + turns)

    def values(
        self, bags: Bags, trials: Trials, num_candidates: int, rng: np.random.Generator
    ) -> FloatArray:
        """`[C]` values of candidates by trials, 0 for those that are not tried.

        Raises:
            OutOfTime: the deadline has passed.
        """
        if self._player is None or len(trials) > LANES_AT_ONCE:
            results = Results(trials)
            self.play(bags, results, rng)
            return results.values(num_candidates)
        counts = trials.counts
        batch = TrialBatch(
            trials.lanes,
            trials.moves,
            counts,
            trials.candidate,
            trials.share / counts,
            num_candidates,
        )
        return self._sums(bags, batch, rng, spread=False).goals

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

    A candidate that is not legal becomes a random legal move. Each joint move of each state is
    made once, however many trials begin with it.

    Args:
        start, end: which of the trials.
        model: how the others move.
    """
    strata, repeats = trials.part(start, end)
    moves = trials.moves[strata]
    first, place = first_seen(trials.lanes[strata])
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
    own = lists[bags.role].find(place, moves)
    by_chance = bool((own < 0).any()) or any(
        bool((lists[j].counts != 1).any()) for j in range(len(lists)) if j != bags.role
    )
    # If nothing is left to chance, all trials of a stratum begin with the same step.
    if by_chance:  # trials of a stratum differ
        place, own = np.repeat(place, repeats), np.repeat(own, repeats)
    columns = [place]
    for j in range(len(lists)):
        if j != bags.role:
            columns.append(lists[j].draw(place, rng) if by_chance else np.zeros_like(place))
        else:
            illegal = np.flatnonzero(own < 0)
            own[illegal] = lists[j].draw(place[illegal], rng)
            columns.append(own)
    first, group = first_seen_columns(columns)
    place = place[first]
    joint_moves = np.column_stack(
        [lists[j].at(place, columns[1 + j][first]) for j in range(len(lists))]
    )
    after = machine.step(states.take(place), joint_moves).states
    return after.take(group if by_chance else np.repeat(group, repeats))


class HyperPlayPolicy:
    """The `Policy` that takes the move with the best HyperPlay value, ties broken at random.

    Bags with one candidate cost nothing; those with none get `UNKNOWN`.

    Attributes:
        playouts: per candidate of a bag; may be changed between calls.
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
            some = open_[start:end]
            trials = plan_trials(bags, moves, self.playouts, rng, some, by_entry=True)
            values += self._player.values(bags, trials, len(values), rng)
        return best_moves(moves, values, rng)
