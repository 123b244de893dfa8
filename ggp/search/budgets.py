"""The length of a search: a number of trials, a deadline, or a number of states.

Against a clock a search runs in rounds, each planned from the time and results of those before:

- A round of simulations is nearly all fixed cost, one of playouts has almost none. So the time of a
  round is predicted as a + b * trials, fitted to the last rounds, and a round is made as large as
    fits.
- With several processors, copies of this process run their own rounds: so little of a round depends
  on its size that sharing one would gain nothing.
- Only candidates that may still be the best are tried again. This is decided from the errors anew
  after each round, so that one left out comes back if the best loses its lead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from ggp.machine.base import IntArray, Machine
from ggp.machine.forks import processes_for, shared
from ggp.run.clocks import clock_of
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.estimates import Estimates, Tally
from ggp.search.parts import Search, SharedSearch

ROUND_SHARE = 0.5
"""A round takes this share of the remaining time: others will follow."""

LAST_SHARE = 0.85
"""The last round takes this share: predictions are inexact, and an unfinished round is a loss."""

FIXED_SHARE = 0.1
"""The next round is the last if its fixed cost takes this share of the remaining time."""

RECENT_ROUNDS = 4
"""Predictions use this many rounds: the first ones are slower."""

SURE_GROWTH = 4
"""Predictions hold for rounds up to this many times as large as the largest before."""

MOST_GROWTH = 16
"""A round is at most this many times as large as the largest before: predictions reach no
further."""

MOST_TRIALS = 1 << 40
"""Trials of a round if trials cost nothing."""

RACE_FROM = 8
"""Number of trials of every candidate from which on candidates may be left out, and rounds that may
not fit are not begun."""
RACE_ERRORS = 2.0
"""Standard errors by which a value may be wrong."""

BUDGET_SHARE = 0.5
"""Rounds take this share of the remaining states, as predicted from the round before."""

TELLING_SHARE = 0.01
"""Other processes stop this share of the time before the deadline, to send their results."""

LAST_WORDS_S = 0.02
"""Time after the deadline during which their results are waited for."""

Report = Callable[[Estimates], None]
"""Receives the values so far, while a search goes on."""


def run_search(
    search: Search,
    machine: Machine,
    count: int,
    deadline: Deadline | None,
    report: Report | None = None,
    *,
    race: bool = True,
) -> Estimates:
    """Values by count or by clock.

    Without a deadline every candidate is tried `count` times. With one, `count` makes no
    difference: rounds go on until no other fits, at first over all candidates, then over those that
    may still be the best.

    Args:
        report: receives the values after each round except the last.
        race: leave out candidates that are certainly worse than the best. Not for values that are
            biased after few trials: those left out would keep their bias.
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
    """Rounds in as many processes as allowed. Only the rounds of this one are reported."""
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
    """Rounds until no other fits."""
    chosen = np.arange(len(search.moves.values))
    costs = RoundCosts(first=search.side_by_side)
    while not deadline.passed():
        size = costs.next_size(deadline.left_s(), len(chosen))
        if not size and search.estimates().visits.min(initial=RACE_FROM) >= RACE_FROM:
            break
        size = max(size, 1)
        began_s = deadline.clock()
        try:
            search.round(size, chosen)
        except OutOfTime:
            break
        costs.add(size * len(chosen), deadline.clock() - began_s)
        estimates = search.estimates()
        if report is not None and not deadline.passed():
            report(estimates)
        if race:
            chosen = contenders(estimates, machine.goal_range)


class RoundCosts:
    """Predicts the cost of a round as a + b * trials, from the rounds so far.

    Args:
        first: trials of the first round, over all candidates: as many as cost no more than one.
    """

    def __init__(self, first: int = 1) -> None:
        self._first = first
        self._rounds: deque[tuple[int, float]] = deque(maxlen=RECENT_ROUNDS)
        self._largest = 0

    def add(self, trials: int, seconds: float) -> None:
        """Record a round of this many trials and its time."""
        self._rounds.append((max(trials, 1), seconds))
        self._largest = min(max(self._largest, trials), MOST_TRIALS)

    def next_size(self, left_s: float, num_candidates: int) -> int:
        """Trials of each candidate in the next round; 0 if no round fits into the remaining
        time."""
        if not self._rounds:
            return max(1, self._first // num_candidates)
        fixed, each = self._fit()
        largest, each = self._largest / num_candidates, each * num_candidates
        size = min((ROUND_SHARE * left_s - fixed) / each, max(1, MOST_GROWTH * largest))
        if fixed > FIXED_SHARE * left_s:
            last = (LAST_SHARE * left_s - fixed) / each
            size = max(size, min(last, max(1, SURE_GROWTH * largest)))
        return max(0, int(size))

    def _fit(self) -> tuple[float, float]:
        """Seconds of a round without trials, and seconds per trial; both at least 0.

        By least squares. If the rounds say nothing about the fixed cost, or nonsense, the last one
        gives the cost of a trial, as if nothing were fixed: an overestimate rather than the
        reverse.
        """
        trials, seconds = zip(*self._rounds, strict=True)
        if min(trials) < max(trials):
            # Noise grows with what a round takes: weights by the inverse of its size. In plain
            # Python, since the waves of a tree are planned like this, and take a millisecond each.
            number, every = len(trials), sum(trials)
            weights = sum(1 / size for size in trials)
            rates = sum(took / size for took, size in zip(seconds, trials, strict=True))
            each = (weights * sum(seconds) - number * rates) / (weights * every - number**2)
            fixed = (rates - number * each) / weights
            if each > 0 and fixed >= 0:
                return fixed, each
        return 0.0, max(seconds[-1] / trials[-1], 1e-12)


def contenders(estimates: Estimates, goal_range: tuple[float, float]) -> IntArray:
    """Places of the candidates of one bag that may still be the best.

    Kept are those whose value, raised by its possible error, reaches the lower bound of the best:
    the test of Hoeffding races (Maron and Moore, 1994), with estimated errors. All are kept until
    all have been tried often enough.
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
    """Values of rounds over all candidates that together visit about `budget` states.

    Each candidate is tried at least once. Rounds become smaller towards the end, and none is begun
    that would exceed the budget, judging by the one before. A trial counts as at least one state,
    so that the search ends even when trials cost nothing any more.

    Args:
        machine: counts the states that the search visits.
        budget: number of states left; may be negative.
        deadline: that of the search, which ends it early.
    """
    size = 1
    while True:
        before = machine.states_visited
        try:
            search.round(size)
        except OutOfTime:
            break
        spent = max(machine.states_visited - before, size * len(search.moves.values))
        budget -= spent
        # The rest does not pay for one more trial of each candidate.
        if budget * size < spent:
            break
        # Not all at once: the cost of a round is only known from the one before.
        size = max(1, int(BUDGET_SHARE * budget * size / spent))
    return search.estimates()
