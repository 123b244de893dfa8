"""Collects information sets and leaves as they are found, layer by layer."""

from __future__ import annotations

import numpy as np

from ggp.machine.arrays import enlarged
from ggp.machine.base import FloatArray, IntArray, Ragged
from ggp.solve.trees.tree import Leaves, Numbers, RoleSets

_NONE = np.zeros(0, dtype=np.int64)


class InformationSetTable:
    """The information sets of one player. Sequence -1 - g is the empty one of subgame g."""

    def __init__(self) -> None:
        self._paths: list[IntArray] = [_NONE]
        self._owners: list[IntArray] = [_NONE]
        self._parents: list[IntArray] = [_NONE]
        self._moves: list[IntArray] = [_NONE]
        self._levels: list[IntArray] = [_NONE]
        self._num_sets, self._num_sequences = 0, 0
        self._first = np.zeros(64, dtype=np.int64)
        self._level_of_sequence = np.zeros(64, dtype=np.int64)

    @property
    def first_sequences(self) -> IntArray:
        """First sequence of every set so far, by number; the array may be longer."""
        return self._first

    def add(self, paths: IntArray, owners: IntArray, parents: IntArray, moves: Ragged) -> IntArray:
        """`[N]` numbers of new sets, with their paths, subgames, last sequences and moves."""
        if not len(paths):
            return _NONE
        numbers = self._num_sets + np.arange(len(paths))
        counts = moves.counts
        ends = self._num_sequences + np.cumsum(counts)
        self._first = enlarged(self._first, int(numbers[-1]) + 1, 0)
        self._first[numbers] = ends - counts
        before = self._level_of_sequence[np.maximum(parents, 0)]
        levels = np.where(parents < 0, 0, before + 1)
        self._level_of_sequence = enlarged(self._level_of_sequence, int(ends[-1]), 0)
        self._level_of_sequence[self._num_sequences : ends[-1]] = np.repeat(levels, counts)
        for kept, new in (
            (self._paths, paths),
            (self._owners, owners),
            (self._parents, parents),
            (self._moves, moves.values),
            (self._levels, levels),
        ):
            kept.append(new)
        self._num_sets += len(paths)
        self._num_sequences = int(ends[-1])
        return numbers

    @property
    def paths(self) -> IntArray:
        """The incomplete paths of all sets."""
        return np.concatenate(self._paths)

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`: path n is now `numbers[n]`."""
        self._paths = [numbers[self.paths]]

    def finished(self, num_subgames: int) -> RoleSets:
        """All sets, with sequences numbered as in a tree."""
        offsets = np.append(self._first[: self._num_sets], self._num_sequences) + num_subgames
        return RoleSets(
            self.paths,
            np.concatenate(self._owners),
            final_sequences(np.concatenate(self._parents), num_subgames),
            offsets,
            np.concatenate(self._moves),
            np.concatenate(self._levels),
        )


class LeafTable:
    """Leaves; `add` takes the arguments of `Leaves`, with sequences as in `InformationSetTable`."""

    def __init__(self) -> None:
        self._rows: list[tuple[IntArray, IntArray, Numbers, Numbers, FloatArray, IntArray]] = []

    def add(
        self,
        owners: IntArray,
        sequences: IntArray,
        numerators: Numbers,
        denominators: Numbers,
        goals: FloatArray,
        subgames: IntArray,
    ) -> None:
        self._rows.append((owners, sequences, numerators, denominators, goals, subgames))

    def finished(self, num_subgames: int) -> Leaves:
        """All leaves, with sequences numbered as in a tree."""
        columns = [np.concatenate(column) for column in zip(*self._rows, strict=True)]
        columns[1] = final_sequences(columns[1], num_subgames)
        return Leaves(*columns)


def final_sequences(sequences: IntArray, num_subgames: int) -> IntArray:
    """Numbers of sequences with the empty ones first, then the others."""
    return np.where(sequences < 0, -1 - sequences, sequences + num_subgames)
