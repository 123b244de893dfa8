"""Answers questions about few states, where calling a kernel takes longer than running it.

A single state of a small game is stepped in less than a microsecond; finding the machine code for
the arguments' types takes three, and every call of numpy a quarter to one. So the machine code of
each question is looked up once, and the memory it works on is kept: taken out of a list, and given
back (see `ggp.machine.threads`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ggp.machine.base import IntArray
from ggp.machine.propnet.play import plain
from ggp.machine.propnet.play.kernels.narrow import FEW, NARROW, legal_word, query_word
from ggp.machine.propnet.play.kernels.packed import Packed
from ggp.machine.propnet.play.kernels.tapes import I32, Query
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.moves import MoveTable

_PLAIN_STEPS = 50
"""Steps of Python that a question about a single state counts as, see `Kernel.is_spared`."""

_NO_MOVES = tuple(np.zeros((lanes, 0), dtype=np.int64) for lanes in range(NARROW + 1))
_NO_ROWS: I32 = np.zeros((0, 0), dtype=np.int32)


class _Asker(NamedTuple):
    """A question ready to be asked."""

    code: Callable[..., bool]
    words: int


class _Lister(NamedTuple):
    """The legal moves of a role, ready to be listed."""

    code: Callable[..., int]
    names: IntArray


class FewStates:
    """Answers about up to 64 states, packed `[L, words]`, each row C-contiguous."""

    def __init__(self, queries: Queries, moves: MoveTable) -> None:
        self._queries = queries
        self._moves = moves
        self._askers: dict[int, _Asker] = {}
        self._listers: dict[int, _Lister] = {}
        # Unused scratch: rows of one word, enough for every question; and the same with room for
        # the legal moves of `FEW` states, enough for every role.
        self._rows: list[Packed] = []
        self._lists: list[tuple[Packed, IntArray]] = []

    def ask(self, asked: Query, packed: Packed) -> Packed:
        """`[L, asked.starts[-1]]` words of the literals that hold, whatever moves are made."""
        key = id(asked)  # queries live as long as the machine
        if key not in self._askers and len(packed) == 1 and query_word.is_spared(_PLAIN_STEPS):
            return plain.evaluate(asked, packed)
        packed, none = np.ascontiguousarray(packed), _NO_MOVES[len(packed)]
        asker = self._askers.get(key) or self._asker(asked, packed, none, _NO_ROWS)
        out = np.empty((len(packed), asker.words), dtype=np.uint64)
        spare = self._rows
        try:
            rows = spare.pop()
        except IndexError:
            rows = self._new_rows()
        asker.code(asked, packed, none, _NO_ROWS, out, rows)
        spare.append(rows)
        return out

    def stepped(self, packed: Packed, joint_moves: IntArray) -> Packed | None:
        """The answer to the query `step`; None if there are more states, or moves are wrong."""
        shape = len(packed), len(self._moves.numbers)
        if len(packed) > NARROW or joint_moves.shape != shape or joint_moves.dtype != np.int64:
            return None
        packed, moves = np.ascontiguousarray(packed), np.ascontiguousarray(joint_moves)
        asked, move_rows = self._queries.step, self._moves.rows
        asker = self._askers.get(id(asked)) or self._asker(asked, packed, moves, move_rows)
        out = np.empty((len(packed), asker.words), dtype=np.uint64)
        spare = self._rows
        try:
            rows = spare.pop()
        except IndexError:
            rows = self._new_rows()
        done = asker.code(asked, packed, moves, move_rows, out, rows)
        spare.append(rows)
        return out if done else None

    def legal(self, packed: Packed, role: int) -> tuple[int, IntArray, IntArray] | None:
        """The legal moves of a role: the first state that is stuck, or -1; offsets; moves.

        None if there are too many states, or if so few have been asked about that no kernel is
        loaded for them.
        """
        if len(packed) > FEW:
            return None
        packed, lister = np.ascontiguousarray(packed), self._listers.get(role)
        if lister is None:
            if legal_word.is_spared(_PLAIN_STEPS * len(packed)):
                return None
            lister = self._lister(packed, role)
        offsets = np.empty(len(packed) + 1, dtype=np.int64)
        asked = self._queries.legal(role)
        spare = self._lists
        try:
            scratch = spare.pop()
        except IndexError:
            scratch = self._new_list()
        rows, values = scratch
        stuck = lister.code(asked, packed, lister.names, offsets, values, rows)
        found = values[: offsets[-1]].copy()
        spare.append(scratch)
        return stuck, offsets, found

    def _asker(self, asked: Query, packed: Packed, moves: IntArray, move_rows: I32) -> _Asker:
        words = int(asked.starts[-1])
        out = np.empty((len(packed), words), dtype=np.uint64)
        rows = self._new_rows()
        code = query_word.code_for(asked, packed, moves, move_rows, out, rows)
        return self._askers.setdefault(id(asked), _Asker(code, words))

    def _lister(self, packed: Packed, role: int) -> _Lister:
        asked, names = self._queries.legal(role), self._moves.numbers[role]
        (rows, values), offsets = self._new_list(), np.zeros(1, dtype=np.int64)
        code = legal_word.code_for(asked, packed, names, offsets, values, rows)
        return self._listers.setdefault(role, _Lister(code, names))

    def _new_rows(self) -> Packed:
        queries = self._queries
        asked = [queries.terminal, queries.goals, queries.step]
        asked += map(queries.legal, range(len(self._moves.numbers)))
        return np.empty(max(each.num_rows for each in asked), dtype=np.uint64)

    def _new_list(self) -> tuple[Packed, IntArray]:
        most = max(map(len, self._moves.numbers))
        return self._new_rows(), np.empty(FEW * most, dtype=np.int64)
