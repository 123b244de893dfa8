"""Ids of the moves and percepts of a circuit, and the moves that may have caused percepts.

Kernels write percepts as rows of bits, and joint moves as ids. `CircuitPercepts` turns rows into
percept ids, and back; `MoveTable` numbers the moves; `Clues` infers from percepts which moves may
have caused them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from threading import RLock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.errors import MachineError
from ggp.gdl import canonical_term
from ggp.machine.arrays import Packed, enlarged, pack, places_of_bits, rows_of_bits, words_for
from ggp.machine.base import BoolArray, IntArray
from ggp.machine.circuit import FALSE, TRUE, Circuit, Literals, cone, touched_by
from ggp.machine.percepts import PerceptTable, joint_percepts
from ggp.machine.propnet.play.kernels.tapes import I32, Query
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.rows import RowTable
from ggp.machine.threads import made_once

Rows = NDArray[np.uint64]

Spell = Callable[[Rows], list[tuple[str, ...]]]
"""Returns the percepts, sorted, for each row of words."""

Read = Callable[[Sequence[tuple[str, ...]]], tuple[Rows, BoolArray]]
"""Returns the row of each set of percepts, and whether it has one; if not, its row is arbitrary."""

_AT_ONCE = 1 << 12
"""Number of rows that are spelled or read together, which bounds memory."""


class RowPercepts:
    """Percept ids of rows of words; equal rows have equal ids.

    Args:
        read: returns the rows of sets of percepts; None if `rows_of` is never called.
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
        self._ids_of_row: dict[bytes, IntArray] = {}
        self._ids = np.zeros(0, dtype=np.int64)
        self._num_read = 0
        self._read_rows = np.zeros((1, words), dtype=np.uint64)
        self._readable = np.zeros(1, dtype=np.bool_)

    def ids(self, rows: Rows) -> IntArray:
        """`[L]` id of each row."""
        if len(rows) > 1:
            with self._table.growing:
                return self.numbered(rows)
        # A lookup takes less time than the call of a kernel.
        key = rows.tobytes()
        ids = self._ids_of_row.get(key)
        if ids is None:
            with self._table.growing:
                ids = self._ids_of_row[key] = self.numbered(rows)
        return ids

    def numbered(self, rows: Rows) -> IntArray:
        """The same as `ids`, for a caller that holds the lock of the table."""
        indices = self._rows.numbers(rows)
        if len(self._rows) > len(self._ids):
            new = self._rows.rows[len(self._ids) :]
            ids = [
                self._table.number(percepts)
                for start in range(0, len(new), _AT_ONCE)
                for percepts in self._spell(new[start : start + _AT_ONCE])
            ]
            self._ids = np.concatenate([self._ids, np.array(ids, dtype=np.int64)])
        return self._ids[indices]

    def rows_of(self, ids: IntArray) -> tuple[Rows, BoolArray]:
        """`[L]` rows of ids, and whether each has one: a set that the role cannot see has none.

        Unknown ids (-1) are allowed; their rows are arbitrary.
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
    """The percept ids of a machine: of rows of bits, or of joint moves in plain GDL.

    Args:
        roles: the roles of the game.
        is_gdl2: false for plain GDL, where every role sees the joint move.
        growing: held while tables grow.
        is_percept: whether the game can have a percept.
    """

    def __init__(
        self,
        circuit: Circuit,
        roles: tuple[str, ...],
        moves: MoveTable,
        growing: RLock,
        is_percept: Callable[[str], bool],
        *,
        is_gdl2: bool,
    ) -> None:
        self._circuit = circuit
        self._roles = roles
        self._moves = moves
        self._growing = growing
        self.is_gdl2 = is_gdl2
        self.table = PerceptTable(is_percept, growing)

    def after(
        self, step: Query, words: Rows, joint_moves: IntArray, only: int | None = None
    ) -> IntArray:
        """`[L, R]` ids after joint moves, from the words of `Queries.step`.

        Args:
            only: the only role whose ids are computed, `words` being its part of the answer;
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
                    percepts[:, role] = rows.ids(step.part(words, 1 + role))
        else:
            with self._growing:  # once for all roles
                for role, rows in enumerate(self._by_role):
                    if rows is not None:
                        percepts[:, role] = rows.numbered(step.part(words, 1 + role))
        return percepts

    def of_role(self, role: int) -> RowPercepts | None:
        """The percept ids of a role by rows of bits; None in plain GDL, or if it never sees any."""
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
    """All percepts that any role may get; in plain GDL everybody sees the joint move."""
    if is_gdl2:
        return frozenset(name for outputs in circuit.sees for name in outputs.names)
    return frozenset(
        f"(did {role} {name})"
        for role, outputs in zip(circuit.roles, circuit.legal, strict=True)
        for name in outputs.names
    )


