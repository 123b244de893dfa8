"""Finds strategies of whole games: best responses, and equilibria of pure strategies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ggp.machine.base import FloatArray
from ggp.solve.forest import Forest, Strategies, Walked, evaluate, num_parts, walk
from ggp.solve.trees.tree import GameTree, RoleSets

MOST_STARTS = 64
"""Number of pure profiles to begin with."""

MOST_WORK, WORK_OF_A_PART = 5_000_000, 2_000
"""Leaves visited in search of equilibria, and the further cost of each part of a tree. Time is not
limited, so that the same game always gives the same equilibria."""

SETTLED = 1e-9
"""Share of the goals' spread that players may gain by deviating from an equilibrium."""


def best_response(tree: GameTree, strategies: Strategies, player: int) -> Walked:
    """The profile with one player's strategy replaced by a pure best response to the others'."""

    def play(forest: Forest) -> Strategies:
        found = forest.local(strategies)
        found[player] = forest.best_response(found, player)
        return found

    return walk(tree, play)


def answering_profiles(tree: GameTree, rng: np.random.Generator) -> Iterator[Walked]:
    """Pure equilibria: players answer each other's best responses until nobody would change.

    Not all of them are found. The search begins at random pure strategies.
    """
    tolerance = SETTLED * tree.goal_spread
    work = (len(tree.players) + 1) * (len(tree.leaves) + WORK_OF_A_PART * num_parts(tree))
    rounds_left = MOST_WORK // work
    seen: set[bytes] = set()
    for _ in range(MOST_STARTS):
        profile = tuple(_random_pure(sets, tree.num_subgames, rng) for sets in tree.sets)
        # Answers depend on profiles only, so one met before leads to nothing new.
        while (key := b"".join(each.tobytes() for each in profile)) not in seen:
            if not rounds_left:
                return
            rounds_left -= 1
            seen.add(key)
            for player in range(len(tree.players)):
                profile = best_response(tree, profile, player).strategies
            walked = evaluate(tree, profile)
            if walked.nash_conv <= tolerance:
                yield walked
                break


def _random_pure(sets: RoleSets, num_subgames: int, rng: np.random.Generator) -> FloatArray:
    strategy = np.zeros(int(sets.offsets[-1]))
    strategy[:num_subgames] = 1
    strategy[sets.offsets[:-1] + rng.integers(0, sets.counts)] = 1
    return strategy
