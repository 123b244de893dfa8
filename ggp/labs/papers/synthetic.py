"""Draws the synthetic trees of paper 003 ("Synthetic Trees").

Two players move in turn, left or right, and both see every move. A chance node at the root draws
one of W worlds for each of them, and each sees only its own. So there are W * W worlds, and the
tree of moves is the same in all of them:

    node 1 (depth 0, player 1), its children 2 and 3 (depth 1, player 2), theirs 4 to 7, ...

A node has an information set for every set of worlds that its player cannot tell apart. For each
world of the player's own, these are runs of worlds of the other player, which break in half from
time to time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ggp.errors import ConfigError
from ggp.machine.base import FloatArray, IntArray
from ggp.solve.forest import Forest
from ggp.solve.side import Side
from ggp.solve.trees.tree import RoleSets

DEPTH, WORLDS = 8, 8
"""Number of moves of a game, and of worlds of each player, in the paper's experiments."""


@dataclass(frozen=True, slots=True)
class TreeModel:
    """The parameters by which trees are drawn.

    Attributes:
        leaf_correlation: probability that two sibling leaves have the same payoff.
        bias: probability that such a pair is won by the first player.
        disambiguation: probability that an information set breaks in half whenever its owner is to
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
        set_of: `[2^depth, W * W]` for each node, the first world of the information set that a
            world belongs to. Row 0 is not used.
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
        if depth >= 2:  # sets broken at their player's last move stay so
            breaks |= broken[nodes // 4]
        for run in range(2, worlds):
            breaks[:, :, run] &= breaks[:, :, run // 2]
        broken[nodes] = breaks
    places, level = np.arange(worlds), worlds.bit_length() - 1
    first = np.zeros(shape, dtype=np.int64)
    for shift in reversed(range(level)):
        parents = (worlds + places) >> (shift + 1)
        first = np.where(broken[:, :, parents], places >> shift << shift, first)
    own = np.arange(worlds)[:, None]
    return np.concatenate(
        [np.zeros((1, worlds**2), dtype=np.int64)]
        + [
            # The second player's own world is the second part of a world's number.
            first[1 << depth : 2 << depth].transpose(0, 2, 1).reshape(1 << depth, -1) * worlds
            + own.repeat(worlds, axis=1).T.ravel()
            if depth % 2
            else (first[1 << depth : 2 << depth] + own * worlds).reshape(1 << depth, -1)
            for depth in range(model.depth)
        ]
    )


# ------------------------------------------------------------------------
# The sequence form of synthetic trees, on which games of the solver are solved as well.
#
# A *profile* is `left[2^depth, W * W]`: the probability of going left at a node in a world. It is
# the same in all worlds of an information set. Nodes of even depth are player 0's, the others
# player 1's, so one array holds the strategies of both.


class TreeForm:
    """A tree as a forest of one subgame; see `SyntheticTree` for the arguments.

    Attributes:
        forest: with the players 0 and 1, and a leaf for every leaf of the tree in every world.
    """

    def __init__(self, depth: int, payoffs: FloatArray, set_of: IntArray) -> None:
        self._shape = set_of.shape
        self._players = [_Player(depth, set_of, player) for player in range(2)]
        sides = tuple(player.side for player in self._players)
        ends = [player.ends.ravel() for player in self._players]
        sequences = [side.local(each) for side, each in zip(sides, ends, strict=True)]
        worth = payoffs.ravel() / payoffs.shape[1]
        worths = np.stack([worth, -worth], axis=1)
        roots = np.zeros(len(worth), dtype=np.int64)
        self.forest = Forest(
            np.zeros(1, dtype=np.int64), sides, np.stack(sequences, axis=1), roots, worths, worths
        )

    def strategies(self, first: FloatArray, second: FloatArray) -> list[FloatArray]:
        """The strategies of a forest with which each player follows its part of a profile."""
        return [
            player.strategy(profile)
            for player, profile in zip(self._players, (first, second), strict=True)
        ]

    def profile(self, strategies: Sequence[FloatArray]) -> FloatArray:
        """The profile of strategies of the forest; 1/2 in row 0, which is no node."""
        left = np.full(self._shape, 0.5)
        for player, strategy in zip(self._players, strategies, strict=True):
            left[player.nodes] = player.left(strategy)
        return left


class _Player:
    """The information sets of one player, whose set k has the sequences 1 + 2k (left), 2 + 2k.

    Attributes:
        nodes: `[N]` the nodes at which it moves.
        ends: `[leaves, W * W]` its sequence at each leaf.
    """

    def __init__(self, depth: int, set_of: IntArray, player: int) -> None:
        num_worlds = set_of.shape[1]
        every = np.arange(1, 1 << depth)
        depths = np.frexp(every)[1] - 1
        self.nodes = every[depths % 2 == player]
        keys = self.nodes[:, None] * num_worlds + set_of[self.nodes]
        sets, numbers = np.unique(keys, return_inverse=True)
        # `[node, world]` number of the set.
        self._numbers = np.zeros(set_of.shape, dtype=np.int64)
        self._numbers[self.nodes] = numbers.reshape(keys.shape)
        self._where = nodes, worlds = np.divmod(sets, num_worlds)
        # Players take turns, so the own node before is the grandparent.
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
        """The sequence that ends with going from a node to its child."""
        return 1 + 2 * self._numbers[nodes, worlds] + children % 2

    def strategy(self, profile: FloatArray) -> FloatArray:
        """The strategy of the forest that follows a profile."""
        left = profile[self._where]
        moves = np.stack([left, 1 - left], axis=1).ravel()
        return np.asarray(np.concatenate([[1.0], moves])[self.side.sequences])

    def left(self, strategy: FloatArray) -> FloatArray:
        """`[N, W * W]` the probability of going left by a strategy of the forest."""
        moves = np.empty(len(strategy))
        moves[self.side.sequences] = strategy
        return np.asarray(moves[1 + 2 * self._numbers[self.nodes]])
