"""Kernels on boards of at most 64 squares: sets of squares are words.

The squares of a ray are a constant apart, so the one that is nearest on a ray upwards is the lowest
bit of those that are occupied, and on a ray downwards the highest. What a piece attacks is found
without following its rays, and without a branch:

    ray upwards          . . 1 1 1 1 1 .        occupied         . 1 . 1 . 1 . .
    nearest, and below   1 1 1 1 . . . .        attacked         . . 1 1 . . . .

What a piece adds to the lead of a side is read from one table, and whole numbers are added up, so
values are those of `board_kernels` to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.labs.kriegspiel.boards.board_kernels import EMPTY, I32, PieceTables
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.compiling.vectors import item, leading_zeros, lowest_one

U64 = NDArray[np.uint64]

MOST_SQUARES = 64

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@by_reference
class RayMasks(NamedTuple):
    """The squares that pieces attack, as words: K kinds of pieces, S squares.

    Attributes:
        leaps: `[K * S]` squares that are attacked whatever is in the way.
        slides: `[K]` 1 for kinds with rays.
        num_up, num_down: most rays of a kind from a square that go to higher, and to lower numbers
            of squares.
        up, down: `[K * S * num_up]`, `[K * S * num_down]` the squares of these rays, 0 for none.
    """

    leaps: U64
    slides: I32
    num_up: int
    up: U64
    num_down: int
    down: U64


@by_reference
class LeadTable(NamedTuple):
    """What pieces add to the lead of one side.

    Attributes:
        side: `[K]` owner: 0 or 1.
        leads: `[K * S * 4]` in units, for a kind on a square that is attacked by neither side, the
            first, the second, or both.
    """

    side: I32
    leads: I32


@inlined
def _occupied(codes: np.ndarray, lane: int) -> np.uint64:
    """The squares of a lane with a piece."""
    found = np.uint64(0)
    for square in range(codes.shape[1]):
        found |= np.uint64(codes[lane, square] != EMPTY) << np.uint64(square)
    return found


@inlined
def attacks(masks: RayMasks, code: Any, at: Any, occupied: np.uint64) -> np.uint64:
    """The squares that a piece attacks; `at`: its kind * S + its square."""
    found = np.uint64(item(masks.leaps, at))
    if item(masks.slides, code):
        found |= slides(masks, at, occupied)
    return found


@inlined
def slides(masks: RayMasks, at: Any, occupied: np.uint64) -> np.uint64:
    """The squares that a piece attacks along its rays."""
    one = np.uint64(1)
    found = np.uint64(0)
    start = at * masks.num_up
    for ray in range(start, start + masks.num_up):
        squares = np.uint64(item(masks.up, ray))
        stops = squares & occupied
        found |= squares & (stops ^ (stops - one))  # all bits, if nothing is in the way
    start = at * masks.num_down
    for ray in range(start, start + masks.num_down):
        squares = np.uint64(item(masks.down, ray))
        # The lowest square is the last of a ray, or not on it: nothing is behind it.
        nearest = 63 - leading_zeros((squares & occupied) | one)
        found |= squares & (_ALL << np.uint64(nearest))
    return found


@inlined
def lead_of(
    table: LeadTable,
    codes: np.ndarray,
    start: int,
    squares: int,
    occupied: np.uint64,
    first: np.uint64,
    second: np.uint64,
) -> Any:
    """The lead of the side of a table on a board, in units.

    Args:
        codes, start: the pieces, flat, and where those of the board begin.
        first, second: squares that each side attacks.
    """
    one = np.uint64(1)
    lead = np.int64(0)
    rest = occupied
    while rest:
        square = np.uint64(lowest_one(rest))
        rest &= rest - one
        code = np.int64(item(codes, start + np.int64(square)))
        by = np.int64((first >> square) & one | ((second >> square) & one) << one)
        lead += item(table.leads, 4 * (code * squares + np.int64(square)) + by)
    return lead


@kernel
def value_masks(
    codes: np.ndarray,
    held: U64,
    squares: int,
    masks: RayMasks,
    table: LeadTable,
    leads: np.ndarray,
) -> None:
    """As `board_kernels.value_boards`, for the side of the table.

    Args:
        codes, held: `[L * S]`, `[L]` the pieces of all lanes, and the squares with one.
        leads: `[L]` out.
    """
    one = np.uint64(1)
    for lane in range(len(leads)):
        start = lane * squares
        occupied, sliders = held[lane], np.uint64(0)
        first, second = np.uint64(0), np.uint64(0)
        rest = occupied
        while rest:
            square = lowest_one(rest)
            rest &= rest - one
            code = np.int64(item(codes, start + square))
            found = np.uint64(item(masks.leaps, code * squares + square))
            side = np.uint64(item(table.side, code))
            first |= found & (side - one)
            second |= found & (np.uint64(0) - side)
            sliders |= np.uint64(item(masks.slides, code)) << np.uint64(square)
        while sliders:
            square = lowest_one(sliders)
            sliders &= sliders - one
            code = np.int64(item(codes, start + square))
            found = slides(masks, code * squares + square, occupied)
            side = np.uint64(item(table.side, code))
            first |= found & (side - one)
            second |= found & (np.uint64(0) - side)
        leads[lane] = lead_of(table, codes, start, squares, occupied, first, second)


@kernel
def list_captures(
    offsets: np.ndarray,
    moves: np.ndarray,
    wanted: np.ndarray,
    places: I32,
    last: np.ndarray,
    codes: np.ndarray,
    tables: PieceTables,
    masks: RayMasks,
    side: int,
    found: np.ndarray,
) -> int:
    """List the moves of a side that may take a piece of the other one; returns their number.

    Args:
        offsets, moves: `[L + 1]`, `[N]` its legal moves.
        wanted: `[L]` which lanes to look at.
        places: `[moves, 2]` the squares that moves go to, and come from; `EMPTY` where there is
            none, or it is not known: then whatever goes to the square may take what is there.
        last: `[L]` the only square on which pieces may be taken; `EMPTY`: any.
        found: `[N, 3]` out: lane, move and square.
    """
    squares = codes.shape[1]
    count = 0
    for lane in range(len(codes)):
        if not wanted[lane]:
            continue
        occupied = _occupied(codes, lane)
        for number in range(offsets[lane], offsets[lane + 1]):
            target, origin = places[moves[number], 0], places[moves[number], 1]
            if target == EMPTY or (last[lane] != EMPTY and target != last[lane]):
                continue
            taken = np.int64(codes[lane, target])
            if taken == EMPTY or tables.side[taken] == side:
                continue
            if origin != EMPTY and len(masks.leaps):
                piece = np.int64(codes[lane, origin])
                if piece == EMPTY or tables.side[piece] != side:
                    continue
                reach = attacks(masks, piece, piece * squares + origin, occupied)
                if not (reach >> np.uint64(target)) & np.uint64(1):
                    continue
            found[count, 0], found[count, 1], found[count, 2] = lane, moves[number], target
            count += 1
    return count
