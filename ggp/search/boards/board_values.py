"""The `Evaluation` of boards with pieces: material and attacks, as KS of paper 000.

The fluents of a board say which piece of which role is on which square. From them follow the
attacks of each role. The value of a state is linear in these:

    value    of own pieces, minus that of the other role's
    +        a share of the value of each own piece that is protected
    +        a share of the value of each piece of the other role that is attacked
    +        a bonus for each rank that a pawn has advanced
    -        a penalty for giving check, which tells the other where one is

Everything but check counts with the opposite sign for the other role. Giving check costs the role
that gives it, and gives the other nothing. So the values of the two roles need not have the same
sum on all boards, and a search uses those of a single role.

Boards are read and valued by kernels (`board_kernels`).

Shapes: L lanes, X files, Y ranks, S = X * Y squares, K kinds of pieces of either role.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.errors import ConfigError
from ggp.machine.base import (
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    Ragged,
    States,
    player_roles,
)
from ggp.machine.boards import BoardRelation, BoardSquares
from ggp.machine.propnet.play.kernels.packed import pack, words_for
from ggp.search.anytime import Deadline, check
from ggp.search.boards.board_kernels import (
    EMPTY,
    SIDES,
    PieceTables,
    attack_boards,
    read_boards,
    value_boards,
)
from ggp.search.boards.mask_kernels import (
    MOST_SQUARES,
    RayMasks,
    SumTables,
    list_captures,
    list_takers,
    value_masks,
)

Steps = tuple[tuple[int, int], ...]
"""Squares from here, as (files, ranks)."""

MARGIN = 0.02
"""Share at either end of the goal range that is reserved for states that are over."""


_STEPS = 1_000
"""Approximate number of passes through the loops of a kernel for a board."""


@dataclass(frozen=True)
class Piece:
    """A kind of piece.

    Attributes:
        value: in pawns.
        steps: single squares that it attacks.
        slides: directions in which it attacks until something is in the way.
        takes: squares it attacks by role, for pieces that move in one direction: pawns.
        king: whether an attack on it is check.
    """

    value: float
    steps: Steps = ()
    slides: Steps = ()
    takes: Mapping[str, Steps] = field(default_factory=dict)
    king: bool = False


@dataclass(frozen=True)
class MovePattern:
    """Moves that go to a square.

    Attributes:
        name: of the move.
        size: of words in it, with the name.
        file, rank: their places among these words.
        origin: the places of the file and rank that they come from, if these are declared. What
            captures, then, is a piece that attacks the square that it goes to.
    """

    name: str
    size: int
    file: int
    rank: int
    origin: tuple[int, int] | None = None


@dataclass(frozen=True)
class BoardTerms:
    """The terms of the evaluation, in pawns except for the first.

    Attributes:
        scale: goal points for a pawn.
        relation: of the fluents of a board.
        pieces: by name.
        noisy: moves that are played out if they capture something, see `quiescence`.
    """

    relation: BoardRelation
    pieces: Mapping[str, Piece]
    scale: float
    protected: float
    threatened: float
    advance: float
    check: float
    noisy: tuple[MovePattern, ...] = ()


class MovesByPlace(NamedTuple):
    """N moves of a role by the squares that they come from and go to.

    Attributes:
        first: `[S * S + 1]` the moves from each square to each other one, by the number of the
            first one * S + that of the other.
        moves: `[N]` move ids.
    """

    first: NDArray[np.int32]
    moves: NDArray[np.int32]


class Boards(NamedTuple):
    """L boards.

    Attributes:
        codes: `[L, S]` code of the piece on each square, `EMPTY` for none.
        number: `[L]` pieces on each board.
        sides: `[K]` the role of each code.
    """

    codes: NDArray[np.int16]
    number: IntArray
    sides: IntArray

    def take(self, lanes: IntArray) -> Boards:
        """Some of the boards."""
        return Boards(self.codes[lanes], self.number[lanes], self.sides)

    def owners(self, lanes: IntArray, squares: IntArray) -> IntArray:
        """The role of the piece on a square of each of some boards; -1 for no piece."""
        codes = self.codes[lanes, squares]
        return np.where(codes == EMPTY, -1, self.sides[codes])


class BoardValues:
    """Values of states of games with two roles, by their pieces.

    Attributes:
        terms: the weights of the evaluation.
        squares: of the board.

    Raises:
        ConfigError: the game has no such fluents, or the machine cannot tell them in batches.
    """

    certain = True

    def __init__(self, machine: Machine, terms: BoardTerms) -> None:
        self.squares = BoardSquares(machine, terms.relation, terms.pieces)
        self.terms, self._machine = terms, machine
        self._players = player_roles(machine)
        if len(self._players) != SIDES:
            raise ConfigError("boards are valued in games of two roles")
        kinds = [kind for kind in self.squares.places if kind[0] in self._players]
        self._sides = np.array([role for role, _ in kinds], dtype=np.int64)
        size = self.squares.size
        words = words_for(len(self.squares.bits.fluent_names))
        self._square, self._code = np.full((2, 64 * words), EMPTY, dtype=np.int32)
        for code, kind in enumerate(kinds):
            places = self.squares.places[kind]
            self._square[places.fluents] = places.files * size[1] + places.ranks
            self._code[places.fluents] = code
        bits = pack(self._square != EMPTY)
        self._blocks = np.flatnonzero(bits).astype(np.int32)
        self._bits = bits[self._blocks]
        pieces = [(terms.pieces[name], machine.roles[role]) for role, name in kinds]
        rays = [_rays(piece, role, size) for piece, role in pieces]
        each = [ray for of_kind in rays for of_square in of_kind for ray in of_square]
        self._masks = _masks(rays if math.prod(size) <= MOST_SQUARES else [])
        ahead = np.array([_ahead(piece, role, size) for piece, role in pieces])
        self._tables = PieceTables(
            side=np.array([self._players.index(role) for role, _ in kinds], dtype=np.int32),
            worth=np.array([piece.value for piece, _ in pieces]),
            ahead=terms.advance * ahead,
            king=np.array([piece.king for piece, _ in pieces], dtype=np.int32),
            first_ray=_firsts([len(of_square) for of_kind in rays for of_square in of_kind]),
            first_target=_firsts([len(ray) for ray in each]),
            target=np.array([target for ray in each for target in ray], dtype=np.int32),
            protected=terms.protected,
            threatened=terms.threatened,
            attacked=np.zeros((SIDES, math.prod(size)), dtype=np.int32),
        )
        self._sums = _sums(self._tables)

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """`[L]` values of states that are not over for a role, and zeros: see `Evaluation`."""
        check(deadline)
        return self.worth(self.boards(states), role), np.zeros(len(states), dtype=np.int64)

    def boards(self, states: States) -> Boards:
        """States as boards."""
        words = self.squares.bits.fluent_words(states)
        codes = np.empty((len(words), math.prod(self.squares.size)), dtype=np.int16)
        number = np.empty(len(words), dtype=np.int64)
        read_boards(words, self._blocks, self._bits, self._square, self._code, codes, number)
        return Boards(codes, number, self._sides)

    def worth(self, boards: Boards, role: int) -> FloatArray:
        """`[L]` values of boards for a role, if the game is not over there."""
        count = len(boards.codes)
        totals, checks = np.empty((count, SIDES)), np.empty((count, SIDES), dtype=np.int64)
        if len(self._masks.leaps):
            squares = boards.codes.shape[1]
            value_masks(boards.codes.ravel(), squares, self._masks, self._sums, totals, checks)
        else:
            value_boards.for_steps(_STEPS * count)(boards.codes, self._tables, totals, checks)
        own = self._players.index(role)
        lead = totals[:, own] - totals[:, 1 - own] + self.terms.check * checks[:, own]
        low, high = self._machine.goal_range
        margin = MARGIN * (high - low)
        values = (low + high) / 2 + self.terms.scale * lead
        # Terminal states are worth their goals: searches do not ask for their values here.
        return np.clip(values, low + margin, high - margin)

    def captures(
        self,
        boards: Boards,
        role: int,
        legal: Ragged,
        wanted: BoolArray,
        places: NDArray[np.int32],
        last: IntArray,
    ) -> IntArray:
        """`[K, 3]` lanes, moves and squares of a role's moves that may take a piece.

        Args:
            legal: the moves of the role on each board.
            wanted: `[L]` which boards to look at.
            places: `[moves, 2]` the squares that moves go to, and come from, see `list_captures`.
            last: `[L]` the only square on which pieces may be taken; `EMPTY`: any.
        """
        found = np.empty((len(legal.values), 3), dtype=np.int64)
        count = list_captures(
            legal.offsets,
            legal.values,
            wanted,
            places,
            last,
            boards.codes,
            self._tables,
            self._masks,
            self._players.index(role),
            found,
        )
        return found[:count]

    @property
    def has_masks(self) -> bool:
        """Whether boards are small enough for `takers`."""
        return len(self._masks.leaps) > 0

    def takers(
        self, boards: Boards, role: int, wanted: BoolArray, last: IntArray, moves: MovesByPlace
    ) -> IntArray:
        """The same as `captures`, of moves that need not be legal.

        Args:
            moves: the moves of the role.
        """
        found = np.empty((4 * len(wanted) + 64, 3), dtype=np.int64)
        side = self._players.index(role)
        while True:
            count = list_takers(
                wanted, last, boards.codes, self._tables, self._masks, side, *moves, found
            )
            if count >= 0:
                return found[:count]
            found = np.empty((len(found) - count, 3), dtype=np.int64)

    def attacked(self, states: States, role: int) -> BoolArray:
        """`[L, X, Y]` squares that some piece of a role attacks."""
        codes = self.boards(states).codes
        found = np.empty(codes.shape, dtype=np.bool_)
        attack_boards.for_steps(_STEPS * len(codes))(
            codes, self._tables, self._players.index(role), found
        )
        return found.reshape(len(codes), *self.squares.size)


def _rays(piece: Piece, role: str, size: tuple[int, int]) -> list[list[list[int]]]:
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


def _masks(rays: list[list[list[list[int]]]]) -> RayMasks:
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


def _sums(tables: PieceTables) -> SumTables:
    """The values of pieces as what they add."""
    side = tables.side
    placed = tables.worth[:, None] + tables.ahead
    protected, threatened = tables.protected * tables.worth, tables.threatened * tables.worth
    return SumTables(
        side,
        np.where(side[:, None] == 0, placed, 0.0).ravel(),
        np.where(side[:, None] == 1, placed, 0.0).ravel(),
        np.where(side == 0, protected, threatened),
        np.where(side == 1, protected, threatened),
        np.where(side == 1, tables.king, 0).astype(np.int32),
        np.where(side == 0, tables.king, 0).astype(np.int32),
    )


def _words(rays: list[list[int]]) -> NDArray[np.uint64]:
    """Sets of squares as words."""
    return np.array([sum(1 << square for square in ray) for ray in rays], dtype=np.uint64)


def _ahead(piece: Piece, role: str, size: tuple[int, int]) -> list[int]:
    """For each square, the ranks that a pawn has advanced; 0 for other pieces."""
    steps = piece.takes.get(role, ())
    if not steps:
        return [0] * math.prod(size)
    return [rank if steps[0][1] > 0 else size[1] - 1 - rank for _, rank in np.ndindex(size)]


def _firsts(sizes: list[int]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
