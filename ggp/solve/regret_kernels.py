"""The kernel of CFR+, on the sequence form: see `regret` for what it finds.

Sequences and information sets of all players are numbered on from player to player, and a set comes
after that of the sequence before it. So one loop over the sets of a player goes down its part of
the tree, and the same loop backwards goes up.
"""

from __future__ import annotations

from typing import NamedTuple

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import inlined, kernel


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
