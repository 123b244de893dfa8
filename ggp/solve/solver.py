"""Solves a game by its positions, or by its tree, each part of it by the method that suits it.

`ggp solve` and the library call `optimal_play` or `solve_tree`, and get values and strategies;
players that solve small games call `solve_tree`.

| game, or part of it | method | result |
|---|---|---|
| two players, constant sum, everybody knows the state | position by position | an equilibrium |
| one player has a choice | best response, backward induction | the optimum |
| two players, constant sum | sequence form LP, or CFR+ if it is too large | an equilibrium |
| any other | CFR+ | a profile, and what each player gains by deviating |

The first row is for `optimal_play` without strategies only; the others are parts of a tree. Every
result comes with NashConv: the sum of each player's gain by deviating alone. In a tree it is
computed afterwards, by best responses in the whole tree, independently of the method.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ggp.errors import SolvingError
from ggp.machine.base import FloatArray, IntArray, Machine
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
"""Name of the method that finds further equilibria."""

ACCURACY = 1e-5
"""CFR+ ends when players can gain at most this share of the goals' spread by deviating."""

MAX_SECONDS = 60.0
"""Seconds for linear programs, and again for CFR+."""

MIN_SECONDS = 0.1
"""Least number of seconds for either, in each part of a game."""

MAX_LEAVES = 300_000
"""Most leaves and sequences of a linear program."""


@dataclass(frozen=True)
class Profile:
    """Strategies of all players.

    Attributes:
        method: the methods that found them.
        values: expected goal value of each player, by name.
        gains: gain of each player by deviating alone, by name.
        strategies: `[S]` strategy of each player, numbered as in the tree.
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

    >>> from ggp.machine.games import build_machine, load_program
    >>> solution = solve(build_machine(load_program("exploding_bomb"), "prolog"))
    >>> solution.profile.values, solution.is_certain
    ({'agent': 90.0}, True)
    >>> solution.profile.method, solution.tree.num_states
    ('best response', 15)

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
        """Whether every equilibrium has these values: constant sum, or one player."""
        return len(self.tree.players) == 1 or self.tree.is_constant_sum


def solve(
    machine: Machine,
    *,
    seed: int = 0,
    split: bool = True,
    most_seconds: float = MAX_SECONDS,
    bounds: TreeBounds = USUAL_BOUNDS,
) -> Solution:
    """Solve a game.

    Args:
        machine: the machine of the game.
        seed: seed of the search for more than one equilibrium.
        split: solve subgames separately (`ggp.solve.tree_builder`).
        most_seconds: for linear programs, and again for CFR+ if they fail. Parts of the game share
            it, and each gets at least `MIN_SECONDS`.
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
    most_seconds: float = MAX_SECONDS,
    accuracy: float = ACCURACY,
    most_leaves: int = MAX_LEAVES,
    began_s: float | None = None,
) -> Solution:
    """Solve a game by its tree.

    Args:
        accuracy: CFR+ ends when players can gain at most this share of the goals' spread by
            deviating.
        most_leaves: leaves and sequences of the largest linear program.
        seed, most_seconds: see `solve`.
        began_s: when the work began; now by default.
    """
    began_s = time.monotonic() if began_s is None else began_s
    player = _Methods(tree, most_seconds, accuracy, most_leaves)
    walked = walk(tree, player.play)
    profile = _profile(tree, player.name, walked)
    further = tuple(_further_equilibria(tree, profile, seed))
    return Solution(tree, profile, further, time.monotonic() - began_s)


