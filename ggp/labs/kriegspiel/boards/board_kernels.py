"""Kernels that value boards with pieces, lane by lane.

Steps are rays of one square, so all attacks are found in one way: along each ray of a piece, up to
the first occupied square.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.compiling.vectors import item, lowest_one

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
