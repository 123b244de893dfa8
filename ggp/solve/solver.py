"""Solves a game: by its positions, or by its tree, each part of it by the method that suits it.

| game, or part of it | method | what is found |
|---|---|---|
| two players, constant sum, everybody knows the state | position by position | an equilibrium |
| one player has a choice | best response, backward induction | the optimum |
| two players, constant sum | sequence form LP, or CFR+ if it is too large | an equilibrium |
| any other | CFR+ | a profile, and what each player gains by deviating |

The first row is for `optimal_play` only, and where no strategies are wanted; the others are parts
of a tree. Every answer comes with NashConv: the sum of each player's gain by deviating alone. In a
tree it is computed afterwards, by best responses in the whole of it, independently of the method.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ggp.errors import SolvingError
from ggp.machine.base import FloatArray, Machine
from ggp.solve.forest import Forest, Side, Strategies, Walked, evaluate, num_parts, walk
from ggp.solve.positions import PositionBounds, PositionSolution, solve_positions, suits
from ggp.solve.regret import cfr_plus
from ggp.solve.tree import GameTree, RoleSets
from ggp.solve.tree_builder import USUAL_BOUNDS, TreeBounds, build_tree

if TYPE_CHECKING:
    from scipy.sparse import coo_array


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
    most_seconds: float = MOST_SECONDS,
    bounds: TreeBounds = USUAL_BOUNDS,
) -> Solution:
    """Solve a game.

    Args:
        machine: the machine of the game.
        seed: seed of the search for more than one equilibrium.
        split: solve subgames separately (`ggp.solve.tree_builder`).
        most_seconds: for linear programs, and again for CFR+ if they fail. Parts of the game
            share it, and each of them gets a little in any case.
        bounds: of the tree.

    Raises:
        SolvingError: the tree is larger, or the game may not end, or time is up, or players do not
            know their legal moves.
    """
    began_s = time.monotonic()
    tree = build_tree(machine, bounds, split=split)
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
        if self._tree.is_constant_sum and fits(forest):
            found = equilibrium(forest, most_seconds)
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


# ------------------------------------------------------------------------
# Finds equilibria of two players with constant sum, by a linear program on sequences.
#
# With plans x and y, E x = e and F y = f mean that they are plans, and the first player gets x' A y
# (Koller, Megiddo, von Stengel, "Efficient computation of equilibria for extensive two-person
# games", 1996). Its best plan solves
#
# maximise f' p subject to E x = e, F' p <= A' x, x >= 0
#
# where p are the values of the second player's sets to the first. The dual values of the
# inequalities are the second player's plan. Several subgames are blocks of one program.

MOST_LEAVES = 300_000
"""Greatest number of leaves and sequences of a program that is tried."""


def fits(forest: Forest) -> bool:
    """Whether a linear program can hold a forest."""
    sizes = sum(side.num_sequences for side in forest.sides)
    return len(forest.sequences) + sizes <= MOST_LEAVES


def equilibrium(forest: Forest, most_seconds: float) -> list[FloatArray] | None:
    """Equilibrium strategies of two players whose goals have a constant sum.

    At sets that a player never reaches because of its own earlier moves, it plays a
    best response.

    Returns:
        One strategy for each player, None if the solver finds no solution in time.
    """
    from scipy.optimize import linprog  # takes half a second, which most games have no use for
    from scipy.sparse import coo_array, hstack

    first, second = forest.sides
    payoffs = coo_array(
        (forest.worth[:, 0], (forest.sequences[:, 1], forest.sequences[:, 0])),
        (second.num_sequences, first.num_sequences),
    )
    own, others = _constraints(first), _constraints(second)
    num_roots, num_plan = first.num_roots, first.num_sequences
    objective = np.zeros(num_plan + others.shape[0])
    objective[num_plan : num_plan + num_roots] = -1
    bounds = np.full((len(objective), 2), np.inf)
    bounds[:, 0] = np.where(np.arange(len(objective)) < num_plan, 0, -np.inf)
    ones = np.zeros(own.shape[0])
    ones[:num_roots] = 1
    found = linprog(
        objective,
        A_ub=hstack([-payoffs, others.T]).tocsr(),
        b_ub=np.zeros(second.num_sequences),
        A_eq=hstack([own, coo_array((own.shape[0], others.shape[0]))]).tocsr(),
        b_eq=ones,
        bounds=bounds,
        method="highs",
        options={"time_limit": most_seconds},
    )
    if not found.success:
        return None
    plans = [_clean(found.x[:num_plan]), _clean(-found.ineqlin.marginals)]
    return [
        side.completed(plan, side.best_response(forest.gains(player, plans, worth)))
        for player, (side, plan, worth) in enumerate(
            zip(forest.sides, plans, forest.worth.T, strict=True)
        )
    ]


def _constraints(side: Side) -> coo_array:
    """`[G + I, S]` matrix whose product with any plan is 1 for empty sequences and 0 for sets."""
    from scipy.sparse import coo_array

    num_roots, num_sets = side.num_roots, len(side.sets)
    body = np.arange(num_roots, side.num_sequences)
    rows = np.concatenate([np.arange(num_roots), num_roots + side.owners[body]])
    after = np.arange(num_roots, num_roots + num_sets)
    return coo_array(
        (
            np.concatenate([np.ones(len(rows)), -np.ones(num_sets)]),
            (np.concatenate([rows, after]), np.concatenate([np.arange(len(rows)), side.parents])),
        ),
        (num_roots + num_sets, side.num_sequences),
    )


def _clean(plan: FloatArray) -> FloatArray:
    """A plan without the noise of the solver."""
    return np.where(plan < 1e-11, 0.0, plan)


# ------------------------------------------------------------------------
# Finds strategies of whole games: best responses, and equilibria of pure strategies.

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


# ------------------------------------------------------------------------
# What optimal play is worth, by positions or by the tree.
#
# A game has far fewer positions than its tree has nodes, but a tree tells strategies by what
# players did and saw. So what is asked of a game decides how it is solved, and only here.


@dataclass(frozen=True)
class OptimalPlay:
    """What optimal play is worth.

    Attributes:
        method: how it was found.
        values: expected goal value of each player, by name.
        gains: gain of each player by deviating alone, by name.
        num_states: number of positions, or of nodes of the tree.
        information_sets: number of those in which each player has a choice, by name.
        seconds: wall time.
        solution: the solved tree; None where the game was solved position by position.
    """

    method: str
    values: dict[str, float]
    gains: dict[str, float]
    num_states: int
    information_sets: dict[str, int]
    seconds: float
    solution: Solution | None

    @property
    def nash_conv(self) -> float:
        """The sum of the gains; 0 in an equilibrium."""
        return sum(self.gains.values())


def optimal_play(
    machine: Machine,
    *,
    strategies: bool = False,
    seed: int = 0,
    most_seconds: float = MOST_SECONDS,
    bounds: TreeBounds = USUAL_BOUNDS,
) -> OptimalPlay:
    """Find what optimal play is worth.

    Args:
        machine: the machine of the game.
        strategies: whether the tree of the game is wanted, with a strategy for each player.
        seed, most_seconds: see `solve`.
        bounds: of the positions, and of the tree; they share the time.

    Raises:
        SolvingError: see `solve`.
    """
    began_s, bounds = time.monotonic(), bounds.begun()
    if not strategies and suits(machine):
        of_positions = PositionBounds(
            bounds.states, turns=bounds.turns, is_over=bounds.is_over, progress=bounds.progress
        )
        try:
            return _of_positions(solve_positions(machine, of_positions), began_s)
        except SolvingError:
            pass  # the tree is refused as well, not of constant sum, or solved otherwise
    return _of_tree(solve(machine, seed=seed, most_seconds=most_seconds, bounds=bounds))


def _of_positions(found: PositionSolution, began_s: float) -> OptimalPlay:
    graph = found.graph
    names = [graph.machine.roles[role] for role in graph.players]
    return OptimalPlay(
        f"{INDUCTION} over matrices" if found.is_at_once else INDUCTION,
        dict(zip(names, found.values, strict=True)),
        dict(zip(names, found.gains, strict=True)),
        graph.num_positions,
        dict(zip(names, graph.choices, strict=True)),
        time.monotonic() - began_s,
        None,
    )


def _of_tree(found: Solution) -> OptimalPlay:
    tree, profile = found.tree, found.profile
    return OptimalPlay(
        profile.method,
        profile.values,
        profile.gains,
        tree.num_states,
        {name: len(sets) for name, sets in zip(tree.names, tree.sets, strict=True)},
        found.seconds,
        found,
    )
