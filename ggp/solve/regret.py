"""CFR+: finds strategies by regret matching, for games too large for a linear program.

`solver` passes the subgames of a `Forest` and gets the average strategies of all players.

Players take turns. Each computes the counterfactual regrets of its moves against the others'
current strategies, and updates, for each move a of an information set,

    R+(a) = max(R+(a) + value(a) - value, 0)      sigma(a) = R+(a) / sum of R+, or uniform

Averages weigh iteration t by t (Tammelin, "Solving large imperfect information games using CFR+",
2014). With two players and constant sum the averages converge to an equilibrium. Otherwise they
need not; each player's gain by deviating shows how close they are.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import inlined, kernel
from ggp.solve.forest import Forest

FIRST_CHECK = 32
"""Iterations before the first check of the gains by deviating; the interval doubles each time."""

MAX_ITERATIONS = 100_000

MIN_SHARES = (0.0, 1e-4, 1e-3, 1e-2, 0.05, 0.2)
"""Averages keep moves that were played only at first. So each check also tries the averages without
the moves that are less likely than one of these."""

LEAVES_AT_ONCE = 1 << 22
"""Leaves visited in one call of the kernel, which cannot be interrupted: hundredths of a second."""


def cfr_plus(forest: Forest, accuracy: float, *, most_seconds: float = 60.0) -> list[FloatArray]:
    """The average strategies with the least gains by deviating, among all that were checked.

    Args:
        accuracy: it ends when the sum of players' gains by deviating is at most this in each
            subgame.
        most_seconds: it also ends after this time, or after `MAX_ITERATIONS`.
    """
    regrets = Regrets(forest)
    until_s = time.monotonic() + most_seconds
    check, least_gain, best = FIRST_CHECK, np.inf, regrets.average()[0]
    while regrets.iterations < MAX_ITERATIONS:
        regrets.learn(min(check, MAX_ITERATIONS) - regrets.iterations)
        for share in MIN_SHARES:
            strategies, gain = regrets.average(share)
            if gain < least_gain:
                least_gain, best = gain, strategies
        if least_gain <= accuracy or time.monotonic() >= until_s:
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
        self._current = Strategies(shares, plan, *scratch[:2])
        self._average = Strategies(shares.copy(), plan.copy(), *scratch[2:])
        self.iterations = 0

    def learn(self, iterations: int, *, alternating: bool = True) -> None:
        """Run some iterations.

        Args:
            alternating: whether each player responds to the new strategies of earlier players.
        """
        end = self.iterations + iterations
        at_once = 1 + LEAVES_AT_ONCE // max(1, self._form.leaves.size)
        while self.iterations < end:
            count = min(at_once, end - self.iterations)
            arrays = self._form, self._current, self._regrets, self._sums
            learn(*arrays, self.iterations, count, alternating)
            self.iterations += count

    def average(self, threshold: float = 0.0) -> tuple[list[FloatArray], float]:
        """Everybody's average strategy without moves that are less likely than `threshold`.

        Returns:
            the strategies, and the greatest sum, over subgames, of players' gains by deviating from
            them, each alone.
        """
        arrays = self._form, self._average, self._sums
        gain = gain_by_deviating(*arrays, threshold, self._num_subgames)
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
# Kernels on the sequence form.
#
# Sequences and information sets are numbered from player to player. A set comes after the set of
# its parent sequence, so one loop over a player's sets walks down its part of the tree, and the
# reverse loop walks up.


class SequenceForm(NamedTuple):
    """Subgames with known continuations: P players, I sets, S sequences, K leaves.

    Attributes:
        sequences: `[P + 1]` first sequence of each player; its empty ones come first.
        sets: `[P + 1]` first set of each player.
        parents: `[I]` sequence before each set.
        first, end: `[I]` first sequence of each set, and the one after its last.
        leaves: `[P, K]` each player's sequence of each leaf.
        worth: `[P, K]` value of each leaf for each player, times its probability by chance.
    """

    sequences: IntArray
    sets: IntArray
    parents: IntArray
    first: IntArray
    end: IntArray
    leaves: IntArray
    worth: FloatArray


class Strategies(NamedTuple):
    """Everybody's strategy, with scratch space for its values.

    Attributes:
        shares: `[S]` probability of the last move of a sequence at its set; 1 for empty sequences.
        plan: `[S]` probability that the player makes all moves of a sequence.
        gains, best: `[S]` scratch: values of all continuations of a sequence.
    """

    shares: FloatArray
    plan: FloatArray
    gains: FloatArray
    best: FloatArray


@inlined
def _weigh_leaves(form: SequenceForm, player: int, plan: FloatArray, gains: FloatArray) -> None:
    """Fill in a player's gains: the values of leaves, times the others' reach probabilities."""
    for sequence in range(form.sequences[player], form.sequences[player + 1]):
        gains[sequence] = 0.0
    leaves, worths = form.leaves, form.worth
    num_players, num_leaves = leaves.shape
    if num_players == 2:  # a faster loop for the usual case
        opponent = 1 - player
        for leaf in range(num_leaves):
            gains[leaves[player, leaf]] += worths[player, leaf] * plan[leaves[opponent, leaf]]
        return
    for leaf in range(num_leaves):
        worth = worths[player, leaf]
        for opponent in range(num_players):
            if opponent != player:
                worth *= plan[leaves[opponent, leaf]]
        gains[leaves[player, leaf]] += worth


@inlined
def _learn(form: SequenceForm, current: Strategies, player: int, regrets: FloatArray) -> None:
    """Update a player's regrets, and its strategy by regret matching, from the last set up.

    Gains are relative to that of a set's first move. So moves of equal value get regrets of exactly
    0; otherwise rounding might make one regret positive, and only that move would be played.
    """
    shares, gains = current.shares, current.gains
    parents, first, end = form.parents, form.first, form.end
    _weigh_leaves(form, player, current.plan, gains)
    for info_set in range(form.sets[player + 1] - 1, form.sets[player] - 1, -1):
        begin, stop = first[info_set], end[info_set]
        base, mean = gains[begin], 0.0
        for move in range(begin, stop):
            mean += (gains[move] - base) * shares[move]
        total = 0.0
        for move in range(begin, stop):
            regret = regrets[move] + ((gains[move] - base) - mean)
            regrets[move] = regret if regret > 0.0 else 0.0
            total += regrets[move]
        uniform = 0.0 if total > 0.0 else 1.0 / (stop - begin)
        scale = 1.0 / total if total > 0.0 else 0.0
        for move in range(begin, stop):
            shares[move] = regrets[move] * scale + uniform
        gains[parents[info_set]] += base + mean


@inlined
def _plan(form: SequenceForm, current: Strategies, player: int) -> None:
    """Set a player's plan: plan(sequence) = plan(parent) * share."""
    shares, plan = current.shares, current.plan
    parents, first, end = form.parents, form.first, form.end
    for info_set in range(form.sets[player], form.sets[player + 1]):
        parent_plan = plan[parents[info_set]]
        for move in range(first[info_set], end[info_set]):
            plan[move] = parent_plan * shares[move]


