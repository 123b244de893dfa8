"""Figures 3 to 5 of paper 003: PIMC and random play on synthetic trees, as heat maps.

All three figures show the same cells: 11 values of two parameters in each panel, with the third one
fixed. Worker processes draw and score batches of trees (`measure_cells`, for `figure6`, too).
Scores are stored as they arrive, one line of JSON for a batch, in the folder of the run, so that
figures share them, and an interrupted run can continue. Tree k of every cell is drawn with the same
random numbers: cells then differ by their parameters more than by luck.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from ggp.errors import ConfigError, MatchError
from ggp.labs.papers.reproduce.results import (
    FEWEST_ROUNDS,
    PAPER_003,
    Claim,
    Panel,
    Point,
    Result,
    RunSettings,
    Tell,
)
from ggp.machine.base import FloatArray, IntArray
from ggp.solve.forest import Forest, Side
from ggp.solve.regret import Regrets
from ggp.solve.tree import RoleSets
from ggp.statistics import student_interval
from match_runner.workers.executor import Executor, run_all

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


# ------------------------------------------------------------------------
# Claims of paper 003 about its heat maps, and independently computed numbers, judged by our trees.

Measured = Mapping[TreeCell, Sequence[TreeScores]]
_Value = Callable[[TreeScores], float]

EXPECTED: Mapping[TreeCell, float] = {
    TreeCell(0.0, 0.75, 0.5): -0.234,
    TreeCell(0.5, 0.75, 0.5): -0.129,
    TreeCell(0.9, 0.75, 0.6): -0.075,
    TreeCell(0.5, 0.75, 0.3): -0.107,
    TreeCell(0.9, 0.5, 0.6): -0.110,
}
"""Scores of PIMC against the equilibrium, computed independently."""

TOLERANCE = 0.015
NEAR_ZERO = 0.003
"""Tolerance of a score of 0, as equilibria are approximate."""

RANDOM_ALTERNATING = -0.42
"""Score of random play against an equilibrium found by alternating updates at `UPDATES`, computed
independently; -0.62 with simultaneous ones."""

UPDATES = TreeCell(0.8, 0.75, 0.6)
SKAT = TreeCell(0.9, 0.75, 0.6)
"""Cell near Skat and Hearts in Figure 6."""

EXTRA = (TreeCell(0.9, 0.5, 0.6),)

_TENTHS = tuple(step / 10 for step in range(11))


def mean_of(trees: Sequence[TreeScores], value: _Value) -> float:
    """Mean of a value over trees."""
    return sum(map(value, trees)) / len(trees)


def of_pimc(trees: Measured) -> list[Claim]:
    """Claims about Figure 3."""
    claims = [
        _near(f"PIMC at {cell}", expected, TOLERANCE, trees[cell], _pimc)
        for cell, expected in EXPECTED.items()
    ]
    disambiguated = [cell for cell in trees if cell.disambiguation == 1]
    claims.append(_zero("PIMC where everybody knows the world (df = 1)", disambiguated, trees))
    decided = [cell for cell in trees if cell.leaf_correlation == 1 and cell.bias in (0, 1)]
    claims.append(_zero("PIMC where one side wins all leaves (lc = 1, b = 0 or 1)", decided, trees))
    by_df = [mean_of(trees[TreeCell(0.5, 0.75, df)], _pimc) for df in _TENTHS]
    worst = _TENTHS[by_df.index(min(by_df))]
    claims += [
        _judged(
            "PIMC loses most in the middle of disambiguation (lc = 0.5, b = 0.75)",
            "paper: mid-range",
            f"at df = {worst:g}: {min(by_df):.3f}",
            0.2 <= worst <= 0.8,
            trees,
        ),
        _growing(
            "PIMC loses less as leaf correlation grows (df = 0.3, mean of all biases)",
            [[TreeCell(lc, b, 0.3) for b in _TENTHS] for lc in _TENTHS[::2]],
            trees,
            _pimc,
        ),
        _order(
            "with df = 0.8, though, low correlation is good for PIMC (lc = 0.5, 0; b = 0.75)",
            [TreeCell(0.5, 0.75, 0.8), TreeCell(0.0, 0.75, 0.8)],
            trees,
            _pimc,
        ),
        _near(
            f"PIMC where Skat is ({SKAT})",
            -0.1,
            0.05,
            trees[SKAT],
            _pimc,
            "paper: about -0.1 ± 0.05",
        ),
    ]
    return claims


def of_random(trees: Measured) -> list[Claim]:
    """Claims about Figure 4."""
    return [
        _near(f"random at {UPDATES}", RANDOM_ALTERNATING, 0.03, trees[UPDATES], _random),
        _order(
            "random play loses more as disambiguation grows (lc = 0.5, b = 0.75)",
            [TreeCell(0.5, 0.75, df) for df in (0.9, 0.6, 0.3, 0.0)],
            trees,
            _random,
        ),
        _near(
            "random with lc = 1 and b = 1 plays perfectly",
            0.0,
            NEAR_ZERO,
            trees[TreeCell(1.0, 1.0, 0.3)],
            _random,
            "paper: 0",
        ),
    ]


def of_gain(trees: Measured) -> list[Claim]:
    """Claims about Figure 5."""
    return [
        _order(
            "PIMC gains more over random play as disambiguation grows (lc = 0.5, b = 0.75)",
            [TreeCell(0.5, 0.75, df) for df in (0.0, 0.3, 0.6, 0.9)],
            trees,
            _gain,
        ),
        _near(
            f"gain where Skat is ({SKAT})",
            0.4,
            0.05,
            trees[SKAT],
            _gain,
            "paper: 0.4",
            "An equilibrium's answers to random moves depend on the algorithm: with simultaneous "
            "updates the gain is 0.47, and mixtures of both equilibria have all gains in between.",
        ),
    ]


def _pimc(trees: TreeScores) -> float:
    return trees.pimc


def _random(trees: TreeScores) -> float:
    return trees.random


def _gain(trees: TreeScores) -> float:
    return trees.pimc - trees.random


def _near(
    text: str,
    expected: float,
    tolerance: float,
    trees: Sequence[TreeScores],
    value: _Value,
    expected_text: str = "",
    reason: str = "",
) -> Claim:
    """Claim that agrees if the mean is within the tolerance."""
    interval = student_interval([value(tree) for tree in trees])
    return Claim(
        text,
        expected_text or f"computed: {expected:.3f} ± {tolerance:g}",
        format(interval, ".3f"),
        abs(mean_of(trees, value) - expected) <= tolerance if len(trees) >= FEWEST_ROUNDS else None,
        reason,
    )


def _zero(text: str, cells: Sequence[TreeCell], trees: Measured) -> Claim:
    means = [mean_of(trees[cell], _pimc) for cell in cells]
    worst = max(map(abs, means))
    return _judged(text, f"0 ± {NEAR_ZERO:g}", f"at most {worst:.4f}", worst <= NEAR_ZERO, trees)


def _order(text: str, cells: Sequence[TreeCell], trees: Measured, value: _Value) -> Claim:
    """Claim that agrees if the value grows from cell to cell."""
    return _growing(text, [[cell] for cell in cells], trees, value)


def _growing(
    text: str, cells: Sequence[Sequence[TreeCell]], trees: Measured, value: _Value
) -> Claim:
    """Claim that agrees if the mean value of cells grows from one list of cells to the next."""
    means = [sum(mean_of(trees[cell], value) for cell in group) / len(group) for group in cells]
    return _judged(
        text,
        "paper",
        " < ".join(f"{mean:.3f}" for mean in means),
        all(low < high for low, high in pairwise(means)),
        trees,
    )


def _judged(text: str, expected: str, ours: str, agrees: bool, trees: Measured) -> Claim:
    enough = min(map(len, trees.values())) >= FEWEST_ROUNDS
    return Claim(text, expected, ours, agrees if enough else None)


STEPS = tuple(step / 10 for step in range(11))

METHOD = (
    "Synthetic trees of depth 8 with 8 worlds for each player, the same trees in all three "
    "figures. Scores are exact expectations, the mean of both sides; a win is 1 and a loss -1, so "
    "that the equilibrium scores 0. It is found by CFR+ with alternating updates, until both "
    "players together can gain no more than 0.005. PIMC searches all worlds, and breaks ties by "
    "lot. "
)


@dataclass(frozen=True, slots=True)
class Axes:
    """Axes of the panel in which one parameter, an index into `TreeCell`, is fixed."""

    letter: str
    fixed: int
    at: float

    @property
    def free(self) -> tuple[int, int]:
        """Indices of the parameters along x and y."""
        x, y = (index for index in range(3) if index != self.fixed)
        return x, y

    def cell(self, x: float, y: float) -> TreeCell:
        """The cell at a place."""
        values = [self.at] * 3
        values[self.free[0]], values[self.free[1]] = x, y
        return TreeCell(*values)

    @property
    def cells(self) -> list[TreeCell]:
        """All cells, row by row."""
        return [self.cell(x, y) for y in STEPS for x in STEPS]


PANELS = (Axes("a", 2, 0.3), Axes("b", 1, 0.75), Axes("c", 0, 0.5))
"""Panels of the paper's Figures 3 and 4. The caption of Figure 5 has 0.5 as bias and 0.75 as
correlation, which does not fit its text; here it shows the same cells."""

NAMES = ("leaf correlation", "bias", "disambiguation")


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A row of panels: a value of a player against an opponent."""

    label: str
    player: str
    opponent: str
    value: _Value


