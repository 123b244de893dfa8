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
from typing import Any

import numpy as np

from ggp.gdl.program import RANDOM
from ggp.machine.arrays import Packed, first_seen, offsets_of, unpack
from ggp.machine.base import BoolArray, IntArray, Ragged
from ggp.machine.compiling.jit import Kernel
from ggp.machine.compiling.vectors import WIDTH, aligned_words, words_of
from ggp.machine.propnet.play.kernels.block_kernels import (
    NO_MOVES,
    MoveNames,
    OpenLists,
    advance_matching,
    count_bits,
    list_bits,
    list_candidates,
    list_legal,
    list_open,
    run_query,
)
from ggp.machine.propnet.play.kernels.tapes import I32, TURNED, Query, Tape
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.percepts import MoveTable
from ggp.machine.threads import made_once

NARROW = 64
"""Greatest number of states that are evaluated with one word for each row: a block costs the same
for one lane as for 1,024."""

ONE_WORD: tuple[int, ...] = ()
"""The width of kernels for so many states."""

FEW = 4
"""Greatest number of states whose legal moves are listed one state after the other."""

_PLAIN_STEPS = 50
"""Steps of Python that a query about a single state counts as, see `Kernel.is_spared`."""


def _calls_of(
    kernel: Kernel[..., Any], num_rows: int, width: tuple[int, ...] = WIDTH
) -> Callable[..., Any]:
    """Calls a kernel whose arguments always have the same types.

    Args:
        kernel: its last arguments are scratch, rows and 64 words, and `width`.
        num_rows: number of rows.
    """
    code: Callable[..., Any] | None = None
    spare: list[tuple[Packed, Packed, tuple[int, ...]]] = []

    def call(*args: Any) -> Any:
        nonlocal code
        try:
            last = spare.pop()
        except IndexError:
            last = aligned_words(num_rows * words_of(width)), np.zeros(64, dtype=np.uint64), width
        if code is None:
            code = kernel.code_for(*args, *last)
        result = code(*args, *last)
        spare.append(last)
        return result

    return call


class Answers:
    """Answers about `[L, words]` packed states; joint moves are those of the circuit's roles."""

    def __init__(self, queries: Queries, moves: MoveTable) -> None:
        self._queries = queries
        self._moves = moves
        # By query, as queries live as long as the machine, with the words of an answer; by role.
        self._narrow_calls: dict[int, tuple[int, Callable[..., bool]]] = {}
        self._wide_calls: dict[int, tuple[int, Callable[..., bool]]] = {}
        self._listers: dict[int, tuple[Query, IntArray, Callable[..., int]]] = {}
        self._matching_calls: dict[int, Callable[..., int]] = {}

    def ask(self, query: Query, packed: Packed) -> Packed:
        """`[L, query.starts[-1]]` the words of a query's literals, which depend on no move."""
        if (
            len(packed) == 1
            and id(query) not in self._narrow_calls
            and run_query.is_spared(_PLAIN_STEPS)
        ):
            return evaluate_plainly(query, packed)
        return self.evaluate(query, packed, *NO_MOVES)[0]

    def evaluate(
        self, query: Query, packed: Packed, moves: IntArray, move_rows: I32
    ) -> tuple[Packed, bool]:
        """The same by a kernel, with moves; and whether the roles have them: see `run_query`."""
        is_narrow = len(packed) <= NARROW
        all_calls = self._narrow_calls if is_narrow else self._wide_calls
        calls = all_calls.get(id(query))
        if calls is None:
            call = _calls_of(run_query, query.num_rows, ONE_WORD if is_narrow else WIDTH)
            calls = all_calls.setdefault(id(query), (int(query.starts[-1]), call))
        words, call = calls
        out = np.empty((len(packed), words), dtype=np.uint64)
        return out, call(query, np.ascontiguousarray(packed), moves, move_rows, out)

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
        if len(packed) <= FEW:
            lister = self._listers.get(role)
            if lister is None and not list_legal.is_spared(_PLAIN_STEPS * len(packed)):
                query = self._queries.legal(role)
                call = _calls_of(list_legal, query.num_rows, ONE_WORD)
                lister = self._listers.setdefault(role, (query, self._moves.numbers[role], call))
            if lister is not None:
                query, names, call = lister
                offsets = np.empty(len(packed) + 1, dtype=np.int64)
                values = np.empty(len(packed) * len(names), dtype=np.int64)
                first_stuck = call(query, np.ascontiguousarray(packed), names, offsets, values)
                return first_stuck, Ragged(offsets, values[: offsets[-1]].copy())
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
        moves = np.ascontiguousarray(joint_moves)
        if moves.shape == (len(packed), len(self._moves.numbers)):
            words, are_moves = self.evaluate(self._queries.step, packed, moves, self._moves.rows)
            if are_moves:
                return words
        raise self._moves.fault_of(joint_moves, len(packed))

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
        calls = self._matching_calls.get(role)
        if calls is None:
            calls = _calls_of(advance_matching, step.num_rows)
            calls = self._matching_calls.setdefault(role, calls)
        num_matches = calls(
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
            matches,
            out,
        )
        if num_matches < 0:
            raise self._moves.fault_of(joint_moves, len(lanes))
        return matches[:num_matches], out[:num_matches].copy()


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