class _Methods:
    """Plays each part of a tree by the method that suits it."""

    def __init__(
        self, tree: GameTree, most_seconds: float, accuracy: float, most_leaves: int
    ) -> None:
        self._tree, self._accuracy, self._most_leaves = tree, accuracy, most_leaves
        self._until_s = time.monotonic() + most_seconds
        self._parts_left = num_parts(tree, several=True)
        self._methods: list[str] = []

    @property
    def name(self) -> str:
        """The names of the methods that were used."""
        if self._methods:
            return " and ".join(self._methods)
        return OPTIMUM if len(self._tree.players) == 1 else INDUCTION

    def play(self, forest: Forest) -> list[FloatArray]:
        if int(self._tree.actors[forest.subgames].sum(axis=1).max()) <= 1:
            plans = forest.plans([side.uniform() for side in forest.sides])
            return [
                side.best_response(forest.gains(player, plans, forest.worth[:, player]))
                for player, side in enumerate(forest.sides)
            ]
        share_s = max(self._until_s - time.monotonic(), 0.0) / self._parts_left
        most_seconds = max(share_s, MIN_SECONDS)
        self._parts_left -= 1
        if self._tree.is_constant_sum and _size(forest) <= self._most_leaves:
            strategies = equilibrium(forest, most_seconds)
            if strategies is not None:
                self._note(LINEAR)
                return strategies
        self._note(REGRET)
        accuracy = self._accuracy * self._tree.goal_spread
        return cfr_plus(forest, accuracy, most_seconds=most_seconds)

    def _note(self, method: str) -> None:
        if method not in self._methods:
            self._methods.append(method)


def _further_equilibria(tree: GameTree, first: Profile, seed: int) -> list[Profile]:
    """Equilibria with distinct values, those with the highest sum of values first."""
    if len(tree.players) == 1 or tree.is_constant_sum:
        return []
    profiles: list[Profile] = []
    close = 1e-3 * tree.goal_spread
    for walked in answering_profiles(tree, np.random.default_rng(seed)):
        profile = _profile(tree, ANSWERS, walked)
        earlier = [list(p.values.values()) for p in (first, *profiles)]
        if not any(np.allclose(walked.values, values, rtol=0, atol=close) for values in earlier):
            profiles.append(profile)
    return sorted(profiles, key=lambda p: -sum(p.values.values()))


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
#     maximise f' p    subject to    E x = e,    F' p <= A' x,    x >= 0
#
# where p are the values of the second player's sets to the first. The dual values of the
# inequalities are the second player's plan. Several subgames are blocks of one program.


def _size(forest: Forest) -> int:
    """Number of leaves and sequences."""
    return len(forest.sequences) + sum(side.num_sequences for side in forest.sides)


def equilibrium(forest: Forest, most_seconds: float) -> list[FloatArray] | None:
    """Equilibrium strategies of two players whose goals have a constant sum.

    At sets that a player never reaches because of its own earlier moves, it plays a best response.

    Returns:
        One strategy for each player, None if the solver finds no solution in time.
    """
    from scipy.optimize import linprog  # the import takes half a second, and most games need none
    from scipy.sparse import coo_array, hstack

    first, second = forest.sides
    payoffs = coo_array(
        (forest.worth[:, 0], (forest.sequences[:, 1], forest.sequences[:, 0])),
        (second.num_sequences, first.num_sequences),
    )
    rows, columns = _constraints(first), _constraints(second)
    num_roots, num_plan = first.num_roots, first.num_sequences
    objective = np.zeros(num_plan + columns.shape[0])
    objective[num_plan : num_plan + num_roots] = -1
    bounds = np.full((len(objective), 2), np.inf)
    bounds[:, 0] = np.where(np.arange(len(objective)) < num_plan, 0, -np.inf)
    sums = np.zeros(rows.shape[0])
    sums[:num_roots] = 1
    solution = linprog(
        objective,
        A_ub=hstack([-payoffs, columns.T]).tocsr(),
        b_ub=np.zeros(second.num_sequences),
        A_eq=hstack([rows, coo_array((rows.shape[0], columns.shape[0]))]).tocsr(),
        b_eq=sums,
        bounds=bounds,
        method="highs",
        options={"time_limit": most_seconds},
    )
    if not solution.success:
        return None
    plans = [_clean(solution.x[:num_plan]), _clean(-solution.ineqlin.marginals)]
    return [
        side.completed(plan, side.best_response(forest.gains(player, plans, worth)))
        for player, (side, plan, worth) in enumerate(
            zip(forest.sides, plans, forest.worth.T, strict=True)
        )
    ]


