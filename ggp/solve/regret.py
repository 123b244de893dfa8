"""CFR+: finds strategies from regrets, for games too large for a linear program.

Players take turns: each computes the counterfactual regrets of its moves against the other players'
present strategies, adds them to those it has, drops negative ones, and next plays in
proportion to them. Averages weigh iteration t by t (Tammelin, "Solving large imperfect information
games using CFR+", 2014). With two players and constant sum the averages converge to an
equilibrium. Otherwise they need not; each player's gain by deviating shows how close they are.
"""

from __future__ import annotations

import time

import numpy as np

from ggp.machine.base import FloatArray, IntArray
from ggp.solve.forest import Forest

FIRST_CHECK = 32
"""Iterations before players' gains by deviating are first checked; each time twice as many."""

LEAST_SHARES = (0.0, 1e-4, 1e-3, 1e-2, 0.05, 0.2)
"""Averages keep moves that were only played at first. So they are also tried without the
moves that are less likely than one of these."""


def cfr_plus(
    forest: Forest,
    accuracy: float,
    *,
    most_iterations: int = 100_000,
    most_seconds: float = 60.0,
    start: list[FloatArray] | None = None,
) -> list[FloatArray]:
    """The strategies, among the averages checked, from which players gain least by deviating.

    Args:
        accuracy: it ends when the sum of players' gains by deviating is no greater in any subgame.
        most_iterations, most_seconds: it also ends after these.
        start: regrets to begin with, `[S]` for each player; without them all moves are equally
            likely at first.
    """
    learners = [_Learner(forest, player) for player in range(len(forest.sides))]
    for learner, regrets in zip(learners, start or [], strict=False):
        learner.begin(regrets)
    plans = [learner.plan() for learner in learners]
    until_s = time.monotonic() + most_seconds
    check, least, best = FIRST_CHECK, np.inf, plans
    for iteration in range(1, most_iterations + 1):
        for player, learner in enumerate(learners):
            learner.learn(plans)
            plans[player] = learner.plan()
            learner.sums += iteration * plans[player]
        if iteration in (check, most_iterations):
            for share in LEAST_SHARES:
                found = [learner.average(share) for learner in learners]
                gain = _gain(forest, found)
                if gain < least:
                    least, best = gain, found
            if least <= accuracy or time.monotonic() >= until_s:
                break
            check *= 2
    return best


def _gain(forest: Forest, strategies: list[FloatArray]) -> float:
    """The sum of players' gains by deviating, in the subgame where it is greatest."""
    plans = forest.plans(strategies)
    best = [
        side.best(forest.gains(player, plans, forest.worth[:, player]))
        for player, side in enumerate(forest.sides)
    ]
    return float((np.stack(best, axis=1) - forest.values(plans)).sum(axis=1).max())


class _Learner:
    """One player's regrets."""

    def __init__(self, forest: Forest, player: int) -> None:
        self._forest, self._player = forest, player
        self._side = forest.sides[player]
        self._regrets = np.zeros(self._side.num_sequences)
        self._strategy = self._side.uniform()
        self.sums = np.zeros(self._side.num_sequences)

    def begin(self, regrets: FloatArray) -> None:
        self._regrets = regrets.copy()
        self._strategy = self._side.strategy(self._regrets)

    def plan(self) -> FloatArray:
        return self._side.plan(self._strategy)

    def average(self, least: float) -> FloatArray:
        """The average strategy without moves less likely than `least`."""
        strategy = self._side.strategy(self.sums)
        return self._side.strategy(np.where(strategy < least, 0.0, strategy))

    def learn(self, plans: list[FloatArray]) -> None:
        """Update the regrets against plans, and the strategy that follows from them."""
        gains = self._forest.gains(self._player, plans, self._forest.worth[:, self._player])
        regrets, strategy, side = self._regrets, self._strategy, self._side

        def expected(worths: FloatArray, first: IntArray, sequences: slice) -> FloatArray:
            worth = np.add.reduceat(worths * strategy[sequences], first)
            counts = np.diff(first, append=len(worths))
            regrets[sequences] += worths - np.repeat(worth, counts)
            return worth

        side.back_up(gains, expected)
        np.maximum(regrets, 0, out=regrets)
        self._strategy = side.strategy(regrets)
