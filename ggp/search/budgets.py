"""How long a search goes on: for a count of trials, until a deadline, or for so many states.

Against a clock a search is made of rounds, each after a look at what the ones before took and said:

- A round of simulations is nearly all fixed cost, one of playouts has almost none. So the time of a
  round is predicted as a + b * trials, fitted to the last rounds, and a round is as large as fits.
- Where there are several processors, copies of this process make rounds of their own: so little of
  a round depends on its size that to share one would gain nothing.
- Only candidates that may still be the best are tried again. What their errors say of that is
  looked at anew after each round, so that one left out comes back if the best loses its lead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from ggp.clocks import clock_of
from ggp.machine.base import IntArray, Machine
from ggp.machine.forks import processes_for, shared
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.estimates import Estimates, Tally
from ggp.search.parts import Search, SharedSearch

ROUND_SHARE = 0.5
"""A round takes this share of the time that is left: there will be others."""

LAST_SHARE = 0.85
"""The last round takes this share: predictions are not exact, and a round in vain is a loss."""

FIXED_SHARE = 0.1
"""The next round is the last where the fixed cost of one takes this share of the time left."""

RECENT_ROUNDS = 4
"""Predictions are made from so many: the first ones are slower."""

SURE_GROWTH = 4
"""Predictions are good for a round so many times as large as the largest before."""

MOST_GROWTH = 16
"""A round is at most so many times as large as the largest before: no prediction holds further."""

MOST_TRIALS = 1 << 40
"""Of a round whose trials cost nothing."""

RACE_FROM = 8
"""Candidates are left out, and rounds that may not fit not begun, once all were tried so often."""

RACE_ERRORS = 2.0
"""Standard errors by which a value may be wrong."""

BUDGET_SHARE = 0.5
"""Rounds take this share of the states that are left, as far as the round before tells."""

TELLING_SHARE = 0.01
"""Other processes stop this share of the time before the deadline, to tell what they found."""

LAST_WORDS_S = 0.02
"""How long after the deadline they are waited for."""

Report = Callable[[Estimates], None]
"""Told the values so far, while a search goes on."""


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

    Without a deadline every candidate is tried `count` times. With one, `count` does not
    matter: rounds go on until no other fits in, at first over all candidates, then over those that
    may still be the best.

    Args:
        report: told the values after each round but the last.
        race: leave out candidates that are surely worse than the best. Not where values of few
            trials are biased: those left out would keep their bias.
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
    """Rounds in as many processes as there may be. Those of this one are reported."""
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
    """Rounds until no other fits in."""
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
    """Predicts what a round costs, as a + b * trials, from the rounds made so far.

    Args:
        first: trials of the first round, over all candidates: so many that cost no more than one.
    """

    def __init__(self, first: int = 1) -> None:
        self._first = first
        self._rounds: deque[tuple[int, float]] = deque(maxlen=RECENT_ROUNDS)
        self._largest = 0

    def add(self, trials: int, seconds: float) -> None:
        """A round of so many trials took so long."""
        self._rounds.append((max(trials, 1), seconds))
        self._largest = min(max(self._largest, trials), MOST_TRIALS)

    def next_size(self, left_s: float, num_candidates: int) -> int:
        """Trials of each candidate in the next round; 0 if no round fits into the time left."""
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
        """Seconds of a round without trials, and of each trial; both at least 0.

        By least squares. Of rounds that say nothing of the fixed cost, or nonsense, the last one
        tells the cost of a trial, as if nothing were fixed: rather too dear than too cheap.
        """
        trials, seconds = np.array(self._rounds).T
        if trials.min() < trials.max():
            # Noise grows with what a round takes: weights by the inverse of its size.
            each, fixed = np.polyfit(trials, seconds, 1, w=trials**-0.5)
            if each > 0 and fixed >= 0:
                return float(fixed), float(each)
        return 0.0, max(float(seconds[-1] / trials[-1]), 1e-12)


def contenders(estimates: Estimates, goal_range: tuple[float, float]) -> IntArray:
    """Places of the candidates of one bag that may still be the best.

    Those whose value, raised by its possible error, reaches what the best is worth at least: the
    test of Hoeffding races (Maron and Moore, 1994), with estimated errors. All of them, until all
    have been tried often enough.
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

    Each candidate is tried at least once. Rounds become smaller towards the end, and none is
    begun that would, going by the one before, pass the budget. A trial counts as one state
    at least, so that there is an end where trials cost nothing any more.

    Args:
        machine: counts the states that the search visits.
        budget: what is left of it; may be negative.
        deadline: the one of the search, which ends it early.
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
        # What is left does not pay for one more trial of each candidate.
        if budget * size < spent:
            break
        # Not all at once: what a round costs is only known from the one before.
        size = max(1, int(BUDGET_SHARE * budget * size / spent))
    return search.estimates()
