"""Ids of the moves and percepts of a circuit, and the moves that may have caused percepts.

Kernels write percepts as rows of bits, and joint moves as ids. `CircuitPercepts` turns rows into
percept ids, and back; `MoveTable` numbers the moves; `Clues` infers from percepts which moves may
have caused them.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.errors import MachineError
from ggp.gdl import canonical_term
from ggp.gdl.analysis.told_moves import PLAIN
from ggp.machine.arrays import (
    Packed,
    enlarged,
    pack,
    pack_rows,
    places_of_bits,
    rows_of_bits,
    unpack,
    words_for,
)
from ggp.machine.base import UNKNOWN, BoolArray, IntArray
from ggp.machine.circuit import FALSE, TRUE, Circuit, Literals, cone, touched_by
from ggp.machine.percepts import joint_percepts, moves_told
from ggp.machine.propnet.play.kernels.tapes import I32, Query
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.rows import RowTable
from ggp.machine.threads import made_once

_AT_ONCE = 1 << 12
"""Number of rows of bits that are unpacked together, which bounds memory."""


class CircuitPercepts:
    """Ids of sets of percepts: the numbers of rows in one table for all roles.

    In GDL-II, a row has one bit for each percept that any role can get, in the order of their
    texts. In plain GDL, where every role sees the joint move, it has one word for each role: its
    move, `UNKNOWN` if it is not in the set. Texts are spelled when they are asked for, since nobody
    asks for those of most sets.

    Args:
        growing: held while the table grows; see `ggp.machine.threads`.
        is_gdl2: false for plain GDL.
    """

    def __init__(
        self, circuit: Circuit, moves: MoveTable, growing: RLock, *, is_gdl2: bool
    ) -> None:
        self.is_gdl2 = is_gdl2
        self._roles, self._moves, self._growing = circuit.roles, moves, growing
        # Rules with `sees` may be played as plain GDL, too.
        seen = [outputs.names if is_gdl2 else () for outputs in circuit.sees]
        self._names = sorted({name for names in seen for name in names})
        self._bit_of = {name: bit for bit, name in enumerate(self._names)}
        self._bits = [
            np.array([self._bit_of[name] for name in names], dtype=np.int64) for names in seen
        ]
        self._table = RowTable(words_for(len(self._names)) if is_gdl2 else len(self._roles))
        self._table.numbers(self._row(()))  # id 0 is the empty set
        # The rows of roles that cannot get all percepts, and their ids, `UNKNOWN` if not yet found.
        self._own_tables = [RowTable(words_for(len(bits))) for bits in self._bits]
        self._own_ids = [np.zeros(0, dtype=np.int64) for _ in self._bits]

    def __len__(self) -> int:
        """Number of sets."""
        return len(self._table)

    def after(
        self, step: Query, words: Packed, joint_moves: IntArray, only: int | None = None
    ) -> IntArray:
        """`[L, R]` ids after joint moves, from the words of `Queries.step`.

        Args:
            only: the only role whose ids are computed, `words` being its part of the answer;
                default: all.
        """
        percepts = np.zeros((len(words), len(self._roles)), dtype=np.int64)
        with self._growing:
            if not self.is_gdl2:
                percepts[:] = self._table.numbers(joint_moves.astype(np.uint64))[:, None]
            for role, bits in enumerate(self._bits):
                if len(bits) and only in (None, role):
                    rows = words if only == role else step.part(words, 1 + role)
                    percepts[:, role] = self._numbers(rows, role)
        return percepts

    def texts(self, percepts: int) -> tuple[str, ...]:
        """The percepts of a set, sorted.

        Raises:
            MachineError: there is no such set.
        """
        if not 0 <= percepts < len(self):
            raise MachineError(f"there is no set of percepts number {percepts}")
        return self._spelled(self._table.rows[percepts][None])

    def find(self, percepts: Sequence[str]) -> int | None:
        """The id of a set of percepts, given in canonical KIF; None if the game cannot have it."""
        row = self._row(percepts)
        if self._spelled(row) != tuple(sorted(set(percepts))):
            return None
        with self._growing:
            return int(self._table.numbers(row)[0])

    def joint_moves(self, percepts: IntArray) -> IntArray:
        """`[L, R]` the joint moves that sets show in plain GDL, `UNKNOWN` where they do not."""
        moves = self._table.rows[percepts].view(np.int64)
        return np.where(percepts[:, None] == UNKNOWN, UNKNOWN, moves)

    def rows_of(self, role: int, percepts: IntArray) -> Packed | None:
        """`[L, words]` the sets as `Queries.step` answers them for a role; `UNKNOWN` has any row.

        None in plain GDL, or if the role cannot get one of them.
        """
        bits = self._bits[role]
        if len(bits) in (0, len(self._names)):
            return self._table.rows[percepts] if len(bits) else None
        sets, group = np.unique(percepts, return_inverse=True)
        all_bits = unpack(self._table.rows[sets], len(self._names))
        own_bits = all_bits[:, bits]
        is_own = all_bits.sum(axis=1) == own_bits.sum(axis=1)
        return pack_rows(own_bits)[group] if (is_own | (sets == UNKNOWN)).all() else None

    def _numbers(self, rows: Packed, role: int) -> IntArray:
        """`[L]` ids of rows of a role's own percepts."""
        bits, table = self._bits[role], self._own_tables[role]
        if len(bits) == len(self._names):
            return self._table.numbers(rows)
        numbers = table.numbers(rows)
        ids = self._own_ids[role] = enlarged(self._own_ids[role], len(table), UNKNOWN)
        if not (is_new := ids[numbers] == UNKNOWN).any():
            return ids[numbers]
        new = np.unique(numbers[is_new])
        for part in np.array_split(new, 1 + len(new) // _AT_ONCE):
            all_bits = np.zeros((len(part), len(self._names)), dtype=np.bool_)
            all_bits[:, bits] = unpack(table.rows[part], len(bits))
            ids[part] = self._table.numbers(pack_rows(all_bits))
        return ids[numbers]

    def _row(self, percepts: Sequence[str]) -> Packed:
        """`[1, words]` the row of a set, without percepts that the game cannot have."""
        if not self.is_gdl2:
            told = np.array(moves_told(percepts, PLAIN, self._roles, self._moves.id))
            if (told == UNKNOWN).all():  # perhaps the game has no move at all
                return told[None].view(np.uint64)
            has_move = self._moves.rows[np.arange(len(told)), told] >= 0
            return np.where(has_move, told, UNKNOWN)[None].view(np.uint64)
        bits = [self._bit_of[text] for text in percepts if text in self._bit_of]
        lanes = np.zeros(len(bits), dtype=np.int64)
        return rows_of_bits(lanes, np.array(bits, dtype=np.int64), 1, words_for(len(self._names)))

    def _spelled(self, row: Packed) -> tuple[str, ...]:
        """The texts of `[1, words]` a row, sorted."""
        if self.is_gdl2:
            return tuple(self._names[bit] for bit in places_of_bits(row)[1].tolist())
        told = zip(self._roles, row[0].view(np.int64).tolist(), strict=True)
        known = [(role, self._moves.text(move)) for role, move in told if move != UNKNOWN]
        return joint_percepts([role for role, _ in known], [move for _, move in known])


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

    def fault_of(self, joint_moves: IntArray, num_lanes: int) -> MachineError:
        """The error that says why kernels refuse joint moves: their shape, or a role's move."""
        if joint_moves.shape != (num_lanes, len(self._roles)):
            return MachineError(
                f"joint moves of shape {joint_moves.shape} for {num_lanes} lanes and "
                f"{len(self._roles)} roles"
            )
        wrong = joint_moves[(joint_moves < 0) | (joint_moves >= len(self._texts))]
        if len(wrong):
            return MachineError(f"there is no move number {wrong[0]}")
        lane, role = np.argwhere(self.rows[np.arange(len(self._roles)), joint_moves] < 0)[0]
        move = self.text(int(joint_moves[lane, role]))
        return MachineError(f"{self._roles[role]} never has the move {move}")


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
