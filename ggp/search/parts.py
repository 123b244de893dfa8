"""The parts of a search, as protocols, and how it runs within a budget.

A `Search` improves the values of candidate moves round by round; an `Evaluation` assigns values to
the states where the search stops. Players choose one of each. (`MoveModel`, the model of the other
roles, lives in `ggp.belief`, which needs it too.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from ggp.machine.abilities import MoveFacts
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, Ragged, States
from ggp.machine.forks import processes_for, shared
from ggp.run.clocks import clock_of
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.estimates import Estimates, Tally


class Search(Protocol):
    """Values of candidate moves that improve round by round.

    Attributes:
        side_by_side: number of trials that together take about as long as a single one.
    """

    side_by_side: int

    @property
    def moves(self) -> Ragged:
        """The candidates of each bag."""
        ...

    def round(self, count: int, subset: IntArray | None = None) -> None:
        """Try every candidate, or those in `subset`, `count` more times.

        Args:
            subset: increasing indices into the values of `moves`; default: all.

        Raises:
            OutOfTime: the deadline passed; `estimates` includes all trials completed before that.
        """
        ...

    def estimates(self) -> Estimates:
        """The estimates so far."""
        ...


@runtime_checkable
class SharedSearch(Search, Protocol):
    """A `Search` that several processes can run together, each with its own rounds.

    Attributes:
        tally: the tally of all trials so far.
    """

    tally: Tally

    def keys(self, num: int) -> list[int]:
        """Keys of the random streams of several processes."""
        ...

    def begin_apart(self, key: int) -> None:
        """From now on, draw from the random stream of a key, and count in a new tally."""
        ...


class Evaluation(Protocol):
    """The value of unfinished states.

    Attributes:
        certain: whether values are without noise: a state always gets the same one.
    """

    certain: bool

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """`[L]` value of each state for a role, and `[L]` turns to the end of the game, 0 if
        unknown.

        Values are in the machine's goal range. They may be noisy: callers average them.

        Raises:
            OutOfTime: the deadline passed before all were valued.
        """
        ...


@runtime_checkable
class JointEvaluation(Protocol):
    """The ability of an `Evaluation` to value states for all roles at once."""

    def goals(
        self, states: States, rng: np.random.Generator, deadline: Deadline | None = None
    ) -> tuple[FloatArray, IntArray]:
        """`[L, R]` values, and `[L]` turns: see `Evaluation.values`."""
        ...


class ValuedTurns(NamedTuple):
    """K successors of states, with their values for a search that stops there.

    Attributes:
        percepts: `[K]` percept ids of the role for which they are valued.
        over: `[K]` whether each is terminal.
        move_facts: a summary of the legal moves in the successors; None if unknown.
        values: `[K]` value of each for the role; meaningless where the game is over.
        keys: `[K, 2]` equal for equal states.
    """

    percepts: IntArray
    over: BoolArray
    move_facts: MoveFacts | None
    values: FloatArray
    keys: IntArray


@runtime_checkable
class TurnEvaluation(Protocol):
    """The ability of an `Evaluation` to value states as they are reached, before they exist."""

    def valued_turns(
        self,
        states: States,
        lanes: IntArray,
        joint_moves: IntArray,
        role: int,
        before: Sequence[Ragged],
    ) -> ValuedTurns:
        """Make joint moves, and value the successors for a role.

        Args:
            states: L states.
            lanes: `[K]` the state of each joint move; neighbours should have equal states.
            joint_moves: `[K, R]` move ids.
            before: the moves of each role in the L states, to compare with those of successors.
        """
        ...


# ------------------------------------------------------------------------
# Kinds of players, by how they treat hidden information and how far they look ahead.
#
# A player's class states its kinds (`KINDS`), so that
# `ggp.labs.papers.advise_command` need not name players.

CLAIRVOYANT = "clairvoyant"
"""Searches each world (possible state) as if every player saw it."""

INFORMED = "informed"
"""Assumes that every role acts on its own information only."""

SIMULATIONS = "simulations"
"""Plays few, slow simulations instead of many quick playouts."""

TREES = "trees"
"""Searches several turns deep, and keeps statistics in a tree."""


# ------------------------------------------------------------------------
# Runs a search within its budget: a number of trials, a deadline, or a number of states.
#
# Players hand over a `Search`, and get its `Estimates`. Against a clock the search runs in rounds,
# each planned from the times and estimates of earlier ones:
#
# - A round of simulations is nearly all fixed cost, a round of playouts has almost none. So the
#   time of a round is predicted as a + b * trials, fitted to the last rounds; a round is as large
#   as fits.
# - With several processors, copies of this process run their own rounds. Since most of the cost of
#   a round is fixed, sharing a round would gain nothing.
# - Only candidates that may still be the best are tried again. Each round decides this anew from
#   the errors, so that a dropped candidate returns if the best loses its lead.

ROUND_SHARE = 0.5
"""Share of the remaining time for a round that is not the last."""

LAST_SHARE = 0.85
"""Share for the last round: predictions are inexact, and an unfinished round is lost."""

FIXED_SHARE = 0.1
"""The next round is the last if its fixed cost takes this share of the remaining time."""

RECENT_ROUNDS = 4
"""Predictions use this many rounds: the first ones are slower."""

SURE_GROWTH = 4
"""Predictions hold for rounds up to this many times as large as the largest before."""

MAX_GROWTH = 16
"""A round is at most this many times as large as the largest before, the range of predictions."""

MAX_TRIALS = 1 << 40
"""Trials of a round if trials cost nothing."""

RACE_FROM = 8
"""With this many trials of every candidate, the search may drop candidates, and no longer begins
rounds that may not fit."""
RACE_ERRORS = 2.0
"""Standard errors by which a value may be wrong."""

BUDGET_SHARE = 0.5
"""A round takes this share of the remaining states, by prediction from the round before."""

TELLING_SHARE = 0.01
"""Other processes stop this share of the time before the deadline, to send their results."""

LAST_WORDS_S = 0.02
"""Seconds to wait for their results after the deadline."""

Report = Callable[[Estimates], None]
"""Receives the estimates so far during a search."""


def run_search(
    search: Search,
    machine: Machine,
    count: int,
    deadline: Deadline | None,
    report: Report | None = None,
    *,
    race: bool = True,
) -> Estimates:
    """Run a search by count or by clock.

    Without a deadline every candidate is tried `count` times. With a deadline `count` is ignored:
    rounds follow until no other fits, first over all candidates, then over those that may still be
    the best.

    Args:
        report: receives the estimates after each round except the last.
        race: drop candidates that are certainly worse than the best. Not for values that are biased
            after few trials: dropped candidates would keep their bias.
    """
    if deadline is None:
        search.round(count)
    elif isinstance(search, SharedSearch):
        _run_together(search, machine, deadline, report, race=race)
    else:
        _run_until(search, machine, deadline, report, race=race)
    return search.estimates()


def _run_together(
    search: SharedSearch,
    machine: Machine,
    deadline: Deadline,
    report: Report | None,
    *,
    race: bool,
) -> None:
    """Run rounds in as many processes as allowed; only those of this process are reported."""
    processes = processes_for(machine)
    early = deadline.part(1 - TELLING_SHARE)
    keys = search.keys(processes) if processes > 1 else []

    def run(piece: int) -> Tally | None:
        if not piece:
            _run_until(search, machine, deadline, report, race=race)
            return None
        search.begin_apart(keys[piece])
        _run_until(search, machine, early, None, race=race)
        return search.tally

    seconds = deadline.left_s() + LAST_WORDS_S
    for tally in shared(machine, run, processes, seconds, clock_of(deadline.clock).tells):
        if tally is not None:
            search.tally.join(tally)


def _run_until(
    search: Search, machine: Machine, deadline: Deadline, report: Report | None, *, race: bool
) -> None:
    """Run rounds until no other fits."""
    subset = np.arange(len(search.moves.values))
    costs = RoundCosts(first=search.side_by_side)
    while not deadline.passed():
        size = costs.next_size(deadline.left_s(), len(subset))
        if not size and search.estimates().visits.min(initial=RACE_FROM) >= RACE_FROM:
            break
        size = max(size, 1)
        began_s = deadline.clock()
        try:
            search.round(size, subset)
        except OutOfTime:
            break
        costs.add(size * len(subset), deadline.clock() - began_s)
        estimates = search.estimates()
        if report is not None and not deadline.passed():
            report(estimates)
        if race:
            subset = contenders(estimates, machine.goal_range)


class RoundCosts:
    """Predicts the time of a round as a + b * trials, from the rounds so far.

    >>> costs = RoundCosts(first=8)
    >>> costs.next_size(left_s=10.0, num_candidates=4)  # nothing is known yet
    2
    >>> costs.add(trials=8, seconds=0.5)
    >>> costs.add(trials=32, seconds=1.1)  # 0.3 s and 0.025 s a trial
    >>> costs.next_size(left_s=10.0, num_candidates=4)  # half the time; one is 0.3 s + 0.1 s
    47

    Args:
        first: trials of the first round, over all candidates: the number that costs about as much
            as one.
    """

    def __init__(self, first: int = 1) -> None:
        self._first = first
        self._rounds: deque[tuple[int, float]] = deque(maxlen=RECENT_ROUNDS)
        self._largest = 0

    def add(self, trials: int, seconds: float) -> None:
        """Record a round of this many trials and its time."""
        self._rounds.append((max(trials, 1), seconds))
        self._largest = min(max(self._largest, trials), MAX_TRIALS)

    def next_size(self, left_s: float, num_candidates: int) -> int:
        """Trials of each candidate in the next round; 0 if no round fits into the remaining
        time."""
        if not self._rounds:
            return max(1, self._first // num_candidates)
        fixed, per_trial = self._fit()
        largest, per_trial = self._largest / num_candidates, per_trial * num_candidates
        size = min((ROUND_SHARE * left_s - fixed) / per_trial, max(1, MAX_GROWTH * largest))
        if fixed > FIXED_SHARE * left_s:
            last = (LAST_SHARE * left_s - fixed) / per_trial
            size = max(size, min(last, max(1, SURE_GROWTH * largest)))
        return max(0, int(size))

    def _fit(self) -> tuple[float, float]:
        """Seconds of a round without trials, and seconds per trial; both at least 0.

        By least squares. If the fit fails, or gives a negative cost, the last round gives the cost
        of a trial without a fixed cost, which overestimates large rounds.
        """
        trials, seconds = zip(*self._rounds, strict=True)
        if min(trials) < max(trials):
            # Noise grows with the size of a round, so weights are its inverse. In plain Python, as
            # this also plans waves of trees, which take a millisecond each.
            count, total = len(trials), sum(trials)
            weights = sum(1 / size for size in trials)
            rates = sum(cost / size for cost, size in zip(seconds, trials, strict=True))
            per_trial = (weights * sum(seconds) - count * rates) / (weights * total - count**2)
            fixed = (rates - count * per_trial) / weights
            if per_trial > 0 and fixed >= 0:
                return fixed, per_trial
        return 0.0, max(seconds[-1] / trials[-1], 1e-12)


def contenders(estimates: Estimates, goal_range: tuple[float, float]) -> IntArray:
    """Indices of the candidates of one bag that may still be the best.

    Rule: a candidate stays if its upper bound reaches the greatest lower bound (the test of
    Hoeffding races, Maron and Moore, 1994, with estimated errors). All stay until each has been
    tried often enough.
    """
    everyone = np.arange(len(estimates.values))
    if not len(everyone) or estimates.visits.min() < RACE_FROM:
        return everyone
    error = RACE_ERRORS * estimates.cautious_errors(goal_range)
    floor = (estimates.values - error).max()
    return np.flatnonzero(estimates.values + error >= floor)


def spend_states(
    search: Search,
    machine: Machine,
    budget: float,
    deadline: Deadline | None = None,
) -> Estimates:
    """Run rounds over all candidates that visit about `budget` states.

    Each candidate is tried at least once. Rounds become smaller towards the end, and no round
    begins that would exceed the budget, by the cost of the one before. A trial counts as at least
    one state, so that the search ends even if trials become free.

    Args:
        machine: counts the states that the search visits.
        budget: remaining number of states; may be negative.
        deadline: the search's own, which ends it early.
    """
    size = 1
    while True:
        visited = machine.states_visited
        try:
            search.round(size)
        except OutOfTime:
            break
        spent = max(machine.states_visited - visited, size * len(search.moves.values))
        budget -= spent
        # The rest is too small for one more trial of each candidate.
        if budget * size < spent:
            break
        # Only a share of the rest: the cost of a round is predicted from the one before.
        size = max(1, int(BUDGET_SHARE * budget * size / spent))
    return search.estimates()