@kernel
def learn(
    form: SequenceForm,
    current: Strategies,
    regrets: FloatArray,
    sums: FloatArray,
    earlier: int,
    iterations: int,
    alternating: bool,
) -> None:
    """Iterations of CFR+.

    Args:
        current: the current strategies.
        regrets: `[S]` at least 0.
        sums: `[S]` sum of plans, weighted by iteration.
        earlier: number of earlier iterations.
        alternating: whether each player responds to the new strategies of earlier players.
    """
    plan = current.plan
    for iteration in range(earlier + 1, earlier + iterations + 1):
        for player in range(len(form.leaves)):
            _learn(form, current, player, regrets)
            if alternating:
                _plan(form, current, player)
        for player in range(len(form.leaves)):
            if not alternating:
                _plan(form, current, player)
        for sequence in range(len(sums)):
            sums[sequence] += iteration * plan[sequence]


@inlined
def _average(form: SequenceForm, sums: FloatArray, threshold: float, shares: FloatArray) -> None:
    """Fill in the average strategy without moves less likely than `threshold`."""
    for info_set in range(len(form.parents)):
        begin, stop = form.first[info_set], form.end[info_set]
        for move in range(begin, stop):
            shares[move] = sums[move]
        # The first pass only normalises; the second drops unlikely moves and normalises again.
        for bound in (0.0, threshold):
            total = 0.0
            for move in range(begin, stop):
                if shares[move] < bound:
                    shares[move] = 0.0
                total += shares[move]
            for move in range(begin, stop):
                shares[move] = shares[move] / total if total > 0.0 else 1.0 / (stop - begin)


@kernel
def gain_by_deviating(
    form: SequenceForm, average: Strategies, sums: FloatArray, threshold: float, num_subgames: int
) -> float:
    """The greatest sum, over subgames, of players' gains by deviating from average strategies.

    Args:
        average: its strategies are filled in.
        sums, threshold: see `learn` and `_average`.
    """
    _average(form, sums, threshold, average.shares)
    shares, gains, best = average.shares, average.gains, average.best
    parents, first, end = form.parents, form.first, form.end
    for player in range(len(form.leaves)):
        _plan(form, average, player)
    for player in range(len(form.leaves)):
        # From the last set to the first: `gains` are values of the average strategy, `best` of best
        # responses. Both values of a set are added to its parent sequence.
        _weigh_leaves(form, player, average.plan, gains)
        for sequence in range(form.sequences[player], form.sequences[player + 1]):
            best[sequence] = gains[sequence]
        for info_set in range(form.sets[player + 1] - 1, form.sets[player] - 1, -1):
            worth, best_worth = 0.0, best[first[info_set]]
            for move in range(first[info_set], end[info_set]):
                worth += gains[move] * shares[move]
                best_worth = max(best_worth, best[move])
            gains[parents[info_set]] += worth
            best[parents[info_set]] += best_worth
    greatest = 0.0
    for subgame in range(num_subgames):
        total = 0.0
        for player in range(len(form.leaves)):
            root = form.sequences[player] + subgame
            total += best[root] - gains[root]
        greatest = max(greatest, total)
    return greatest
