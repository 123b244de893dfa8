"""Evaluates queries in up to 64 states, with one word for each row instead of a vector of words.

A block costs the same for one lane as for 1,024, so few states have kernels of their own, which
read the same tapes: bit `lane` of a row's word belongs to state `lane`. Few bits of states and of
answers are set, so they are moved one by one, and no square is transposed. Bits of lanes beyond the
states are arbitrary; answers are masked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.compiling.vectors import item, lowest_one, out_of_line
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Query, Tape

NARROW = 64
"""Greatest number of states that these kernels evaluate."""

FEW = 4
"""Greatest number of states whose legal moves are listed one state after the other."""

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)


@kernel
def query_word(
    query: Query,
    packed: U64,
    joint_moves: NDArray[np.int64],
    move_rows: I32,
    out: U64,
    rows: U64,
) -> bool:
    """Like `block_kernels.run_query`, for up to 64 states; false if a role has no such move.

    Args:
        joint_moves: `[L, R]`; `[L, 0]` if nothing depends on moves.
        move_rows: `[R, M]` row of each move of each role.
        rows: `[num_rows]` scratch.
    """
    _load(query, packed, rows)
    for lane in range(len(joint_moves)):
        for role in range(joint_moves.shape[1]):
            move = joint_moves[lane, role]
            if move < 0 or move >= move_rows.shape[1] or move_rows[role, move] < 0:
                return False
            rows[np.uint64(move_rows[role, move])] |= _ONE << np.uint64(lane)
    run_word(query.tape, rows)
    wires = query.wires
    lanes = _ALL >> np.uint64(64 - len(packed))
    for lane in range(len(packed)):
        for block in range(out.shape[1]):
            out[lane, block] = np.uint64(0)
    for k in range(len(wires.rows)):
        bits = (rows[np.uint64(item(wires.rows, k))] ^ item(wires.inverted, k)) & lanes
        while bits:
            out[lowest_one(bits), k >> 6] |= _ONE << np.uint64(k & 63)
            bits &= bits - _ONE
    return True


@kernel
def legal_word(
    query: Query,
    packed: U64,
    names: NDArray[np.int64],
    offsets: NDArray[np.int64],
    values: NDArray[np.int64],
    rows: U64,
) -> int:
    """List the legal moves of a role in few states.

    Args:
        query: the moves in one group, `terminal` in the next.
        names: `[M]` number of each move.
        offsets: `[L + 1]` filled in.
        values: `[L * M]` the moves that are legal, state by state, filled in.
        rows: `[num_rows]` scratch.

    Returns:
        the first state that is not terminal and has no legal move; -1 if there is none.
    """
    _load(query, packed, rows)
    run_word(query.tape, rows)
    wires = query.wires
    end = 64 * query.starts[1]
    over = rows[wires.rows[end]] ^ wires.inverted[end]
    stuck = -1
    at = 0
    offsets[0] = 0
    for lane in range(len(packed)):
        start = at
        if not over >> np.uint64(lane) & _ONE:
            for k in range(len(names)):
                bits = rows[np.uint64(item(wires.rows, k))] ^ item(wires.inverted, k)
                if bits >> np.uint64(lane) & _ONE:
                    values[at] = names[k]
                    at += 1
            if at == start and stuck < 0:
                stuck = lane
        offsets[lane + 1] = at
    return stuck


@inlined
def _load(query: Query, packed: U64, rows: U64) -> None:
    """Write states to the rows of fluents, and clear the rows of moves."""
    out_of_line()
    row_of = query.row_of
    for k in range(query.num_inputs):
        rows[k] = np.uint64(0)
    for lane in range(len(packed)):
        for block in range(packed.shape[1]):
            bits = packed[lane, block]
            while bits:
                row = np.uint64(row_of[64 * block + lowest_one(bits)])
                bits &= bits - _ONE
                rows[row] |= _ONE << np.uint64(lane)


@inlined
def run_word(tape: Tape, rows: U64) -> None:
    """Evaluate a tape of one part on rows of one word; the twin of `block_kernels.run_tape`.

    Every gate is written whole: queries have no gates that write into the rows of inputs.
    """
    out_of_line()
    inputs, outputs = tape.inputs, tape.outputs
    at = 0
    for s in range(len(tape.segments)):
        first, end = tape.segments[s, 0], tape.segments[s, 1]
        plus, minus = tape.segments[s, 3], tape.segments[s, 4]
        nands, implications = tape.segments[s, 5], tape.segments[s, 6]
        ors = tape.segments[s, 7]
        if tape.segments[s, 2]:
            at = _run_loop(tape, first, end, at, rows)
        elif nands + implications + ors == 0 and 2 <= plus + minus <= 7:
            # Most gates are like these. The length of the inner loop is a constant, so it is
            # unrolled.
            if plus + minus == 2:
                at = _gates_of(2, plus, tape, first, end, at, rows)
            elif plus + minus == 3:
                at = _gates_of(3, plus, tape, first, end, at, rows)
            elif plus + minus == 4:
                at = _gates_of(4, plus, tape, first, end, at, rows)
            elif plus + minus == 5:
                at = _gates_of(5, plus, tape, first, end, at, rows)
            elif plus + minus == 6:
                at = _gates_of(6, plus, tape, first, end, at, rows)
            else:
                at = _gates_of(7, plus, tape, first, end, at, rows)
        else:
            for g in range(first, end):
                value = _ALL
                for _ in range(plus):
                    value &= rows[np.uint64(item(inputs, at))]
                    at += 1
                for _ in range(minus):
                    value &= ~rows[np.uint64(item(inputs, at))]
                    at += 1
                for _ in range(nands):
                    a, b = np.uint64(item(inputs, at)), np.uint64(item(inputs, at + 1))
                    value &= ~(rows[a] & rows[b])
                    at += 2
                for _ in range(implications):
                    a, b = np.uint64(item(inputs, at)), np.uint64(item(inputs, at + 1))
                    value &= ~rows[a] | rows[b]
                    at += 2
                for _ in range(ors):
                    a, b = np.uint64(item(inputs, at)), np.uint64(item(inputs, at + 1))
                    value &= rows[a] | rows[b]
                    at += 2
                rows[np.uint64(item(outputs, g))] = value


@inlined
def _gates_of(
    num_inputs: int, plus: int, tape: Tape, first: int, end: int, start: int, rows: U64
) -> int:
    """Evaluate gates of `num_inputs` rows, of which `plus` are plain; returns the next place."""
    inputs, outputs = tape.inputs, tape.outputs
    at = start
    for g in range(first, end):
        value = _ALL
        for k in range(num_inputs):
            flip = np.uint64(0) if k < plus else _ALL
            value &= rows[np.uint64(item(inputs, at + k))] ^ flip
        at += num_inputs
        rows[np.uint64(item(outputs, g))] = value
    return at


@inlined
def _run_loop(tape: Tape, first: int, end: int, start: int, rows: U64) -> int:
    """Evaluate a loop to its least fixpoint; returns the place of the next gate's inputs."""
    out_of_line()
    for g in range(first, end):
        rows[np.uint64(item(tape.outputs, g))] = tape.initial[g]
    changes = True
    at = start
    while changes:
        changes = False
        at = start
        for g in range(first, end):
            value = _ALL
            for _ in range(tape.plus[g]):
                value &= rows[np.uint64(item(tape.inputs, at))]
                at += 1
            for _ in range(tape.minus[g]):
                value &= ~rows[np.uint64(item(tape.inputs, at))]
                at += 1
            out = np.uint64(item(tape.outputs, g))
            if value != rows[out]:
                changes = True
                rows[out] = value
    return at
