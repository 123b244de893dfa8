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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.errors import ConfigError
from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables, block_boards
from ggp.labs.kriegspiel.boards.board_kernels import (
    EMPTY,
    I32,
    MOST_SQUARES,
    SIDES,
    LeadTable,
    PieceTables,
    RayMasks,
    attack_boards,
    list_captures,
    read_boards,
    value_boards,
    value_masks,
)
from ggp.labs.kriegspiel.boards.leaf_kernels import LeafBoards, value_leaves
from ggp.machine.arrays import pack, words_for
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
from ggp.search.anytime import Deadline, check
from ggp.search.parts import ValuedTurns

if TYPE_CHECKING:
    from ggp.machine.on_circuit import OnCircuit

MARGIN = 0.02
"""Share at either end of the goal range that is reserved for states that are over."""


_STEPS = 1_000
"""Approximate number of passes through the loops of a kernel for a board."""


class MovesByPlace(NamedTuple):
    """N moves of a role by the squares that they come from and go to.

    Attributes:
        first: `[S * S + 1]` the moves from each square to each other one, by the number of the
            first one * S + that of the other.
        moves: `[N]` move ids.
    """

    first: NDArray[np.int32]
    moves: NDArray[np.int32]


NO_MOVES = MovesByPlace(np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.int32))
"""Where no captures are asked for."""


class Boards(NamedTuple):
    """L boards.

    Attributes:
        codes: `[L, S]` code of the piece on each square, `EMPTY` for none.
        number: `[L]` pieces on each board.
        held: `[L]` the squares with a piece as words, if there are no more than 64.
        sides: `[K]` the role of each code.
    """

    codes: NDArray[np.int16]
    number: IntArray
    held: NDArray[np.uint64]
    sides: IntArray

    def take(self, lanes: IntArray) -> Boards:
        """Some of the boards."""
        return Boards(self.codes[lanes], self.number[lanes], self.held[lanes], self.sides)

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
        ConfigError: the game has no such fluents, the machine cannot tell them in batches, or the
            terms are not finite.
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
        rays = [rays_of(piece, role, size) for piece, role in pieces]
        self._masks = masks_of(rays if math.prod(size) <= MOST_SQUARES else [])
        sides = np.array([self._players.index(role) for role, _ in kinds], dtype=np.int32)
        self._tables, self._scale = tables_of(terms, pieces, sides, size, rays)
        self._leads = [leads_of(self._tables, side) for side in range(SIDES)]
        self._turns: dict[int, LeafTurns] = {}

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
        held = np.empty(len(words), dtype=np.uint64)
        read_boards(words, self._blocks, self._bits, self._square, self._code, codes, number, held)
        return Boards(codes, number, held, self._sides)

    def worth(self, boards: Boards, role: int) -> FloatArray:
        """`[L]` values of boards for a role, if the game is not over there."""
        count, own = len(boards.codes), self._players.index(role)
        if self.has_masks:
            squares, lead = boards.codes.shape[1], np.empty(count, dtype=np.int64)
            value_masks(
                boards.codes.ravel(), boards.held, squares, self._masks, self._leads[own], lead
            )
        else:
            leads = np.empty((count, SIDES), dtype=np.int64)
            value_boards.for_steps(_STEPS * count)(boards.codes, self._tables, leads)
            lead = leads[:, own]
        middle, least, most = self._range
        # Terminal states are worth their goals: searches do not ask for their values here.
        return np.clip(middle + self._scale * lead, least, most)

    def valued_turns(
        self,
        states: States,
        lanes: IntArray,
        joint_moves: IntArray,
        role: int,
        before: Sequence[Ragged],
    ) -> ValuedTurns | None:
        """Make joint moves, and value the successors for a role: see `TurnEvaluation`."""
        turns = self._turns_of(role)
        if turns is None:
            return None
        boards = self.boards(states)
        return turns.valued(states, boards.codes, boards.held, lanes, joint_moves, before)

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
        """Whether boards are small enough for kernels that play captures out."""
        return len(self._masks.leaps) > 0

    def tables(
        self, machine: OnCircuit, role: int, moves: Mapping[int, MovesByPlace]
    ) -> BoardTables:
        """What kernels that make turns need.

        Args:
            machine: the same as that of the values.
            role: whose values count.
            moves: of each role.
        """
        each = [moves[player] for player in self._players]
        starts = np.cumsum([0, *(len(one.moves) for one in each)], dtype=np.int32)
        pieces = np.flatnonzero(self._square != EMPTY).astype(np.int32)
        # Those that hold in every state come last, and are not in the words of states.
        fluents = pieces[pieces < machine.num_fluents]
        bits = pack(np.isin(np.arange(64 * machine.num_words), fluents))
        blocks = np.flatnonzero(bits).astype(np.int32)
        middle, least, most = self._range
        number = np.full(machine.num_fluents, -1, dtype=np.int32)
        number[fluents] = np.arange(len(fluents))
        own = self._players.index(role)
        return BoardTables(
            fluents,
            number,
            self._square[pieces],
            self._code[pieces],
            blocks,
            bits[blocks],
            self._masks,
            self._leads[own],
            own,
            middle,
            self._scale,
            least,
            most,
            np.array(self._players),
            np.stack([one.first + start for one, start in zip(each, starts, strict=False)]),
            np.concatenate([one.moves for one in each]),
        )

    def _turns_of(self, role: int) -> LeafTurns | None:
        """None if boards are too large."""
        machine = self.squares.bits
        if not self.has_masks:
            return None
        if role not in self._turns:
            tables = self.tables(machine, role, dict.fromkeys(self._players, NO_MOVES))
            self._turns[role] = LeafTurns(machine, role, tables, math.prod(self.squares.size))
        return self._turns[role]

    @property
    def _range(self) -> tuple[float, float, float]:
        """The value of equal boards, and the least and the largest one of any."""
        low, high = self._machine.goal_range
        margin = MARGIN * (high - low)
        return (low + high) / 2, low + margin, high - margin

    def attacked(self, states: States, role: int) -> BoolArray:
        """`[L, X, Y]` squares that some piece of a role attacks."""
        codes = self.boards(states).codes
        found = np.empty(codes.shape, dtype=np.bool_)
        attack_boards.for_steps(_STEPS * len(codes))(
            codes, self._tables, self._players.index(role), found
        )
        return found.reshape(len(codes), *self.squares.size)


