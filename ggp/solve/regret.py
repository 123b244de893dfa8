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

from ggp.machine.base import FloatArray
from ggp.solve.forest import Forest
from ggp.solve.regret_kernels import SequenceForm, Strategies, gain_by_deviating, learn

FIRST_CHECK = 32
"""Iterations before players' gains by deviating are first checked; each time twice as many."""

MOST_ITERATIONS = 100_000

LEAST_SHARES = (0.0, 1e-4, 1e-3, 1e-2, 0.05, 0.2)
"""Averages keep moves that were only played at first. So they are also tried without the
moves that are less likely than one of these."""

LEAVES_AT_ONCE = 1 << 22
"""Leaves that the kernel looks at before it can be interrupted: some hundredths of a second."""


def cfr_plus(forest: Forest, accuracy: float, *, most_seconds: float = 60.0) -> list[FloatArray]:
    """The strategies, among the averages checked, from which players gain least by deviating.

    Args:
        accuracy: it ends when the sum of players' gains by deviating is no greater in any subgame.
        most_seconds: it also ends after these, or after `MOST_ITERATIONS`.
    """
    regrets = Regrets(forest)
    until_s = time.monotonic() + most_seconds
    check, least, best = FIRST_CHECK, np.inf, regrets.average()[0]
    while regrets.iterations < MOST_ITERATIONS:
        regrets.learn(min(check, MOST_ITERATIONS) - regrets.iterations)
        for share in LEAST_SHARES:
            found, gain = regrets.average(share)
            if gain < least:
                least, best = gain, found
        if least <= accuracy or time.monotonic() >= until_s:
            break
        check *= 2
    return best


class Regrets:
    """The regrets of all players of a forest, and the strategies that follow from them.

    Attributes:
        iterations: number of iterations so far.
    """

    def __init__(self, forest: Forest) -> None:
        self._form = _sequence_form(forest)
        self._num_subgames = len(forest.subgames)
        shares = np.concatenate([side.uniform() for side in forest.sides])
        plan = np.concatenate([side.plan(side.uniform()) for side in forest.sides])
        self._regrets, self._sums, *scratch = np.zeros((6, len(plan)))
        self._now = Strategies(shares, plan, *scratch[:2])
        self._average = Strategies(shares.copy(), plan.copy(), *scratch[2:])
        self.iterations = 0

    def learn(self, iterations: int, *, alternating: bool = True) -> None:
        """Go on for some iterations.

        Args:
            alternating: whether each player already answers the new strategies of those before it.
        """
        end = self.iterations + iterations
        at_once = 1 + LEAVES_AT_ONCE // max(1, self._form.leaves.size)
        while self.iterations < end:
            count = min(at_once, end - self.iterations)
            learned = self._form, self._now, self._regrets, self._sums
            learn(*learned, self.iterations, count, alternating)
            self.iterations += count

    def average(self, least: float = 0.0) -> tuple[list[FloatArray], float]:
        """Everybody's average strategy without moves that are less likely than `least`.

        Returns:
            the strategies, and the sum of players' gains by deviating from them, each alone, in
            the subgame where it is greatest.
        """
        averaged = self._form, self._average, self._sums
        gain = gain_by_deviating(*averaged, least, self._num_subgames)
        return np.split(self._average.shares.copy(), self._form.sequences[1:-1]), float(gain)


def _sequence_form(forest: Forest) -> SequenceForm:
    sides = forest.sides
    sequences = np.cumsum([0, *(side.num_sequences for side in sides)])
    sets = np.cumsum([0, *(len(side.sets) for side in sides)])
    numbered = list(zip(sides, sequences[:-1], strict=True))
    return SequenceForm(
        sequences,
        sets,
        np.concatenate([side.parents + begin for side, begin in numbered]),
        np.concatenate([side.offsets[:-1] + begin for side, begin in numbered]),
        np.concatenate([side.offsets[1:] + begin for side, begin in numbered]),
        np.ascontiguousarray((forest.sequences + sequences[:-1]).T),
        np.ascontiguousarray(forest.worth.T),
    )
