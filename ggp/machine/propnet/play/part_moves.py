"""The moves of a circuit in which `random` makes some part by part: see `Parts`.

Such a move gets a number when it is first drawn or named: that of the row with its stand-in and its
parts.
"""

from __future__ import annotations

import re
from threading import RLock

import numpy as np

from ggp.errors import MachineError
from ggp.gdl import canonical_term, parse_term
from ggp.gdl.terms import Compound, Term, Variable, signature
from ggp.machine.base import IntArray
from ggp.machine.propnet.parts import NONE, Parts
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.moves import MoveTable
from ggp.machine.rows import RowTable

_HOLE = re.compile(r";([0-9]+)")


class PartMoves(MoveTable):
    """M moves that are listed, and those that are made of K parts.

    Joint moves `[L, R]` of the game have one number for the move of `random`. In the circuit they
    are `[L, R + K]`: with one for a stand-in and one for each part.

    Args:
        queries: the queries of a circuit with parts.
        parts: its parts.
        random_role: the role whose moves have parts.
        growing: held while numbers are assigned.
    """

    def __init__(self, queries: Queries, parts: Parts, random_role: int, growing: RLock) -> None:
        super().__init__(queries)
        self._num_roles, self._random = parts.num_roles, random_role
        self._growing = growing
        self._made = RowTable(1 + len(parts.apart))
        own = queries.circuit.legal[random_role].names
        self._patterns = [
            (parse_term(_HOLE.sub(r"?\1", name)), self._ids[name])
            for name in own
            if _HOLE.search(name)
        ]
        stand_ins = [number for _, number in self._patterns]
        is_own = np.zeros(len(self._texts), dtype=np.bool_)
        for numbers in self.numbers[: self._num_roles]:
            is_own[numbers] = True
        is_own[stand_ins] = False
        self._is_own = is_own
        self._part_ids = [
            {self._texts[number]: number for number in numbers.tolist()}
            for numbers in self.numbers[self._num_roles :]
        ]
        self._nothing = np.array([ids.get(NONE, -1) for ids in self._part_ids], dtype=np.int64)
        self._is_stand_in = np.zeros(len(self._texts), dtype=np.bool_)
        self._is_stand_in[stand_ins] = True

    @property
    def nothing(self) -> IntArray:
        """`[K]` the number for having no such part, -1 if every move has it."""
        return self._nothing

    def id(self, move: str) -> int | None:
        text = canonical_term(move)
        listed = self._ids.get(text)
        if listed is not None and self._is_own[listed]:
            return listed
        term = parse_term(text)
        for pattern, stand_in in self._patterns:
            found: dict[int, str] = {}
            if not _matches(pattern, term, found):
                continue
            row = [stand_in, *self._nothing.tolist()]
            for place, text in found.items():
                row[place] = self._part_ids[place - 1].get(text, -1)
            if min(row) >= 0:
                return int(self.interned(np.array([row], dtype=np.int64))[0])
        return None

    def text(self, move: int) -> str:
        made = move - len(self._texts)
        if not 0 <= made < len(self._made):
            return super().text(move)
        stand_in, *parts = self._made.rows[made].tolist()
        return _HOLE.sub(lambda hole: self._texts[parts[int(hole[1]) - 1]], self._texts[stand_in])

    def interned(self, rows: IntArray) -> IntArray:
        """`[L]` the moves of `random` with these stand-ins and parts: `[L, 1 + K]`."""
        found: IntArray = rows[:, 0].copy()
        parted = np.flatnonzero(self._is_stand_in[found])
        if len(parted):
            with self._growing:
                found[parted] = self._made.numbers(rows[parted].astype(np.uint64))
            found[parted] += len(self._texts)
        return found

    def rows_made(self, moves: IntArray) -> IntArray:
        """`[L, 1 + K]` stand-ins and parts of moves of `random`: see `interned`.

        Raises:
            MachineError: there is no such move.
        """
        num = len(self._texts)
        if moves.size and (moves.min() < 0 or moves.max() >= num + len(self._made)):
            wrong = moves[(moves < 0) | (moves >= num + len(self._made))]
            raise MachineError(f"there is no move number {wrong[0]}")
        rows = np.empty((len(moves), 1 + len(self._nothing)), dtype=np.int64)
        rows[:, 0], rows[:, 1:] = moves, self._nothing
        parted = np.flatnonzero(moves >= num)
        if len(parted):
            rows[parted] = self._made.rows[moves[parted] - num]
        return rows

    def spread(self, joint_moves: IntArray) -> IntArray:
        if joint_moves.ndim != 2 or joint_moves.shape[1] != self._num_roles:
            return joint_moves
        made = self.rows_made(joint_moves[:, self._random])
        spread = np.concatenate([joint_moves, made[:, 1:]], axis=1)
        spread[:, self._random] = made[:, 0]
        return np.ascontiguousarray(spread, dtype=np.int64)


def _matches(pattern: Term, term: Term, found: dict[int, str]) -> bool:
    """Whether a term matches a pattern; the values of variables are added to `found`."""
    if isinstance(pattern, Variable):
        found[int(pattern.name)] = str(term)
        return True
    if isinstance(term, Variable) or signature(pattern) != signature(term):
        return False
    if isinstance(pattern, Compound) and isinstance(term, Compound):
        pairs = zip(pattern.args, term.args, strict=True)
        return all(_matches(inner, other, found) for inner, other in pairs)
    return True
