"""Tables that kernels read of declared pieces: their rays, and what they add to values.

Values are declared as decimal numbers, and all are multiples of one. Kernels add up whole numbers
of this unit: the sum is exact, whatever the order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ggp.errors import ConfigError
from ggp.machine.base import IntArray
from ggp.search.boards.board_kernels import I32, SIDES, PieceTables
from ggp.search.boards.board_terms import BoardTerms, Piece
from ggp.search.boards.mask_kernels import LeadTable, RayMasks

MOST = 1 << 24
"""Units in the largest value, at most: tables have numbers of 32 bits."""


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


def unit_of(values: Iterable[Fraction]) -> Fraction:
    """The largest number of which all values are multiples; but if the largest value were more than
    `MOST` times that, the one of which it is so many: others are rounded then."""
    some = {abs(value) for value in values if value}
    if not some:
        return Fraction(1)
    exact = Fraction(
        math.gcd(*(value.numerator for value in some)),
        math.lcm(*(value.denominator for value in some)),
    )
    return max(exact, max(some) / MOST)


def tables_of(
    terms: BoardTerms,
    pieces: Sequence[tuple[Piece, str]],
    sides: I32,
    size: tuple[int, int],
    rays: list[list[list[list[int]]]],
) -> tuple[PieceTables, float]:
    """The tables of K kinds of pieces, and how many goals a unit of their values is.

    Args:
        pieces: of each kind, and its role; `sides`: `[K]` the same role as a side.
        rays: of each kind, see `rays_of`.

    Raises:
        ConfigError: some term is not finite.
    """
    worth = [_decimal(piece.value) for piece, _ in pieces]
    protected = [_decimal(terms.protected) * each for each in worth]
    threatened = [_decimal(terms.threatened) * each for each in worth]
    check = [_decimal(terms.check) * piece.king for piece, _ in pieces]
    advance = _decimal(terms.advance)
    unit = unit_of([*worth, *protected, *threatened, *check, advance])

    def in_units(values: Iterable[Fraction]) -> IntArray:
        return np.array([round(value / unit) for value in values], dtype=np.int64)

    each = [ray for of_kind in rays for of_square in of_kind for ray in of_square]
    tables = PieceTables(
        side=sides,
        worth=in_units(worth),
        ahead=np.array([ahead_of(piece, role, size) for piece, role in pieces])
        * in_units([advance]),
        protected=in_units(protected),
        threatened=in_units(threatened),
        check=in_units(check),
        first_ray=firsts_of([len(of_square) for of_kind in rays for of_square in of_kind]),
        first_target=firsts_of([len(ray) for ray in each]),
        target=np.array([target for ray in each for target in ray], dtype=np.int32),
        attacked=np.zeros((SIDES, math.prod(size)), dtype=np.int32),
    )
    return tables, float(_decimal(terms.scale) * unit)


def _decimal(value: float) -> Fraction:
    """A number as it was written in the file."""
    if not math.isfinite(value):
        raise ConfigError(f"what boards are worth must be finite, not {value}")
    return Fraction(repr(float(value)))


def leads_of(tables: PieceTables, side: int) -> LeadTable:
    """What pieces add to the lead of a side."""
    own = (tables.side == side)[:, None, None]
    # By neither side, the first, the second, or both.
    by = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.bool_).T
    safe = by[tables.side] * tables.protected[:, None]
    hit = by[1 - tables.side] * tables.threatened[:, None]
    checks = by[1 - tables.side] * tables.check[:, None]
    value = (tables.worth[:, None] + tables.ahead)[:, :, None] + (safe - hit)[:, None]
    leads = np.where(own, value, checks[:, None] - value)
    return LeadTable(tables.side, leads.astype(np.int32).ravel())


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
