"""Loads packed states into blocks of lanes, and packs lanes of blocks into states.

A row of a block holds one fluent of many lanes; a packed state holds all fluents of one lane:
`[L, ceil(F / 64)]`, bit f of a lane is fluent f. So 64 lanes of 64 fluents are a square of bits
that must be transposed. That takes as long as moving some 150 bits one by one, and in most games
far fewer fluents hold. So each square is moved in the way that is faster:

    few bits, or lanes like their neighbours     bit by bit, for all equal neighbours at once
    many                                         the square is transposed

The rule for loading: the rows of fluents are zero before, because bits are or-ed or xor-ed in. Who
loads must clear them again (`clear_runs`, `clear_moves`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ggp.machine.base import IntArray
from ggp.machine.compiling.jit import inlined
from ggp.machine.compiling.vectors import (
    WORDS_PER_ITEM,
    band,
    bor,
    bxor,
    count_ones,
    item,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    shift_left,
    shift_right,
    splat,
    store,
    words_of,
)
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Wires

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)

MANY = 128
"""A square with more bits than this is transposed."""

_WORDS_AT_ONCE = 8
"""This many words of whole rows are cleared in the time that it takes to find and clear one."""


@inlined
def transpose(squares: U64, width: tuple[int, ...]) -> None:
    """Transpose W squares of 64 x 64 bits at once, in place: word w of the rows `squares[64 * W]`
    is the square w."""
    # Swaps two quarters of a square, then of each of its quarters, and so on (Hacker's Delight,
    # section 7-3): 6 rounds instead of 4,096 single bits.
    out_of_line()
    words = words_of(width)
    mask = np.uint64(0x00000000FFFFFFFF)
    size = 32
    while size:
        shift = np.uint64(size)
        for start in range(0, 64, 2 * size):
            for k in range(start, start + size):
                a, b = load(squares, k * words, width), load(squares, (k + size) * words, width)
                swap = band(bxor(shift_right(a, shift), b), splat(mask, width))
                store(squares, k * words, bxor(a, shift_left(swap, shift)))
                store(squares, (k + size) * words, bxor(b, swap))
        size >>= 1
        mask ^= mask << np.uint64(size)


@inlined
def load_block(
    packed: U64,
    first: int,
    count: int,
    row_of: I32,
    rows: U64,
    squares: U64,
    width: tuple[int, ...],
) -> None:
    """Like `load_lanes`, for dense states: whatever the rows held is overwritten, and the lanes
    beyond `count` get anything. `squares`: `[64 * W]` scratch."""
    out_of_line()
    words = words_of(width)
    for block in range(packed.shape[1]):
        for lane in range(np.uint64(count)):
            at = (lane & np.uint64(63)) * np.uint64(words) + (lane >> np.uint64(6))
            squares[at] = packed[np.uint64(first) + lane, np.uint64(block)]
        transpose(squares, width)
        for bit in range(min(64, len(row_of) - 64 * block)):
            row = np.int64(row_of[64 * block + bit]) * words
            store(rows, row, load(squares, bit * words, width))


@inlined
def store_columns(
    rows: U64,
    wires: Wires,
    sizes: IntArray,
    count: int,
    columns: U64,
    first: int,
    squares: U64,
    width: tuple[int, ...],
) -> None:
    """Like `store_lanes`, into `columns[..., first ...]`, `[K / 64, L]`, whatever holds.

    Args:
        sizes: `[K / 64]` the number of literals of each word; its other bits are zero.
        squares: `[64 * W]` scratch.
    """
    out_of_line()
    words = np.uint64(words_of(width))
    block = 0
    while block < len(columns):
        # Words of few literals share a square.
        end, place = block, 0
        while end < len(columns) and place + sizes[end] <= 64:
            for k in range(64 * end, 64 * end + sizes[end]):
                store(squares, place * words_of(width), literal(rows, wires, k, width))
                place += 1
            end += 1
        for row in range(place, 64):
            store(squares, row * words_of(width), splat(np.uint64(0), width))
        transpose(squares, width)
        place = 0
        for k in range(block, end):
            column, shift = columns[k], np.uint64(place)
            mask = _ALL >> np.uint64(64 - sizes[k]) if sizes[k] else np.uint64(0)
            for lane in range(np.uint64(count)):
                at = (lane & np.uint64(63)) * words + (lane >> np.uint64(6))
                column[np.uint64(first) + lane] = squares[at] >> shift & mask
            place += sizes[k]
        block = end


@inlined
def literal(rows: U64, wires: Wires, k: int, width: tuple[int, ...]) -> Any:
    """A literal in every lane: its row, xored with all ones if inverted, which avoids a branch."""
    row = load(rows, item(wires.rows, k) * words_of(width), width)
    return bxor(row, splat(item(wires.inverted, k), width))


@inlined
def copy_lane(source: U64, lane: int, target: U64, index: int) -> None:
    """Copy a packed state."""
    # Without a check for negative indices, several words are copied at once.
    start, end = np.uint64(lane), np.uint64(index)
    for word in range(np.uint64(source.shape[1])):
        target[end, word] = source[start, word]


@inlined
def lanes_from(start: int, end: int) -> np.uint64:
    """The mask of lanes `start .. end` of a word; `end`: from `start + 1` to 64."""
    return (_ALL << np.uint64(start)) & (_ALL >> np.uint64(64 - end))


@inlined
def load_lanes(
    packed: U64, first: int, count: int, row_of: I32, rows: U64, words: int, square: U64
) -> None:
    """Copy packed states `first .. first + count` to the lanes of a block.

    All bits of these rows must be zero. `row_of`: `[F]` row of each fluent, -1 to leave it out.
    `square`: `[64]` scratch.
    """
    out_of_line()
    for start in range(0, count, 64):
        num_lanes = min(64, count - start)
        word = start >> 6
        for block in range(packed.shape[1]):
            prior = np.uint64(0)
            cost = 0
            for lane in range(num_lanes):
                bits = packed[first + start + lane, block]
                if bits != prior:
                    cost += count_ones(bits) + 1
                prior = bits
                square[lane] = bits
            # Most fluents of a large game hold in none of 64 states: their rows are zero already.
            if not cost:
                continue
            if cost <= MANY:
                _load_changes(square, num_lanes, row_of, 64 * block, rows, word, words)
                continue
            for lane in range(num_lanes, 64):
                square[lane] = np.uint64(0)
            transpose(square, ())
            for bit in range(min(64, len(row_of) - 64 * block)):
                row = np.int64(row_of[64 * block + bit])
                if row >= 0:
                    rows[row * words + word] = square[bit]


@inlined
def _load_changes(
    square: U64, num_lanes: int, row_of: I32, fluent: int, rows: U64, word: int, words: int
) -> None:
    """Copy 64 fluents of up to 64 lanes to a block, equal neighbours together.

    Args:
        square: `[num]` the fluents that hold in each lane.
        fluent: the first one.
    """
    start = 0
    while start < num_lanes:
        bits = square[start]
        end = start + 1
        while end < num_lanes and square[end] == bits:
            end += 1
        lanes = lanes_from(start, end)
        while bits:
            row = np.int64(row_of[fluent + lowest_one(bits)])
            bits &= bits - _ONE
            if row >= 0:
                rows[row * words + word] |= lanes
        start = end


@inlined
def run_end(lanes: IntArray, first: int, start: int, count: int) -> int:
    """The end of the lanes from `start` on, of one word, that have the same state."""
    end = start + 1
    while end < count and end & 63 and lanes[first + end] == lanes[first + start]:
        end += 1
    return end


@inlined
def load_runs(
    packed: U64, lanes: IntArray, first: int, count: int, row_of: I32, rows: U64, words: int
) -> int:
    """Copy the states of neighbouring lanes to a block: only what differs from the one before.

    A fluent that changes at some lane is toggled in that lane and all later ones of its word, so a
    state costs as many words as it differs from its neighbour in fluents.

    Args:
        lanes: `[K]` the state of each lane; `first .. first + count` are copied.
        row_of: `[F]` row of each fluent; all bits of these rows must be zero.

    Returns:
        how many words were written, some several times.
    """
    out_of_line()
    start, num_written, prior = 0, 0, -1
    while start < count:
        state, end = lanes[first + start], run_end(lanes, first, start, count)
        if not start & 63:
            prior = -1
        # Its bits are set in all lanes that follow, until another state toggles them.
        mask = _ALL << np.uint64(start & 63)
        num_written += _toggle(packed, state, prior, row_of, rows, start >> 6, words, mask)
        start, prior = end, state
    if count & 63:
        _toggle(packed, prior, -1, row_of, rows, count >> 6, words, _ALL << np.uint64(count & 63))
    return num_written


@inlined
def _toggle(
    packed: U64,
    state: int,
    prior: int,
    row_of: I32,
    rows: U64,
    word: int,
    words: int,
    mask: np.uint64,
) -> int:
    """Toggle the lanes of a mask for the fluents in which a state differs from the previous one.

    `prior` is -1 for none. Returns the number of these fluents that hold now.
    """
    out_of_line()
    width, size, block, num_ones = (0,), packed.shape[1], 0, 0
    while block < size:
        if prior >= 0 and block + WORDS_PER_ITEM <= size:
            new = load(packed, state * size + block, width)
            if not reduce_or(bxor(new, load(packed, prior * size + block, width))):
                block += WORDS_PER_ITEM
                continue
        for k in range(block, min(block + WORDS_PER_ITEM, size)):
            fluents = packed[state, k]
            bits = fluents ^ packed[prior, k] if prior >= 0 else fluents
            num_ones += count_ones(bits & fluents)
            while bits:
                row = np.int64(row_of[64 * k + lowest_one(bits)])
                bits &= bits - _ONE
                rows[row * words + word] ^= mask
        block += WORDS_PER_ITEM
    return num_ones


@inlined
def clear_runs(
    packed: U64,
    lanes: IntArray,
    first: int,
    count: int,
    row_of: I32,
    rows: U64,
    words: int,
    num_written: int,
) -> None:
    """Clear the rows after `load_runs`, which wrote `num_written` words, in the fastest way."""
    out_of_line()
    if num_written * _WORDS_AT_ONCE > len(row_of) * words:
        if packed.shape[1] >= WORDS_PER_ITEM:
            _clear_held(packed, lanes, first, count, row_of, rows, words)
            return
        for k in range(len(row_of)):
            row = np.int64(row_of[k]) * words
            for word in range(words):
                rows[row + word] = np.uint64(0)
        return
    start, prior = 0, -1
    while start < count:
        state, end = lanes[first + start], run_end(lanes, first, start, count)
        for block in range(packed.shape[1]):
            bits = packed[state, block]
            if start & 63:
                bits &= ~packed[prior, block]
            while bits:
                row = np.int64(row_of[64 * block + lowest_one(bits)])
                bits &= bits - _ONE
                rows[row * words + (start >> 6)] = np.uint64(0)
        start, prior = end, state


@inlined
def _clear_held(
    packed: U64, lanes: IntArray, first: int, count: int, row_of: I32, rows: U64, words: int
) -> None:
    """Clear the rows of the fluents that hold in some state: few, if the states are alike."""
    width, size = (0,), packed.shape[1]
    for start in range(0, size, WORDS_PER_ITEM):
        block = min(start, size - WORDS_PER_ITEM)
        fluents, prior = splat(np.uint64(0), width), -1
        for k in range(first, first + count):
            if lanes[k] != prior:
                prior = lanes[k]
                fluents = bor(fluents, load(packed, prior * size + block, width))
        # Row 0, which is false, serves as scratch, and is zero again afterwards.
        store(rows, 0, fluents)
        for k in range(WORDS_PER_ITEM):
            bits = rows[k]
            rows[k] = np.uint64(0)
            while bits:
                row = np.int64(row_of[64 * (block + k) + lowest_one(bits)]) * words
                bits &= bits - _ONE
                for word in range(words):
                    rows[row + word] = np.uint64(0)


@inlined
def store_lanes(
    rows: U64,
    wires: Wires,
    count: int,
    packed: U64,
    first: int,
    square: U64,
    width: tuple[int, ...],
) -> None:
    """Pack K literals of lanes 0 .. count of a block into `packed[first ...]`, `[L, K / 64]`."""
    out_of_line()
    for block in range(packed.shape[1]):
        size = min(64, len(wires.rows) - 64 * block)
        most = MANY * (1 + (count >> 6))
        num_ones = size * count
        if num_ones > most:
            num_ones = 0
            for k in range(64 * block, 64 * block + size):
                num_ones += _ones_of(rows, wires, k, count, width)
                if num_ones > most:
                    break
        if num_ones > most:
            _store_squares(rows, wires, block, count, packed, first, square, words_of(width))
            continue
        for lane in range(first, first + count):
            packed[lane, block] = np.uint64(0)
        if not num_ones:
            continue
        for bit in range(size):
            _store_bits(rows, wires, 64 * block + bit, count, packed, first, width)


@inlined
def _ones_of(rows: U64, wires: Wires, k: int, count: int, width: tuple[int, ...]) -> int:
    """Number of lanes in which a literal holds, counted in whole words."""
    words = words_of(width)
    row, inverted = np.int64(wires.rows[k]) * words, wires.inverted[k]
    if not reduce_or(literal(rows, wires, k, width)):
        return 0
    num_ones = 0
    for word in range((count + 63) >> 6):
        num_ones += count_ones(rows[row + word] ^ inverted)
    return num_ones


@inlined
def _store_bits(
    rows: U64,
    wires: Wires,
    k: int,
    count: int,
    packed: U64,
    first: int,
    width: tuple[int, ...],
) -> None:
    """Set the bit of one literal in the packed lanes 0 .. count where it holds."""
    words = words_of(width)
    row, inverted = np.int64(wires.rows[k]) * words, wires.inverted[k]
    if not reduce_or(literal(rows, wires, k, width)):
        return
    for start in range(0, count, 64):
        bits = rows[row + (start >> 6)] ^ inverted
        if count - start < 64:
            bits &= lanes_from(0, count - start)
        while bits:
            packed[first + start + lowest_one(bits), k >> 6] |= _ONE << np.uint64(k & 63)
            bits &= bits - _ONE


@inlined
def _store_squares(
    rows: U64,
    wires: Wires,
    block: int,
    count: int,
    packed: U64,
    first: int,
    square: U64,
    words: int,
) -> None:
    """Pack up to 64 literals of lanes 0 .. count, by transposing squares."""
    out_of_line()
    size = min(64, len(wires.rows) - 64 * block)
    for start in range(0, count, 64):
        for bit in range(size):
            k = 64 * block + bit
            row = np.int64(wires.rows[k]) * words
            square[bit] = rows[row + (start >> 6)] ^ wires.inverted[k]
        for bit in range(size, 64):
            square[bit] = np.uint64(0)
        transpose(square, ())
        for lane in range(min(64, count - start)):
            packed[first + start + lane, block] = square[lane]


@inlined
def are_moves(move_rows: I32, moves: IntArray) -> bool:
    """Whether all roles have the moves of `[K, R]` joint moves; `move_rows`: see `clear_moves`."""
    for k in range(len(moves)):
        for role in range(moves.shape[1]):
            move = moves[k, role]
            if move < 0 or move >= move_rows.shape[1] or move_rows[role, move] < 0:
                return False
    return True


@inlined
def set_moves(
    move_rows: I32, moves: IntArray, first: int, count: int, rows: U64, words: int
) -> None:
    """Set the bits of the joint move of each lane of a block; see `clear_moves`."""
    for lane in range(count):
        for role in range(moves.shape[1]):
            row = np.int64(move_rows[role, moves[first + lane, role]])
            rows[row * words + (lane >> 6)] |= np.uint64(1) << np.uint64(lane & 63)


@inlined
def clear_moves(
    move_rows: I32, moves: IntArray, first: int, count: int, rows: U64, words: int
) -> None:
    """Clear the rows of the moves that were made in the lanes of a block.

    Args:
        move_rows: `[R, M]` row of each move of each role.
        moves: `[N, R]` joint moves of all lanes, of which the block has `count` from `first` on.
        rows: the block, with `words` words for each row.
    """
    for lane in range(count):
        for role in range(moves.shape[1]):
            row = np.int64(move_rows[role, moves[first + lane, role]])
            rows[row * words + (lane >> 6)] = np.uint64(0)
