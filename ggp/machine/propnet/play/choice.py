"""Uniformly random legal moves for all lanes of a block at once, without looking at a lane.

Numbers of lanes are *sliced*: plane j holds bit j of every lane's number. Legal moves are
counted in sliced numbers, a uniform number below the count is drawn for each lane by rejection
(exactly uniform), and counting down from it meets the chosen move: a few vector instructions
for each move and 1,024 lanes, where a scan would take that for each lane.

An example of four lanes, written from the left, and three moves:

    legal: move a   1 0 1 1        count, bit 0   1 1 0 1     as numbers  3 1 2 1
           move b   1 1 0 0        count, bit 1   1 0 1 0
           move c   1 0 1 0
    drawn below the count           2 0 0 0
    counting down: a is legal in lanes 0, 2, 3; there 2 0 0 becomes 1 - -: lanes 2 and 3 were at
    0 and choose a. b: lane 0 goes from 1 to 0, lane 1 was at 0 and chooses b. c: lane 0 chooses it.

A lane "was at 0" if the borrow runs through all its planes, which is what is left in `x` below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ggp.machine.jit import inlined
from ggp.machine.propnet.play.layout import I32, U64, Wires
from ggp.machine.propnet.play.vectors import (
    band,
    bor,
    but_not,
    bxor,
    load,
    out_of_line,
    plus,
    reduce_or,
    shift_left,
    shift_right,
    splat,
    store,
    words_of,
)

MAX_PLANES = 24
"""Bits of a count: a role may have up to 2**24 - 1 moves."""

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def seed_words(key: np.uint64, rng: U64) -> None:
    """Fill a generator's state from a 64-bit key (splitmix64)."""
    state = key
    for i in range(len(rng)):
        state += np.uint64(0x9E3779B97F4A7C15)
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        rng[i] = z ^ (z >> np.uint64(31))


@inlined
def random_words(rng: U64, width: tuple[int, ...]) -> Any:
    """A vector of random words: xoroshiro128+ in every word, `rng` holds `[2, W]` of state.

    Every bit of a word is used, so the weak lowest bit is mixed with a strong one.
    """
    words = words_of(width)
    a = load(rng, 0, width)
    b = load(rng, words, width)
    total = plus(a, b)
    b = bxor(a, b)
    turned = bor(shift_left(a, np.uint64(24)), shift_right(a, np.uint64(40)))
    store(rng, 0, bxor(bxor(turned, b), shift_left(b, np.uint64(16))))
    store(rng, words, bor(shift_left(b, np.uint64(37)), shift_right(b, np.uint64(27))))
    return bxor(total, shift_right(total, np.uint64(32)))


@inlined
def count_legal(
    rows: U64, wires: Wires, first: int, end: int, planes: U64, width: tuple[int, ...]
) -> int:
    """Count the literals `first .. end` of each lane in sliced numbers; returns the planes used.

    `planes`: `[MAX_PLANES, W]`, overwritten. Planes above those returned are all zero or
    undefined.
    """
    out_of_line()
    words = words_of(width)
    ones = splat(np.uint64(0), width)
    twos = ones
    used = 2
    store(planes, 2 * words, ones)
    for m in range(first, end, 2):
        # A wire is a literal: xor with all ones or all zeros inverts it, or not, without a branch.
        # Two moves at a time: a full adder for both costs less than two half adders.
        x = bxor(
            load(rows, np.int64(wires.rows[m]) * words, width), splat(wires.inverted[m], width)
        )
        half = bxor(ones, x)
        carry = band(ones, x)
        ones = half
        if m + 1 < end:
            y = bxor(
                load(rows, np.int64(wires.rows[m + 1]) * words, width),
                splat(wires.inverted[m + 1], width),
            )
            ones = bxor(half, y)
            carry = bor(carry, band(half, y))
        # Bits 0 and 1 stay in registers; carries beyond them are rare, and memory waits for them.
        above = band(twos, carry)
        twos = bxor(twos, carry)
        j = 2
        # A ripple carry: plane j takes it, and it goes on where there was a 1, until none is left.
        while reduce_or(above):
            if j == used:
                used += 1
                store(planes, j * words, above)
                break
            old = load(planes, j * words, width)
            store(planes, j * words, bxor(old, above))
            above = band(old, above)
            j += 1
    store(planes, 0, ones)
    store(planes, words, twos)
    # No lane has two legal moves: `move_lanes` then has nothing to draw.
    if used == 2 and not reduce_or(twos):
        used = 1
    return used


@inlined
def draw_below(
    planes: U64, used: int, lanes: U64, rng: U64, scratch: U64, width: tuple[int, ...]
) -> None:
    """Replace sliced counts by sliced uniform numbers below them, in the lanes of a mask.

    Lanes outside the mask get anything. `scratch`: `[2 * MAX_PLANES, W]`.
    """
    out_of_line()
    words = words_of(width)
    above = MAX_PLANES * words
    # scratch[:MAX_PLANES]: highest number allowed; scratch[MAX_PLANES:]: the bits it needs.
    # Minus 1: a plane changes while there is a borrow, and a 0 passes it on. A count of 0 wraps
    # round, in lanes that the mask leaves out.
    borrow = splat(_ALL, width)
    for j in range(used):
        x = load(planes, j * words, width)
        store(scratch, j * words, bxor(x, borrow))
        borrow = but_not(borrow, x)
    # No number that is allowed has a bit above the highest bit of the limit. Only the other bits
    # are drawn, so that more than half of all draws are allowed.
    needed = splat(np.uint64(0), width)
    for j in range(used - 1, -1, -1):
        needed = bor(needed, load(scratch, j * words, width))
        store(scratch, above + j * words, needed)
    # A lane that drew too high draws again, and only that lane: less than half of those that need
    # n bits do. So the numbers are exactly uniform, which a multiplication would not make them.
    waiting = load(lanes, 0, width)
    while reduce_or(waiting):
        # Compared from the lowest plane up, so that the highest bit that differs has the last word.
        over = splat(np.uint64(0), width)
        for j in range(used):
            bit = band(random_words(rng, width), load(scratch, above + j * words, width))
            limit = load(scratch, j * words, width)
            differs = bxor(bit, limit)
            over = bxor(over, band(differs, bxor(over, bit)))
            old = load(planes, j * words, width)
            store(planes, j * words, bxor(old, band(waiting, bxor(old, bit))))
        # Lanes whose number is allowed keep it: only those that wait take new bits.
        waiting = band(waiting, over)


@inlined
def pick(
    rows: U64,
    wires: Wires,
    first: int,
    end: int,
    outputs: I32,
    planes: U64,
    used: int,
    width: tuple[int, ...],
) -> None:
    """Set the row of the n-th legal move, n the sliced numbers in `planes` (used up)."""
    out_of_line()
    words = words_of(width)
    for m in range(first, end):
        x = bxor(
            load(rows, np.int64(wires.rows[m]) * words, width), splat(wires.inverted[m], width)
        )
        # Subtract 1 where the move is legal. A borrow that no plane stops means the number was 0:
        # this is the move. The number is then below 0, and no later move can meet it again.
        for j in range(used):
            old = load(planes, j * words, width)
            store(planes, j * words, bxor(old, x))
            x = but_not(x, old)
        store(rows, np.int64(outputs[m]) * words, x)
