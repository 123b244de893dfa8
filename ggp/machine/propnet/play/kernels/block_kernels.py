"""Evaluates tapes on blocks of lanes.

A block is a flat array of rows of `words_of(width)` words: bit b of word w of a row is lane
`64 * w + b`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import UNKNOWN
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.compiling.vectors import (
    band,
    bor,
    but_not,
    bxor,
    count_ones,
    item,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    splat,
    store,
    words_of,
)
from ggp.machine.propnet.play.kernels.lanes.packing import (
    clear_moves,
    load_lanes,
    load_runs,
    set_moves,
    store_lanes,
    transpose,
)
from ggp.machine.propnet.play.kernels.tapes import I32, TURNED, U64, WHOLE, Query, Tape, Wires

# ------------------------------------------------------------------------
# Makes moves after which a role gets given percepts: only successors that agree are written.


@kernel
def advance_matching(
    packed: U64,
    lanes: NDArray[np.int64],
    row_of: I32,
    moves: NDArray[np.int64],
    move_rows: I32,
    tape: Tape,
    wires: Wires,
    seen: Wires,
    wanted: U64,
    percepts: NDArray[np.int64],
    rows: U64,
    square: U64,
    matches: NDArray[np.int64],
    out: U64,
    width: tuple[int, ...],
) -> int:
    """Like `query`, but only for joint moves after which some literals are as wanted.

    Args:
        packed: `[L, ...]` states.
        lanes: `[K]` state of each joint move; `moves[K, R]`.
        move_rows: `[R, M]` row of each move of each role.
        seen: the literals that are compared.
        wanted: `[L, ceil(len(seen) / 64)]` their values wanted after a move in each state.
        percepts: `[L]` a number for these values, the same for equal ones; `UNKNOWN` for any.
        rows, square: `[num_rows, W]` and `[64]` scratch.
        matches: `[K]` indices of the joint moves that match.
        out: `[K, ceil(len(wires) / 64)]` the other literals, for the joint moves that match.

    Returns:
        the number that match; -1 if a role has no such move.
    """
    words = words_of(width)
    for k in range(len(moves)):
        for role in range(moves.shape[1]):
            move = moves[k, role]
            if move < 0 or move >= move_rows.shape[1] or move_rows[role, move] < 0:
                return -1
    num_inputs = 1 + len(row_of)
    num_literals = len(wires.rows)
    found = 0
    for first in range(0, len(lanes), 64 * words):
        count = min(64 * words, len(lanes) - first)
        for k in range(num_inputs * words):
            rows[k] = np.uint64(0)
        load_runs(packed, lanes, first, count, row_of, rows, words)
        set_moves(move_rows, moves, first, count, rows, words)
        run_tape(tape, 0, rows, rows, width)
        for word in range((count + 63) >> 6):
            agree = _agreeing(lanes, first, count, word, seen, wanted, percepts, rows, words)
            if not agree:
                continue
            for block in range(out.shape[1]):
                size = num_literals - 64 * block
                for bit in range(64):
                    square[bit] = np.uint64(0)
                    if bit < size:
                        k = 64 * block + bit
                        row = np.int64(wires.rows[k]) * words
                        square[bit] = rows[row + word] ^ wires.inverted[k]
                transpose(square)
                at = found
                bits = agree
                while bits:
                    b = lowest_one(bits)
                    bits &= bits - np.uint64(1)
                    out[at, block] = square[b]
                    at += 1
            while agree:
                matches[found] = first + 64 * word + lowest_one(agree)
                agree &= agree - np.uint64(1)
                found += 1
        # Not before, as a literal may be a move.
        clear_moves(move_rows, moves, first, count, rows, words)
    return found


@inlined
def _agreeing(
    lanes: NDArray[np.int64],
    first: int,
    count: int,
    word: int,
    seen: Wires,
    wanted: U64,
    percepts: NDArray[np.int64],
    rows: U64,
    words: int,
) -> np.uint64:
    """Lanes of a word in which literals are as wanted; equal neighbours are compared together."""
    out_of_line()
    found = np.uint64(0)
    start = 64 * word
    last = start + 64 if start + 64 < count else count
    while start < last:
        state = lanes[first + start]
        end = start + 1
        while end < last and percepts[lanes[first + end]] == percepts[state]:
            end += 1
        agree = _ALL << np.uint64(start & 63)
        if end & 63:
            agree &= ~(_ALL << np.uint64(end & 63))
        if percepts[state] != UNKNOWN:
            for k in range(len(seen.rows)):
                bits = rows[np.int64(seen.rows[k]) * words + word] ^ seen.inverted[k]
                if not wanted[state, k >> 6] >> np.uint64(k & 63) & np.uint64(1):
                    bits = ~bits
                agree &= bits
                if not agree:
                    break
        found |= agree
        start = end
    return found


_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def run_tape(tape: Tape, part: int, rows: U64, playing: U64, width: tuple[int, ...]) -> None:
    """Evaluate the gates of a part of a tape in every lane of a block.

    Rows of inputs change only in lanes of the mask `playing`, which may be anything if none is
    written.

    Most gates have two or three inputs, or up to four pairs. Those have loops of their own, because
    finding out the number of inputs of a gate takes longer than reading them.
    """
    out_of_line()
    at = tape.parts[part, 2]
    for s in range(tape.parts[part, 0], tape.parts[part, 1]):
        singles = tape.segments[s, 3] + tape.segments[s, 4]
        pairs = tape.segments[s, 5] + tape.segments[s, 6]
        if tape.segments[s, 2]:
            first, end = tape.segments[s, 0], tape.segments[s, 1]
            at = _run_loop(tape, first, end, at, rows, width)
        elif tape.segments[s, 7] == 1 and singles == 1 and pairs == 0:
            at = _run_either(tape, s, at, rows, playing, width)
        elif tape.segments[s, 7]:
            at = _run_any(tape, s, at, rows, playing, width)
        elif singles == 2 and pairs == 0:
            at = _run_singles(tape, s, at, rows, playing, (0, 0), width)
        elif singles == 3 and pairs == 0:
            at = _run_singles(tape, s, at, rows, playing, (0, 0, 0), width)
        elif singles == 1 and pairs == 1:
            at = _run_pairs(tape, s, at, rows, playing, (0,), (0,), width)
        elif singles == 0 and pairs == 2:
            at = _run_pairs(tape, s, at, rows, playing, (), (0, 0), width)
        elif singles == 0 and pairs == 3:
            at = _run_pairs(tape, s, at, rows, playing, (), (0, 0, 0), width)
        elif singles == 0 and pairs == 4:
            at = _run_pairs(tape, s, at, rows, playing, (), (0, 0, 0, 0), width)
        else:
            at = _run_any(tape, s, at, rows, playing, width)


@inlined
def _run_singles(
    tape: Tape,
    s: int,
    start: int,
    rows: U64,
    playing: U64,
    singles: tuple[int, ...],
    width: tuple[int, ...],
) -> int:
    """Evaluate gates of two or three single inputs.

    Args:
        singles: as many zeros as a gate has inputs: code is made for each number.

    Returns:
        the place of the next gate's inputs.
    """
    out_of_line()
    words = words_of(width)
    first, end, plus = tape.segments[s, 0], tape.segments[s, 1], tape.segments[s, 3]
    written, lanes = tape.segments[s, 8], load(playing, 0, width)
    left, middle = _inversion(plus, 0, width), _inversion(plus, 1, width)
    right = _inversion(plus, 2, width)
    at = start
    for g in range(first, end):
        a = bxor(_row(tape, at, rows, width), left)
        b = bxor(_row(tape, at + 1, rows, width), middle)
        value = band(a, b)
        if len(singles) > 2:
            value = band(value, bxor(_row(tape, at + 2, rows, width), right))
        at += len(singles)
        _write(rows, item(tape.outputs, g) * words, value, written, lanes, width)
    return at


@inlined
def _run_pairs(
    tape: Tape,
    s: int,
    start: int,
    rows: U64,
    playing: U64,
    singles: tuple[int, ...],
    pairs: tuple[int, ...],
    width: tuple[int, ...],
) -> int:
    """Evaluate gates of up to one single input, and one to four pairs whose first row must hold.

    Args:
        singles, pairs: as many zeros as a gate has of these: code is made for each number.

    Returns:
        the place of the next gate's inputs.
    """
    out_of_line()
    words = words_of(width)
    first, end, both = tape.segments[s, 0], tape.segments[s, 1], tape.segments[s, 5]
    written, lanes = tape.segments[s, 8], load(playing, 0, width)
    single = _inversion(tape.segments[s, 4], 0, width)
    # The pairs whose second row is inverted.
    b, d = _inversion(both, 0, width), _inversion(both, 1, width)
    f, h = _inversion(both, 2, width), _inversion(both, 3, width)
    at = start
    for g in range(first, end):
        wrong = splat(np.uint64(0), width)
        if len(singles):
            wrong = bxor(_row(tape, at, rows, width), single)
            at += 1
        wrong = bor(wrong, _as_wanted(tape, at, rows, b, width))
        if len(pairs) > 1:
            wrong = bor(wrong, _as_wanted(tape, at + 2, rows, d, width))
        if len(pairs) > 2:
            wrong = bor(wrong, _as_wanted(tape, at + 4, rows, f, width))
        if len(pairs) > 3:
            wrong = bor(wrong, _as_wanted(tape, at + 6, rows, h, width))
        at += 2 * len(pairs)
        value = bxor(wrong, splat(_ALL, width))
        _write(rows, item(tape.outputs, g) * words, value, written, lanes, width)
    return at


@inlined
def _run_either(
    tape: Tape, s: int, start: int, rows: U64, playing: U64, width: tuple[int, ...]
) -> int:
    """Evaluate gates of one single input, and a pair of which one row must hold: in circuits for a
    phase, a quarter of those of `step`.

    Returns:
        the place of the next gate's inputs.
    """
    out_of_line()
    words = words_of(width)
    first, end = tape.segments[s, 0], tape.segments[s, 1]
    written, lanes = tape.segments[s, 8], load(playing, 0, width)
    single = _inversion(tape.segments[s, 3], 0, width)
    at = start
    for g in range(first, end):
        either = bor(_row(tape, at + 1, rows, width), _row(tape, at + 2, rows, width))
        value = band(bxor(_row(tape, at, rows, width), single), either)
        at += 3
        _write(rows, item(tape.outputs, g) * words, value, written, lanes, width)
    return at


@inlined
def _inversion(straight: int, number: int, width: tuple[int, ...]) -> Any:
    """All ones for an input that is inverted; the first `straight` are not."""
    return splat(np.uint64(0) if number < straight else _ALL, width)


@inlined
def _as_wanted(tape: Tape, at: int, rows: U64, b: Any, width: tuple[int, ...]) -> Any:
    """Lanes where the first row of a pair holds, and the second is as the pair wants it."""
    return band(_row(tape, at, rows, width), bxor(_row(tape, at + 1, rows, width), b))


@inlined
def _write(
    rows: U64, at: int, value: Any, written: int, lanes: Any, width: tuple[int, ...]
) -> None:
    """Write the value of a gate, see `WHOLE`."""
    if written == WHOLE:
        store(rows, at, value)
    else:
        old = load(rows, at, width)
        changed = bxor(old, value)
        if written == TURNED:
            changed = bxor(changed, splat(_ALL, width))
        store(rows, at, bxor(old, band(lanes, changed)))


@inlined
def _row(tape: Tape, at: int, rows: U64, width: tuple[int, ...]) -> Any:
    """The row of an input."""
    return load(rows, item(tape.inputs, at) * words_of(width), width)


@inlined
def _run_any(
    tape: Tape, s: int, start: int, rows: U64, playing: U64, width: tuple[int, ...]
) -> int:
    """Evaluate gates of any one shape; returns the place of the next gate's inputs."""
    out_of_line()
    words = words_of(width)
    first, end = tape.segments[s, 0], tape.segments[s, 1]
    plus, minus = tape.segments[s, 3], tape.segments[s, 4]
    both, one = tape.segments[s, 5], tape.segments[s, 6]
    none = tape.segments[s, 7]
    written, lanes = tape.segments[s, 8], load(playing, 0, width)
    at = start
    for g in range(first, end):
        value = splat(_ALL, width)
        # Inputs taken as they are come first, so that none has to be tested for inversion.
        for _ in range(plus):
            value = band(value, load(rows, item(tape.inputs, at) * words, width))
            at += 1
        for _ in range(minus):
            value = but_not(value, load(rows, item(tape.inputs, at) * words, width))
            at += 1
        for _ in range(both):
            a = load(rows, item(tape.inputs, at) * words, width)
            b = load(rows, item(tape.inputs, at + 1) * words, width)
            value = but_not(value, band(a, b))
            at += 2
        for _ in range(one):
            a = load(rows, item(tape.inputs, at) * words, width)
            b = load(rows, item(tape.inputs, at + 1) * words, width)
            value = but_not(value, but_not(a, b))
            at += 2
        for _ in range(none):
            a = load(rows, item(tape.inputs, at) * words, width)
            b = load(rows, item(tape.inputs, at + 1) * words, width)
            value = band(value, bor(a, b))
            at += 2
        _write(rows, item(tape.outputs, g) * words, value, written, lanes, width)
    return at


