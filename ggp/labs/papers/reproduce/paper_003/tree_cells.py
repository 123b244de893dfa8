"""Cells of paper 003's heat maps: scores of strategies on random synthetic trees.

Cells and a number of trees come in from `tree_figures` and `figure6`; the scores of each tree go
out. Worker processes draw and score batches of trees. Scores are stored as they arrive, one line of
JSON for a batch, in the folder of the run, so that figures share them, and an interrupted run can
continue. Tree k of every cell is drawn with the same random numbers: cells then differ by their
parameters more than by luck.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from ggp.errors import ConfigError, MatchError
from ggp.labs.papers.reproduce.results import RunSettings, Tell
from ggp.machine.base import FloatArray, IntArray
from ggp.solve.forest import Forest, Side
from ggp.solve.regret import Regrets
from ggp.solve.tree import RoleSets
from match_runner.workers.executor import Executor
from match_runner.workers.places import run_all

FILE = "003-trees.jsonl"

TREES_AT_ONCE = 25
"""Number of trees in a batch of work, about a second."""

_STREAM = 7


class TreeCell(NamedTuple):
    """A cell: parameters of trees, see `TreeModel`."""

    leaf_correlation: float
    bias: float
    disambiguation: float

    def __str__(self) -> str:
        return f"lc={self[0]:g} b={self[1]:g} df={self[2]:g}"


class TreeScores(NamedTuple):
    """Scores on one tree, see `Scores`."""

    pimc: float
    pimc_best_response: float
    random: float
    random_best_response: float
    nash_conv: float


@dataclass(frozen=True, slots=True)
class Trees:
    """A batch of work: trees `first` to `first + count - 1` of a cell."""

    cell: TreeCell
    first: int
    count: int
    seed: int


def measure(trees: Trees) -> list[TreeScores]:
    """Measure the scores of trees, in order."""
    model = TreeModel(*trees.cell)
    batch = []
    for k in range(trees.first, trees.first + trees.count):
        sequence = np.random.SeedSequence(trees.seed, spawn_key=(_STREAM, k))
        tree = draw_tree(model, np.random.default_rng(sequence))
        best = equilibrium(tree)
        batch.append(
            TreeScores(
                *scores(tree, pimc(tree), best.profile),
                *scores(tree, uniform(tree), best.profile),
                best.nash_conv,
            )
        )
    return batch


def measure_cells(
    cells: Sequence[TreeCell], settings: RunSettings, executor: Executor, tell: Tell
) -> Mapping[TreeCell, Sequence[TreeScores]]:
    """Scores of `settings.matches` trees of each cell; only missing ones are measured.

    Args:
        tell: called for each tree.

    Raises:
        ConfigError: the file of trees cannot be used.
        MatchError: workers fail.
    """
    path = settings.folder / FILE
    try:
        stored = _read_scores(path)
        for cell in cells:
            for k in range(settings.matches):
                if (cell, k) in stored:
                    tell()
        with open(path, "a", encoding="utf-8") as file:

            def store(trees: Trees, batch: list[TreeScores]) -> None:
                _write(file, trees, batch)
                for _ in range(_add(stored, trees.cell, trees.first, batch)):
                    tell()

            failures = run_all(
                executor,
                measure,
                ((trees, trees) for trees in _missing(cells, stored, settings)),
                store,
                lambda trees: f"the trees with {trees.cell}",
            )
    except OSError as error:
        raise ConfigError(f"cannot use {path}: {error.strerror or error}") from error
    if failures:
        raise MatchError(failures[0])
    return {cell: [stored[cell, k] for k in range(settings.matches)] for cell in cells}


_Stored = dict[tuple[TreeCell, int], TreeScores]


def _missing(cells: Iterable[TreeCell], stored: _Stored, settings: RunSettings) -> list[Trees]:
    work = []
    for cell in cells:
        for start in range(0, settings.matches, TREES_AT_ONCE):
            end = min(start + TREES_AT_ONCE, settings.matches)
            numbers = [k for k in range(start, end) if (cell, k) not in stored]
            if numbers:  # stored ones in between are measured again
                work.append(Trees(cell, numbers[0], 1 + numbers[-1] - numbers[0], settings.seed))
    return work


def _write(file: TextIO, trees: Trees, batch: Sequence[TreeScores]) -> None:
    line = {"cell": trees.cell, "first": trees.first, "scores": batch}
    file.write(json.dumps(line) + "\n")
    file.flush()


def _read_scores(path: Path) -> _Stored:
    """Read the stored scores; a last line that was cut off is removed."""
    stored: _Stored = {}
    if not path.exists():
        return stored
    text = path.read_text(encoding="utf-8")
    if text and not text.endswith("\n"):
        text = text[: text.rfind("\n") + 1]
        path.write_text(text, encoding="utf-8")
    for line_number, line in enumerate(text.splitlines(), 1):
        try:
            entry = json.loads(line)
            batch = [TreeScores(*map(float, values)) for values in entry["scores"]]
            _add(stored, TreeCell(*map(float, entry["cell"])), int(entry["first"]), batch)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{path}, line {line_number}, holds no trees; remove the line or give another --out"
            ) from error
    return stored


def _add(stored: _Stored, cell: TreeCell, first: int, batch: Sequence[TreeScores]) -> int:
    """Add scores of trees to `stored`; returns the number of new ones."""
    size = len(stored)
    for k, tree_scores in enumerate(batch, first):
        stored[cell, k] = tree_scores
    return len(stored) - size


# ------------------------------------------------------------------------
# Drawing synthetic trees (paper 003, "Synthetic Trees").
#
# Two players move in turn, left or right, and both see every move. A chance node at the root draws
# one of W worlds for each of them, and each sees only its own. So there are W * W worlds, and the
# tree of moves is the same in all of them:
#
# node 1 (depth 0, player 1), its children 2 and 3 (depth 1, player 2), theirs 4 to 7, ...
#
# A node has an information set for every set of worlds that its player cannot distinguish. For each
# of the player's own worlds, these are runs of the opponent's worlds, which break in half from time
# to time.

DEPTH, WORLDS = 8, 8
"""Number of moves of a game, and of worlds of each player, in the paper's experiments."""


