"""Answers to the questions about a circuit, from packed states: the caller reads what they mean.

There are three ways, each the fastest for so many states:

    one, as long as few are asked about    in Python: a kernel would take longer to load
    up to 64                               by kernels that keep a word for each net
    more                                   by kernels on blocks of 1,024

A single state of a small game is stepped in less than a microsecond; finding the machine code for
the arguments' types takes three, and every call of numpy a quarter to one. So for few states the
machine code of each question is looked up once, and the memory it works on is kept: taken out of a
list, and given back (see `ggp.machine.threads`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import Packed, first_seen, offsets_of, unpack
from ggp.machine.base import BoolArray, IntArray, Ragged
from ggp.machine.compiling.vectors import WIDTH, aligned_words, words_of
from ggp.machine.propnet.play.kernels.block_kernels import (
    advance_matching,
    count_bits,
    list_bits,
    query,
)
from ggp.machine.propnet.play.kernels.narrow import FEW, NARROW, legal_word, query_word
from ggp.machine.propnet.play.kernels.tapes import I32, TURNED, Query, Tape
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.percepts import MoveTable

_PLAIN_STEPS = 50
"""Steps of Python that a question about a single state counts as, see `Kernel.is_spared`."""

_NO_MOVES = tuple(np.zeros((lanes, 0), dtype=np.int64) for lanes in range(NARROW + 1))
_NO_ROWS: I32 = np.zeros((0, 0), dtype=np.int32)


class Answers:
    """Answers about `[L, words]` packed states; joint moves are those of the circuit's roles."""

    def __init__(self, queries: Queries, moves: MoveTable) -> None:
        self._queries = queries
        self._moves = moves
        self._few = _FewStates(queries, moves)
        self._blank: list[tuple[Packed, Packed]] = []  # scratch of `matching`
        self._blocks: dict[int, list[tuple[Packed, Packed]]] = {}  # of `evaluate`, by query

    def ask(self, asked: Query, packed: Packed) -> Packed:
        """`[L, asked.starts[-1]]` the words of a query's literals, whatever moves are made."""
        if len(packed) > NARROW:
            return self.evaluate(asked, packed, np.zeros((len(packed), 0), dtype=np.int32))
        return self._few.ask(asked, packed)

    def evaluate(self, asked: Query, packed: Packed, moves: NDArray[np.int32]) -> Packed:
        """The same where moves are made, given as rows of `Queries.step`."""
        out = np.empty((len(packed), asked.starts[-1]), dtype=np.uint64)
        spare = self._blocks.setdefault(id(asked), [])  # queries live as long as the machine
        try:
            scratch = spare.pop()
        except IndexError:
            scratch = aligned_words(asked.num_rows * words_of(WIDTH)), np.empty(64, dtype=np.uint64)
        query(asked, packed, moves, out, *scratch, WIDTH)
        spare.append(scratch)
        return out

    def terminal(self, packed: Packed) -> BoolArray:
        """`[L]` whether each is terminal."""
        return np.asarray(self.ask(self._queries.terminal, packed)[:, 0] != 0)

    def goal_values(self, packed: Packed) -> Iterator[tuple[list[tuple[str, ...]], IntArray]]:
        """For each role, the different lists of goal values, and `[L]` which one each state has."""
        asked, queries = self._queries.goals, self._queries
        found = self.ask(asked, packed)
        for role, outputs in enumerate(queries.circuit.goals):
            rows = asked.part(found, role)
            first, group = first_seen(rows.view(np.int64))
            held = unpack(rows[first], len(outputs.names))
            texts = [tuple(outputs.names[k] for k in np.flatnonzero(lane)) for lane in held]
            yield texts, group

    def legal(self, packed: Packed, role: int) -> tuple[int, Ragged]:
        """The legal moves of a role, and the first state that is stuck, or -1."""
        few = self._few.legal(packed, role)
        if few is not None:
            return few
        moves, over = self.legal_bits(packed, role)
        legal = self.listed(moves, role)
        stuck = (legal.counts == 0) & ~over
        return int(np.argmax(stuck)) if stuck.any() else -1, legal

    def legal_bits(self, packed: Packed, role: int) -> tuple[Packed, BoolArray]:
        """`[L, words]` the legal moves of a role, none in terminal states; which ones these are."""
        asked = self._queries.legal(role)
        found = self.ask(asked, packed)
        over = asked.part(found, 1)[:, 0] != 0
        moves = np.ascontiguousarray(asked.part(found, 0))
        moves[over] = 0
        return moves, over

    def listed(self, moves: Packed, role: int) -> Ragged:
        """The numbers of a role's moves, given as by `legal_bits`."""
        names = self._moves.numbers[role]
        if count_bits.is_spared(len(moves)):
            held = unpack(moves, len(names)) != 0
            return Ragged(offsets_of(held.sum(axis=1)), names[np.nonzero(held)[1]])
        counts = np.zeros(len(moves), dtype=np.int64)
        count_bits(moves, counts)
        values = np.zeros(counts.sum(), dtype=np.int64)
        list_bits(moves, names, values)
        return Ragged(offsets_of(counts), values)

    def stepped(self, packed: Packed, joint_moves: IntArray) -> Packed:
        """The words of `Queries.step` after joint moves.

        Raises:
            MachineError: these are no moves of the roles.
        """
        found = self._few.stepped(packed, joint_moves)
        if found is not None:
            return found
        rows = self._moves.rows_of(joint_moves, len(packed))
        return self.evaluate(self._queries.step, packed, rows)

    def matching(
        self,
        packed: Packed,
        lanes: IntArray,
        joint_moves: IntArray,
        role: int,
        percepts: IntArray,
        wanted: Packed,
    ) -> tuple[IntArray, Packed]:
        """The joint moves after which a role gets wanted percepts, and the states after them.

        Args:
            lanes: `[K]` the state of each joint move.
            percepts: `[L]` ids of percepts, `UNKNOWN` if any will do.
            wanted: `[L, words]` the rows of these, see `Queries.step`.

        Raises:
            MachineError: these are no moves of the roles.
        """
        asked, circuit = self._queries.step, self._queries.circuit
        matches = np.empty(len(lanes), dtype=np.int64)
        out = np.empty((len(lanes), packed.shape[1]), dtype=np.uint64)
        try:
            scratch = self._blank.pop()
        except IndexError:
            scratch = self._new_blank()
        found = advance_matching(
            packed,
            lanes,
            asked.row_of,
            joint_moves,
            self._moves.rows,
            asked.tape,
            asked.literals(0, len(circuit.next)),
            asked.literals(1 + role, len(circuit.sees[role].names)),
            wanted,
            np.ascontiguousarray(percepts),
            *scratch,
            matches,
            out,
            WIDTH,
        )
        self._blank.append(scratch)
        if found < 0:
            # Raises an error that says what is wrong.
            self._moves.rows_of(joint_moves, len(lanes))
        return matches[:found], out[:found].copy()

    def _new_blank(self) -> tuple[Packed, Packed]:
        """Rows for `step`, zero except those of states and gates, and 64 words."""
        num_words = self._queries.step.num_rows * words_of(WIDTH)
        return aligned_words(num_words), np.zeros(64, dtype=np.uint64)


