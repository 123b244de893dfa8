"""The sequence form of synthetic trees, on which games of the solver are solved as well.

A *profile* is `left[2^depth, W * W]`: the probability of going left at a node in a world. It is the
same in all worlds of an information set. Nodes of even depth are player 0's, the others player 1's,
so one array holds the strategies of both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ggp.machine.base import FloatArray, IntArray
from ggp.solve.forest import Forest
from ggp.solve.side import Side
from ggp.solve.trees.tree import RoleSets


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
