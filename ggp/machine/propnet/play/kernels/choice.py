"""Draws uniformly random legal moves for all lanes of a block at once, bit-sliced.

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

A lane "was at 0" if the borrow runs through all its planes; it is then left in `x` below.

If there are many moves, most are legal in no lane of a block. Groups of these are not counted,
and their rows are written only if bits were left in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import inlined
from ggp.machine.compiling.vectors import (
    band,
    bor,
    but_not,
    bxor,
    item,
    load,
    plus,
    reduce_or,
    shift_left,
    shift_right,
    splat,
    store,
    words_of,
)
from ggp.machine.mixing import GOLDEN, finalised
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Wires

MAX_PLANES = 24
"""Bits of a count: a role may have up to 2**24 - 1 moves."""

GROUP = 4
"""Number of moves counted and picked at once; each role's are filled up to a multiple of it."""

Groups = NDArray[np.uint8]
"""One value for each group of moves."""

SPARSE = 256
"""Number of a role's moves from which on groups are left out if no lane has one: few moves are
counted in less time than that test takes."""

IDLE, POSSIBLE, LEFT = range(3)
"""State of a group of moves: no lane has one, and the rows that they drive are 0; some lane has
one; no lane has one, but bits of earlier moves are left in the rows."""

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def seed_words(key: np.uint64, rng: U64) -> None:
    """Fill a generator's state from a 64-bit key (splitmix64)."""
    state = key
    for i in range(len(rng)):
        state += GOLDEN
        rng[i] = finalised(state)


@inlined
def literal(rows: U64, wires: Wires, k: int, width: tuple[int, ...]) -> Any:
    """A literal in every lane: xor with all ones or all zeros inverts it, or not, without a branch.

    A wire is a row and whether it is inverted.
    """
    row = load(rows, item(wires.rows, k) * words_of(width), width)
    return bxor(row, splat(item(wires.inverted, k), width))


@inlined
def count_legal(
    rows: U64,
    wires: Wires,
    first: int,
    end: int,
    lanes: Any,
    always: Groups,
    groups: Groups,
    planes: U64,
    width: tuple[int, ...],
) -> int:
    """Count the literals `first .. end` of some lanes in sliced numbers; returns the planes used.

    Both ends are multiples of `GROUP`. Other lanes get arbitrary numbers.

    Args:
        always: whether a group is counted even if no lane has one of its literals.
        groups: state of each group, filled in from `first` on; see `IDLE`.
        planes: `[MAX_PLANES, W]`, filled in; planes above those used are undefined.
    """
    words = words_of(width)
    ones = splat(np.uint64(0), width)
    twos = ones
    used = 2
    for m in range(first, end, GROUP):
        group = m // GROUP
        w, x = literal(rows, wires, m, width), literal(rows, wires, m + 1, width)
        y, z = literal(rows, wires, m + 2, width), literal(rows, wires, m + 3, width)
        if not always[group] and not reduce_or(band(lanes, bor(bor(w, x), bor(y, z)))):
            groups[group] = LEFT if groups[group] else IDLE
            if m + GROUP - first >= 1 << used:
                store(planes, used * words, splat(np.uint64(0), width))
                used += 1
            continue
        groups[group] = POSSIBLE
        # Four moves are added up before a carry goes on to the planes in memory.
        half = bxor(ones, w)
        left = bor(band(ones, w), band(half, x))
        ones = bxor(half, x)
        half = bxor(ones, y)
        right = bor(band(ones, y), band(half, z))
        ones = bxor(half, z)
        half = bxor(twos, left)
        carry = bor(band(twos, left), band(half, right))
        twos = bxor(half, right)
        # As far as so many moves can carry, not as far as they do: then no branch is mispredicted.
        for j in range(2, used):
            old = load(planes, j * words, width)
            store(planes, j * words, bxor(old, carry))
            carry = band(old, carry)
        if m + GROUP - first >= 1 << used:
            store(planes, used * words, carry)
            used += 1
    store(planes, 0, ones)
    store(planes, words, twos)
    return used


