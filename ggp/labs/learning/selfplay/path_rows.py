"""What nets read of incomplete paths, where moves and percepts are numbered by a machine.

paths (nodes of a `PathTree`)  ──▶  rows of bits (`NetPaths`)  ──▶  a net  ──▶  shares of moves
"""

from __future__ import annotations

import numpy as np

from ggp.belief import PathTree
from ggp.labs.learning.env.kernels import I32, U64
from ggp.labs.learning.selfplay.features import Features, of_paths
from ggp.labs.learning.selfplay.policies import LearntPolicy
from ggp.machine.arrays import segment_ids
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine, Ragged
from ggp.machine.propnet.play.kernels.packed import rows_of_bits, words_for
from ggp.study.names import Names


class NetPaths:
    """What nets read of incomplete paths.

    Args:
        machine, tree: number moves, percepts and paths.
        names: number them for nets.
    """

    def __init__(self, machine: Machine, tree: PathTree, names: Names) -> None:
        self._machine, self._tree, self.names = machine, tree, names
        self._actions: dict[int, int] = {}
        self._seen: dict[int, list[int]] = {}

    def depth(self, path: int) -> int:
        """The number of turns of a path."""
        return self._tree.depth(path)

    def actions(self, moves: IntArray) -> IntArray:
        """`[M]` indices of moves."""
        used, place = np.unique(moves, return_inverse=True)
        found = [self._action(move) for move in used.tolist()]
        return np.array(found, dtype=np.int64)[place]

    def masks(self, legal: Ragged) -> U64:
        """`[N, words]` bits of N lists of moves."""
        owner = segment_ids(legal.offsets)
        words = words_for(len(self.names.moves))
        return rows_of_bits(owner, self.actions(legal.values), len(legal.offsets) - 1, words)

    def rows(self, features: Features, paths: IntArray, masks: U64 | None = None) -> U64:
        """`[N, W]` the rows of N paths.

        Args:
            masks: `[N, words]` what is legal after each; default: nothing.
        """
        if masks is None:
            masks = np.zeros((len(paths), features.mask_words), dtype=np.uint64)
        depths = self._tree.depths(paths)
        return of_paths(features, masks, self._tokens(paths, depths), depths.astype(np.int32))

    def shares(
        self, policy: LearntPolicy, paths: IntArray, legal: Ragged, temperature: float = 1.0
    ) -> FloatArray:
        """`[K]` probabilities of moves by a policy that reads paths; those of a path sum to 1.

        Args:
            paths: N of them.
            legal: K moves, in N lists.
        """
        owner, rows = (
            segment_ids(legal.offsets),
            self.rows(policy.features, paths, self.masks(legal)),
        )
        found = policy.at(rows, temperature)[owner, self.actions(legal.values)].astype(np.float64)
        return np.asarray(found / np.bincount(owner, found, len(paths))[owner])

    def _tokens(self, paths: IntArray, depths: IntArray) -> I32:
        """`[N, T, K]` tokens of paths, as `Turn.paths`; unknown ones are left out."""
        steps = self._tree.beginnings(paths)[1:]
        if not steps:
            return np.zeros((len(paths), 0, 0), dtype=np.int32)
        # All of them end with the last step; shorter ones begin later.
        turns, late = np.arange(len(steps)), len(steps) - depths[:, None]
        within = turns < depths[:, None]
        places = np.minimum(turns + late, len(steps) - 1)
        last = self._tree.last_turns(np.take_along_axis(np.stack(steps, axis=1), places, 1)[within])
        moves, percepts = last[:, 0] - UNKNOWN, last[:, 1] - UNKNOWN
        # A turn is often that of many paths.
        keys = moves + (1 + moves.max()) * percepts
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        told = [self._told(*turn) for turn in last[first, :2].tolist()]
        table = np.zeros((len(told), max(map(len, told))), dtype=np.int32)
        for row, tokens in zip(table, told, strict=True):
            row[: len(tokens)] = tokens
        found = np.zeros((*within.shape, table.shape[1]), dtype=np.int32)
        found[within] = table[number]
        return found

    def _told(self, move: int, percepts: int) -> list[int]:
        """The tokens of a turn."""
        tokens = [] if move == UNKNOWN else [1 + self._action(move)]
        return tokens if percepts == UNKNOWN else tokens + self._percepts(percepts)

    def _action(self, move: int) -> int:
        if move not in self._actions:
            self._actions[move] = self.names.move(self._machine.move_text(move))
        return self._actions[move]

    def _percepts(self, percepts: int) -> list[int]:
        if percepts not in self._seen:
            found = map(self.names.percept, self._machine.percept_texts(percepts))
            self._seen[percepts] = [1 + len(self.names.moves) + each for each in found]
        return self._seen[percepts]
