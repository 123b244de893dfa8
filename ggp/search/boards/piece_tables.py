"""Tables that kernels read of declared pieces: their rays, and what they add to values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ggp.search.boards.board_kernels import SIDES, PieceTables
from ggp.search.boards.board_terms import Piece
from ggp.search.boards.mask_kernels import SECOND, RayMasks, SumTables


def rays_of(piece: Piece, role: str, size: tuple[int, int]) -> list[list[list[int]]]:
    """For each square, the squares of each ray of a piece that begin on the board."""
    ways = [
        *((step, 1) for step in (*piece.steps, *piece.takes.get(role, ()))),
        *((step, max(size) - 1) for step in piece.slides),
    ]
    found = []
    for file, rank in np.ndindex(size):
        rays = []
        for (right, up), most in ways:
            squares = []
            for far in range(1, most + 1):
                x, y = file + far * right, rank + far * up
                if not (0 <= x < size[0] and 0 <= y < size[1]):
                    break
                squares.append(x * size[1] + y)
            if squares:
                rays.append(squares)
        found.append(rays)
    return found


def masks_of(rays: list[list[list[list[int]]]]) -> RayMasks:
    """The rays of all kinds from all squares, as words."""
    each = [of_square for of_kind in rays for of_square in of_kind]
    # One square alone is attacked whatever stands there.
    leaps = [_words([ray for ray in of_square if len(ray) == 1]) for of_square in each]
    up = [_words([ray for ray in of_square if ray[0] < ray[-1]]) for of_square in each]
    down = [_words([ray for ray in of_square if ray[0] > ray[-1]]) for of_square in each]
    kinds = [any(len(ray) > 1 for of_square in of_kind for ray in of_square) for of_kind in rays]
    return RayMasks(
        np.array([np.bitwise_or.reduce(words) for words in leaps], dtype=np.uint64),
        np.array(kinds, dtype=np.int32),
        *_padded(up),
        *_padded(down),
    )


def _padded(rays: list[NDArray[np.uint64]]) -> tuple[int, NDArray[np.uint64]]:
    """The largest number of rays from a square, and all rays, with 0 where there are fewer."""
    most = max(map(len, rays), default=0)
    padded = np.zeros((len(rays), most), dtype=np.uint64)
    for place, words in enumerate(rays):
        padded[place, : len(words)] = words
    return most, padded.ravel()


def sums_of(tables: PieceTables) -> SumTables:
    """The values of pieces as what they add."""
    side = tables.side
    own = side[:, None] == np.arange(SIDES)
    placed = (tables.worth[:, None] + tables.ahead)[:, :, None]
    worth = tables.worth[:, None]
    hit = np.where(own, tables.protected * worth, tables.threatened * worth)
    by = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.bool_)
    king = (tables.king[:, None] != 0) & ~own
    checks = (king[:, None] & by) @ np.array([1, SECOND])
    return SumTables(
        side,
        np.where(own[:, None], placed, 0.0).ravel(),
        np.where(by, hit[:, None], 0.0).ravel(),
        checks.ravel(),
    )


def _words(rays: list[list[int]]) -> NDArray[np.uint64]:
    """Sets of squares as words."""
    return np.array([sum(1 << square for square in ray) for ray in rays], dtype=np.uint64)


def ahead_of(piece: Piece, role: str, size: tuple[int, int]) -> list[int]:
    """For each square, the ranks that a pawn has advanced; 0 for other pieces."""
    steps = piece.takes.get(role, ())
    if not steps:
        return [0] * math.prod(size)
    return [rank if steps[0][1] > 0 else size[1] - 1 - rank for _, rank in np.ndindex(size)]


def firsts_of(sizes: list[int]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