def _speller(names: tuple[str, ...]) -> Spell:
    def spell(rows: Packed) -> list[tuple[str, ...]]:
        lanes, indices = places_of_bits(rows)
        has_name = indices < len(names)
        spelled = [names[index] for index in indices[has_name].tolist()]
        bounds = np.searchsorted(lanes[has_name], np.arange(len(rows) + 1)).tolist()
        return [tuple(spelled[start:end]) for start, end in pairwise(bounds)]

    return spell


def _reader(names: tuple[str, ...]) -> Read:
    place_of = {name: k for k, name in enumerate(names)}

    def read(sets: Sequence[tuple[str, ...]]) -> tuple[Packed, BoolArray]:
        bit_lists = [[place_of.get(name, -1) for name in percepts] for percepts in sets]
        lanes = np.repeat(np.arange(len(sets)), [len(indices) for indices in bit_lists])
        bits = np.array(list(chain.from_iterable(bit_lists)), dtype=np.int64)
        readable = np.ones(len(sets), dtype=np.bool_)
        readable[lanes[bits < 0]] = False
        return rows_of_bits(lanes, bits, len(sets), words_for(len(names))), readable

    return read


# ------------------------------------------------------------------------
# The moves of a circuit: their ids, and their rows in a block.


class MoveTable:
    """M moves of all roles, each with an id: moves of equal text share one.

    Attributes:
        numbers: for each role, the ids of its moves, in the order of the circuit.
    """

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        circuit = queries.circuit
        self._roles = circuit.roles
        self._texts = sorted({name for outputs in circuit.legal for name in outputs.names})
        self._ids = {name: i for i, name in enumerate(self._texts)}
        self.numbers = [
            np.array([self._ids[name] for name in outputs.names], dtype=np.int64)
            for outputs in circuit.legal
        ]

    def id(self, move: str) -> int | None:
        """The id of a move, None if there is no such move."""
        return self._ids.get(canonical_term(move))

    def text(self, move: int) -> str:
        """A move as canonical KIF.

        Raises:
            MachineError: no move has this id.
        """
        if not 0 <= move < len(self._texts):
            raise MachineError(f"there is no move number {move}")
        return self._texts[move]

    @made_once
    def rows(self) -> I32:
        """`[R, M]` row in `Queries.step` of each move of each role, -1 if it has no such move."""
        rows = np.full((len(self._roles), len(self._texts)), -1, dtype=np.int32)
        for role, numbers in enumerate(self.numbers):
            first = self._queries.first_move_row + self._queries.role_moves[role]
            rows[role, numbers] = np.arange(first, first + len(numbers))
        return rows

    @made_once
    def places(self) -> list[I32]:
        """For each role, `[M]` index of each move among its own, -1 if it has no such move."""
        first = self._queries.first_move_row + self._queries.role_moves[:-1, None]
        return list(np.where(self.rows < 0, -1, self.rows - first).astype(np.int32))

    def rows_of(self, joint_moves: IntArray, num_lanes: int) -> I32:
        """`[L, R]` row in `Queries.step` of each move of the circuit's roles.

        Raises:
            MachineError: the shape is wrong, or a role has no such move.
        """
        if joint_moves.shape != (num_lanes, len(self._roles)):
            raise MachineError(
                f"joint moves of shape {joint_moves.shape} for {num_lanes} lanes and "
                f"{len(self._roles)} roles"
            )
        if joint_moves.size and (joint_moves.min() < 0 or joint_moves.max() >= len(self._texts)):
            wrong = joint_moves[(joint_moves < 0) | (joint_moves >= len(self._texts))]
            raise MachineError(f"there is no move number {wrong[0]}")
        rows = self.rows[np.arange(len(self._roles)), joint_moves]
        if rows.size and rows.min() < 0:
            lane, role = np.argwhere(rows < 0)[0]
            move = self.text(int(joint_moves[lane, role]))
            raise MachineError(f"{self._roles[role]} never has the move {move}")
        return np.asarray(rows)


