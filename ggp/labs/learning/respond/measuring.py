"""A bound on what a player can lose: responders learn, the better one is judged on fresh matches.

For each role apart, responders get equal budgets. While it learns, it is judged now and
then on matches that it does not learn from: so one sees the bound over time, and which responder is
the better one. That one plays fresh matches, and nothing is chosen any more. The mean of its scores
is, in expectation, no more than that of a best response: the lower end of its interval bounds what
a best response gets from below, and what the player is left with from above.

Intervals are by betting (`ggp.statistics`): they hold at whatever time one stops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ggp.errors import ConfigError
from ggp.labs.learning.respond.learnt import learnt
from ggp.labs.learning.respond.responders import (
    Budget,
    MakeResponder,
    Responder,
    Rival,
    Searched,
    goals_of,
    scores,
)
from ggp.machine.base import FloatArray, Machine, player_roles
from ggp.run.clocks import cpu_seconds
from ggp.statistics import LEVEL, Interval, mean_interval, mean_of_means

RESPONDERS: tuple[MakeResponder, ...] = (Searched, learnt)
"""All who try, where they can."""

VALIDATION_SHARE, LEAST_VALIDATION, MOST_VALIDATION = 0.2, 16, 2000
"""Matches to judge a responder while it learns: a share of those that it learned from since the
last time, and the bounds of their number."""

_TOTAL_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Judged:
    """The score of a responder at some time while it learned.

    Attributes:
        by: its name.
        matches: it had learned from.
        seconds: of CPU time since this responder began, to judge it included.
        score: the mean of its scores then, with its interval.
    """

    by: str
    matches: int
    seconds: float
    score: Interval


@dataclass(frozen=True, slots=True)
class Response:
    """The better responder of one role.

    Attributes:
        by: its name.
        over_time: of all responders.
        goals: `[L, R]` goal values of all roles in fresh matches.
        score: the mean of its role's, with its interval.
    """

    by: str
    over_time: tuple[Judged, ...]
    goals: FloatArray
    score: Interval


@dataclass(frozen=True, slots=True)
class Bound:
    """The scores of responders against a player, and the bounds that follow.

    Attributes:
        responses: by name of the responder's role.
        left: by name of the player's role, the lowest mean score that it had in fresh matches
            against a responder in another role, with an interval that counts how many there were.
        total: what all goals of a match sum up to, if it was the same in all fresh matches.
        nash_conv: where it was, what all roles together gained by responding, with its interval:
            NashConv of the player is, in expectation, no less.
    """

    responses: dict[str, Response]
    left: dict[str, Interval]
    total: float | None
    nash_conv: Interval | None


Progress = Callable[[str, Judged | int], None]
"""Called with the responder's role, and what it got, or the number of matches it learned from."""


def measure(
    rival: Rival,
    budget: Budget,
    matches: int,
    seed: int,
    *,
    responders: Sequence[MakeResponder] = RESPONDERS,
    progress: Progress = lambda role, found: None,
) -> Bound:
    """Learn to respond to a player in every role, and see what that gets.

    Args:
        rival: the player. Each role's responders meet it anew, with no path known.
        budget: in each role: seconds for all responders together, or updates of each.
        matches: fresh ones in each role, at the end.
        responders: who tries; the one that gets most while it learns is judged.

    Raises:
        ConfigError: none of them can play the game.
        MachineError: the game cannot be played to its end.
    """
    found = {}
    for role in player_roles(rival.machine):
        course = _Course(replace(rival), role, budget, seed, progress)
        found[rival.machine.roles[role]] = course.run(responders, matches)
    return _summed(rival.machine, found)


class _Course:
    """All that is done for one role."""

    def __init__(
        self, rival: Rival, role: int, budget: Budget, seed: int, progress: Progress
    ) -> None:
        self._rival, self._role, self._budget = rival, role, budget
        self._name = rival.machine.roles[role]
        self._rng = np.random.default_rng((seed, role))
        self._others = rival.movers(role, self._rng)
        self._progress = progress

    def run(self, makers: Sequence[MakeResponder], matches: int) -> Response:
        made = [maker(self._rival, self._role, self._rng) for maker in makers]
        responders = [each for each in made if each is not None]
        if not responders:
            raise ConfigError("no responder can play this game")
        seconds = self._budget.seconds
        share = Budget(self._budget.updates, seconds and seconds / len(responders))
        courses = [self._learn(each, share) for each in responders]
        values = [course[-1].score.value or 0.0 for course in courses]
        best = responders[int(np.argmax(values))]
        mover = best.mover()
        goals = goals_of(self._rival, {**self._others, self._role: mover}, matches, self._rng)
        own = np.nan_to_num(goals[:, self._role], nan=self._rival.machine.goal_range[0])
        judged = tuple(each for course in courses for each in course)
        return Response(best.name, judged, goals, self._interval(own))

    def _learn(self, responder: Responder, budget: Budget) -> list[Judged]:
        """Let a responder learn; it is judged after 1, 2, 4 ... updates and at the end."""
        began_s = cpu_seconds()
        judged: list[Judged] = []
        learned = updates = before = 0

        def judge() -> None:
            nonlocal before
            wanted = int(VALIDATION_SHARE * (learned - before))
            count = min(max(wanted, LEAST_VALIDATION), MOST_VALIDATION)
            before = learned
            mover = responder.mover()
            got = scores(self._rival, self._role, self._others, mover, count, self._rng)
            seconds = cpu_seconds() - began_s
            judged.append(Judged(responder.name, learned, seconds, self._interval(got)))
            self._progress(self._name, judged[-1])

        def after(matches: int) -> None:
            nonlocal learned, updates
            learned = matches
            updates += 1
            self._progress(self._name, matches)
            if updates & (updates - 1) == 0:
                judge()

        responder.learn(budget, after)
        if before < learned:
            judge()
        return judged

    def _interval(self, values: FloatArray) -> Interval:
        bounds = self._rival.machine.goal_range
        return mean_interval(values.tolist(), 0, bounds, fixed=False)


def _summed(machine: Machine, responses: dict[str, Response]) -> Bound:
    low, high = machine.goal_range
    players = player_roles(machine)
    left: dict[str, Interval] = {}
    for role in players:
        against = [responses[machine.roles[other]] for other in players if other != role]
        level = 1 - (1 - LEVEL) / max(len(against), 1)
        # A match that was not over may have been worth anything to the player.
        values = [np.nan_to_num(each.goals[:, role], nan=high) for each in against]
        found = [
            mean_interval(v.tolist(), 0, (low, high), fixed=False, level=level) for v in values
        ]
        if found:
            left[machine.roles[role]] = min(found, key=lambda each: each.value or 0.0)
    sums = np.concatenate([each.goals[:, players].sum(axis=1) for each in responses.values()])
    total, nash_conv = None, None
    if (
        len(players) > 1
        and np.isfinite(sums).all()
        and len(set(np.round(sums, _TOTAL_DIGITS).tolist())) == 1
    ):
        total = float(sums[0])
        groups = [responses[machine.roles[role]].goals[:, role].tolist() for role in players]
        mean = mean_of_means(groups, (low, high))
        ends = (mean.value, mean.low, mean.high)
        value, least, most = (None if x is None else len(players) * x - total for x in ends)
        nash_conv = Interval(value, least, most, mean.method)
    return Bound(responses, left, total, nash_conv)
