"""The nodes of trees over incomplete paths, and their statistics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ggp.belief import PathTree
from ggp.machine.arrays import enlarged, first_seen
from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.search.trees.selection import relative_shares
from ggp.search.trees.tree_tables import (
    ACTION_FIELDS,
    ACTIONS,
    I32,
    NODE_FIELDS,
    NODES,
    new_nodes,
    wider_nodes,
    with_slack,
)

MOST_ACTIONS = 5_000_000
"""Most actions of a tree, about 70 bytes each: no world is added that may need more."""

TREMBLE = 0.02
"""Probability with which a role is taken to have moved uniformly, not by its strategy."""


class ActionSums(NamedTuple):
    """Statistics of the actions of one node, in the order in which they were found.

    Attributes:
        moves: `[A]`.
        visits: `[A]` choices that were backed up.
        goals: `[A]` sum of goals of 0 to 1.
        squares: `[A]` sum of their squares.
        discounted: `[A]` sum of goals drawn to the middle by the factor `KEEP` per turn.
        proofs: `[A]` proved goal from 0 to 1, -1 if none is proved.
        average: `[A]` sum of weighted shares in strategies, where regrets are matched.
    """

    moves: IntArray
    visits: IntArray
    goals: FloatArray
    squares: FloatArray
    discounted: FloatArray
    proofs: FloatArray
    average: FloatArray

    def take(self, places: IntArray) -> ActionSums:
        """Some of the actions, in this order."""
        return ActionSums._make(column[places] for column in self)


class NodeTable:
    """The nodes of all roles, by paths of a `PathTree`.

    Attributes:
        table: for kernels.
        of_path: node of each path, -1 for none.
    """

    def __init__(self, paths: PathTree) -> None:
        self._paths = paths
        self.table = new_nodes()
        self.of_path = np.full(64, -1, dtype=np.int32)

    def __len__(self) -> int:
        return int(self.table.sizes[NODES])

    @property
    def num_actions(self) -> int:
        return int(self.table.sizes[ACTIONS])

    def renumber(self, numbers: IntArray) -> tuple[I32, I32]:
        """Follow `PathTree.prune`: nodes of forgotten paths go; see `keep`."""
        self.table.path[: len(self)] = paths = numbers[self.table.path[: len(self)]]
        return self.keep(paths >= 0)

    def keep(self, keep: BoolArray) -> tuple[I32, I32]:
        """Forget all nodes except some, which keep their order and their actions.

        Args:
            keep: `[I]` the nodes to keep.

        Returns:
            the new number of each node and of each action there was, -1 where it is forgotten.
        """
        table, nodes, actions = self.table, len(self), self.num_actions
        number = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        stays = keep[table.owner[:actions]]
        place = np.where(stays, np.cumsum(stays) - 1, -1).astype(np.int32)
        chain = table.next[:actions]
        table.next[:actions] = np.where(chain >= 0, place[chain], -1)
        table.owner[:actions] = number[table.owner[:actions]]
        for ends in (table.first_action, table.last_action):
            ends[:nodes] = place[ends[:nodes]]
        for names, kept in ((NODE_FIELDS, keep), (ACTION_FIELDS, stays)):
            for column in (getattr(table, name) for name in names):
                column[: kept.sum()] = column[: len(kept)][kept]
        table.sizes[:] = keep.sum(), stays.sum()
        self.of_path[:] = -1
        self.of_path[self.table.path[: len(self)]] = np.arange(len(self), dtype=np.int32)
        return number, place

    def reserve(self, nodes: int, actions: int, paths: int) -> None:
        """Make room for this many more nodes and actions, and for `paths` paths in all."""
        # The last worlds may have more actions than was predicted; to move all tables then takes
        # longer than a match may wait.
        most = with_slack(MOST_ACTIONS)
        self.table = wider_nodes(self.table, len(self) + nodes, self.num_actions + actions, most)
        self.of_path = enlarged(self.of_path, paths, -1)

    def sums(self, path: int) -> ActionSums:
        """Statistics of the actions at a path; empty if it has no node."""
        nodes = self.table
        at = self._actions_of(self._node_of(path))
        return ActionSums(
            nodes.move[at].astype(np.int64),
            nodes.visits[at],
            nodes.goals[at],
            nodes.squares[at],
            nodes.discounted[at],
            nodes.proof[at],
            nodes.average[at],
        )

    @contextmanager
    def committed(self, path: int, move: int | None) -> Iterator[None]:
        """A block in which a role that has a choice at a path makes this move there, if any."""
        nodes = self.table
        node = self._node_of(path)
        at = self._actions_of(node)
        if move is None or move not in nodes.move[at]:
            yield
            return
        trust, shares = nodes.trust[node], nodes.share[at]
        nodes.trust[node], nodes.share[at] = 1.0, nodes.move[at] == move
        try:
            yield
        finally:
            # Tables may have grown, and actions may have been added.
            self.table.trust[node], self.table.share[at] = trust, shares

    def reach(self, paths: IntArray) -> FloatArray:
        """`[N]` probability of the moves of paths under the current strategies, relative to uniform
        play.

        Nodes that were never visited count as uniform play; nothing is taken for impossible.
        """
        first, place = first_seen(paths)
        at = paths[first]
        self.of_path = enlarged(self.of_path, len(self._paths), -1)
        found = np.ones(len(at))
        while self._paths.depths(at).any():
            deep = np.flatnonzero(self._paths.depths(at))
            before = self._paths.parents(at[deep])
            turns = self._paths.last_turns(at[deep])
            # The move it wanted shows its strategy, even if it was refused.
            wanted = np.where(turns[:, 2] >= 0, turns[:, 2], turns[:, 0])
            found[deep] *= (1 - TREMBLE) * self.shares(before, wanted) + TREMBLE
            at[deep] = before
        return found[place]

    def shares(self, paths: IntArray, moves: IntArray) -> FloatArray:
        """`[N]` shares of moves at paths in the current strategies, relative to uniform play."""
        shares = np.empty(len(paths))
        relative_shares.alike(self.table, self.of_path[paths], moves, shares)
        return shares

    def _node_of(self, path: int) -> int:
        """The node of a path, -1 for none."""
        return int(self.of_path[path]) if path < len(self.of_path) else -1

    def _actions_of(self, node: int) -> IntArray:
        """`[A]` actions of a node, in the order in which they were found; none for -1."""
        found = []
        action = -1 if node < 0 else self.table.first_action[node]
        while action >= 0:
            found.append(action)
            action = self.table.next[action]
        return np.array(found, dtype=np.int64)
