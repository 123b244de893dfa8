"""What playouts work on: a queue of states, and a block of those that are side by side now.

A row of a block holds one net of 1,024 lanes, a bit each. Lanes end at different times, and a lane
that has ended costs as much as one that plays on. So when enough have ended they are judged
together, the others are squeezed to the beginning of the block, and new ones of the queue follow:

    lanes       a b c d e f g h        ended: b, d, e, h
    squeezed    a c f g . . . .        six rounds of moving bits down by 1, 2, 4, ... places
    refilled    a c f g i j k l        `lane_of` remembers which place of the queue each lane has

Squeezing moves whole rows by the same masks (the "compress" of Hacker's Delight, 7-4), so it
costs a few instructions a row and not one a lane. Lanes that begin together stay in step: where
roles take turns, rows of moves that nobody can make are then skipped for the whole block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.jit import by_reference, inlined
from ggp.machine.propnet.play.choice import MAX_PLANES
from ggp.machine.propnet.play.kernels import load_lanes
from ggp.machine.propnet.play.layout import I32, U64, Tape, Wires
from ggp.machine.propnet.play.vectors import (
    band,
    bor,
    bxor,
    count_ones,
    load,
    lowest_one,
    out_of_line,
    shift_right,
    splat,
    store,
    words_of,
)

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@by_reference
class PlayoutPlan(NamedTuple):
    """What playouts evaluate; all tapes share their rows.

    Attributes:
        look: terminal and legal, from the state.
        act: the next state, from state and moves, after `look`.
        judge: goals, after `look`.
        num_rows: rows of all.
        row_of: `[F]` row of each fluent, -1 for those that do not matter.
        state_rows: `[K]` rows of the fluents that matter.
        next: `[K]` where their next values are.
        terminal: one literal.
        role_moves: `[R + 1]` where the moves of each role begin.
        legal: all roles' moves.
        move_rows: the row each move drives.
        role_goals: `[R + 1]` where the goal values of each role begin.
        goals: literals.
        goal_values: the number each stands for.
        turns: steps after which it may be the same role's turn again.
    """

    look: Tape
    act: Tape
    judge: Tape
    num_rows: int
    row_of: I32
    state_rows: I32
    next: Wires
    terminal: Wires
    role_moves: I32
    legal: Wires
    move_rows: I32
    role_goals: I32
    goals: Wires
    goal_values: NDArray[np.float64]
    turns: int


@by_reference
class Queue(NamedTuple):
    """States to play out, and what became of them.

    Attributes:
        packed: `[L, ceil(F / 64)]`.
        goals: `[L, R]`.
        steps: `[L]`.
        finished: `[L]`.
        faults: `[R, 2]` whether a role had several goal values, or none, at an end.
    """

    packed: U64
    goals: NDArray[np.float64]
    steps: NDArray[np.int64]
    finished: NDArray[np.bool_]
    faults: NDArray[np.bool_]


@by_reference
class Block(NamedTuple):
    """The lanes side by side now; goes on where it stopped.

    Attributes:
        rows: all rows.
        masks: `[3, W]` lanes that play on, that ended and are not judged yet, stuck ones.
        lane_of: `[64 W]` place in the queue.
        started: `[64 W]` step of the block at which each lane began.
        rng: `[2, W]`.
        planes: `[3 * MAX_PLANES, W]` scratch.
        squares: `[7, max(64, W)]` scratch.
        at: number of lanes in use, next of the queue, end of the queue, steps of the block,
            earliest step at which a lane in use began, step at which all lanes in use began
            together.
    """

    rows: U64
    masks: U64
    lane_of: NDArray[np.int64]
    started: NDArray[np.int64]
    rng: U64
    planes: U64
    squares: U64
    at: NDArray[np.int64]


USED, NEXT, END, STEP, OLDEST, TOGETHER = range(6)
"""Places in `Block.at`."""


def new_block(num_rows: int, width: tuple[int, ...], first: int, end: int, key: int) -> Block:
    """A block that will play states `first .. end` of a queue, seeded by a 64-bit key."""
    words = words_of(width)
    return Block(
        np.zeros(num_rows * words, dtype=np.uint64),
        np.zeros(3 * words, dtype=np.uint64),
        np.zeros(64 * words, dtype=np.int64),
        np.zeros(64 * words, dtype=np.int64),
        np.array([key] + [0] * (2 * words - 1), dtype=np.uint64),
        np.zeros(3 * MAX_PLANES * words, dtype=np.uint64),
        np.zeros(7 * max(64, words), dtype=np.uint64),
        np.array([0, first, end, 0, 0, 0], dtype=np.int64),
    )


@inlined
def compact(plan: PlayoutPlan, block: Block, width: tuple[int, ...]) -> None:
    """Move the lanes that play on together, to the beginning of the block."""
    out_of_line()
    words = words_of(width)
    masks, at, rows, squares = block.masks, block.at, block.rows, block.squares
    used = 0
    oldest = at[STEP]
    for w in range(words):
        bits = masks[w]
        while bits:
            lane = 64 * w + lowest_one(bits)
            bits &= bits - np.uint64(1)
            block.lane_of[used] = block.lane_of[lane]
            block.started[used] = block.started[lane]
            oldest = min(oldest, block.started[lane])
            used += 1
    at[OLDEST] = oldest
    at[USED] = used
    if used:
        _compress_masks(masks, squares, width)
        for k in range(len(plan.state_rows)):
            _compress_row(rows, plan.state_rows[k], masks, squares, width)
    else:
        for k in range(len(plan.state_rows)):
            # `fill` ors new lanes in, so rows must be empty.
            store(rows, np.int64(plan.state_rows[k]) * words, splat(np.uint64(0), width))
    for w in range(words):
        left = used - 64 * w
        masks[w] = (
            _ALL if left >= 64 else np.uint64(0) if left <= 0 else _ALL >> np.uint64(64 - left)
        )


@inlined
def _compress_masks(masks: U64, squares: U64, width: tuple[int, ...]) -> None:
    """What `_compress_row` moves in each of six rounds: Hacker's Delight, section 7-4."""
    out_of_line()
    words = words_of(width)
    for w in range(words):
        mask = masks[w]
        # A bit goes down by the number of zeros below it: by 2**i in round i if bit i of that
        # number is set. Every zero is marked one place up, so that the parity of the marks up to a
        # bit is the lowest bit of its number. Taking out every other mark halves the numbers.
        zeros_below = ~mask << np.uint64(1)
        for i in range(6):
            # The parity of all marks up to each place, by doubling.
            parity = zeros_below
            for j in range(6):
                parity ^= parity << np.uint64(1 << j)
            moved = parity & mask
            squares[i * words + w] = moved
            mask = (mask ^ moved) | (moved >> np.uint64(1 << i))
            zeros_below &= ~parity