@dataclass(frozen=True, slots=True)
class TreeFigure:
    """A figure of three panels for each value.

    Attributes:
        name: name by which the command knows it.
        title: one line.
        method: how it is made.
        rows: rows of panels.
        extra: further cells for claims.
        claims: makes the claims, judged by the trees.
    """

    name: str
    title: str
    method: str
    rows: tuple[PanelRow, ...]
    extra: tuple[TreeCell, ...]
    claims: Callable[[Measured], list[Claim]]

    def size(self, settings: RunSettings) -> int:
        return len(self._cells()) * settings.matches

    def run(self, settings: RunSettings, executor: Executor, tell: Tell) -> Result:
        trees = measure_cells(self._cells(), settings, executor, tell)
        return Result(
            self.name,
            self.title,
            METHOD + self.method,
            "score",
            tuple(_point(row, cell, trees[cell]) for row in self.rows for cell in trees),
            tuple(self.claims(trees)),
            panels=tuple(_panel(row, axes, trees) for row in self.rows for axes in PANELS),
            paper=PAPER_003,
            span=(-1.0, 1.0),
        )

    def _cells(self) -> list[TreeCell]:
        of_panels = (cell for axes in PANELS for cell in axes.cells)
        return list(dict.fromkeys((*of_panels, *self.extra)))