# ------------------------------------------------------------------------
# Infers from percepts the moves that may have caused them, in any state.
#
# Chance deals three of 52 cards, and the role sees which: one of 22,100 moves can have caused that.
# The circuit shows this without trying moves. If a role makes one move and no other, while the
# state and the other roles' moves are unknown, a net may be 1, or 0, or either. So each net has two
# sets of moves: with which it may be 1, and with which it may be 0. The sets of a gate follow from
# those of its inputs:
#
#     may be 1    the intersection, over all inputs, of may be 1 (of may be 0, for inverted inputs)
#     may be 0    the union, over all inputs, of may be 0 (of may be 1, for inverted inputs)
#
# A move may have caused a set of percepts if, with it, every percept of the set may be 1 and every
# other percept may be 0. The inference is sound in one direction: a move that it excludes is
# impossible, but a move that it leaves may be impossible, too, because inputs are treated as if
# they did not depend on each other.

MAX_GATES, MAX_BITS = 20_000, 1 << 29
"""Greatest number of gates, and of gates times moves, for inference: a second, and 128 MB."""

MAX_CLUES = 64
"""Greatest number of different percepts of one batch that are used for inference."""

MAX_KNOWN = 1024
"""Greatest number of answers in the cache."""


class _Rails(NamedTuple):
    """Sets of moves for each gate between the moves of one role and the percepts of another.

    Sets are packed in bytes.

    Attributes:
        slots: `[gates]` row of each gate, -1 if it does not depend on these moves.
        one_moves, zero_moves: `[K, bytes]` moves with which a gate may be 1, or 0.
    """

    slots: IntArray
    one_moves: NDArray[np.uint8]
    zero_moves: NDArray[np.uint8]


