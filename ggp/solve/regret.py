"""CFR+: finds strategies from regrets, for games too large for a linear program.

Players take turns: each computes the counterfactual regrets of its moves against the other players'
present strategies, adds them to those it has, drops negative ones, and next plays in
proportion to them. Averages weigh iteration t by t (Tammelin, "Solving large imperfect information
games using CFR+", 2014). With two players and constant sum the averages converge to an
equilibrium. Otherwise they need not; each player's gain by deviating shows how close they are.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import inlined, kernel
from ggp.solve.forest import Forest

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


# ------------------------------------------------------------------------
# The kernels, on the sequence form.
#
# Sequences and information sets of all players are numbered on from player to player, and a set
# comes after that of the sequence before it. So one loop over the sets of a player goes down its
# part of the tree, and the same loop backwards goes up.


class SequenceForm(NamedTuple):
    """Subgames with known continuations: P players, I sets, S sequences, K leaves.

    Attributes:
        sequences: `[P + 1]` first sequence of each player; its empty ones come first.
        sets: `[P + 1]` first set of each player.
        parents: `[I]` sequence before each set.
        first, end: `[I]` first sequence of each set, and the one after its last.
        leaves: `[P, K]` each player's sequence of each leaf.
        worth: `[P, K]` value of each leaf for each player, times the probability that chance plays
            its part.
    """

    sequences: IntArray
    sets: IntArray
    parents: IntArray
    first: IntArray
    end: IntArray
    leaves: IntArray
    worth: FloatArray


class Strategies(NamedTuple):
    """Everybody's strategy, and scratch for what it is worth.

    Attributes:
        shares: `[S]` probability of the last move of a sequence at its set; 1 for empty sequences.
        plan: `[S]` probability that the player makes all moves of a sequence.
        gains, best: `[S]` scratch: values of what follows a sequence.
    """

    shares: FloatArray
    plan: FloatArray
    gains: FloatArray
    best: FloatArray


@inlined
def _weigh_leaves(form: SequenceForm, player: int, plan: FloatArray, gains: FloatArray) -> None:
    """Fill in a player's gains with the values of leaves against the plans of the others."""
    for sequence in range(form.sequences[player], form.sequences[player + 1]):
        gains[sequence] = 0.0
    leaves, worths = form.leaves, form.worth
    num_players, num_leaves = leaves.shape
    if num_players == 2:  # the same, faster
        other = 1 - player
        for leaf in range(num_leaves):
            gains[leaves[player, leaf]] += worths[player, leaf] * plan[leaves[other, leaf]]
        return
    for leaf in range(num_leaves):
        worth = worths[player, leaf]
        for other in range(num_players):
            if other != player:
                worth *= plan[leaves[other, leaf]]
        gains[leaves[player, leaf]] += worth


@inlined
def _learn(form: SequenceForm, now: Strategies, player: int, regrets: FloatArray) -> None:
    """Add the gains that a player missed to its regrets, and set its strategy by these.

    Gains count from that of a set's first move on: so moves of equal worth miss exactly nothing,
    where rounding would make the regrets of one of them positive, and it alone would be played.
    """
    shares, gains = now.shares, now.gains
    parents, first, end = form.parents, form.first, form.end
    _weigh_leaves(form, player, now.plan, gains)
    for own in range(form.sets[player + 1] - 1, form.sets[player] - 1, -1):
        begin, stop = first[own], end[own]
        base, more = gains[begin], 0.0
        for move in range(begin, stop):
            more += (gains[move] - base) * shares[move]
        total = 0.0
        for move in range(begin, stop):
            regret = regrets[move] + ((gains[move] - base) - more)
            regrets[move] = regret if regret > 0.0 else 0.0
            total += regrets[move]
        evenly = 0.0 if total > 0.0 else 1.0 / (stop - begin)
        scale = 1.0 / total if total > 0.0 else 0.0
        for move in range(begin, stop):
            shares[move] = regrets[move] * scale + evenly
        gains[parents[own]] += base + more


@inlined
def _plan(form: SequenceForm, now: Strategies, player: int) -> None:
    """Set a player's plan by its strategy."""
    shares, plan = now.shares, now.plan
    parents, first, end = form.parents, form.first, form.end
    for own in range(form.sets[player], form.sets[player + 1]):
        before = plan[parents[own]]
        for move in range(first[own], end[own]):
            plan[move] = before * shares[move]


@kernel
def learn(
    form: SequenceForm,
    now: Strategies,
    regrets: FloatArray,
    sums: FloatArray,
    done: int,
    iterations: int,
    alternating: bool,
) -> None:
    """Iterations of CFR+.

    Args:
        now: the present strategies.
        regrets: `[S]` at least 0.
        sums: `[S]` sum of plans, weighted by iteration.
        done: number of iterations before these.
        alternating: whether each player already answers the new strategies of those before it.
    """
    plan = now.plan
    for iteration in range(done + 1, done + iterations + 1):
        for player in range(len(form.leaves)):
            _learn(form, now, player, regrets)
            if alternating:
                _plan(form, now, player)
        for player in range(len(form.leaves)):
            if not alternating:
                _plan(form, now, player)
        for sequence in range(len(sums)):
            sums[sequence] += iteration * plan[sequence]


@inlined
def _average(form: SequenceForm, sums: FloatArray, least: float, shares: FloatArray) -> None:
    """Fill in the average strategy without moves less likely than `least`."""
    for own in range(len(form.parents)):
        begin, stop = form.first[own], form.end[own]
        for move in range(begin, stop):
            shares[move] = sums[move]
        for bound in (0.0, least):
            total = 0.0
            for move in range(begin, stop):
                if shares[move] < bound:
                    shares[move] = 0.0
                total += shares[move]
            for move in range(begin, stop):
                shares[move] = shares[move] / total if total > 0.0 else 1.0 / (stop - begin)


@kernel
def gain_by_deviating(
    form: SequenceForm, average: Strategies, sums: FloatArray, least: float, num_subgames: int
) -> float:
    """The sum of players' gains by deviating from averages, where it is greatest of all subgames.

    Args:
        average: the strategies are filled in.
        sums, least: see `learn` and `_average`.
    """
    _average(form, sums, least, average.shares)
    shares, gains, best = average.shares, average.gains, average.best
    parents, first, end = form.parents, form.first, form.end
    for player in range(len(form.leaves)):
        _plan(form, average, player)
    for player in range(len(form.leaves)):
        _weigh_leaves(form, player, average.plan, gains)
        for sequence in range(form.sequences[player], form.sequences[player + 1]):
            best[sequence] = gains[sequence]
        for own in range(form.sets[player + 1] - 1, form.sets[player] - 1, -1):
            worth, most = 0.0, best[first[own]]
            for move in range(first[own], end[own]):
                worth += gains[move] * shares[move]
                most = max(most, best[move])
            gains[parents[own]] += worth
            best[parents[own]] += most
    greatest = 0.0
    for subgame in range(num_subgames):
        total = 0.0
        for player in range(len(form.leaves)):
            root = form.sequences[player] + subgame
            total += best[root] - gains[root]
        greatest = max(greatest, total)
    return greatest
