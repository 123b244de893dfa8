"""From bits of percepts to the ids of their sets, without building terms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import enlarged
from ggp.machine.base import BoolArray, IntArray
from ggp.machine.percept_table import PerceptTable
from ggp.machine.rows import RowTable

Spell = Callable[[NDArray[np.uint64]], tuple[str, ...]]
"""The percepts, sorted, that a row of words stands for."""


class RowPercepts:
    """The percept ids of rows of words, each of which always stands for the same set.

    Args:
        read: the row of a set of percepts, None where there is none.
    """

    def __init__(
        self,
        table: PerceptTable,
        words: int,
        spell: Spell,
        read: Callable[[tuple[str, ...]], NDArray[np.uint64] | None] | None = None,
    ) -> None:
        self._table = table
        self._spell = spell
        self._read = read
        self._rows = RowTable(words)
        self._alone: dict[bytes, IntArray] = {}
        self._ids = np.zeros(0, dtype=np.int64)
        self._read_rows = np.zeros((1, words), dtype=np.uint64)
        self._readable = np.zeros(0, dtype=np.bool_)

    def ids(self, rows: NDArray[np.uint64]) -> IntArray:
        """`[L]` id of each row."""
        if len(rows) > 1:
            with self._table.growing:
                return self.numbered(rows)
        # A few lookups take less time than calls of kernels.
        key = rows.tobytes()
        found = self._alone.get(key)
        if found is None:
            with self._table.growing:
                found = self._alone[key] = self.numbered(rows)
        return found

    def numbered(self, rows: NDArray[np.uint64]) -> IntArray:
        """`ids`, for who holds the lock of the table."""
        numbers = self._rows.numbers(rows)
        if len(self._rows) > len(self._ids):
            new = self._rows.rows[len(self._ids) :]
            ids = [self._table.number(self._spell(row)) for row in new]
            self._ids = np.concatenate([self._ids, np.array(ids, dtype=np.int64)])
        return self._ids[numbers]

    def rows_of(self, ids: IntArray) -> tuple[NDArray[np.uint64], BoolArray]:
        """`[L]` rows of ids, and whether there is one: what the role cannot see has none.

        There may be unknown ids (-1); what comes of them means nothing.
        """
        assert self._read is not None
        with self._table.growing:
            for percepts in range(len(self._readable), len(self._table)):
                row = self._read(self._table.texts(percepts))
                self._readable = np.append(self._readable, row is not None)
                self._read_rows = enlarged(self._read_rows, percepts + 1, 0)
                if row is not None:
                    self._read_rows[percepts] = row
            return self._read_rows[ids], self._readable[ids]