def _point(row: PanelRow, cell: TreeCell, trees: Sequence[TreeScores]) -> Point:
    interval = student_interval([row.value(tree) for tree in trees])
    return Point(
        row.label,
        str(cell),
        interval,
        len(trees),
        len(trees),
        player=row.player,
        opponent=row.opponent,
    )


def _panel(row: PanelRow, axes: Axes, trees: Measured) -> Panel:
    x, y = axes.free
    return Panel(
        row.label,
        f"({axes.letter}) {NAMES[axes.fixed]} {axes.at:g}",
        NAMES[x],
        NAMES[y],
        STEPS,
        STEPS,
        tuple(
            tuple(mean_of(trees[axes.cell(at_x, at_y)], row.value) for at_x in STEPS)
            for at_y in STEPS
        ),
    )


TREE_FIGURES = (
    TreeFigure(
        "003-figure3",
        "Figure 3 (Long et al.): PIMC on synthetic trees",
        "Against the equilibrium, as in the paper; and against a best response to PIMC, which the "
        "paper leaves open.",
        (
            PanelRow("PIMC against an equilibrium", "PIMC", "equilibrium", _pimc),
            PanelRow(
                "PIMC against a best response",
                "PIMC",
                "best response",
                lambda t: t.pimc_best_response,
            ),
        ),
        EXTRA,
        of_pimc,
    ),
    TreeFigure(
        "003-figure4",
        "Figure 4 (Long et al.): random play on synthetic trees",
        "An equilibrium does not determine play at nodes that it never reaches, and random play "
        "goes there: with simultaneous updates random play loses about half as much again, while "
        "PIMC's scores hardly change.",
        (PanelRow("random against an equilibrium", "random", "equilibrium", _random),),
        (),
        of_random,
    ),
    TreeFigure(
        "003-figure5",
        "Figure 5 (Long et al.): gain of PIMC over random play",
        "Both against the equilibrium. The panels are those of the other two figures; the "
        "caption in the paper exchanges bias and correlation.",
        (PanelRow("PIMC less random", "PIMC", "equilibrium", _gain),),
        (),
        of_gain,
    ),
)
