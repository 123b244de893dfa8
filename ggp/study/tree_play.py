"""Players of synthetic trees, and their scores: all of it is exact, except the equilibrium.

Nothing is sampled. A player is its strategy, and scores are expectations over worlds and moves, so
a tree stands for any number of games.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.base import FloatArray
from ggp.study import tree_kernels as kernels
from ggp.study.synthetic import SyntheticTree

EPSILON = 0.005
"""The sum of what both players of an equilibrium may still gain, of payoffs from -1 to 1. A score
against it is wrong by at most half of that."""

MAX_ROUNDS = 20_000


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
    votes = np.zeros(tree.set_of.shape)
    kernels.clairvoyant_votes(tree.payoffs, tree.set_of, tree.depth, _of_nodes(tree), votes)
    left = 0.5 + 0.5 * np.sign(votes)
    return np.take_along_axis(left, tree.set_of, axis=1)


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
    average = uniform(tree)
    nash_conv, rounds = kernels.cfr_plus(
        *(tree.payoffs, tree.set_of, tree.depth, epsilon, MAX_ROUNDS, alternating),
        uniform(tree),
        average,
        np.zeros((2, *tree.set_of.shape)),
        np.zeros((2, *tree.set_of.shape)),
        np.stack([_of_nodes(tree), _of_nodes(tree)]),
        *(_of_nodes(tree), _of_nodes(tree), _of_worlds(tree)),
    )
    return Equilibrium(average, nash_conv, rounds)


def score(tree: SyntheticTree, first: FloatArray, second: FloatArray) -> float:
    """The expected payoff of the first player if the players follow these profiles."""
    profile = combined(tree, first, second)
    return float(kernels.score(tree.payoffs, tree.depth, profile, _of_nodes(tree)))


def best_response(tree: SyntheticTree, profile: FloatArray, player: int) -> float:
    """The greatest payoff of a player (0 or 1) against the other one's part of a profile."""
    scratch = _of_nodes(tree), _of_nodes(tree), _of_worlds(tree)
    game = tree.payoffs, tree.set_of, tree.depth
    return float(kernels.best_response(*game, profile, player, *scratch))


def combined(tree: SyntheticTree, first: FloatArray, second: FloatArray) -> FloatArray:
    """The profile in which each player follows its part of one of two profiles."""
    nodes = np.arange(len(tree.set_of))
    depths = np.frexp(np.maximum(nodes, 1))[1] - 1
    return np.where(depths[:, None] % 2, second, first)


def scores(tree: SyntheticTree, profile: FloatArray, against: FloatArray) -> Scores:
    """Score a strategy in both roles, against an equilibrium and against a best response."""
    return Scores(
        (score(tree, profile, against) - score(tree, against, profile)) / 2,
        -(best_response(tree, profile, 0) + best_response(tree, profile, 1)) / 2,
    )


def _of_nodes(tree: SyntheticTree) -> FloatArray:
    """Scratch for kernels with a number for each node and leaf in each world."""
    num_nodes, num_worlds = tree.set_of.shape
    return np.zeros((2 * num_nodes, num_worlds))


def _of_worlds(tree: SyntheticTree) -> FloatArray:
    """Scratch for kernels with a number for each world."""
    return np.zeros(tree.set_of.shape[1])
