"""Players of synthetic trees, and their scores: all of it is exact, except the equilibrium.

Nothing is sampled. A player is its strategy, and scores are expectations over worlds and moves, so
a tree stands for any number of games.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.labs.papers.synthetic import SyntheticTree
from ggp.machine.base import FloatArray
from ggp.solve.regret import Regrets

EPSILON = 0.005
"""The sum of what both players of an equilibrium may still gain, of payoffs from -1 to 1. A score
against it is wrong by at most half of that."""

MAX_ROUNDS = 20_000

ROUNDS_AT_ONCE = 16
"""Number of rounds between two checks of what could still be gained."""


class Equilibrium(NamedTuple):
    """A profile near an equilibrium.

    Attributes:
        profile: strategies of both players.
        nash_conv: the sum of both players' gains if each changes to a best response.
        rounds: number of rounds of CFR+.
    """

    profile: FloatArray
    nash_conv: float
    rounds: int


class Scores(NamedTuple):
    """Scores of a strategy on a tree, the mean of both sides; the equilibrium's score is 0.

    Attributes:
        equilibrium: score against the equilibrium.
        best_response: score against a best response to it.
    """

    equilibrium: float
    best_response: float


def uniform(tree: SyntheticTree) -> FloatArray:
    """The profile that goes left or right by lot."""
    return np.full(tree.set_of.shape, 0.5)


def pimc(tree: SyntheticTree) -> FloatArray:
    """The profile of perfect information Monte Carlo search that looks at every world.

    It takes every world of an information set to be equally likely, whatever happened before. The
    move with the better mean of clairvoyant values is made; ties are broken by lot, as in
    the paper's Figure 1(b).
    """
    votes, values = np.zeros(tree.set_of.shape), tree.payoffs
    worlds = np.arange(values.shape[1])
    for depth in reversed(range(tree.depth)):
        sign = -1 if depth % 2 else 1
        nodes = np.arange(1 << depth, 2 << depth)[:, None]
        left, right = sign * values[0::2], sign * values[1::2]
        np.add.at(votes, (nodes, tree.set_of[nodes, worlds]), left - right)
        values = sign * np.maximum(left, right)
    going_left = 0.5 + 0.5 * np.sign(votes)
    return np.take_along_axis(going_left, tree.set_of, axis=1)


def equilibrium(
    tree: SyntheticTree, epsilon: float = EPSILON, *, alternating: bool = True
) -> Equilibrium:
    """An equilibrium by CFR+.

    Its play at nodes that it never lets the game reach is not determined by being an equilibrium,
    but by how it was found. It hardly matters against good players, and much against random ones.

    Args:
        epsilon: the gain that may be left.
        alternating: whether the second player already answers the first one's new strategy.
    """
    regrets, nash_conv = Regrets(tree.form.forest), np.inf
    while nash_conv > epsilon and regrets.iterations < MAX_ROUNDS:
        regrets.learn(ROUNDS_AT_ONCE, alternating=alternating)
        average, nash_conv = regrets.average()
    return Equilibrium(tree.form.profile(average), nash_conv, regrets.iterations)


def score(tree: SyntheticTree, first: FloatArray, second: FloatArray) -> float:
    """The expected payoff of the first player if the players follow these profiles."""
    plans = tree.form.forest.plans(tree.form.strategies(first, second))
    return float(tree.form.forest.values(plans)[0, 0])


def best_response(tree: SyntheticTree, profile: FloatArray, player: int) -> float:
    """The greatest payoff of a player (0 or 1) against the other one's part of a profile."""
    plans = tree.form.forest.plans(tree.form.strategies(profile, profile))
    return float(tree.form.forest.best_values(plans)[0, player])


def scores(tree: SyntheticTree, profile: FloatArray, against: FloatArray) -> Scores:
    """Score a strategy in both roles, against an equilibrium and against a best response."""
    return Scores(
        (score(tree, profile, against) - score(tree, against, profile)) / 2,
        -(best_response(tree, profile, 0) + best_response(tree, profile, 1)) / 2,
    )
