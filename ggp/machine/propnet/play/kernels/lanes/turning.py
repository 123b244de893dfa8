"""Makes the moves of many lanes, and says at once what may be done after them.

Boards that a search looks at come from few states with many moves each. So a state is read once for
all its lanes, which are neighbours, and a successor is written as the fluents in which it differs.
What is asked about successors is evaluated in the same block: they need not be read again.

    states ─▶ rows ─▶ `step` ─▶ rows of successors ─▶ `look` ─▶ over? how many moves? new ones?
                        │
                        └▶ differences ─▶ successors
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ggp.machine.base import BoolArray, IntArray
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.propnet.play.kernels.block_kernels import run_tape
from ggp.machine.propnet.play.kernels.lanes.packing import (
    clear_moves,
    lanes_from,
    load_lanes,
    load_runs,
    run_end,
    set_moves,
    store_lanes,
)
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Query, Wires
from ggp.machine.propnet.play.kernels.vectors import (
    band,
    bor,
    but_not,
    bxor,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    splat,
    store,
    words_of,
)

_ONE = np.uint64(1)


@kernel
def make_turns(
    step: Query,
    next_: Wires,
    sees: Wires,
    look: Query,
    needed: I32,
    packed: U64,
    lanes: IntArray,
    moves: IntArray,
    move_rows: I32,
    begins: IntArray,
    offsets: IntArray,
    listed: IntArray,
    blank: U64,
    rows: U64,
    known: U64,
    square: U64,
    states: U64,
    seen: U64,
    over: BoolArray,
    choices: IntArray,
    news: BoolArray,
    agains: BoolArray,
    width: tuple[int, ...],
) -> bool:
    """Make joint moves, and look at the successors.

    Args:
        step: the next state and percepts; `next_`, `sees`: their literals.
        look: the legal moves of some first roles, a group each, and then `terminal`.
        needed: `[N]` the fluents that this reads.
        packed: `[L, ...]` states.
        lanes: `[K]` state of each joint move; equal ones had better be neighbours.
        moves: `[K, R]` joint moves.
        move_rows: `[R, M]` row in `step` of each move of each role.
        begins: `[R]` row of the first move of each role.
        offsets, listed: `[R, L + 1]`, `[N]` moves that each role had in each state, one role after
            the other; `[0, 0]` if no role's moves are to be compared.
        blank, rows, known, square: scratch: rows of `step`, of which those of inputs are zero, and
            are so afterwards; rows of `look`; rows for the moves of a role, zero likewise; 64
            words.
        states: `[K, ...]` out: successors.
        seen: `[K, ceil(len(sees) / 64)]` out: percepts; `[0, 0]` if not wanted.
        over: `[K]` out: whether each is terminal.
        choices: `[K, R]` out: number of moves of each role, 2 for more; `[K, 0]` if not wanted.
        news: `[K, R]` out: whether a role has a move that it did not have before.
        agains: `[K, R]` out: whether a role still has the move that it made.

    Returns:
        whether all roles have these moves; if not, nothing is made.
    """
    words = words_of(width)
    for k in range(len(moves)):
        for role in range(moves.shape[1]):
            move = moves[k, role]
            if move < 0 or move >= move_rows.shape[1] or move_rows[role, move] < 0:
                return False
    roles = len(look.starts) - 2
    last = 64 * look.starts[roles]
    for first in range(0, len(lanes), 64 * words):
        count = min(64 * words, len(lanes) - first)
        load_runs(packed, lanes, first, count, step.row_of, blank, words)
        set_moves(move_rows, moves, first, count, blank, words)
        run_tape(step.tape, 0, blank, blank, width)
        _store_changes(step.row_of, next_, packed, lanes, first, count, blank, states, width)
        if len(seen):
            store_lanes(blank, sees, count, seen, first, square, width)
        for n in range(len(needed)):
            fluent = needed[n]
            row = np.int64(look.row_of[fluent]) * words
            store(rows, row, _literal(blank, next_, fluent, width))
        run_tape(look.tape, 0, rows, rows, width)
        row, inverted = np.int64(look.wires.rows[last]) * words, look.wires.inverted[last]
        for lane in range(count):
            bits = rows[row + (lane >> 6)] ^ inverted
            over[first + lane] = (bits >> np.uint64(lane & 63)) & _ONE != 0
        _count_moves(look, rows, first, count, choices, square, width)
        for role in range(len(offsets)):
            _mark(move_rows, role, begins, offsets, listed, lanes, first, count, known, words, True)
            _compare(
                look,
                role,
                move_rows,
                begins,
                moves,
                first,
                count,
                rows,
                known,
                square,
                news,
                agains,
                width,
            )
            _mark(
                move_rows, role, begins, offsets, listed, lanes, first, count, known, words, False
            )
        # Not before, as a literal may be a fluent or a move.
        _clear(packed, lanes, first, count, step.row_of, blank, words)
        clear_moves(move_rows, moves, first, count, blank, words)
    return True


@kernel
def test_moves(
    look: Query,
    packed: U64,
    lanes: IntArray,
    roles: IntArray,
    places: IntArray,
    rows: U64,
    square: U64,
    choices: IntArray,
    firsts: IntArray,
    legal: BoolArray,
    width: tuple[int, ...],
) -> None:
    """Count the moves of all roles, and test some.

    Args:
        look: the legal moves of each role, a group each.
        packed: `[L, ...]` states.
        lanes: `[K]` state in which each move is tested, increasing.
        roles, places: `[K]` role of each, and its place among the moves of the role.
        rows, square: scratch, `[num_rows * W]` and `[64]`.
        choices: `[L, R]` out: number of moves of each role, 2 for more.
        firsts: `[L, R]` out: place of the first one.
        legal: `[K]` out.
    """
    words = words_of(width)
    test = 0
    for first in range(0, len(packed), 64 * words):
        count = min(64 * words, len(packed) - first)
        for k in range((1 + len(look.row_of)) * words):
            rows[k] = np.uint64(0)
        load_lanes(packed, first, count, look.row_of, rows, words, square)
        run_tape(look.tape, 0, rows, rows, width)
        _count_moves(look, rows, first, count, choices, square, width)
        _find_firsts(look, rows, first, count, firsts, square, width)
        while test < len(lanes) and lanes[test] < first + count:
            lane = lanes[test] - first
            k = 64 * look.starts[roles[test]] + places[test]
            bits = rows[np.int64(look.wires.rows[k]) * words + (lane >> 6)] ^ look.wires.inverted[k]
            legal[test] = (bits >> np.uint64(lane & 63)) & _ONE != 0
            test += 1


@inlined
def _literal(rows: U64, wires: Wires, k: int, width: tuple[int, ...]) -> Any:
    """The lanes of a block in which a literal holds."""
    row = np.int64(wires.rows[k]) * words_of(width)
    return bxor(load(rows, row, width), splat(wires.inverted[k], width))


@inlined
def _store_changes(
    row_of: I32,
    wires: Wires,
    packed: U64,
    lanes: IntArray,
    first: int,
    count: int,
    rows: U64,
    out: U64,
    width: tuple[int, ...],
) -> None:
    """Write the successors of lanes 0 .. count of a block: their states, with what has changed.

    Args:
        row_of: `[F]` row of each fluent, which still says what held before.
        wires: `[F]` the same fluents afterwards.
    """
    out_of_line()
    words = words_of(width)
    for lane in range(count):
        for block in range(packed.shape[1]):
            out[first + lane, block] = packed[lanes[first + lane], block]
    for k in range(len(row_of)):
        old = np.int64(row_of[k]) * words
        new = np.int64(wires.rows[k]) * words
        if not reduce_or(bxor(load(rows, old, width), _literal(rows, wires, k, width))):
            continue
        for start in range(0, count, 64):
            word = start >> 6
            bits = rows[old + word] ^ rows[new + word] ^ wires.inverted[k]
            if count - start < 64:
                bits &= lanes_from(0, count - start)
            while bits:
                lane = first + start + lowest_one(bits)
                bits &= bits - _ONE
                out[lane, k >> 6] ^= _ONE << np.uint64(k & 63)


@inlined
def _count_moves(
    look: Query,
    rows: U64,
    first: int,
    count: int,
    choices: IntArray,
    square: U64,
    width: tuple[int, ...],
) -> None:
    """`choices[K, R]`: number of moves of roles in lanes 0 .. count of a block, 2 for more."""
    out_of_line()
    words = words_of(width)
    for role in range(choices.shape[1]):
        one, two = splat(np.uint64(0), width), splat(np.uint64(0), width)
        for k in range(64 * look.starts[role], 64 * look.starts[role + 1]):
            held = _literal(rows, look.wires, k, width)
            two = bor(two, band(one, held))
            one = bor(one, held)
        store(square, 0, one)
        store(square, words, two)
        for lane in range(count):
            word, shift = lane >> 6, np.uint64(lane & 63)
            ones, twos = square[word] >> shift & _ONE, square[words + word] >> shift & _ONE
            choices[first + lane, role] = np.int64(ones) + np.int64(twos)


@inlined
def _find_firsts(
    look: Query,
    rows: U64,
    first: int,
    count: int,
    firsts: IntArray,
    square: U64,
    width: tuple[int, ...],
) -> None:
    """`firsts[K, R]`: place of the first move of roles in lanes 0 .. count of a block."""
    out_of_line()
    for role in range(firsts.shape[1]):
        before = splat(np.uint64(0), width)
        for k in range(64 * look.starts[role], 64 * look.starts[role + 1]):
            held = _literal(rows, look.wires, k, width)
            new = but_not(held, before)
            if not reduce_or(new):
                continue
            before = bor(before, held)
            store(square, 0, new)
            for start in range(0, count, 64):
                bits = square[start >> 6]
                if count - start < 64:
                    bits &= lanes_from(0, count - start)
                while bits:
                    firsts[first + start + lowest_one(bits), role] = k - 64 * look.starts[role]
                    bits &= bits - _ONE


@inlined
def _compare(
    look: Query,
    role: int,
    move_rows: I32,
    begins: IntArray,
    moves: IntArray,
    first: int,
    count: int,
    rows: U64,
    known: U64,
    square: U64,
    news: BoolArray,
    agains: BoolArray,
    width: tuple[int, ...],
) -> None:
    """Compare the moves of a role in lanes 0 .. count of a block with those in `known`."""
    out_of_line()
    words = words_of(width)
    group = 64 * look.starts[role]
    new = splat(np.uint64(0), width)
    for k in range(64 * (look.starts[role + 1] - look.starts[role])):
        held = _literal(rows, look.wires, group + k, width)
        new = bor(new, but_not(held, load(known, k * words, width)))
    store(square, 0, new)
    for lane in range(count):
        word, shift = lane >> 6, np.uint64(lane & 63)
        news[first + lane, role] = (square[word] >> shift) & _ONE != 0
        k = group + np.int64(move_rows[role, moves[first + lane, role]]) - begins[role]
        bits = rows[np.int64(look.wires.rows[k]) * words + word] ^ look.wires.inverted[k]
        agains[first + lane, role] = (bits >> shift) & _ONE != 0


@inlined
def _mark(
    move_rows: I32,
    role: int,
    begins: IntArray,
    offsets: IntArray,
    listed: IntArray,
    lanes: IntArray,
    first: int,
    count: int,
    known: U64,
    words: int,
    value: bool,
) -> None:
    """Mark the moves that a role had before in the lanes of a block, or take the marks away."""
    out_of_line()
    start = 0
    while start < count:
        state, end = lanes[first + start], run_end(lanes, first, start, count)
        mask = lanes_from(start & 63, end - (start & ~63))
        for n in range(offsets[role, state], offsets[role, state + 1]):
            at = (np.int64(move_rows[role, listed[n]]) - begins[role]) * words + (start >> 6)
            known[at] = (known[at] | mask) if value else np.uint64(0)
        start = end


@inlined
def _clear(
    packed: U64, lanes: IntArray, first: int, count: int, row_of: I32, rows: U64, words: int
) -> None:
    """Undo `load_runs`."""
    out_of_line()
    start = 0
    while start < count:
        state, end = lanes[first + start], run_end(lanes, first, start, count)
        for block in range(packed.shape[1]):
            bits = packed[state, block]
            while bits:
                row = np.int64(row_of[64 * block + lowest_one(bits)])
                bits &= bits - _ONE
                rows[row * words + (start >> 6)] = np.uint64(0)
        start = end