def _constraints(side: Side) -> coo_array:
    """`[G + I, S]` matrix whose product with a plan is 1 for empty sequences and 0 for sets."""
    from scipy.sparse import coo_array

    num_roots, num_sets = side.num_roots, len(side.sets)
    body = np.arange(num_roots, side.num_sequences)
    rows = np.concatenate([np.arange(num_roots), num_roots + side.owners[body]])
    ends = np.arange(num_roots, num_roots + num_sets)
    return coo_array(
        (
            np.concatenate([np.ones(len(rows)), -np.ones(num_sets)]),
            (np.concatenate([rows, ends]), np.concatenate([np.arange(len(rows)), side.parents])),
        ),
        (num_roots + num_sets, side.num_sequences),
    )


def _clean(plan: FloatArray) -> FloatArray:
    """A plan without the noise of the solver."""
    return np.where(plan < 1e-11, 0.0, plan)


# ------------------------------------------------------------------------
# Finds strategies of whole games: best responses, and equilibria of pure strategies.

MAX_STARTS = 64
"""Number of random pure profiles at which the search begins."""

MAX_WORK, WORK_OF_A_PART = 5_000_000, 2_000
"""Greatest number of leaves visited in the search for equilibria, and the cost of each part of a
tree in leaves. Time is not limited, so that the same game always gives the same equilibria."""

SETTLED = 1e-9
"""Tolerance of an equilibrium: share of the goals' spread that players may gain by deviating."""


def best_response(tree: GameTree, strategies: Strategies, player: int) -> Walked:
    """The profile with one player's strategy replaced by a pure best response to the others'."""

    def play(forest: Forest) -> Strategies:
        profile = forest.local(strategies)
        profile[player] = forest.best_response(profile, player)
        return profile

    return walk(tree, play)


def answering_profiles(tree: GameTree, rng: np.random.Generator) -> Iterator[Walked]:
    """Pure equilibria, by iterated best responses from random pure profiles.

    Players respond in turn until nobody would change. The search may miss equilibria.
    """
    tolerance = SETTLED * tree.goal_spread
    work = (len(tree.players) + 1) * (len(tree.leaves) + WORK_OF_A_PART * num_parts(tree))
    rounds_left = MAX_WORK // work
    seen: set[bytes] = set()
    for _ in range(MAX_STARTS):
        profile = tuple(_random_pure(sets, tree.num_subgames, rng) for sets in tree.sets)
        # Responses depend on the profile only, so a repeated profile leads to nothing new.
        while (key := b"".join(strategy.tobytes() for strategy in profile)) not in seen:
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
# Values of optimal play, by positions or by the tree.
#
# A game has far fewer positions than its tree has nodes, but only a tree has strategies by
# incomplete paths. So the choice between them depends on the question.