@inlined
def _compress_row(
    rows: U64, row: np.int32, masks: U64, squares: U64, width: tuple[int, ...]
) -> None:
    """Move the bits of a mask to the beginning of a row, the others become zero."""
    out_of_line()
    words = words_of(width)
    at = np.int64(row) * words
    bits_of_row = band(load(rows, at, width), load(masks, 0, width))
    for i in range(6):
        moved = band(bits_of_row, load(squares, i * words, width))
        bits_of_row = bor(bxor(bits_of_row, moved), shift_right(moved, np.uint64(1 << i)))
    store(rows, at, bits_of_row)
    # Every word is squeezed by itself now. Here they are put end to end: `filled` is the word that
    # is being filled, and `shift` says how far it is.
    word = shift = 0
    filled = np.uint64(0)
    for w in range(words):
        bits = rows[at + w]
        num = count_ones(masks[w])
        filled |= bits << np.uint64(shift)
        if shift + num >= 64:
            rows[at + word] = filled
            word += 1
            # With shift 0 nothing is left over, and a shift by 64 would be undefined.
            filled = bits >> np.uint64(64 - shift) if shift else np.uint64(0)
            shift += num - 64
        else:
            shift += num
    while word < words:
        rows[at + word] = filled
        filled = np.uint64(0)
        word += 1


@inlined
def fill(plan: PlayoutPlan, queue: Queue, block: Block, words: int) -> None:
    """Let lanes of the queue in where there is room."""
    out_of_line()
    at = block.at
    count = min(64 * words - at[USED], at[END] - at[NEXT])
    if count <= 0:
        return
    used = at[USED]
    load_lanes(
        queue.packed,
        at[NEXT],
        count,
        plan.row_of,
        block.rows,
        used,
        words,
        block.squares[:64],
    )
    for i in range(count):
        block.lane_of[used + i] = at[NEXT] + i
        block.started[used + i] = at[STEP]
    for lane in range(used, used + count):
        block.masks[lane >> 6] |= np.uint64(1) << np.uint64(lane & 63)
    if used == 0:
        at[OLDEST] = at[STEP]
    at[USED] += count
    at[NEXT] += count