# ------------------------------------------------------------------------
# Tables that kernels read of declared pieces: their rays, and what they add to values.
#
# Values are declared as decimal numbers, and all are multiples of one. Kernels add up whole numbers
# of this unit: the sum is exact, whatever the order.

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


# ------------------------------------------------------------------------
# What a file beside a rulesheet declares of boards: pieces, their worth, and moves that take.

Steps = tuple[tuple[int, int], ...]
"""Squares from here, as (files, ranks)."""


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


# ------------------------------------------------------------------------
# Successors valued as they are made, and not written: calls `leaf_kernels`.

WIDTH = (0, 0)
"""Lanes side by side, 1,024: last turns are many."""

_SEED = 0
"""Of the marks of fluents: any would do."""


class LeafTurns:
    """Makes turns, and values the boards after them.

    Args:
        role: for whom they are valued, and whose percepts are told.
        tables: of the boards of the machine's states, for this role.
        squares: number of those of a board.
    """

    def __init__(self, machine: OnCircuit, role: int, tables: BoardTables, squares: int) -> None:
        self._machine, self._role = machine, role
        self._tables, self._squares = tables, squares
        self._spare: list[BlockBoards] = []
        words = machine.num_words
        random = np.random.default_rng(_SEED)
        self._marks = random.integers(0, 1 << 64, (64 * words, 2), dtype=np.uint64)

    def valued(
        self,
        states: States,
        codes: NDArray[np.int16],
        held: NDArray[np.uint64],
        lanes: IntArray,
        joint_moves: IntArray,
        before: Sequence[Ragged],
    ) -> ValuedTurns:
        """Make joint moves, see `TurnEvaluation`.

        Args:
            codes, held: `[L, S]`, `[L]` the boards of the states, and the squares with a piece.
        """
        machine, number = self._machine, len(lanes)
        values, keys = np.empty(number), np.empty((number, 2), dtype=np.uint64)
        try:
            block = self._spare.pop()
        except IndexError:
            block = block_boards(self._squares, len(machine.roles), machine.num_fluents, WIDTH)
        leaves = LeafBoards(self._tables, codes.ravel(), held, self._marks, block, values, keys)
        told = machine.write_turns(
            value_leaves,
            leaves,
            states,
            lanes,
            joint_moves,
            percepts=True,
            only=self._role,
            before=before,
            width=WIDTH,
        )
        self._spare.append(block)
        percepts = told.percepts[:, self._role]
        return ValuedTurns(percepts, told.over, told.told, values, keys.view(np.int64))
