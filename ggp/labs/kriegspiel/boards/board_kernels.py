"""Kernels that value boards with pieces, lane by lane.

Steps are rays of one square, so all attacks are found in one way: along each ray of a piece, up to
the first occupied square.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.compiling.vectors import item, leading_zeros, lowest_one

# ------------------------------------------------------------------------
# Kernels on boards of at most 64 squares: sets of squares are words.
#
# The squares of a ray are a constant apart, so the one that is nearest on a ray upwards is the
# lowest bit of those that are occupied, and on a ray downwards the highest. What a piece attacks is
# found without following its rays, and without a branch:
#
# ray upwards          . . 1 1 1 1 1 .        occupied         . 1 . 1 . 1 . .
#     nearest, and below   1 1 1 1 . . . .        attacked         . . 1 1 . . . .
#
# What a piece adds to the lead of a side is read from one table, and whole numbers are added up, so
# values are those of `board_kernels` to the last bit.

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


# ------------------------------------------------------------------------

I32 = NDArray[np.int32]

EMPTY = -1
"""No piece, or no square."""

SIDES = 2


@by_reference
class PieceTables(NamedTuple):
    """The attacks and values of pieces.

    A code is a kind of piece of one side: K of them, and S squares. Values are whole numbers of a
    unit, see `piece_tables`.

    Attributes:
        side: `[K]` owner: 0 or 1.
        worth: `[K]` value of a piece.
        ahead: `[K, S]` bonus for standing there: ranks that a pawn has advanced.
        protected, threatened: `[K]` what its side gets if the piece is protected, and what the
            other one gets if it is attacked.
        check: `[K]` what else the other side gets then and this one does not lose, for pieces that
            can be in check.
        first_ray: `[K * S + 1]` the rays of a kind from a square.
        first_target: `[rays + 1]` the squares of each ray.
        target: these squares, the nearest first.
        attacked: `[2, S]` scratch: by each side.
    """

    side: I32
    worth: IntArray
    ahead: IntArray
    protected: IntArray
    threatened: IntArray
    check: IntArray
    first_ray: I32
    first_target: I32
    target: I32
    attacked: I32


@kernel
def read_boards(
    words: np.ndarray,
    blocks: I32,
    masks: np.ndarray,
    square: I32,
    code: I32,
    codes: np.ndarray,
    number: np.ndarray,
    held: np.ndarray,
) -> None:
    """Read the pieces of each lane.

    Args:
        words: `[L, W]` packed fluents.
        blocks, masks: `[B]` the words in which fluents stand for pieces, and which bits do.
        square, code: `[64 * W]` meaning of these fluents: a square and the code of the piece there.
        codes: `[L, S]` out: `EMPTY` where there is no piece.
        number: `[L]` out: number of squares with a piece.
        held: `[L]` out: these squares, if there are no more than 64.
    """
    for lane in range(len(words)):
        for place in range(codes.shape[1]):
            codes[lane, place] = EMPTY
        count, squares = 0, np.uint64(0)
        for n in range(len(blocks)):
            block = np.int64(blocks[n])
            word = words[lane, block] & masks[n]
            while word:
                fluent = 64 * block + lowest_one(word)
                word &= word - np.uint64(1)
                place = item(square, fluent)
                count += codes[lane, place] == EMPTY
                codes[lane, place] = item(code, fluent)
                squares |= np.uint64(1) << np.uint64(place & 63)
        number[lane], held[lane] = count, squares


@inlined
def _attack(codes: np.ndarray, lane: int, tables: PieceTables) -> None:
    """Mark the squares that the pieces of a lane attack."""
    squares = codes.shape[1]
    for square in range(squares):
        tables.attacked[0, square] = 0
        tables.attacked[1, square] = 0
    for square in range(squares):
        code = np.int64(codes[lane, square])
        if code == EMPTY:
            continue
        side = np.int64(tables.side[code])
        at = code * squares + square
        for ray in range(tables.first_ray[at], tables.first_ray[at + 1]):
            for step in range(tables.first_target[ray], tables.first_target[ray + 1]):
                target = np.int64(tables.target[step])
                tables.attacked[side, target] = 1
                if codes[lane, target] != EMPTY:
                    break


@kernel
def value_boards(codes: np.ndarray, tables: PieceTables, leads: np.ndarray) -> None:
    """The lead of each side in each lane.

    Args:
        codes: `[L, S]` pieces.
        leads: `[L, 2]` out.
    """
    for lane in range(len(codes)):
        _attack(codes, lane, tables)
        for side in range(SIDES):
            lead = 0
            for square in range(codes.shape[1]):
                code = np.int64(codes[lane, square])
                if code == EMPTY:
                    continue
                own = tables.side[code] == side
                value = tables.worth[code] + tables.ahead[code, square]
                if tables.attacked[tables.side[code], square]:
                    value += tables.protected[code]
                if tables.attacked[1 - tables.side[code], square]:
                    value -= tables.threatened[code]
                    if not own:
                        lead += tables.check[code]
                lead += value if own else -value
            leads[lane, side] = lead


@kernel
def attack_boards(codes: np.ndarray, tables: PieceTables, side: int, out: np.ndarray) -> None:
    """`out[L, S]`: whether some piece of a side attacks the square."""
    for lane in range(len(codes)):
        _attack(codes, lane, tables)
        for square in range(codes.shape[1]):
            out[lane, square] = tables.attacked[side, square] != 0


@kernel
def order_runs(owner: IntArray, key: FloatArray, order: IntArray) -> None:
    """Sort runs of equal owners by their keys, and those of equal keys as they are: `order[N]`."""
    start = 0
    while start < len(owner):
        end = start + 1
        while end < len(owner) and owner[end] == owner[start]:
            end += 1
        for k in range(start, end):
            order[k] = k
        gap = 1  # Shell's sort: most runs are short
        while gap < (end - start) // 3:
            gap = 3 * gap + 1
        while gap:
            for k in range(start + gap, end):
                moved, at = order[k], k
                while at - gap >= start:
                    other = order[at - gap]
                    if key[other] < key[moved] or (key[other] == key[moved] and other < moved):
                        break
                    order[at] = other
                    at -= gap
                order[at] = moved
            gap //= 3
        start = end
