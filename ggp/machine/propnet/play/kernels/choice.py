"""Draws a random legal move for every lane of a block at once, exactly uniformly, bit-sliced.

In come the rows of a role's legal moves, out go the rows of its moves, with one bit set in each
lane. Numbers are *sliced*: plane j holds bit j of every lane's number. Legal moves are counted in
sliced numbers, a uniform number below the count is drawn for each lane by rejection, and counting
down from it meets the chosen move. That takes a few vector instructions for each move and 1,024
lanes; scanning lane by lane would take as many for each lane.

An example of four lanes, written from the left, and three moves:

    legal: move a   1 0 1 1        count, bit 0   1 1 0 1     as numbers  3 1 2 1
           move b   1 1 0 0        count, bit 1   1 0 1 0
           move c   1 0 1 0
    drawn below the count           2 0 0 0
    counting down: a is legal in lanes 0, 2, 3; there 2 0 0 becomes 1 - -: lanes 2 and 3 were at
    0 and choose a. b: lane 0 goes from 1 to 0, lane 1 was at 0 and chooses b. c: lane 0 chooses it.

A lane "was at 0" if the borrow runs through all its planes. Its number then wraps round to the
largest one, which no later move can bring down to 0 again: so no lane chooses twice.

If there are many moves, most are legal in no lane of a block. A group of such moves is not counted.
The rule for its rows: they are zero whenever its state is `IDLE`, so they are cleared only when an
earlier step left bits in them.
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
from ggp.machine.propnet.play.kernels.lanes.packing import literal
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Wires

MAX_PLANES = 24
"""Bits of a count: a role may have up to 2**24 - 1 moves."""

GROUP = 4
"""Number of moves counted and picked together; each role's are filled up to a multiple of it."""

Groups = NDArray[np.uint8]
"""One value for each group of moves."""

SPARSE = 256
"""Roles with at least this many moves skip groups that are legal in no lane: for fewer moves the
test takes longer than counting them."""

