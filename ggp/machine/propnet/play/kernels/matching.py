"""Makes moves after which a role gets given percepts: only successors that agree are written."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import UNKNOWN
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.propnet.play.kernels.block_kernels import run_tape
from ggp.machine.propnet.play.kernels.lanes.packing import (
    clear_moves,
    load_runs,
    set_moves,
    transpose,
)
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Tape, Wires
from ggp.machine.propnet.play.kernels.vectors import lowest_one, out_of_line, words_of

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


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