@dataclass(frozen=True)
class OptimalPlay:
    """The values of optimal play.

    Attributes:
        method: name of the method.
        values: expected goal value of each player, by name.
        gains: gain of each player by deviating alone, by name.
        num_states: number of positions, or of nodes of the tree.
        information_sets: number of information sets, or positions, in which each player has a
            choice, by name.
        seconds: wall time.
        solution: the solved tree; None if the game was solved position by position.
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
    most_seconds: float = MAX_SECONDS,
    bounds: TreeBounds = USUAL_BOUNDS,
) -> OptimalPlay:
    """Find the values of optimal play.

    Args:
        machine: the machine of the game.
        strategies: whether to solve the tree of the game, with a strategy for each player.
        seed, most_seconds: see `solve`.
        bounds: of the positions, and of the tree; they share the time.

    Raises:
        SolvingError: see `solve`.
    """
    began_s, bounds = time.monotonic(), bounds.with_deadline()
    if not strategies and suits(machine):
        of_positions = PositionBounds(
            bounds.states, turns=bounds.turns, is_over=bounds.is_over, progress=bounds.progress
        )
        try:
            return _of_positions(solve_positions(machine, of_positions), began_s)
        except SolvingError:
            pass  # then the tree is refused as well, or solved by another method
    return _of_tree(solve(machine, seed=seed, most_seconds=most_seconds, bounds=bounds))


def _of_positions(solution: PositionSolution, began_s: float) -> OptimalPlay:
    graph = solution.graph
    names = [graph.machine.roles[role] for role in graph.players]
    return OptimalPlay(
        f"{INDUCTION} over matrices" if solution.is_at_once else INDUCTION,
        dict(zip(names, solution.values, strict=True)),
        dict(zip(names, solution.gains, strict=True)),
        graph.num_positions,
        dict(zip(names, graph.choices, strict=True)),
        time.monotonic() - began_s,
        None,
    )


def _of_tree(solution: Solution) -> OptimalPlay:
    tree, profile = solution.tree, solution.profile
    return OptimalPlay(
        profile.method,
        profile.values,
        profile.gains,
        tree.num_states,
        {name: len(sets) for name, sets in zip(tree.names, tree.sets, strict=True)},
        solution.seconds,
        solution,
    )


# ------------------------------------------------------------------------
# Follows a role's strategy in a solved game along its incomplete path.
#
# A player passes its move and percepts each turn, and gets the probabilities of its moves. Where a
# subgame begins, the path is replaced by its representative, from which the subgame's information
# sets continue (`ggp.solve.tree.Stands`).


class RolePart(Protocol):
    """The strategy of one role in a solved game, shared by all its matches.

    Attributes:
        start: the first path, or position, of a match.
    """

    @property
    def start(self) -> int: ...

    def after(self, path: int, move: int, percepts: int) -> int | None:
        """The next path, or position; None if it is unknown.

        Args:
            path: a value that this function returned, or `start`.
            move: the move that was executed for the role.
            percepts: id of its percepts then.
        """
        ...

    def choices(self, path: int) -> tuple[IntArray, FloatArray] | None:
        """The moves of the role at a path, and their probabilities.

        Returns:
            None if the role has no choice, or the path is unknown.
        """
        ...


class Part:
    """The part of one role in a game whose tree was solved; a `RolePart`.

    >>> from ggp.machine.games import build_machine, load_program
    >>> from ggp.solve import solve
    >>> machine = build_machine(load_program("kuhn_poker"), "prolog")
    >>> solution = solve(machine, split=False)
    >>> part = Part(solution, role=machine.roles.index("player1"))
    >>> path = int(solution.tree.sets[0].paths[2])
    >>> solution.tree.paths.texts(path)
    ['noop / ((dealt queen))']
    >>> moves, probabilities = part.choices(path)
    >>> [machine.move_text(move) for move in moves.tolist()], probabilities.round(3).tolist()
    (['bet', 'check'], [0.0, 1.0])

    Args:
        solution: a solved game; a tree with subgames must have its stands (`build_tree`).
        role: index of a role that is not `random`.
    """

    def __init__(self, solution: Solution, role: int) -> None:
        self._tree = tree = solution.tree
        player = tree.players.index(role)
        self.role = role
        self._sets = tree.sets[player]
        self._strategy = solution.profile.strategies[player]
        self._numbers = {path: set_id for set_id, path in enumerate(self._sets.paths.tolist())}
        stands = tree.stands[player]
        self._models = dict(zip(stands.paths.tolist(), stands.models.tolist(), strict=True))

    @property
    def start(self) -> int:
        """The empty path."""
        return self.role

    def after(self, path: int, move: int, percepts: int) -> int:
        """The path one turn longer."""
        turn = (np.array([value], dtype=np.int64) for value in (path, move, percepts))
        longer = int(self._tree.paths.extend(*turn)[0])
        path_id: int = self._models.get(longer, longer)
        return path_id

    def choices(self, path: int) -> tuple[IntArray, FloatArray] | None:
        """The moves of an information set and their probabilities."""
        set_id = self._numbers.get(path)
        if set_id is None:
            return None
        start, end = self._sets.offsets[set_id : set_id + 2].tolist()
        shares = np.maximum(self._strategy[start:end], 0.0)
        return self._sets.moves_of(set_id), shares / shares.sum()
