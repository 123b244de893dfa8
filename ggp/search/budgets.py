"""How long a search goes on: for a count of trials, until a deadline, or for so many states."""

from __future__ import annotations

from collections.abc import Callable

from ggp.machine.base import Machine
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.estimates import Estimates
from ggp.search.parts import Search

ROUND_SHARE = 0.1
"""Rounds grow until one takes this share of the time that is left."""

BUDGET_SHARE = 0.5
"""Rounds take this share of the states that are left, as far as the round before tells."""

Report = Callable[[Estimates], None]
"""Told the values so far, while a search goes on."""


def run_search(
    search: Search, count: int, deadline: Deadline | None, report: Report | None = None
) -> Estimates:
    """Values by count or by clock.

    Without a deadline every candidate is tried `count` times. With one, `count` does not
    matter: rounds over all candidates, growing, go on until the deadline.

    Args:
        report: told the values after each round but the last.
    """
    if deadline is None:
        search.round(count)
        return search.estimates()
    size = 1
    while not deadline.passed():
        started = deadline.clock()
        left = deadline.left_s()
        try:
            search.round(size)
        except OutOfTime:
            break
        # Small rounds report early and lose little when time runs out within one; large ones cost
        # less for each trial.
        if deadline.clock() - started < ROUND_SHARE * left:
            size *= 2
        if report is not None and not deadline.passed():
            report(search.estimates())
    return search.estimates()


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
