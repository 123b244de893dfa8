"""Evaluates the queries about a circuit: packed states in, packed bits of literals out.

`PropnetMachine` turns the bits into moves, goals and percepts. There are three ways to evaluate,
each the fastest for its number of states:

    one, in a new process    in Python: a kernel would take longer to load
    up to 64                 by kernels that keep one word for each net
    more                     by kernels on blocks of 1,024

A single state of a small game is stepped in less than a microsecond; finding the machine code for
the arguments' types takes three, and every call of numpy a quarter to one. So for few states the
machine code of each query is looked up once, and its scratch is reused: a call takes it out of a
list and puts it back, so that no two threads ever share it (see `ggp.machine.threads`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.program import RANDOM
from ggp.machine.arrays import Packed, first_seen, offsets_of, unpack
from ggp.machine.base import BoolArray, IntArray, Ragged
from ggp.machine.compiling.vectors import WIDTH, aligned_words, words_of
from ggp.machine.propnet.play.kernels.block_kernels import (
    MoveNames,
    OpenLists,
    advance_matching,
    count_bits,
    list_bits,
    list_candidates,
    list_open,
    run_query,
)
from ggp.machine.propnet.play.kernels.narrow import FEW, NARROW, legal_word, query_word
from ggp.machine.propnet.play.kernels.tapes import I32, TURNED, Query, Tape
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.percepts import MoveTable
from ggp.machine.threads import made_once

_PLAIN_STEPS = 50
"""Steps of Python that a query about a single state counts as, see `Kernel.is_spared`."""

_NO_MOVES = tuple(np.zeros((lanes, 0), dtype=np.int64) for lanes in range(NARROW + 1))
_NO_ROWS: I32 = np.zeros((0, 0), dtype=np.int32)


class Answers:
    """Answers about `[L, words]` packed states; joint moves are those of the circuit's roles."""

    def __init__(self, queries: Queries, moves: MoveTable) -> None:
        self._queries = queries
        self._moves = moves
        self._few_states = _FewStates(queries, moves)
        self._blank: list[tuple[Packed, Packed]] = []  # scratch of `matching`
        # Of `evaluate`, by query, as queries live as long as the machine: machine code and scratch.
        self._blocks: dict[int, tuple[Callable[..., None], list[tuple[Packed, Packed]]]] = {}
        self._matchers: dict[int, Callable[..., int]] = {}  # machine code of `matching`, by role

    def ask(self, query: Query, packed: Packed) -> Packed:
        """`[L, query.starts[-1]]` the words of a query's literals, which depend on no move."""
        if len(packed) > NARROW:
            return self.evaluate(query, packed, np.zeros((len(packed), 0), dtype=np.int32))
        return self._few_states.ask(query, packed)

    def evaluate(self, query: Query, packed: Packed, moves: NDArray[np.int32]) -> Packed:
        """The same with blocks of 1,024 lanes, and with moves, given as rows of `Queries.step`."""
        packed = np.ascontiguousarray(packed)
        out = np.empty((len(packed), query.starts[-1]), dtype=np.uint64)
        code, spare = self._blocks.get(id(query), (None, []))
        try:
            scratch = spare.pop()
        except IndexError:
            scratch = aligned_words(query.num_rows * words_of(WIDTH)), np.empty(64, dtype=np.uint64)
        if code is None:
            code = run_query.code_for(query, packed, moves, out, *scratch, WIDTH)
            _, spare = self._blocks.setdefault(id(query), (code, spare))
        code(query, packed, moves, out, *scratch, WIDTH)
        spare.append(scratch)
        return out

    def terminal(self, packed: Packed) -> BoolArray:
        """`[L]` whether each is terminal."""
        return np.asarray(self.ask(self._queries.terminal, packed)[:, 0] != 0)

    def goal_rows(self, packed: Packed) -> Iterator[tuple[Packed, IntArray]]:
        """For each role, the different rows of bits of goal values, and `[L]` which one each state
        has."""
        query = self._queries.goals
        words = self.ask(query, packed)
        for role in range(len(self._queries.circuit.goals)):
            rows = query.part(words, role)
            first, group = first_seen(rows.view(np.int64))
            yield rows[first], group

    def goal_texts(self, role: int, rows: Packed) -> list[tuple[str, ...]]:
        """The goal values of a role in each row of `goal_rows`."""
        names = self._queries.circuit.goals[role].names
        bits = unpack(rows, len(names))
        return [tuple(names[k] for k in np.flatnonzero(lane)) for lane in bits]

    def legal(self, packed: Packed, role: int) -> tuple[int, Ragged]:
        """The legal moves of a role, and the first state that is stuck, or -1."""
        answer = self._few_states.legal(packed, role)
        if answer is not None:
            return answer
        moves, over = self.legal_bits(packed, role)
        legal = self.listed(moves, role)
        stuck = (legal.counts == 0) & ~over
        return int(np.argmax(stuck)) if stuck.any() else -1, legal

    def legal_bits(self, packed: Packed, role: int) -> tuple[Packed, BoolArray]:
        """`[L, words]` legal moves of a role, none in terminal states; `[L]` which states are."""
        query = self._queries.legal(role)
        words = self.ask(query, packed)
        over = query.part(words, 1)[:, 0] != 0
        moves = np.ascontiguousarray(query.part(words, 0))
        moves[over] = 0
        return moves, over

    def listed(self, moves: Packed, role: int) -> Ragged:
        """The ids of a role's moves, from the bits of `legal_bits`."""
        names = self._moves.numbers[role]
        if count_bits.is_spared(len(moves)):
            bits = unpack(moves, len(names)) != 0
            return Ragged(offsets_of(bits.sum(axis=1)), names[np.nonzero(bits)[1]])
        counts = np.zeros(len(moves), dtype=np.int64)
        count_bits(moves, counts)
        values = np.zeros(counts.sum(), dtype=np.int64)
        list_bits(moves, names, values)
        return Ragged(offsets_of(counts), values)

    def open_lists(
        self, packed: Packed, role: int, moves: IntArray, refused: IntArray
    ) -> OpenLists | None:
        """The moves that each role may have made, see `list_open`; None if loading the kernel is
        not worth it yet."""
        names = self._all_names
        if list_open.is_spared(len(packed) * len(names.firsts)):
            return None
        words = self.ask(self._queries.look, packed)
        num_roles, most = len(names.firsts), int(np.bitwise_count(words).sum())
        lists = OpenLists(
            np.empty((num_roles, len(packed) + 1), dtype=np.int64),
            np.empty(most, dtype=np.int64),
            np.empty(most),
            np.empty(len(packed)),
        )
        moves = np.ascontiguousarray(moves, dtype=np.int64)
        refused = np.ascontiguousarray(refused, dtype=np.int64)
        list_open.unchecked(words, names, role, moves, refused, lists)
        num_open = int(lists.offsets[-1, -1])
        return lists._replace(values=lists.values[:num_open], logs=lists.logs[:num_open])

    def candidates(self, packed: Packed, role: int, set_offsets: IntArray) -> Ragged | None:
        """The moves of a role that are legal in some state of each set, see `list_candidates`; None
        if loading the kernel is not worth it yet."""
        if list_candidates.is_spared(len(packed)):
            return None
        query, names = self._queries.legal(role), self._names[role]
        words = self.ask(query, packed)
        values = np.empty(int(np.bitwise_count(words).sum()), dtype=np.int64)
        set_offsets = np.ascontiguousarray(set_offsets, dtype=np.int64)
        offsets, seen = np.empty_like(set_offsets), np.empty(words.shape[1], dtype=np.uint64)
        list_candidates.unchecked(words, names, set_offsets, seen, offsets, values)
        return Ragged(offsets, values[: offsets[-1]])

    def are_legal(self, packed: Packed, role: int, moves: IntArray) -> BoolArray:
        """`[L]` whether a move of a role is legal in each state."""
        words, _ = self.legal_bits(packed, role)
        places = self._moves.places[role][moves]
        word = words[np.arange(len(moves)), places >> 6]
        is_set = word >> (places & 63).astype(np.uint64) & np.uint64(1) != 0
        return np.asarray(is_set & (places >= 0) & (moves >= 0))

    @made_once
    def _all_names(self) -> MoveNames:
        """The moves of all roles in the words of `Queries.look`."""
        ids = self._moves.numbers
        firsts = self._queries.role_moves[:-1].astype(np.int64)
        counts = np.maximum(np.arange(1 + max(map(len, ids))), 1)
        logs = np.repeat(-np.log(counts)[None], len(ids), axis=0)
        circuit = self._queries.circuit
        if RANDOM in circuit.roles:  # as in `Machine.chance`, to the last bit
            logs[circuit.roles.index(RANDOM)] = np.log(1.0 / counts)
        return MoveNames(self._queries.look.starts[:-1], firsts, np.concatenate(ids), logs)

    @made_once
    def _names(self) -> list[MoveNames]:
        """For each role, its moves in the words of `Queries.legal`."""
        names, ids = self._all_names, self._moves.numbers
        starts = [self._queries.legal(role).starts[:-1] for role in range(len(ids))]
        return [
            MoveNames(start, names.firsts[:1], moves, names.logs)
            for start, moves in zip(starts, ids, strict=True)
        ]

    def stepped(self, packed: Packed, joint_moves: IntArray) -> Packed:
        """The words of `Queries.step` after joint moves.

        Raises:
            MachineError: a role has no such move.
        """
        words = self._few_states.stepped(packed, joint_moves)
        if words is not None:
            return words
        rows = self._moves.rows_of(joint_moves, len(packed))
        return self.evaluate(self._queries.step, packed, rows)

    def matching(
        self,
        packed: Packed,
        lanes: IntArray,
        joint_moves: IntArray,
        role: int,
        percepts: IntArray,
        rows: Packed,
    ) -> tuple[IntArray, Packed]:
        """The joint moves after which a role gets given percepts, and the states after them.

        Args:
            lanes: `[K]` the state of each joint move.
            percepts: `[L]` ids of percepts, `UNKNOWN` if any will do.
            rows: `[L, words]` the bits of these percepts, see `Queries.step`.

        Raises:
            MachineError: a role has no such move.
        """
        step, circuit = self._queries.step, self._queries.circuit
        matches = np.empty(len(lanes), dtype=np.int64)
        out = np.empty((len(lanes), packed.shape[1]), dtype=np.uint64)
        try:
            scratch = self._blank.pop()
        except IndexError:
            scratch = self._new_blank()
        arguments = (
            np.ascontiguousarray(packed),
            np.ascontiguousarray(lanes),
            step.row_of,
            np.ascontiguousarray(joint_moves),
            self._moves.rows,
            step.tape,
            step.literals(0, len(circuit.next)),
            step.literals(1 + role, len(circuit.sees[role].names)),
            rows,
            np.ascontiguousarray(percepts),
            *scratch,
            matches,
            out,
            WIDTH,
        )
        code = self._matchers.get(role)
        if code is None:
            code = self._matchers[role] = advance_matching.code_for(*arguments)
        num_matches = code(*arguments)
        self._blank.append(scratch)
        if num_matches < 0:
            # Raises an error that says what is wrong.
            self._moves.rows_of(joint_moves, len(lanes))
        return matches[:num_matches], out[:num_matches].copy()

    def _new_blank(self) -> tuple[Packed, Packed]:
        """Rows for `step`, zero except those of states and gates, and 64 words."""
        num_words = self._queries.step.num_rows * words_of(WIDTH)
        return aligned_words(num_words), np.zeros(64, dtype=np.uint64)