@inlined
def draw_below(planes: U64, used: int, lanes: Any, rng: U64, width: tuple[int, ...]) -> None:
    """Replace sliced counts by sliced uniform numbers below them, in some lanes.

    Other lanes get arbitrary numbers. `planes`: `[3 * MAX_PLANES, W]`, the last two thirds are
    scratch.
    """
    words = words_of(width)
    # The second third: highest number allowed; the last third: the bits it needs.
    limits = MAX_PLANES * words
    above = 2 * MAX_PLANES * words
    # Minus 1: a plane changes while there is a borrow, and a 0 passes it on. A count of 0 wraps
    # round, in lanes that the mask leaves out.
    borrow = splat(_ALL, width)
    for j in range(used):
        x = load(planes, j * words, width)
        store(planes, limits + j * words, bxor(x, borrow))
        borrow = but_not(borrow, x)
    # No allowed number has a bit above the highest bit of the limit. Only the other bits
    # are drawn, so that more than half of all draws are allowed.
    needed = splat(np.uint64(0), width)
    for j in range(used - 1, -1, -1):
        needed = bor(needed, load(planes, limits + j * words, width))
        store(planes, above + j * words, needed)
    # A lane that drew too high draws again, and only that lane: less than half of those that need
    # n bits do. So the numbers are exactly uniform, which a multiplication would not make them.
    waiting = lanes
    a, b = load(rng, 0, width), load(rng, words, width)
    while reduce_or(waiting):
        # Compared from the lowest plane up, so that the highest differing bit decides.
        over = splat(np.uint64(0), width)
        for j in range(used):
            # xoroshiro128+ in every word. Every bit is used, so the weak lowest bit of a word is
            # mixed with a strong one.
            word = plus(a, b)
            word = bxor(word, shift_right(word, np.uint64(32)))
            b = bxor(a, b)
            a = bor(shift_left(a, np.uint64(24)), shift_right(a, np.uint64(40)))
            a = bxor(bxor(a, b), shift_left(b, np.uint64(16)))
            b = bor(shift_left(b, np.uint64(37)), shift_right(b, np.uint64(27)))
            bit = band(word, load(planes, above + j * words, width))
            limit = load(planes, limits + j * words, width)
            differs = bxor(bit, limit)
            over = bxor(over, band(differs, bxor(over, bit)))
            old = load(planes, j * words, width)
            store(planes, j * words, bxor(old, band(waiting, bxor(old, bit))))
        # Lanes whose number is allowed keep it: only the waiting ones take new bits.
        waiting = band(waiting, over)
    store(rng, 0, a)
    store(rng, words, b)


