"""Draws the random moves of one step of a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from ggp.machine.compiling.jit import inlined
from ggp.machine.compiling.vectors import (
    band,
    bor,
    but_not,
    bxor,
    item,
    load,
    out_of_line,
    reduce_or,
    splat,
    store,
    words_of,
)
from ggp.machine.propnet.play.kernels.blocks import Block, PlayoutPlan
from ggp.machine.propnet.play.kernels.choice import (
    GROUP,
    IDLE,
    LEFT,
    POSSIBLE,
    Groups,
    clear_left,
    count_legal,
    draw_below,
    literal,
    make_all,
    pick,
)
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Wires


@inlined
def draw_moves(
    plan: PlayoutPlan, odds: I32, block: Block, first: int, end: int, width: tuple[int, ...]
) -> bool:
    """Make random moves of a role in the lanes of the third mask, and arbitrary ones in others.

    Args:
        odds: see `Queue`.

    Returns:
        whether lanes had no move: these no longer play on, and are the third mask now.
    """
    out_of_line()
    words = words_of(width)
    rows, masks, planes, groups = block.rows, block.masks, block.planes, block.groups
    legal, move_rows = plan.legal, plan.move_rows
    lanes = load(masks, 2 * words, width)
    always, weighed = plan.always, len(odds) > 0
    if weighed:
        used = add_weights(rows, legal, first, end, lanes, odds, always, groups, planes, width)
    else:
        used = count_legal(rows, legal, first, end, lanes, always, groups, planes, width)
    any_move = load(planes, 0, width)
    for j in range(1, used):
        any_move = bor(any_move, load(planes, j * words, width))
    stuck = but_not(lanes, any_move)
    lanes = band(lanes, any_move)
    # Other lanes hold unreachable states, for which circuits may give any values: the use of
    # random bits must not depend on them.
    while used > 1 and not reduce_or(band(load(planes, (used - 1) * words, width), lanes)):
        used -= 1
    # With at most one legal move in every lane, the legal moves are those made.
    if used == 1:
        make_all(rows, legal, first, end, move_rows, groups, width)
    else:
        draw_below(planes, used, lanes, block.rng, width)
        if weighed:
            pick_weighed(rows, legal, first, end, move_rows, odds, groups, planes, used, width)
        else:
            pick(rows, legal, first, end, move_rows, groups, planes, used, width)
    if not reduce_or(stuck):
        return False
    store(masks, 2 * words, stuck)
    store(masks, 0, but_not(load(masks, 0, width), stuck))
    return True


# ------------------------------------------------------------------------
# Draws legal moves by weight, for all lanes of a block at once; `choice` draws them uniformly.
#
# Instead of legal moves, their weights are added up in sliced numbers. A uniform number below the
# sum is drawn for each lane. Counting down from it by the weights of legal moves meets the chosen
# one:
#
# legal, weight     a 3   b 1   c 4        sum 8, drawn 3
#     counting down     0     -1               b is chosen: the first that borrows from nothing
#
# All lanes share the weights, so the bits of a weight are the same for a whole vector. Weights of 1
# draw exactly what `choice` draws, with the same random bits.


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
    arguments are those of `choice.count_legal`.

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
    in `planes` (used up). See `choice.pick`.
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
