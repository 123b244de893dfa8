"""A best response by search: a tree over the responder's own incomplete paths.

After ISMCTS-BR (Timbers et al., *Approximate Exploitability: Learning a Best Response in Large
Games*, IJCAI 2022), without its networks. Matches begin at the initial state, and the others move
as the measured player does. The responder walks down its tree by UCB1; where it leaves the tree a
node is added, and from there on it moves at random.

One difference: a node is worth its best move, not the mean over all that were tried. Nobody else
learns, so each match tells the truth about what follows a move, whatever the responder did later. A
move that was tried seldom is drawn towards the mean of its node, so that luck does not make it the
best.
"""

from __future__ import annotations

import numpy as np

from ggp.belief import PathTree
from ggp.labs.learning.respond.movers import Mover
from ggp.labs.learning.respond.tree_kernels import (
    EDGES,
    NODES,
    back_up,
    best_moves,
    choose,
    new_tree,
    wider_tree,
)
from ggp.machine.arrays import enlarged, take_segments
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, Ragged, WordArray

EXPLORATION = 0.5
"""Weight of what was tried seldom, where goals go from 0 to 1."""

DOUBT = 2.0
"""Number of matches that count, for each move, as if they had ended with the mean of its node."""

MOST_EDGES, MOST_PATHS = 12_000_000, 6_000_000
"""A tree with more does not grow any further: some 500 MB."""


class ResponseTree:
    """The statistics of one responder.

    Args:
        paths: names its paths.
    """

    def __init__(self, machine: Machine, paths: PathTree) -> None:
        self.paths = paths
        self._low, high = machine.goal_range
        self._span = high - self._low
        self._node_of = np.full(64, -1, dtype=np.int32)
        self._tree = new_tree()

    def __len__(self) -> int:
        """Number of nodes."""
        return int(self._tree.sizes[NODES])

    @property
    def is_full(self) -> bool:
        """Whether nothing more is added."""
        return int(self._tree.sizes[EDGES]) > MOST_EDGES or len(self.paths) > MOST_PATHS

    def choose(
        self, paths: IntArray, legal: Ragged, random: WordArray, loose: BoolArray
    ) -> tuple[IntArray, IntArray]:
        """`[L]` edges and moves, see `tree_kernels.choose`."""
        self._reserve(len(paths), len(legal.values))
        edges, picks = np.empty_like(paths), np.empty_like(paths)
        choose(
            self._tree,
            self._node_of,
            paths,
            legal.offsets,
            legal.values,
            EXPLORATION,
            DOUBT,
            random,
            loose,
            edges,
            picks,
        )
        return edges, legal.values[picks]

    def learn(self, records: list[tuple[IntArray, IntArray]], goals: FloatArray) -> None:
        """Add the results of matches.

        Args:
            records: for each turn, matches and edges chosen.
            goals: `[L]` goal values.
        """
        scaled = np.clip((goals - self._low) / self._span, 0.0, 1.0)
        below = np.full(len(goals), -1, dtype=np.int64)
        for matches, edges in reversed(records):
            back_up(self._tree, matches, edges, scaled, below, DOUBT)

    def best(self, paths: IntArray, legal: Ragged) -> IntArray:
        """`[L]` index in `legal.values` of the best move of each lane, -1 outside of the tree."""
        picks = np.empty_like(paths)
        best_moves(self._tree, self._node_of, paths, legal.offsets, legal.values, DOUBT, picks)
        return picks

    def _reserve(self, nodes: int, edges: int) -> None:
        self._node_of = enlarged(self._node_of, len(self.paths), -1)
        num_nodes, num_edges = self._tree.sizes.tolist()
        self._tree = wider_tree(self._tree, num_nodes + nodes, num_edges + edges)


class Walker:
    """The responder while it learns.

    Args:
        tree: is walked, and grows until it is full.
    """

    needs_paths = True

    def __init__(self, tree: ResponseTree, rng: np.random.Generator) -> None:
        self._tree = tree
        self._random = np.array([rng.integers(1 << 62)], dtype=np.uint64)
        self._loose = np.zeros(0, dtype=np.bool_)
        self._records: list[tuple[IntArray, IntArray]] = []

    def begin(self, matches: IntArray) -> None:
        self._loose = np.full(len(matches), self._tree.is_full)
        self._records = []

    def moves(self, matches: IntArray, paths: IntArray, legal: Ragged) -> IntArray:
        loose = self._loose[matches]
        edges, moves = self._tree.choose(paths, legal, self._random, loose)
        self._loose[matches] = loose
        chosen = np.flatnonzero(edges >= 0)
        self._records.append((matches[chosen], edges[chosen]))
        return moves

    def observe(self, matches: IntArray, moves: IntArray, percepts: IntArray) -> None:
        """All that is needed is in the paths."""

    def is_loose(self, matches: IntArray) -> BoolArray:
        return self._loose[matches]

    def learn(self, goals: FloatArray) -> None:
        """Learn from `[L]` goal values of the matches that were begun last."""
        self._tree.learn(self._records, goals)


class Follower:
    """The responder that makes the best moves of a tree.

    Args:
        beyond: moves outside of the tree.
    """

    needs_paths = True

    def __init__(self, tree: ResponseTree, beyond: Mover) -> None:
        self._tree, self._beyond = tree, beyond
        self._left = np.zeros(0, dtype=np.bool_)

    def begin(self, matches: IntArray) -> None:
        self._left = np.zeros(len(matches), dtype=np.bool_)
        self._beyond.begin(matches)

    def moves(self, matches: IntArray, paths: IntArray, legal: Ragged) -> IntArray:
        picks = self._tree.best(paths, legal)
        found = legal.values[np.maximum(picks, 0)]
        outside = np.flatnonzero(picks < 0)
        if len(outside):
            self._left[matches[outside]] = True
            offsets, at = take_segments(legal.offsets, outside)
            some = Ragged(offsets, legal.values[at])
            found[outside] = self._beyond.moves(matches[outside], paths[outside], some)
        return found

    def observe(self, matches: IntArray, moves: IntArray, percepts: IntArray) -> None:
        self._beyond.observe(matches, moves, percepts)

    def is_loose(self, matches: IntArray) -> BoolArray:
        return self._left[matches] & self._beyond.is_loose(matches)