class _Asker(NamedTuple):
    """The machine code for a query, and the number of words of its answer."""

    code: Callable[..., bool]
    words: int


class _Lister(NamedTuple):
    """The machine code that lists the legal moves of a role, and their ids."""

    code: Callable[..., int]
    names: IntArray


class _FewStates:
    """Answers about up to 64 states, packed `[L, words]`, each row C-contiguous."""

    def __init__(self, queries: Queries, moves: MoveTable) -> None:
        self._queries = queries
        self._moves = moves
        self._askers: dict[int, _Asker] = {}
        self._listers: dict[int, _Lister] = {}
        # Unused scratch: rows of one word, enough for every query; and the same with room for the
        # legal moves of `FEW` states, enough for every role.
        self._rows: list[Packed] = []
        self._lists: list[tuple[Packed, IntArray]] = []

    def ask(self, query: Query, packed: Packed) -> Packed:
        """`[L, query.starts[-1]]` the words of a query's literals, which depend on no move."""
        key = id(query)  # queries live as long as the machine
        if key not in self._askers and len(packed) == 1 and query_word.is_spared(_PLAIN_STEPS):
            return evaluate_plainly(query, packed)
        packed, no_moves = np.ascontiguousarray(packed), _NO_MOVES[len(packed)]
        asker = self._askers.get(key) or self._asker(query, packed, no_moves, _NO_ROWS)
        out = np.empty((len(packed), asker.words), dtype=np.uint64)
        spare = self._rows
        try:
            rows = spare.pop()
        except IndexError:
            rows = self._new_rows()
        if len(rows) < query.num_rows:
            rows = np.empty(query.num_rows, dtype=np.uint64)
        asker.code(query, packed, no_moves, _NO_ROWS, out, rows)
        spare.append(rows)
        return out

    def stepped(self, packed: Packed, joint_moves: IntArray) -> Packed | None:
        """The words of `step`; None if there are more than 64 states, or a role lacks a move."""
        shape = len(packed), len(self._moves.numbers)
        if len(packed) > NARROW or joint_moves.shape != shape or joint_moves.dtype != np.int64:
            return None
        packed, moves = np.ascontiguousarray(packed), np.ascontiguousarray(joint_moves)
        query, move_rows = self._queries.step, self._moves.rows
        asker = self._askers.get(id(query)) or self._asker(query, packed, moves, move_rows)
        out = np.empty((len(packed), asker.words), dtype=np.uint64)
        spare = self._rows
        try:
            rows = spare.pop()
        except IndexError:
            rows = self._new_rows()
        is_valid = asker.code(query, packed, moves, move_rows, out, rows)
        spare.append(rows)
        return out if is_valid else None

    def legal(self, packed: Packed, role: int) -> tuple[int, Ragged] | None:
        """The first state in which a role is stuck, or -1, and its legal moves.

        None if there are more than `FEW` states, or if loading a kernel is not worth it yet.
        """
        if len(packed) > FEW:
            return None
        packed, lister = np.ascontiguousarray(packed), self._listers.get(role)
        if lister is None:
            if legal_word.is_spared(_PLAIN_STEPS * len(packed)):
                return None
            lister = self._lister(packed, role)
        offsets = np.empty(len(packed) + 1, dtype=np.int64)
        query = self._queries.legal(role)
        spare = self._lists
        try:
            scratch = spare.pop()
        except IndexError:
            scratch = self._new_list()
        rows, values = scratch
        stuck = lister.code(query, packed, lister.names, offsets, values, rows)
        moves = values[: offsets[-1]].copy()
        spare.append(scratch)
        return stuck, Ragged(offsets, moves)

    def _asker(self, query: Query, packed: Packed, moves: IntArray, move_rows: I32) -> _Asker:
        words = int(query.starts[-1])
        out = np.empty((len(packed), words), dtype=np.uint64)
        rows = np.empty(query.num_rows, dtype=np.uint64)
        code = query_word.code_for(query, packed, moves, move_rows, out, rows)
        return self._askers.setdefault(id(query), _Asker(code, words))

    def _lister(self, packed: Packed, role: int) -> _Lister:
        query, names = self._queries.legal(role), self._moves.numbers[role]
        (rows, values), offsets = self._new_list(), np.zeros(1, dtype=np.int64)
        code = legal_word.code_for(query, packed, names, offsets, values, rows)
        return self._listers.setdefault(role, _Lister(code, names))

    def _new_rows(self) -> Packed:
        queries = self._queries
        all_queries = [queries.terminal, queries.goals, queries.step]
        all_queries += map(queries.legal, range(len(self._moves.numbers)))
        return np.empty(max(query.num_rows for query in all_queries), dtype=np.uint64)

    def _new_list(self) -> tuple[Packed, IntArray]:
        most = max(map(len, self._moves.numbers))
        return self._new_rows(), np.empty(FEW * most, dtype=np.int64)