IDLE, POSSIBLE, LEFT = range(3)
"""State of a group of moves: legal in no lane, and its rows are zero; legal in some lane, so its
rows are written; legal in no lane, but bits of earlier moves are still in its rows."""

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def seed_words(key: np.uint64, rng: U64) -> None:
    """Fill a generator's state from a 64-bit key (splitmix64)."""
    state = key
    for i in range(len(rng)):
        state += GOLDEN
        rng[i] = finalised(state)


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

    A ripple counter: planes 0 and 1 stay in registers (`units`, `twos`), the others in memory.
    Both ends are multiples of `GROUP`. Lanes not in `lanes` get arbitrary numbers.

    Args:
        always: whether a group is counted even if no lane has one of its literals.
        groups: state of each group, filled in from `first` on; see `IDLE`.
        planes: `[MAX_PLANES, W]`, filled in; planes that are not used are undefined.
    """
    words = words_of(width)
    units = splat(np.uint64(0), width)
    twos = units
    num_bits = 2
    for m in range(first, end, GROUP):
        group = m // GROUP
        w, x = literal(rows, wires, m, width), literal(rows, wires, m + 1, width)
        y, z = literal(rows, wires, m + 2, width), literal(rows, wires, m + 3, width)
        if not always[group] and not reduce_or(band(lanes, bor(bor(w, x), bor(y, z)))):
            groups[group] = LEFT if groups[group] else IDLE
            if m + GROUP - first >= 1 << num_bits:
                store(planes, num_bits * words, splat(np.uint64(0), width))
                num_bits += 1
            continue
        groups[group] = POSSIBLE
        # Four moves are added up before a carry goes on to the planes in memory.
        half = bxor(units, w)
        first_carry = bor(band(units, w), band(half, x))
        units = bxor(half, x)
        half = bxor(units, y)
        second_carry = bor(band(units, y), band(half, z))
        units = bxor(half, z)
        half = bxor(twos, first_carry)
        carry = bor(band(twos, first_carry), band(half, second_carry))
        twos = bxor(half, second_carry)
        # The carry goes through as many planes as it could reach after so many moves, not only as
        # far as it does: so no branch is mispredicted.
        for j in range(2, num_bits):
            old = load(planes, j * words, width)
            store(planes, j * words, bxor(old, carry))
            carry = band(old, carry)
        if m + GROUP - first >= 1 << num_bits:
            store(planes, num_bits * words, carry)
            num_bits += 1
    store(planes, 0, units)
    store(planes, words, twos)
    return num_bits


@inlined
def draw_below(planes: U64, num_bits: int, lanes: Any, rng: U64, width: tuple[int, ...]) -> None:
    """Replace sliced counts by sliced uniform numbers below them, in some lanes.

    Rejection sampling in every lane: numbers of just enough bits are drawn until one is at most
    count - 1. A count of 2 in one lane and of 3 in another needs 1 and 2 bits; only the second lane
    can draw too high a number, and only it draws again. Lanes not in `lanes` get arbitrary numbers.
    `planes`: `[3 * MAX_PLANES, W]`, the last two thirds are scratch.
    """
    words = words_of(width)
    # The second third: highest number allowed; the last third: the bits it needs.
    limits = MAX_PLANES * words
    above = 2 * MAX_PLANES * words
    # Minus 1: a plane changes while there is a borrow, and a 0 passes it on. A count of 0 wraps
    # round, in lanes that the mask leaves out.
    borrow = splat(_ALL, width)
    for j in range(num_bits):
        x = load(planes, j * words, width)
        store(planes, limits + j * words, bxor(x, borrow))
        borrow = but_not(borrow, x)
    # No allowed number has a bit above the highest bit of the limit. Only the other bits
    # are drawn, so that more than half of all draws are allowed.
    bit_mask = splat(np.uint64(0), width)
    for j in range(num_bits - 1, -1, -1):
        bit_mask = bor(bit_mask, load(planes, limits + j * words, width))
        store(planes, above + j * words, bit_mask)
    # A lane that drew too high draws again, and only that lane: in expectation, fewer than half of
    # the lanes. So the numbers are exactly uniform, which scaling a random number would not give.
    waiting = lanes
    a, b = load(rng, 0, width), load(rng, words, width)
    while reduce_or(waiting):
        # Compared from the lowest plane up, so that the highest differing bit decides.
        over = splat(np.uint64(0), width)
        for j in range(num_bits):
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
    num_bits: int,
    width: tuple[int, ...],
) -> None:
    """Set the row of each lane's n-th legal move, n being its sliced number in `planes`.

    The numbers are overwritten. Both ends are multiples of `GROUP`, and at least two planes are
    used. Only groups that were counted are read.
    """
    words = words_of(width)
    units, twos = load(planes, 0, width), load(planes, words, width)
    for m in range(first, end, GROUP):
        # Subtract 1 for each legal move. A borrow that no plane stops means that the number was 0:
        # this is the move. The number has then wrapped round, and no later move can reach 0 again.
        # Of two moves, at most one borrows from the twos; of four, one from the planes above.
        if groups[m // GROUP] != POSSIBLE:
            clear_left(rows, outputs, m // GROUP, groups, width)
            continue
        w = literal(rows, wires, m, width)
        w_borrows = but_not(w, units)
        units = bxor(units, w)
        x = literal(rows, wires, m + 1, width)
        x_borrows = but_not(x, units)
        units = bxor(units, x)
        y = literal(rows, wires, m + 2, width)
        y_borrows = but_not(y, units)
        units = bxor(units, y)
        z = literal(rows, wires, m + 3, width)
        z_borrows = but_not(z, units)
        units = bxor(units, z)
        pair = bor(w_borrows, x_borrows)
        first_pair = but_not(pair, twos)
        twos = bxor(twos, pair)
        pair = bor(y_borrows, z_borrows)
        second_pair = but_not(pair, twos)
        twos = bxor(twos, pair)
        borrow = bor(first_pair, second_pair)
        for j in range(2, num_bits):
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
    """Clear the rows of a group, unless they are zero already."""
    if groups[group] != IDLE:
        for k in range(GROUP * group, GROUP * group + GROUP):
            store(rows, item(outputs, k) * words_of(width), splat(np.uint64(0), width))
        groups[group] = IDLE


# ------------------------------------------------------------------------
# Draws legal moves by weight, for all lanes of a block at once.
#
# As above, but the weights of legal moves are added up in sliced numbers, not the moves. A uniform
# number below the sum is drawn for each lane. Counting down from it by the weights of legal moves
# meets the chosen one:
#
#     legal, weight     a 3   b 1   c 4        sum 8, drawn 3
#     counting down     0     -1               b is chosen: the first that makes it negative
#
# All lanes share the weights, so the bits of a weight are the same for a whole vector. With weights
# of 1, the draws and the random bits are exactly those of uniform draws.


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

    If no lane has two literals, one plane is used: it marks the lanes with a literal, whatever its
    weight. Other arguments are those of `count_legal`.

    Args:
        odds: the weight of each literal, at least 1.
    """
    words = words_of(width)
    covered = splat(np.uint64(0), width)
    several = covered
    for m in range(first, end, GROUP):
        group = m // GROUP
        previous = covered
        group_lanes = splat(np.uint64(0), width)
        for k in range(m, m + GROUP):
            x = literal(rows, wires, k, width)
            several = bor(several, band(covered, x))
            covered = bor(covered, x)
            group_lanes = bor(group_lanes, x)
        if always[group] or reduce_or(band(lanes, group_lanes)):
            groups[group] = POSSIBLE
        else:
            # The literals of lanes that do not matter are ignored.
            covered = previous
            groups[group] = LEFT if groups[group] else IDLE
    if not reduce_or(band(several, lanes)):
        store(planes, 0, covered)
        return 1
    num_bits, max_sum = 0, 0
    for m in range(first, end):
        if groups[m // GROUP] != POSSIBLE:
            continue
        weight = int(odds[m])
        max_sum += weight
        while max_sum >> num_bits:
            store(planes, num_bits * words, splat(np.uint64(0), width))
            num_bits += 1
        x = literal(rows, wires, m, width)
        carry = splat(np.uint64(0), width)
        for j in range(num_bits):
            old = load(planes, j * words, width)
            if (weight >> j) & 1:
                half = bxor(old, x)
                store(planes, j * words, bxor(half, carry))
                carry = bor(band(old, x), band(half, carry))
            else:
                store(planes, j * words, bxor(old, carry))
                carry = band(old, carry)
    return num_bits


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
    num_bits: int,
    width: tuple[int, ...],
) -> None:
    """Set the row of the first legal move whose weight exceeds the rest of the lane's number.

    The sliced numbers in `planes` are overwritten. See `pick`.
    """
    words = words_of(width)
    for m in range(first, end):
        if groups[m // GROUP] != POSSIBLE:
            if m % GROUP == 0:
                clear_left(rows, outputs, m // GROUP, groups, width)
            continue
        weight = int(odds[m])
        x = literal(rows, wires, m, width)
        # A number that went below 0 has wrapped round to more than the sum of all later weights: so
        # nothing borrows from it again.
        borrow = splat(np.uint64(0), width)
        for j in range(num_bits):
            old = load(planes, j * words, width)
            if (weight >> j) & 1:
                half = bxor(old, x)
                store(planes, j * words, bxor(half, borrow))
                borrow = bor(but_not(x, old), but_not(borrow, half))
            else:
                store(planes, j * words, bxor(old, borrow))
                borrow = but_not(borrow, old)
        store(rows, item(outputs, m) * words, borrow)