class Clues:
    """Finds the moves that may have caused percepts.

    Args:
        circuit: the circuit of the game.
    """

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        sizes = [len(outputs.names) for outputs in circuit.legal]
        self._first_move = 1 + len(circuit.fluents) + np.cumsum([0, *sizes])
        self._first_gate = 1 + circuit.num_inputs
        self._rails: dict[tuple[int, int], _Rails | None] = {}
        self._answers: dict[tuple[tuple[str, ...], int, int], Packed | None] = {}

    def moves_behind(self, percepts: tuple[str, ...], role: int, mover: int) -> Packed | None:
        """Moves of a role that may have caused the percepts of another.

        Args:
            percepts: canonical KIF.
            role: the role that sees them.
            mover: the role that moves.

        Returns:
            One bit for each of the mover's moves, in the order of the circuit; None if nothing is
            inferred, because the circuit has loops or is too large. If it is too large only with
            all percepts, the inference uses the percepts that were seen, and not the absence of
            others.
        """
        key = percepts, role, mover
        if key not in self._answers:
            if len(self._answers) >= MAX_KNOWN:
                self._answers.clear()
            names = self._circuit.sees[role].names
            seen = set(percepts)
            mask = np.array([name in seen for name in names], dtype=np.bool_)
            moves = self._moves_behind(mask, role, mover) if mask.sum() == len(seen) else None
            self._answers[key] = None if moves is None else pack(moves)
        return self._answers[key]

    def _moves_behind(self, seen: BoolArray, role: int, mover: int) -> BoolArray | None:
        key = role, mover
        literals = self._circuit.sees[role].literals
        if key not in self._rails:
            self._rails[key] = self._new_rails(literals, mover)
        rails = self._rails[key]
        if rails is None and seen.any():
            # Percepts that were seen exclude the most moves, and are few, where there may be tens
            # of thousands of others.
            literals, seen = literals[seen], seen[seen]
            rails = self._new_rails(literals, mover)
        if rails is None:
            return None
        first, end = self._first_move[mover], self._first_move[mover + 1]
        nets, holds = literals >> 1, seen ^ (literals & 1).astype(np.bool_)
        moves = _possible_moves(end - first, *_split(nets, holds, first, end))
        gates = nets - self._first_gate
        touched = np.flatnonzero(gates >= 0)
        slots = rails.slots[gates[touched]]
        packed = np.packbits(moves)
        for index, slot in zip(touched[slots >= 0], slots[slots >= 0], strict=True):
            packed &= (rails.one_moves if holds[index] else rails.zero_moves)[slot]
        return np.unpackbits(packed, count=int(end - first)).astype(np.bool_)

    def _new_rails(self, literals: Literals, mover: int) -> _Rails | None:
        """The sets of gates between a role's moves and some literals; None if they are too many."""
        circuit = self._circuit
        first, end = self._first_move[mover], self._first_move[mover + 1]
        if circuit.loops:
            return None
        reached = cone(circuit, literals)
        moves = np.zeros(len(reached), dtype=np.bool_)
        moves[first:end] = True
        gates = np.flatnonzero((reached & touched_by(circuit, moves))[self._first_gate :])
        if len(gates) > MAX_GATES or len(gates) * (end - first) > MAX_BITS:
            return None
        slots = np.full(circuit.num_gates, -1, dtype=np.int64)
        slots[gates] = np.arange(len(gates))
        one_moves = np.empty((len(gates), (int(end - first) + 7) // 8), dtype=np.uint8)
        zero_moves = np.empty_like(one_moves)
        rails = _Rails(slots, one_moves, zero_moves)
        for slot, gate in enumerate(gates.tolist()):
            start, stop = circuit.offsets[gate : gate + 2]
            self._follow(circuit.literals[start:stop].astype(np.int64), rails, slot, first, end)
        return rails

    def _follow(self, literals: IntArray, rails: _Rails, slot: int, first: int, end: int) -> None:
        """Write the moves with which a gate may be 1, and 0, from the sets of its inputs."""
        nets, plain = literals >> 1, (literals & 1) == 0
        gates = np.where(nets >= self._first_gate, nets - self._first_gate, -1)
        inner = np.where(gates >= 0, rails.slots[gates], -1)
        is_move = (nets >= first) & (nets < end)
        is_free = (inner < 0) & ~is_move & (literals != FALSE) & (literals != TRUE)
        on = np.packbits(_possible_moves(end - first, *_split(nets, plain, first, end)))
        # An AND is 0 if its inputs that are moves are not all 1.
        off = np.full_like(on, 255) if is_free.any() or (literals == FALSE).any() else ~on
        if (literals == FALSE).any():
            on[:] = 0
        for k in np.flatnonzero(inner >= 0):
            may, may_not = rails.one_moves[inner[k]], rails.zero_moves[inner[k]]
            on &= may if plain[k] else may_not
            off |= may_not if plain[k] else may
        rails.one_moves[slot], rails.zero_moves[slot] = on, off


def _split(nets: IntArray, holds: BoolArray, first: int, end: int) -> tuple[IntArray, IntArray]:
    """The moves among literals that must be made, and the moves that must not."""
    is_move = (nets >= first) & (nets < end)
    return nets[is_move & holds] - first, nets[is_move & ~holds] - first


def _possible_moves(size: int, must_hold: IntArray, must_not_hold: IntArray) -> BoolArray:
    """`[size]` whether each move may be the only one that is made."""
    is_possible = np.ones(size, dtype=np.bool_)
    if len(must_hold):
        is_possible[:] = False
        is_possible[must_hold] = (must_hold == must_hold[0]).all()
    is_possible[must_not_hold] = False
    return is_possible
