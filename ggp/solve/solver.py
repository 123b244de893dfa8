"""Solves a game: builds its tree, and plays each part of it by the method that suits it.

| part of a game | method | what is found |
|---|---|---|
| one player has a choice | best response, backward induction | the optimum |
| two players, constant sum | sequence form LP, or CFR+ if it is too large | an equilibrium |
| any other | CFR+ | a profile, and what each player gains by deviating |

Every answer comes with NashConv: the sum of each player's gain by deviating alone. It is
computed afterwards, by best responses in the whole tree, independently of the method.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from ggp.machine.base import DEFAULT_MAX_STEPS, FloatArray, Machine
from ggp.solve import linear
from ggp.solve.forest import Forest, Walked, num_parts, walk
from ggp.solve.profiles import answering_profiles
from ggp.solve.regret import cfr_plus
from ggp.solve.trees.build import MOST_STATES, Progress, build_tree
from ggp.solve.trees.tree import GameTree

OPTIMUM, INDUCTION = "best response", "backward induction"
LINEAR, REGRET = "sequence form LP", "CFR+"

ANSWERS = "pure strategies that answer each other"
"""Name of the method that finds equilibria besides the first."""

ACCURACY = 1e-5
"""Share of the goals' spread that players may gain by deviating when CFR+ ends."""

MOST_SECONDS = 60.0
"""Seconds for linear programs, and again for CFR+."""

LEAST_SECONDS = 0.1
"""Least number of seconds for each of them, in each part of a game."""


@dataclass(frozen=True)
class Profile:
    """Strategies of all players.

    Attributes:
        method: the methods that found them.
        values: expected goal value of each player, by name.
        gains: gain of each player by deviating alone, by name.
        strategies: `[S]` strategy of each player, with numbers of the tree.
    """

    method: str
    values: dict[str, float]
    gains: dict[str, float]
    strategies: tuple[FloatArray, ...]

    @property
    def nash_conv(self) -> float:
        """The sum of the gains; 0 in an equilibrium."""
        return sum(self.gains.values())


@dataclass(frozen=True)
class Solution:
    """A solved game.

    Attributes:
        tree: its tree, with subgames split off.
        profile: strategies of all players.
        others: equilibria with other values, in games of several players that do not have a
            constant sum. There may be more.
        seconds: wall time.
    """

    tree: GameTree
    profile: Profile
    others: tuple[Profile, ...]
    seconds: float

    @property
    def is_certain(self) -> bool:
        """Whether the values are those of every equilibrium: constant sum, or one player."""
        return len(self.tree.players) == 1 or self.tree.is_constant_sum


def solve(
    machine: Machine,
    *,
    seed: int = 0,
    split: bool = True,
    most_states: int = MOST_STATES,
    most_turns: int = DEFAULT_MAX_STEPS,
    most_seconds: float = MOST_SECONDS,
    build_seconds: float = math.inf,
    progress: Progress | None = None,
) -> Solution:
    """Solve a game.

    Args:
        machine: the machine of the game.
        seed: seed of the search for more than one equilibrium.
        split: solve subgames separately (`ggp.solve.trees.subgames`).
        most_states: greatest number of nodes of the tree.
        most_turns: greatest number of turns of the game.
        most_seconds: for linear programs, and again for CFR+ if they fail. Parts of the game
            share it, and each of them gets a little in any case.
        build_seconds: for the tree, before that.
        progress: called with the progress of the tree.

    Raises:
        SolvingError: the tree is larger, or the game may not end, or time is up, or players do not
            know their legal moves.
    """
    began_s = time.monotonic()
    tree = build_tree(
        machine,
        split=split,
        most_states=most_states,
        most_turns=most_turns,
        is_over=lambda: time.monotonic() > began_s + build_seconds,
        progress=progress,
    )
    return solve_tree(tree, seed=seed, most_seconds=most_seconds, began_s=began_s)


def solve_tree(
    tree: GameTree,
    *,
    seed: int = 0,
    most_seconds: float = MOST_SECONDS,
    began_s: float | None = None,
) -> Solution:
    """Solve a game whose tree has been built; arguments as for `solve`."""
    began_s = time.monotonic() if began_s is None else began_s
    player = _Methods(tree, most_seconds)
    walked = walk(tree, player.play)
    profile = _profile(tree, player.name, walked)
    others = tuple(_others(tree, profile, seed))
    return Solution(tree, profile, others, time.monotonic() - began_s)


class _Methods:
    """Plays each part of a tree by the method that suits it."""

    def __init__(self, tree: GameTree, most_seconds: float) -> None:
        self._tree = tree
        self._until_s = time.monotonic() + most_seconds
        self._parts_left = num_parts(tree, several=True)
        self._used: list[str] = []

    @property
    def name(self) -> str:
        """The names of the methods that were used."""
        if self._used:
            return " and ".join(self._used)
        return OPTIMUM if len(self._tree.players) == 1 else INDUCTION

    def play(self, forest: Forest) -> list[FloatArray]:
        if int(self._tree.actors[forest.subgames].sum(axis=1).max()) <= 1:
            plans = forest.plans([side.uniform() for side in forest.sides])
            return [
                side.best_response(forest.gains(player, plans, forest.worth[:, player]))
                for player, side in enumerate(forest.sides)
            ]
        left_s = max(self._until_s - time.monotonic(), 0.0) / self._parts_left
        most_seconds = max(left_s, LEAST_SECONDS)
        self._parts_left -= 1
        if self._tree.is_constant_sum and linear.fits(forest):
            found = linear.equilibrium(forest, most_seconds)
            if found is not None:
                self._note(LINEAR)
                return found
        self._note(REGRET)
        accuracy = ACCURACY * self._tree.goal_spread
        return cfr_plus(forest, accuracy, most_seconds=most_seconds)

    def _note(self, method: str) -> None:
        if method not in self._used:
            self._used.append(method)


def _others(tree: GameTree, first: Profile, seed: int) -> list[Profile]:
    """Equilibria with values unlike those of any before, the best for all players first."""
    if len(tree.players) == 1 or tree.is_constant_sum:
        return []
    found: list[Profile] = []
    close = 1e-3 * tree.goal_spread
    for walked in answering_profiles(tree, np.random.default_rng(seed)):
        profile = _profile(tree, ANSWERS, walked)
        known = [list(each.values.values()) for each in (first, *found)]
        if not any(np.allclose(walked.values, values, rtol=0, atol=close) for values in known):
            found.append(profile)
    return sorted(found, key=lambda each: -sum(each.values.values()))


def _profile(tree: GameTree, method: str, walked: Walked) -> Profile:
    values, gains = walked.values.tolist(), walked.gains.tolist()
    return Profile(
        method,
        dict(zip(tree.names, values, strict=True)),
        dict(zip(tree.names, gains, strict=True)),
        walked.strategies,
    )
