"""Kernels that keep what nets read up to date, as packed bits.

A *row* of bits is what one role knows in one lane. It consists of fields that begin at words of
their own: what is legal now, the turn before this one, the one before that, everything since the
beginning, the number of turns, and each turn by itself. `ggp.learn.features` has the layout.
"""

from __future__ import annotations

import numpy as np

from ggp.env.kernels import I32, I64, U64
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.propnet.play.kernels.vectors import count_ones, lowest_one

MASKS, LAST, BEFORE, EVER, COUNT, TIMED, END = range(7)
"""The fields of a row: each entry of a layout is the word at which one begins."""

NUM_MOVES, NUM_PERCEPTS, NUM_COUNTED, NUM_TIMED = range(7, 11)
"""The other entries of a layout: numbers of moves, of percepts, of turns that are counted, and of
turns that have a field of their own."""

NO_ROW = -1
"""Stands for the row before the first one of a lane."""

_ONE = np.uint64(1)


@inlined
def _set(rows: U64, row: int, bit: int) -> None:
    rows[row, bit >> 6] |= _ONE << np.uint64(bit & 63)


@inlined
def _begun(rows: U64, row: int, layout: I64) -> None:
    """Forget everything: the first turn is next."""
    for w in range(layout[LAST], layout[END]):
        rows[row, w] = np.uint64(0)
    if layout[NUM_COUNTED]:
        _set(rows, row, 64 * layout[COUNT])


@inlined
def _turned(rows: U64, row: int, turn: int, layout: I64) -> None:
    """Make room for turn `turn`, from 1, whose move and percepts are told next."""
    for k in range(layout[EVER] - layout[BEFORE]):
        rows[row, layout[BEFORE] + k] = rows[row, layout[LAST] + k]
        rows[row, layout[LAST] + k] = np.uint64(0)
    if layout[NUM_COUNTED]:
        for w in range(layout[COUNT], layout[TIMED]):
            rows[row, w] = np.uint64(0)
        _set(rows, row, 64 * layout[COUNT] + min(turn, layout[NUM_COUNTED] - 1))


@inlined
def _told(rows: U64, row: int, turn: int, token: int, layout: I64) -> None:
    """Take down a token of turn `turn`: a move, or after all moves a percept."""
    place = token
    if token >= layout[NUM_MOVES]:  # percepts begin at a word of their own
        place = 64 * ((layout[NUM_MOVES] + 63) >> 6) + token - layout[NUM_MOVES]
    _set(rows, row, 64 * layout[LAST] + place)
    _set(rows, row, 64 * layout[EVER] + place)
    if turn <= layout[NUM_TIMED]:
        tokens = layout[NUM_MOVES] + layout[NUM_PERCEPTS]
        _set(rows, row, 64 * layout[TIMED] + (turn - 1) * tokens + token)


@kernel
def observe(
    masks: U64, moves: I32, percepts: U64, turns: I32, role: int, layout: I64, rows: U64
) -> None:
    """Bring a role's rows up to date after a turn, or a new beginning.

    Args:
        masks, moves, percepts, turns: as `Turn.mask_bits` and so on.
        role: its index there.
        layout: of its rows, see `Features`.
        rows: `[L, W]` as they were before the turn; changed in place.
    """
    for lane in range(len(rows)):
        for w in range(masks.shape[2]):
            rows[lane, w] = masks[lane, role, w]
        turn = int(turns[lane])
        if turn == 0:
            _begun(rows, lane, layout)
            continue
        _turned(rows, lane, turn, layout)
        _told(rows, lane, turn, int(moves[lane, role]), layout)
        for w in range(percepts.shape[2]):
            bits = percepts[lane, role, w]
            while bits:
                token = layout[NUM_MOVES] + 64 * w + lowest_one(bits)
                _told(rows, lane, turn, token, layout)
                bits &= bits - _ONE


@kernel
def read_paths(masks: U64, paths: I32, turns: I32, layout: I64, rows: U64) -> None:
    """Make the rows of whole paths.

    Args:
        masks: `[N, words]` what is legal at the end of each path.
        paths: `[N, T, K]`, `turns`: `[N]`, as `Turn.paths`.
        rows: `[N, W]` filled in.
    """
    for n in range(len(rows)):
        for w in range(masks.shape[1]):
            rows[n, w] = masks[n, w]
        _begun(rows, n, layout)
        for t in range(turns[n]):
            _turned(rows, n, t + 1, layout)
            for k in range(paths.shape[2]):
                if paths[n, t, k] == 0:
                    break
                _told(rows, n, t + 1, int(paths[n, t, k]) - 1, layout)


@kernel
def take_choices(
    bits: U64, mask_words: int, last: I64, first: int, lanes: I64, previous: I64, rows: U64
) -> int:
    """Append the rows of lanes in which there is a choice.

    Args:
        bits: `[L, W]` the present row of every lane, which begins with what is legal.
        last: `[L]` number of the last row that each lane appended, or `NO_ROW`; changed.
        first: number of the first row to write.
        lanes, previous: `[N]` the lane of each row, and the row that it follows; filled in.
        rows: `[N, W]` filled in.

    Returns:
        the number after the last row.
    """
    end = first
    for lane in range(len(bits)):
        total = 0
        for w in range(mask_words):
            total += count_ones(bits[lane, w])
        if total < 2:
            continue
        lanes[end], previous[end] = lane, last[lane]
        last[lane] = end
        for w in range(bits.shape[1]):
            rows[end, w] = bits[lane, w]
        end += 1
    return end
