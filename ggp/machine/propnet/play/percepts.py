"""Maps bits of percepts to the ids of their sets, without building terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import Packed, enlarged, places_of_bits, rows_of_bits, words_for
from ggp.machine.base import BoolArray, IntArray
from ggp.machine.circuit import Circuit
from ggp.machine.percepts import PerceptTable, joint_percepts
from ggp.machine.propnet.play.kernels.tapes import Query
from ggp.machine.propnet.play.moves import MoveTable
from ggp.machine.rows import RowTable
from ggp.machine.threads import made_once

Rows = NDArray[np.uint64]

Spell = Callable[[Rows], list[tuple[str, ...]]]
"""Gives the percepts, sorted, that each of some rows of words stands for."""

Read = Callable[[Sequence[tuple[str, ...]]], tuple[Rows, BoolArray]]
"""Gives the rows of some sets of percepts, and whether each has one; other rows are meaningless."""

_AT_ONCE = 1 << 12
"""Number of rows that are spelled or read at once, which bounds memory."""


class RowPercepts:
    """The percept ids of rows of words, each of which always stands for the same set.

    Args:
        read: gives the rows of sets of percepts; None if they are never asked for.
    """

    def __init__(
        self,
        table: PerceptTable,
        words: int,
        spell: Spell,
        read: Read | None = None,
    ) -> None:
        self._table = table
        self._spell = spell
        self._read = read
        self._rows = RowTable(words)
        self._alone: dict[bytes, IntArray] = {}
        self._ids = np.zeros(0, dtype=np.int64)
        self._num_read = 0
        self._read_rows = np.zeros((1, words), dtype=np.uint64)
        self._readable = np.zeros(1, dtype=np.bool_)

    def ids(self, rows: Rows) -> IntArray:
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

    def numbered(self, rows: Rows) -> IntArray:
        """The same as `ids`, for a caller that holds the lock of the table."""
        numbers = self._rows.numbers(rows)
        if len(self._rows) > len(self._ids):
            new = self._rows.rows[len(self._ids) :]
            ids = [
                self._table.number(percepts)
                for start in range(0, len(new), _AT_ONCE)
                for percepts in self._spell(new[start : start + _AT_ONCE])
            ]
            self._ids = np.concatenate([self._ids, np.array(ids, dtype=np.int64)])
        return self._ids[numbers]

    def rows_of(self, ids: IntArray) -> tuple[Rows, BoolArray]:
        """`[L]` rows of ids, and whether each has one: sets that the role cannot see have none.

        Unknown ids (-1) are allowed; their rows are meaningless.
        """
        assert self._read is not None
        with self._table.growing:
            while self._num_read < len(self._table):
                start, end = self._num_read, min(self._num_read + _AT_ONCE, len(self._table))
                self._read_rows = enlarged(self._read_rows, end, 0)
                self._readable = enlarged(self._readable, end, 0)
                texts = [self._table.texts(percepts) for percepts in range(start, end)]
                self._read_rows[start:end], self._readable[start:end] = self._read(texts)
                self._num_read = end
            return self._read_rows[ids], self._readable[ids]


class CircuitPercepts:
    """The percept ids of a machine: of sets of bits, or of joint moves in plain GDL.

    Args:
        roles: of the game.
        is_gdl2: false for plain GDL, where every role sees the joint move.
        growing: held while tables grow.
        known: whether the game can have a percept.
    """

    def __init__(
        self,
        circuit: Circuit,
        roles: tuple[str, ...],
        moves: MoveTable,
        growing: RLock,
        known: Callable[[str], bool],
        *,
        is_gdl2: bool,
    ) -> None:
        self._circuit = circuit
        self._roles = roles
        self._moves = moves
        self._growing = growing
        self.is_gdl2 = is_gdl2
        self.table = PerceptTable(known, growing)

    def after(
        self, asked: Query, words: Rows, joint_moves: IntArray, only: int | None = None
    ) -> IntArray:
        """`[L, R]` ids after joint moves of the game, with the answer to `Queries.step`.

        Args:
            only: the only role whose ids are wanted, and whose part of the answer is given;
                default: all.
        """
        percepts = np.zeros((len(words), len(self._roles)), dtype=np.int64)
        if not self.is_gdl2:
            percepts[:] = self._joint.ids(joint_moves.astype(np.uint64))[:, None]
        elif only is not None:
            rows = self._by_role[only]
            if rows is not None:
                percepts[:, only] = rows.ids(words)
        elif len(words) == 1:
            for role, rows in enumerate(self._by_role):
                if rows is not None:
                    percepts[:, role] = rows.ids(asked.part(words, 1 + role))
        else:
            with self._growing:  # once for all roles
                for role, rows in enumerate(self._by_role):
                    if rows is not None:
                        percepts[:, role] = rows.numbered(asked.part(words, 1 + role))
        return percepts

    def of_role(self, role: int) -> RowPercepts | None:
        """The percepts of a role by rows of bits; None where it has none of its own."""
        return self._by_role[role] if self.is_gdl2 else None

    @made_once
    def _by_role(self) -> list[RowPercepts | None]:
        return [
            RowPercepts(
                self.table,
                words_for(len(outputs.names)),
                _speller(outputs.names),
                _reader(outputs.names),
            )
            if outputs.names
            else None
            for outputs in self._circuit.sees[: len(self._roles)]
        ]

    @made_once
    def _joint(self) -> RowPercepts:
        def spell(rows: Packed) -> list[tuple[str, ...]]:
            return [
                joint_percepts(self._roles, list(map(self._moves.text, row)))
                for row in rows.tolist()
            ]

        return RowPercepts(self.table, len(self._roles), spell)


def percept_names(circuit: Circuit, *, is_gdl2: bool) -> frozenset[str]:
    """All percepts that there may be; in plain GDL everybody sees the joint move."""
    if is_gdl2:
        return frozenset(name for outputs in circuit.sees for name in outputs.names)
    return frozenset(
        f"(did {role} {name})"
        for role, outputs in zip(circuit.roles, circuit.legal, strict=True)
        for name in outputs.names
    )


def _speller(names: tuple[str, ...]) -> Spell:
    def spell(rows: Packed) -> list[tuple[str, ...]]:
        found, places = places_of_bits(rows)
        is_named = places < len(names)
        spelled = [names[place] for place in places[is_named].tolist()]
        bounds = np.searchsorted(found[is_named], np.arange(len(rows) + 1)).tolist()
        return [tuple(spelled[start:end]) for start, end in pairwise(bounds)]

    return spell


def _reader(names: tuple[str, ...]) -> Read:
    place_of = {name: k for k, name in enumerate(names)}

    def read(sets: Sequence[tuple[str, ...]]) -> tuple[Packed, BoolArray]:
        places = [[place_of.get(name, -1) for name in percepts] for percepts in sets]
        lanes = np.repeat(np.arange(len(sets)), [len(each) for each in places])
        told = np.array(list(chain.from_iterable(places)), dtype=np.int64)
        readable = np.ones(len(sets), dtype=np.bool_)
        readable[lanes[told < 0]] = False
        return rows_of_bits(lanes, told, len(sets), words_for(len(names))), readable

    return read