@dataclass(frozen=True, slots=True)
class TreeModel:
    """The parameters of random trees.

    Attributes:
        leaf_correlation: probability that two sibling leaves have the same payoff.
        bias: probability that such a pair is won by the first player.
        disambiguation: probability that an information set breaks in half whenever its player is to
            move, including the first time; then each half may break in the same way.
        depth: number of moves of a game.
        worlds: number of worlds of each player, a power of 2.

    Raises:
        ConfigError: a number is not a probability, or trees of this shape cannot be drawn.
    """

    leaf_correlation: float
    bias: float
    disambiguation: float
    depth: int = DEPTH
    worlds: int = WORLDS

    def __post_init__(self) -> None:
        for name in ("leaf_correlation", "bias", "disambiguation"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be from 0 to 1")
        if self.depth < 1:
            raise ConfigError(f"depth is {self.depth}; it must be at least 1")
        if self.worlds < 1 or self.worlds & (self.worlds - 1):
            raise ConfigError(f"worlds is {self.worlds}; it must be a power of 2")


@dataclass(frozen=True)
class SyntheticTree:
    """A tree; node n has the children 2n and 2n + 1, and the players take turns by depth.

    World w = i * W + j is world i of the first player and j of the second.

    Attributes:
        depth: number of moves of a game.
        payoffs: `[2^depth, W * W]` payoff of the first player, 1 or -1, at each leaf (from left to
            right) in each world.
        set_of: `[2^depth, W * W]` first world of the information set of each node and world. Row 0
            is not used.
    """

    depth: int
    payoffs: FloatArray
    set_of: IntArray

    @cached_property
    def form(self) -> TreeForm:
        """Its sequence form."""
        return TreeForm(self.depth, self.payoffs, self.set_of)


def draw_tree(model: TreeModel, rng: np.random.Generator) -> SyntheticTree:
    """A random tree of the model."""
    return SyntheticTree(model.depth, _payoffs(model, rng), _information_sets(model, rng))


def _payoffs(model: TreeModel, rng: np.random.Generator) -> FloatArray:
    shape = (1 << (model.depth - 1), model.worlds**2)
    equal = rng.random(shape) < model.leaf_correlation
    won = rng.random(shape) < model.bias
    left_wins = rng.random(shape) < 0.5
    left = np.where(equal, won, left_wins)
    right = np.where(equal, won, ~left_wins)
    return np.stack([left, right], axis=1).reshape(-1, shape[1]) * 2.0 - 1.0


def _information_sets(model: TreeModel, rng: np.random.Generator) -> IntArray:
    """Draw information sets: runs of worlds break like nodes of a tree, k into 2k and 2k + 1."""
    worlds, shape = model.worlds, (1 << model.depth, model.worlds, model.worlds)
    # [node, own world, run]; run 1 is all worlds of the other player.
    broken = np.zeros(shape, dtype=np.bool_)
    for depth in range(model.depth):
        nodes = np.arange(1 << depth, 2 << depth)
        breaks = rng.random((len(nodes), *shape[1:])) < model.disambiguation
        if depth >= 2:  # sets that broke by their player's last move stay broken
            breaks |= broken[nodes // 4]
        for run in range(2, worlds):
            breaks[:, :, run] &= breaks[:, :, run // 2]
        broken[nodes] = breaks
    positions, level = np.arange(worlds), worlds.bit_length() - 1
    first = np.zeros(shape, dtype=np.int64)
    for shift in reversed(range(level)):
        parents = (worlds + positions) >> (shift + 1)
        first = np.where(broken[:, :, parents], positions >> shift << shift, first)
    own_world = np.arange(worlds)[:, None]
    return np.concatenate(
        [np.zeros((1, worlds**2), dtype=np.int64)]
        + [
            # The second player's own world is the second part of a world's index.
            first[1 << depth : 2 << depth].transpose(0, 2, 1).reshape(1 << depth, -1) * worlds
            + own_world.repeat(worlds, axis=1).T.ravel()
            if depth % 2
            else (first[1 << depth : 2 << depth] + own_world * worlds).reshape(1 << depth, -1)
            for depth in range(model.depth)
        ]
    )


# ------------------------------------------------------------------------
# The sequence form of synthetic trees: the form that the solver (`ggp.solve`) works on.
#
# A *profile* is `left[2^depth, W * W]`: the probability of going left at a node in a world. It is
# the same in all worlds of an information set. Nodes of even depth are player 0's, the others
# player 1's, so one array holds the strategies of both.


class TreeForm:
    """A tree as a forest of one subgame; arguments as for `SyntheticTree`.

    Attributes:
        forest: with the players 0 and 1, and a leaf for every leaf of the tree in every world.
    """

    def __init__(self, depth: int, payoffs: FloatArray, set_of: IntArray) -> None:
        self._shape = set_of.shape
        self._players = [_Player(depth, set_of, player) for player in range(2)]
        sides = tuple(player.side for player in self._players)
        ends = [player.ends.ravel() for player in self._players]
        sequences = [side.local(leaves) for side, leaves in zip(sides, ends, strict=True)]
        worth = payoffs.ravel() / payoffs.shape[1]
        worths = np.stack([worth, -worth], axis=1)
        roots = np.zeros(len(worth), dtype=np.int64)
        self.forest = Forest(
            np.zeros(1, dtype=np.int64), sides, np.stack(sequences, axis=1), roots, worths, worths
        )

    def strategies(self, first: FloatArray, second: FloatArray) -> list[FloatArray]:
        """Strategies of the forest in which each player follows its part of a profile."""
        return [
            player.strategy(profile)
            for player, profile in zip(self._players, (first, second), strict=True)
        ]

    def profile(self, strategies: Sequence[FloatArray]) -> FloatArray:
        """The profile of strategies of the forest; 1/2 in the unused row 0."""
        left = np.full(self._shape, 0.5)
        for player, strategy in zip(self._players, strategies, strict=True):
            left[player.nodes] = player.left(strategy)
        return left


class _Player:
    """The information sets of one player, whose set k has the sequences 1 + 2k (left), 2 + 2k.

    Attributes:
        nodes: `[N]` the nodes where it moves.
        ends: `[leaves, W * W]` its sequence at each leaf.
    """

    def __init__(self, depth: int, set_of: IntArray, player: int) -> None:
        num_worlds = set_of.shape[1]
        every = np.arange(1, 1 << depth)
        depths = np.frexp(every)[1] - 1
        self.nodes = every[depths % 2 == player]
        keys = self.nodes[:, None] * num_worlds + set_of[self.nodes]
        sets, set_ids = np.unique(keys, return_inverse=True)
        # `[node, world]` index of the set.
        self._set_ids = np.zeros(set_of.shape, dtype=np.int64)
        self._set_ids[self.nodes] = set_ids.reshape(keys.shape)
        self._first_of_set = nodes, worlds = np.divmod(sets, num_worlds)
        # Players take turns, so a player's previous node is the grandparent.
        parents = np.where(nodes < 4, 0, self._sequence(nodes // 4, worlds, nodes // 2))
        none = np.zeros(len(sets), dtype=np.int64)
        offsets = 1 + 2 * np.arange(len(sets) + 1)
        levels = (np.frexp(nodes)[1] - 1) // 2
        moves = np.tile([0, 1], len(sets))
        self.side = Side(
            RoleSets(none, none, parents, offsets, moves, levels),
            np.zeros(1, dtype=np.int64),
            np.arange(len(sets)),
        )
        leaves = np.arange(1 << depth, 2 << depth)[:, None]
        up = 1 + (depth - 1 - player) % 2  # from a leaf to the player's last node
        self.ends = (
            self._sequence(leaves >> up, np.arange(num_worlds), leaves >> (up - 1))
            if len(sets)
            else np.zeros((len(leaves), num_worlds), dtype=np.int64)
        )

    def _sequence(self, nodes: IntArray, worlds: IntArray, children: IntArray) -> IntArray:
        """The sequence that ends with the move from a node to its child."""
        return 1 + 2 * self._set_ids[nodes, worlds] + children % 2

    def strategy(self, profile: FloatArray) -> FloatArray:
        """The strategy of the forest that follows a profile."""
        left = profile[self._first_of_set]
        moves = np.stack([left, 1 - left], axis=1).ravel()
        return np.asarray(np.concatenate([[1.0], moves])[self.side.sequences])

    def left(self, strategy: FloatArray) -> FloatArray:
        """`[N, W * W]` the probability of going left by a strategy of the forest."""
        moves = np.empty(len(strategy))
        moves[self.side.sequences] = strategy
        return np.asarray(moves[1 + 2 * self._set_ids[self.nodes]])


# ------------------------------------------------------------------------
# Strategies on synthetic trees, and their scores: all exact, except the equilibrium.
#
# Nothing is sampled: scores are expectations over worlds and moves, so one tree stands for any
# number of games.

EPSILON = 0.005
"""Largest NashConv of an equilibrium; payoffs are from -1 to 1. A score against it is wrong by at
most half of that."""

MAX_ROUNDS = 20_000

ROUNDS_AT_ONCE = 16
"""Number of rounds between two checks of NashConv."""


class Equilibrium(NamedTuple):
    """A profile near an equilibrium.

    Attributes:
        profile: strategies of both players.
        nash_conv: sum of both players' gains by best responses.
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
    """The profile that moves left or right by lot."""
    return np.full(tree.set_of.shape, 0.5)


def pimc(tree: SyntheticTree) -> FloatArray:
    """The profile of perfect information Monte Carlo search on all worlds.

    It assumes that all worlds of an information set are equally likely, whatever happened before,
    and plays the move with the better mean of clairvoyant values; ties are broken by lot, as in the
    paper's Figure 1(b).
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

    The equilibrium does not determine play at nodes that it never reaches; the algorithm does. That
    hardly matters against good players, but much against random ones.

    Args:
        epsilon: the largest NashConv.
        alternating: whether the second player already answers the first player's new strategy.
    """
    regrets, nash_conv = Regrets(tree.form.forest), np.inf
    while nash_conv > epsilon and regrets.iterations < MAX_ROUNDS:
        regrets.learn(ROUNDS_AT_ONCE, alternating=alternating)
        average, nash_conv = regrets.average()
    return Equilibrium(tree.form.profile(average), nash_conv, regrets.iterations)


def score(tree: SyntheticTree, first: FloatArray, second: FloatArray) -> float:
    """Expected payoff of the first player if the players follow these profiles."""
    plans = tree.form.forest.plans(tree.form.strategies(first, second))
    return float(tree.form.forest.values(plans)[0, 0])


def best_response(tree: SyntheticTree, profile: FloatArray, player: int) -> float:
    """Highest payoff of a player (0 or 1) against its opponent's part of a profile."""
    plans = tree.form.forest.plans(tree.form.strategies(profile, profile))
    return float(tree.form.forest.best_values(plans)[0, player])


def scores(tree: SyntheticTree, profile: FloatArray, against: FloatArray) -> Scores:
    """Score a strategy in both roles, against an equilibrium and against a best response."""
    return Scores(
        (score(tree, profile, against) - score(tree, against, profile)) / 2,
        -(best_response(tree, profile, 0) + best_response(tree, profile, 1)) / 2,
    )
