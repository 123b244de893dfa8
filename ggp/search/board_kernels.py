"""Kernels that value boards with pieces, lane by lane.

Steps are rays of one square, so whatever a piece attacks is found in one way: along each of its
rays, up to the first square that is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import FloatArray
from ggp.machine.jit import by_reference, inlined, kernel
from ggp.machine.propnet.play.vectors import lowest_one

I32 = NDArray[np.int32]

EMPTY = -1
"""No piece, or no square."""

SIDES = 2


@by_reference
class Boards(NamedTuple):
    """How pieces stand in packed states, and what they attack and are worth.

    A code is a kind of piece of one side: K of them, and S squares. Fluents are bits of words.

    Attributes:
        square, code: `[64 * words]` of the fluent that is this bit, `EMPTY` of all others.
        side: `[K]` whose: 0 or 1.
        worth: `[K]` value of a piece.
        ahead: `[K, S]` what standing there adds to it: rows that a pawn has gone.
        king: `[K]` 1 of pieces that can be in check.
        first_ray: `[K * S + 1]` the rays of a kind from a square.
        first_target: `[rays + 1]` the squares of each ray.
        target: these squares, the nearest first.
        protected, threatened: shares of the values of own pieces that are protected, and of the
            other side's that are attacked.
        stands: `[S]` scratch: code of the piece on each square.
        attacked: `[2, S]` scratch: by each side.
    """

    square: I32
    code: I32
    side: I32
    worth: FloatArray
    ahead: FloatArray
    king: I32
    first_ray: I32
    first_target: I32
    target: I32
    protected: float
    threatened: float
    stands: I32
    attacked: I32


@inlined
def _set_up(words: np.ndarray, lane: int, boards: Boards) -> None:
    """Put the pieces of a lane on the board, and note what they attack."""
    squares = len(boards.stands)
    for square in range(squares):
        boards.stands[square] = EMPTY
        boards.attacked[0, square] = 0
        boards.attacked[1, square] = 0
    for block in range(words.shape[1]):
        word = words[lane, block]
        while word:
            fluent = 64 * block + lowest_one(word)
            word &= word - np.uint64(1)
            if boards.square[fluent] != EMPTY:
                boards.stands[boards.square[fluent]] = boards.code[fluent]
    for square in range(squares):
        code = np.int64(boards.stands[square])
        if code == EMPTY:
            continue
        side = np.int64(boards.side[code])
        at = code * squares + square
        for ray in range(boards.first_ray[at], boards.first_ray[at + 1]):
            for step in range(boards.first_target[ray], boards.first_target[ray + 1]):
                target = np.int64(boards.target[step])
                boards.attacked[side, target] = 1
                if boards.stands[target] != EMPTY:
                    break


@kernel
def value_boards(words: np.ndarray, boards: Boards, totals: np.ndarray, checks: np.ndarray) -> None:
    """What each side's pieces are worth in each lane, and how many kings it attacks.

    Args:
        words: `[L, W]` packed fluents.
        totals: `[L, 2]` out.
        checks: `[L, 2]` out.
    """
    for lane in range(len(words)):
        _set_up(words, lane, boards)
        for side in range(SIDES):
            total = 0.0
            kings = 0
            for square in range(len(boards.stands)):
                code = np.int64(boards.stands[square])
                if code == EMPTY:
                    continue
                hit = boards.attacked[side, square]
                if boards.side[code] == side:
                    total += boards.worth[code] + boards.ahead[code, square]
                    if hit:
                        total += boards.protected * boards.worth[code]
                elif hit:
                    total += boards.threatened * boards.worth[code]
                    kings += boards.king[code]
            totals[lane, side] = total
            checks[lane, side] = kings


@kernel
def attack_boards(words: np.ndarray, boards: Boards, side: int, out: np.ndarray) -> None:
    """`out[L, S]`: whether some piece of a side attacks the square."""
    for lane in range(len(words)):
        _set_up(words, lane, boards)
        for square in range(len(boards.stands)):
            out[lane, square] = boards.attacked[side, square] != 0