@inlined
def _run_loop(
    tape: Tape, first: int, end: int, start: int, rows: U64, width: tuple[int, ...]
) -> int:
    """Evaluate a loop to its least fixpoint; returns the place of the next gate's inputs.

    The gates are evaluated as in `run_tape`, with the code repeated here: as a separate function,
    that part would halve the speed of playouts (`ggp bench` on breakthrough).
    """
    out_of_line()
    words = words_of(width)
    # From below: the first fixpoint that is reached is the least one.
    for g in range(first, end):
        store(rows, item(tape.outputs, g) * words, splat(tape.initial[g], width))
    changes = True
    at = start
    while changes:
        changes = False
        at = start
        for g in range(first, end):
            value = splat(_ALL, width)
            for _ in range(tape.plus[g]):
                value = band(value, load(rows, item(tape.inputs, at) * words, width))
                at += 1
            for _ in range(tape.minus[g]):
                value = but_not(value, load(rows, item(tape.inputs, at) * words, width))
                at += 1
            out = item(tape.outputs, g) * words
            if reduce_or(bxor(value, load(rows, out, width))):
                changes = True
                store(rows, out, value)
    return at


@kernel
def query(
    asked: Query,
    packed: U64,
    moves: I32,
    out: U64,
    rows: U64,
    square: U64,
    width: tuple[int, ...],
) -> None:
    """Evaluate K literals of every state and joint move: `out[L, ceil(K / 64)]`.

    `moves`: `[L, R]` row of each role's move; `[L, 0]` if nothing depends on moves. `rows` and
    `square`: `[num_rows * W]` and `[64]` scratch; the rows of moves are 0, and are so afterwards.
    """
    words = words_of(width)
    for first in range(0, len(packed), 64 * words):
        count = len(packed) - first
        if count > 64 * words:
            count = 64 * words
        for k in range((1 + len(asked.row_of)) * words):
            rows[k] = np.uint64(0)
        load_lanes(packed, first, count, asked.row_of, rows, words, square)
        for lane in range(count):
            for role in range(moves.shape[1]):
                row = np.int64(moves[first + lane, role])
                rows[row * words + (lane >> 6)] |= np.uint64(1) << np.uint64(lane & 63)
        run_tape(asked.tape, 0, rows, rows, width)
        store_lanes(rows, asked.wires, count, out, first, square, width)
        # Not before, as a literal may be a move.
        for lane in range(count):
            for role in range(moves.shape[1]):
                rows[np.int64(moves[first + lane, role]) * words + (lane >> 6)] = np.uint64(0)


@kernel
def count_bits(packed: U64, out: np.ndarray) -> None:
    """`out[L]`: number of bits set in each row of `packed[L, K]`."""
    for lane in range(len(packed)):
        total = 0
        for block in range(packed.shape[1]):
            total += count_ones(packed[lane, block])
        out[lane] = total


@kernel
def list_bits(packed: U64, names: np.ndarray, out: np.ndarray) -> None:
    """`names` of the bits set in each row, one row after the other."""
    at = 0
    for lane in range(len(packed)):
        for block in range(packed.shape[1]):
            word = packed[lane, block]
            while word:
                out[at] = names[64 * block + lowest_one(word)]
                at += 1
                word &= word - np.uint64(1)