class _Asker(NamedTuple):
    """A question ready to be asked."""

    code: Callable[..., bool]
    words: int


class _Lister(NamedTuple):
    """The legal moves of a role, ready to be listed."""

    code: Callable[..., int]
    names: IntArray


class _FewStates:
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
            return evaluate_plainly(asked, packed)
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

    def legal(self, packed: Packed, role: int) -> tuple[int, Ragged] | None:
        """The first state in which a role is stuck, or -1, and its legal moves.

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
        return stuck, Ragged(offsets, found)

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


def evaluate_plainly(asked: Query, packed: Packed) -> Packed:
    """Evaluate K literals without kernels, one state after the other: `[L, ceil(K / 64)]`."""
    held = unpack(packed, len(asked.row_of))
    inverted = asked.wires.inverted != 0
    found = [_rows(asked, lane.tolist()) for lane in held]
    bits = np.array(found, dtype=np.bool_)[:, asked.wires.rows] ^ inverted
    packed_bytes = np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little"))
    return packed_bytes.view("<u8").astype(np.uint64)


def _rows(asked: Query, held: list[bool]) -> list[bool]:
    """The values of all rows, given the fluents that hold."""
    rows = [False] * asked.num_rows
    for row, value in zip(asked.row_of.tolist(), held, strict=True):
        rows[row] = value
    run_plainly(asked.tape, rows)
    return rows


def run_plainly(tape: Tape, rows: list[bool]) -> None:
    """Evaluate the gates of a tape of one part, in a lane that plays on."""
    plus, minus, outputs = tape.plus.tolist(), tape.minus.tolist(), tape.outputs.tolist()
    inputs, initial = tape.inputs.tolist(), (tape.initial != 0).tolist()
    at = 0
    for first, end, loop, _, _, both, one, none, written in tape.segments.tolist():
        if loop:
            for gate in range(first, end):
                rows[outputs[gate]] = initial[gate]
        wanted = [(True, True)] * both + [(True, False)] * one + [(False, False)] * none
        changes, start = True, at
        while changes:
            changes, at = False, start
            for gate in range(first, end):
                middle = at + plus[gate]
                last = middle + minus[gate]
                value = all(rows[row] for row in inputs[at:middle])
                value = value and not any(rows[row] for row in inputs[middle:last])
                at = last
                for pair in wanted:
                    value = value and (rows[inputs[at]], rows[inputs[at + 1]]) != pair
                    at += 2
                changes |= bool(loop) and value != rows[outputs[gate]]
                rows[outputs[gate]] = value != (written == TURNED)