@inlined
def pick(
    rows: U64,
    wires: Wires,
    first: int,
    end: int,
    outputs: I32,
    groups: Groups,
    planes: U64,
    used: int,
    width: tuple[int, ...],
) -> None:
    """Set the row of the n-th legal move, where n are the sliced numbers in `planes` (used up).

    Both ends are multiples of `GROUP`, and at least two planes are used. Only groups that were
    counted are considered.
    """
    words = words_of(width)
    ones, twos = load(planes, 0, width), load(planes, words, width)
    for m in range(first, end, GROUP):
        # Subtract 1 for each legal move. A borrow that no plane stops means that the number was 0:
        # this is the move. The number is then below 0, and no later move can meet it again.
        # Of two moves, at most one borrows from the twos; of four, one from the planes above.
        if groups[m // GROUP] != POSSIBLE:
            clear_left(rows, outputs, m // GROUP, groups, width)
            continue
        w = literal(rows, wires, m, width)
        w_borrows = but_not(w, ones)
        ones = bxor(ones, w)
        x = literal(rows, wires, m + 1, width)
        x_borrows = but_not(x, ones)
        ones = bxor(ones, x)
        y = literal(rows, wires, m + 2, width)
        y_borrows = but_not(y, ones)
        ones = bxor(ones, y)
        z = literal(rows, wires, m + 3, width)
        z_borrows = but_not(z, ones)
        ones = bxor(ones, z)
        pair = bor(w_borrows, x_borrows)
        first_pair = but_not(pair, twos)
        twos = bxor(twos, pair)
        pair = bor(y_borrows, z_borrows)
        second_pair = but_not(pair, twos)
        twos = bxor(twos, pair)
        borrow = bor(first_pair, second_pair)
        for j in range(2, used):
            old = load(planes, j * words, width)
            store(planes, j * words, bxor(old, borrow))
            borrow = but_not(borrow, old)
        first_pair, second_pair = band(first_pair, borrow), band(second_pair, borrow)
        store(rows, item(outputs, m) * words, band(first_pair, w_borrows))
        store(rows, item(outputs, m + 1) * words, band(first_pair, x_borrows))
        store(rows, item(outputs, m + 2) * words, band(second_pair, y_borrows))
        store(rows, item(outputs, m + 3) * words, band(second_pair, z_borrows))


@inlined
def make_all(
    rows: U64,
    wires: Wires,
    first: int,
    end: int,
    outputs: I32,
    groups: Groups,
    width: tuple[int, ...],
) -> None:
    """Set the rows of all legal moves, where no lane has more than one."""
    words = words_of(width)
    for m in range(first, end, GROUP):
        if groups[m // GROUP] != POSSIBLE:
            clear_left(rows, outputs, m // GROUP, groups, width)
            continue
        for k in range(m, m + GROUP):
            store(rows, item(outputs, k) * words, literal(rows, wires, k, width))


@inlined
def clear_left(rows: U64, outputs: I32, group: int, groups: Groups, width: tuple[int, ...]) -> None:
    """Clear the rows of a group if bits are left in them."""
    if groups[group] != IDLE:
        for k in range(GROUP * group, GROUP * group + GROUP):
            store(rows, item(outputs, k) * words_of(width), splat(np.uint64(0), width))
        groups[group] = IDLE


# ------------------------------------------------------------------------
# Draws legal moves by weight, for all lanes of a block at once.
#
# Instead of legal moves, their weights are added up in sliced numbers. A uniform number below the
# sum is drawn for each lane. Counting down from it by the weights of legal moves meets the chosen
# one:
#
# legal, weight     a 3   b 1   c 4        sum 8, drawn 3
#     counting down     0     -1               b is chosen: the first that borrows from nothing
#
# All lanes share the weights, so the bits of a weight are the same for a whole vector. Weights of 1
# draw exactly what is drawn uniformly, with the same random bits.


@inlined
def add_weights(
    rows: U64,
    wires: Wires,
    first: int,
    end: int,
    lanes: Any,
    odds: I32,
    always: Groups,
    groups: Groups,
    planes: U64,
    width: tuple[int, ...],
) -> int:
    """Add up the weights of the literals `first .. end` in sliced numbers; returns the planes used.

    If no lane has two literals, the only plane says which lanes have one, whatever it weighs. Other
    arguments are those of `count_legal`.

    Args:
        odds: the weight of each literal, at least 1.
    """
    words = words_of(width)
    some = splat(np.uint64(0), width)
    several = some
    for m in range(first, end, GROUP):
        group = m // GROUP
        before = some
        held = splat(np.uint64(0), width)
        for k in range(m, m + GROUP):
            x = literal(rows, wires, k, width)
            several = bor(several, band(some, x))
            some = bor(some, x)
            held = bor(held, x)
        if always[group] or reduce_or(band(lanes, held)):
            groups[group] = POSSIBLE
        else:
            # What lanes that do not matter have is left out.
            some = before
            groups[group] = LEFT if groups[group] else IDLE
    if not reduce_or(band(several, lanes)):
        store(planes, 0, some)
        return 1
    used, most = 0, 0
    for m in range(first, end):
        if groups[m // GROUP] != POSSIBLE:
            continue
        weight = int(odds[m])
        most += weight
        while most >> used:
            store(planes, used * words, splat(np.uint64(0), width))
            used += 1
        x = literal(rows, wires, m, width)
        carry = splat(np.uint64(0), width)
        for j in range(used):
            old = load(planes, j * words, width)
            if (weight >> j) & 1:
                half = bxor(old, x)
                store(planes, j * words, bxor(half, carry))
                carry = bor(band(old, x), band(half, carry))
            else:
                store(planes, j * words, bxor(old, carry))
                carry = band(old, carry)
    return used


@inlined
def pick_weighed(
    rows: U64,
    wires: Wires,
    first: int,
    end: int,
    outputs: I32,
    odds: I32,
    groups: Groups,
    planes: U64,
    used: int,
    width: tuple[int, ...],
) -> None:
    """Set the row of the first legal move whose weight exceeds what is left of the sliced numbers
    in `planes` (used up). See `pick`.
    """
    words = words_of(width)
    for m in range(first, end):
        if groups[m // GROUP] != POSSIBLE:
            if m % GROUP == 0:
                clear_left(rows, outputs, m // GROUP, groups, width)
            continue
        weight = int(odds[m])
        x = literal(rows, wires, m, width)
        # Once a number is below 0 it stays so far above what follows that nothing borrows again.
        borrow = splat(np.uint64(0), width)
        for j in range(used):
            old = load(planes, j * words, width)
            if (weight >> j) & 1:
                half = bxor(old, x)
                store(planes, j * words, bxor(half, borrow))
                borrow = bor(but_not(x, old), but_not(borrow, half))
            else:
                store(planes, j * words, bxor(old, borrow))
                borrow = but_not(borrow, old)
        store(rows, item(outputs, m) * words, borrow)