def evaluate_plainly(query: Query, packed: Packed) -> Packed:
    """Evaluate K literals without kernels, one state after the other: `[L, ceil(K / 64)]`."""
    fluents = unpack(packed, len(query.row_of))
    inverted = query.wires.inverted != 0
    row_values = [_rows(query, lane.tolist()) for lane in fluents]
    bits = np.array(row_values, dtype=np.bool_)[:, query.wires.rows] ^ inverted
    packed_bytes = np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little"))
    return packed_bytes.view("<u8").astype(np.uint64)


def _rows(query: Query, fluents: list[bool]) -> list[bool]:
    """The values of all rows, given the fluents that hold."""
    rows = [False] * query.num_rows
    for row, value in zip(query.row_of.tolist(), fluents, strict=True):
        rows[row] = value
    run_plainly(query.tape, rows)
    return rows


def run_plainly(tape: Tape, rows: list[bool]) -> None:
    """Evaluate the gates of a tape of one part, in a lane that plays on.

    The plain twin of `block_kernels.run_tape`: kernels are tested against it.
    """
    plus, minus, outputs = tape.plus.tolist(), tape.minus.tolist(), tape.outputs.tolist()
    inputs, initial = tape.inputs.tolist(), (tape.initial != 0).tolist()
    at = 0
    for first, end, is_loop, _, _, nands, implications, ors, written in tape.segments.tolist():
        if is_loop:
            for gate in range(first, end):
                rows[outputs[gate]] = initial[gate]
        pairs = [(True, True)] * nands + [(True, False)] * implications + [(False, False)] * ors
        changes, start = True, at
        while changes:
            changes, at = False, start
            for gate in range(first, end):
                middle = at + plus[gate]
                last = middle + minus[gate]
                value = all(rows[row] for row in inputs[at:middle])
                value = value and not any(rows[row] for row in inputs[middle:last])
                at = last
                for pair in pairs:
                    value = value and (rows[inputs[at]], rows[inputs[at + 1]]) != pair
                    at += 2
                changes |= bool(is_loop) and value != rows[outputs[gate]]
                rows[outputs[gate]] = value != (written == TURNED)
