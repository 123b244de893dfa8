"""Kernels that read boards from packed states, and value them by their pieces, lane by lane.

`board_values` calls them with tables of the declared pieces; the other kernels of the room reuse
`attacks` and `lead_of`. Theory of operation: a piece attacks the squares along its rays, up to and
including the first occupied one. A single step is a ray of one square, so one rule serves all
pieces. A set of squares is a word, so a board has at most 64.

The squares of a ray are a constant apart. So the nearest occupied square of a ray upwards is the
lowest bit of the occupied ones, and that of a ray downwards the highest. Masks give the attacked
squares without a walk along the ray, and without a branch:

    ray upwards          . . 1 1 1 1 1 .        occupied         . 1 . 1 . 1 . .
    nearest, and below   1 1 1 1 . . . .        attacked         . . 1 1 . . . .

One table holds what each piece adds to the lead of a side. Leads are sums of whole numbers, so they
do not depend on the order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.compiling.vectors import item, leading_zeros, lowest_one

I32 = NDArray[np.int32]
U64 = NDArray[np.uint64]

EMPTY = -1
"""No piece, or no square."""

SIDES = 2

MAX_SQUARES = 64

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)


@by_reference
class RayMasks(NamedTuple):
    """The squares that pieces attack, as words: K kinds of pieces, S squares.

    Attributes:
        leaps: `[K * S]` squares that are attacked whatever is in the way.
        slides: `[K]` 1 for kinds with rays of several squares.
        num_up, num_down: largest number of rays of a kind from a square that go to higher, and to
            lower indices of squares.
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
    """Shares of pieces in the lead of one side.

    Attributes:
        side: `[K]` owner: 0 or 1.
        leads: `[K * S * 4]` in units, for a kind on a square that neither side attacks, the first,
            the second, or both.
    """

    side: I32
    leads: I32


@inlined
def attacks(masks: RayMasks, code: Any, at: Any, occupied: np.uint64) -> np.uint64:
    """Squares that a piece attacks; `at`: its kind * S + its square."""
    targets = np.uint64(item(masks.leaps, at))
    if item(masks.slides, code):
        targets |= slides(masks, at, occupied)
    return targets


@inlined
def slides(masks: RayMasks, at: Any, occupied: np.uint64) -> np.uint64:
    """Squares that a piece attacks along its rays; `at` as for `attacks`."""
    targets = np.uint64(0)
    start = at * masks.num_up
    for ray in range(start, start + masks.num_up):
        squares = np.uint64(item(masks.up, ray))
        stops = squares & occupied
        # All bits up to the nearest stop; without a stop, all 64.
        targets |= squares & (stops ^ (stops - _ONE))
    start = at * masks.num_down
    for ray in range(start, start + masks.num_down):
        squares = np.uint64(item(masks.down, ray))
        # Bit 0 stands in for a missing stop: if it is on the ray at all, it is the last square.
        nearest = 63 - leading_zeros((squares & occupied) | _ONE)
        targets |= squares & (_ALL << np.uint64(nearest))
    return targets


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
    """Lead of a table's side on a board, in units: a sum over occupied squares.

    Args:
        codes, start: the pieces of all boards, flat, and where this board begins.
        first, second: squares that each side attacks.
    """
    lead = np.int64(0)
    rest = occupied
    while rest:
        square = np.uint64(lowest_one(rest))
        rest &= rest - _ONE
        code = np.int64(item(codes, start + np.int64(square)))
        # 0 to 3: attacked by neither side, the first, the second, or both.
        by = np.int64((first >> square) & _ONE | ((second >> square) & _ONE) << _ONE)
        lead += item(table.leads, 4 * (code * squares + np.int64(square)) + by)
    return lead


@kernel
def value_boards(
    codes: np.ndarray,
    occupancy: U64,
    squares: int,
    masks: RayMasks,
    table: LeadTable,
    leads: np.ndarray,
    attacked: U64,
) -> None:
    """Write the lead of the table's side in each lane, and the squares that each side attacks.

    Args:
        codes, occupancy: `[L * S]`, `[L]` the pieces of all lanes, and the occupied squares.
        leads: `[L]` out.
        attacked: `[L, 2]` out.
    """
    for lane in range(len(leads)):
        start = lane * squares
        occupied, sliders = occupancy[lane], np.uint64(0)
        first, second = np.uint64(0), np.uint64(0)
        rest = occupied
        while rest:
            square = lowest_one(rest)
            rest &= rest - _ONE
            code = np.int64(item(codes, start + square))
            targets = np.uint64(item(masks.leaps, code * squares + square))
            # No branch on the side: `side - 1` is all ones for side 0, `0 - side` for side 1.
            side = np.uint64(item(table.side, code))
            first |= targets & (side - _ONE)
            second |= targets & (np.uint64(0) - side)
            sliders |= np.uint64(item(masks.slides, code)) << np.uint64(square)
        # Sliders in a loop of their own, as in `leaf_kernels`: few branches are mispredicted.
        while sliders:
            square = lowest_one(sliders)
            sliders &= sliders - _ONE
            code = np.int64(item(codes, start + square))
            targets = slides(masks, code * squares + square, occupied)
            side = np.uint64(item(table.side, code))
            first |= targets & (side - _ONE)
            second |= targets & (np.uint64(0) - side)
        leads[lane] = lead_of(table, codes, start, squares, occupied, first, second)
        attacked[lane, 0], attacked[lane, 1] = first, second


@kernel
def read_boards(
    words: np.ndarray,
    blocks: I32,
    masks: np.ndarray,
    square_of: I32,
    code_of: I32,
    codes: np.ndarray,
    num_pieces: np.ndarray,
    occupancy: np.ndarray,
) -> None:
    """Read the pieces of each lane.

    Args:
        words: `[L, W]` packed fluents.
        blocks, masks: `[B]` the words with fluents that stand for pieces, and the bits of these.
        square_of, code_of: `[64 * W]` square and code of the piece that a fluent stands for.
        codes: `[L, S]` out: `EMPTY` where there is no piece.
        num_pieces: `[L]` out: number of occupied squares.
        occupancy: `[L]` out: the occupied squares.
    """
    for lane in range(len(words)):
        for square in range(codes.shape[1]):
            codes[lane, square] = EMPTY
        count, squares = 0, np.uint64(0)
        for n in range(len(blocks)):
            block = np.int64(blocks[n])
            word = words[lane, block] & masks[n]
            while word:
                fluent = 64 * block + lowest_one(word)
                word &= word - np.uint64(1)
                square = item(square_of, fluent)
                count += codes[lane, square] == EMPTY
                codes[lane, square] = item(code_of, fluent)
                squares |= np.uint64(1) << np.uint64(square)
        num_pieces[lane], occupancy[lane] = count, squares


@kernel
def order_runs(owner: IntArray, key: FloatArray, order: IntArray) -> None:
    """Sort each run of equal owners by key, stably; `order[N]`: out."""
    start = 0
    while start < len(owner):
        end = start + 1
        while end < len(owner) and owner[end] == owner[start]:
            end += 1
        for k in range(start, end):
            order[k] = k
        gap = 1  # Shell sort: most runs are short. Ties go by index, which makes it stable.
        while gap < (end - start) // 3:
            gap = 3 * gap + 1
        while gap:
            for k in range(start + gap, end):
                entry, at = order[k], k
                while at - gap >= start:
                    above = order[at - gap]
                    if key[above] < key[entry] or (key[above] == key[entry] and above < entry):
                        break
                    order[at] = above
                    at -= gap
                order[at] = entry
            gap //= 3
        start = end
