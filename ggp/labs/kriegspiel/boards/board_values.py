"""The `Evaluation` of boards with pieces: material and attacks, as KS of paper 000.

States come in, and their values for a role go out, to the searches of this lab. A file beside the
rulesheet declares the pieces (`BoardTerms`, read by `choose_move.read_terms`). The fluents of a
state say which piece of which role is on which square, and so which squares each role attacks. The
value of a state is linear in these:

    value    of own pieces, minus the value of the opponent's
    +        a share of the value of each own piece that is protected
    +        a share of the value of each piece of the opponent that is attacked
    +        a bonus for each rank that a pawn has advanced
    -        a penalty for giving check, which reveals where the piece is

All terms except check count with the opposite sign for the opponent. Giving check costs the role
that gives it, and gives the opponent nothing. So the values of the two roles need not have the same
sum on all boards, and a search uses the values of a single role.

Kernels read and value the boards (`board_kernels`).

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
    MAX_SQUARES,
    SIDES,
    LeadTable,
    RayMasks,
    read_boards,
    value_boards,
)
from ggp.labs.kriegspiel.boards.leaf_kernels import LeafBoards, value_leaves
from ggp.machine.arrays import pack, unpack, words_for
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
"""Share at either end of the goal range that is reserved for terminal states."""


WIDTH = (0, 0)
"""1,024 lanes side by side: the last turn of a search has many successors."""

_SEED = 0
"""Seed of the marks of fluents: any would do."""


class MovesBySquares(NamedTuple):
    """N moves of a role, sorted by origin and target.

    Attributes:
        offsets: `[S * S + 1]` into `moves`; moves from one square to another are at
            `origin * S + target`.
        moves: `[N]` move ids.
    """

    offsets: NDArray[np.int32]
    moves: NDArray[np.int32]


NO_MOVES = MovesBySquares(np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.int32))
"""For kernels that list no captures."""


class Boards(NamedTuple):
    """L boards.

    Attributes:
        codes: `[L, S]` code of the piece on each square, `EMPTY` for none.
        num_pieces: `[L]` occupied squares of each board.
        occupancy: `[L]` the occupied squares as words.
    """

    codes: NDArray[np.int16]
    num_pieces: IntArray
    occupancy: NDArray[np.uint64]


class BoardValues:
    """Values of states by their pieces, in games of two roles.

    Attributes:
        terms: the weights of the evaluation.
        squares: of the board.

    Raises:
        ConfigError: the game has no such fluents, or more than 64 squares; the machine cannot read
            them in batches; or the terms are not finite.
    """

    certain = True

    def __init__(self, machine: Machine, terms: BoardTerms) -> None:
        self.squares = BoardSquares(machine, terms.relation, terms.pieces)
        self.terms, self._machine = terms, machine
        self._players = player_roles(machine)
        if len(self._players) != SIDES:
            raise ConfigError("boards are valued in games of two roles")
        kinds = [kind for kind in self.squares.places if kind[0] in self._players]
        size = self.squares.size
        if math.prod(size) > MAX_SQUARES:
            raise ConfigError(
                f"its board has {math.prod(size)} squares; boards are valued up to {MAX_SQUARES}"
            )
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
        self._masks = masks_of(rays)
        sides = np.array([self._players.index(role) for role, _ in kinds], dtype=np.int32)
        self._leads, self._scale = leads_of(terms, pieces, sides, size)
        # For successors that are valued as they are made: tables for each role, and scratch.
        self._leaf_tables: dict[int, BoardTables] = {}
        self._spare: list[BlockBoards] = []
        random = np.random.default_rng(_SEED)
        self._marks = random.integers(0, 1 << 64, (64 * words, 2), dtype=np.uint64)

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """`[L]` values for a role of states that are not terminal, and zeros: see `Evaluation`."""
        check(deadline)
        return self.worth(self.boards(states), role), np.zeros(len(states), dtype=np.int64)

    def boards(self, states: States) -> Boards:
        """The boards of states."""
        words = self.squares.bits.fluent_words(states)
        codes = np.empty((len(words), math.prod(self.squares.size)), dtype=np.int16)
        count = np.empty(len(words), dtype=np.int64)
        mask = np.empty(len(words), dtype=np.uint64)
        read_boards(words, self._blocks, self._bits, self._square, self._code, codes, count, mask)
        return Boards(codes, count, mask)

    def worth(self, boards: Boards, role: int) -> FloatArray:
        """`[L]` values of boards for a role; meaningless where the game is over."""
        middle, low, high = self._value_range
        # The value of a terminal state is its goal: searches do not ask for it here.
        return np.clip(middle + self._scale * self._valued(boards, role)[0], low, high)

    def attacked(self, states: States, role: int) -> BoolArray:
        """`[L, X, Y]` squares that some piece of a role attacks."""
        _, attacked = self._valued(self.boards(states), role)
        words = attacked[:, [self._players.index(role)]]
        return unpack(words, math.prod(self.squares.size)).reshape(-1, *self.squares.size)

    def _valued(self, boards: Boards, role: int) -> tuple[IntArray, NDArray[np.uint64]]:
        """`[L]` leads of a role, and `[L, 2]` the squares that each side attacks."""
        count, size = boards.codes.shape
        leads, attacked = np.empty(count, dtype=np.int64), np.empty((count, 2), dtype=np.uint64)
        table = self._leads[self._players.index(role)]
        codes = boards.codes.ravel()
        value_boards(codes, boards.occupancy, size, self._masks, table, leads, attacked)
        return leads, attacked

    def valued_turns(
        self,
        states: States,
        lanes: IntArray,
        joint_moves: IntArray,
        role: int,
        before: Sequence[Ragged],
    ) -> ValuedTurns:
        """Make joint moves, and value the successors for a role: see `TurnEvaluation`."""
        machine, count, boards = self.squares.bits, len(lanes), self.boards(states)
        if role not in self._leaf_tables:
            no_moves = dict.fromkeys(self._players, NO_MOVES)
            self._leaf_tables[role] = self.tables(machine, role, no_moves)
        values, keys = np.empty(count), np.empty((count, 2), dtype=np.uint64)
        try:
            block = self._spare.pop()
        except IndexError:
            squares = boards.codes.shape[1]
            block = block_boards(squares, len(machine.roles), machine.num_fluents, WIDTH)
        leaves = LeafBoards(
            self._leaf_tables[role],
            boards.codes.ravel(),
            boards.occupancy,
            self._marks,
            block,
            values,
            keys,
        )
        turns = machine.write_turns(
            value_leaves,
            leaves,
            states,
            lanes,
            joint_moves,
            percepts=True,
            only=role,
            before=before,
            width=WIDTH,
        )
        self._spare.append(block)
        percepts = turns.percepts[:, role]
        return ValuedTurns(percepts, turns.over, turns.move_facts, values, keys.view(np.int64))

    def tables(
        self, machine: OnCircuit, role: int, moves: Mapping[int, MovesBySquares]
    ) -> BoardTables:
        """Tables for kernels that make turns.

        Args:
            machine: the machine of these values.
            role: the role whose values count.
            moves: of each role.
        """
        by_side = [moves[player] for player in self._players]
        starts = np.cumsum([0, *(len(m.moves) for m in by_side)], dtype=np.int32)
        pieces = np.flatnonzero(self._square != EMPTY).astype(np.int32)
        # Fluents that hold in every state come last, and are not in the words of states.
        fluents = pieces[pieces < machine.num_fluents]
        bits = pack(np.isin(np.arange(64 * machine.num_words), fluents))
        blocks = np.flatnonzero(bits).astype(np.int32)
        middle, low, high = self._value_range
        fluent_index = np.full(machine.num_fluents, -1, dtype=np.int32)
        fluent_index[fluents] = np.arange(len(fluents))
        side = self._players.index(role)
        return BoardTables(
            fluents=fluents,
            fluent_index=fluent_index,
            squares=self._square[pieces],
            codes=self._code[pieces],
            blocks=blocks,
            bits=bits[blocks],
            masks=self._masks,
            table=self._leads[side],
            side=side,
            middle=middle,
            scale=self._scale,
            min_value=low,
            max_value=high,
            roles=np.array(self._players),
            first_move=np.stack([m.offsets + k for m, k in zip(by_side, starts, strict=False)]),
            moves=np.concatenate([m.moves for m in by_side]),
        )

    @property
    def _value_range(self) -> tuple[float, float, float]:
        """Value of a board without a lead, smallest value, and largest value."""
        low, high = self._machine.goal_range
        margin = MARGIN * (high - low)
        return (low + high) / 2, low + margin, high - margin


# ------------------------------------------------------------------------
# Tables of declared pieces for kernels: their rays, and their shares of values.
#
# Values are declared as decimal numbers, so all are multiples of one unit. Kernels add up whole
# numbers of it: the sum is exact, whatever the order.

MAX_UNITS = 1 << 24
"""Units in the largest value, at most: tables have numbers of 32 bits."""


def rays_of(piece: Piece, role: str, size: tuple[int, int]) -> list[list[list[int]]]:
    """Rays of a piece by square: the squares of each ray that is not empty, the nearest first."""
    directions = [
        *((step, 1) for step in (*piece.steps, *piece.takes.get(role, ()))),
        *((step, max(size) - 1) for step in piece.slides),
    ]
    by_square = []
    for file, rank in np.ndindex(size):
        rays = []
        for (right, up), reach in directions:
            squares = []
            for distance in range(1, reach + 1):
                x, y = file + distance * right, rank + distance * up
                if not (0 <= x < size[0] and 0 <= y < size[1]):
                    break
                squares.append(x * size[1] + y)
            if squares:
                rays.append(squares)
        by_square.append(rays)
    return by_square


def masks_of(rays: list[list[list[list[int]]]]) -> RayMasks:
    """Rays of all kinds from all squares, as words."""
    by_square = [of_square for of_kind in rays for of_square in of_kind]
    # A ray of one square is attacked whatever stands there.
    leaps = [_words([ray for ray in of_square if len(ray) == 1]) for of_square in by_square]
    up = [_words([ray for ray in of_square if ray[0] < ray[-1]]) for of_square in by_square]
    down = [_words([ray for ray in of_square if ray[0] > ray[-1]]) for of_square in by_square]
    kinds = [any(len(ray) > 1 for of_square in of_kind for ray in of_square) for of_kind in rays]
    return RayMasks(
        np.array([np.bitwise_or.reduce(words) for words in leaps], dtype=np.uint64),
        np.array(kinds, dtype=np.int32),
        *_padded(up),
        *_padded(down),
    )


def _padded(rays: list[NDArray[np.uint64]]) -> tuple[int, NDArray[np.uint64]]:
    """Largest number of rays from a square, and all rays, padded with 0."""
    width = max(map(len, rays), default=0)
    padded = np.zeros((len(rays), width), dtype=np.uint64)
    for row, words in enumerate(rays):
        padded[row, : len(words)] = words
    return width, padded.ravel()


def unit_of(values: Iterable[Fraction]) -> Fraction:
    """The unit of values: the largest number of which all are multiples.

    If that would give the largest value more than `MAX_UNITS`, the unit that gives it just so many:
    the other values are rounded then.
    """
    sizes = {abs(value) for value in values if value}
    if not sizes:
        return Fraction(1)
    exact = Fraction(
        math.gcd(*(size.numerator for size in sizes)),
        math.lcm(*(size.denominator for size in sizes)),
    )
    return max(exact, max(sizes) / MAX_UNITS)


def leads_of(
    terms: BoardTerms, pieces: Sequence[tuple[Piece, str]], sides: I32, size: tuple[int, int]
) -> tuple[list[LeadTable], float]:
    """The amounts that K kinds of pieces add to the lead of each side, and the number of goal
    points in a unit of these.

    Args:
        pieces: each kind, and its role; `sides`: `[K]` the same role as a side.

    Raises:
        ConfigError: some term is not finite.
    """
    values = [_decimal(piece.value) for piece, _ in pieces]
    gains = [_decimal(terms.protected) * value for value in values]
    losses = [_decimal(terms.threatened) * value for value in values]
    checking = [_decimal(terms.check) * piece.king for piece, _ in pieces]
    step = _decimal(terms.advance)
    unit = unit_of([*values, *gains, *losses, *checking, step])
    worth, protected, threatened, check = (
        np.array([round(amount / unit) for amount in amounts], dtype=np.int64)[:, None]
        for amounts in (values, gains, losses, checking)
    )
    advanced = np.array([advance_of(piece, role, size) for piece, role in pieces])
    # Attacked by neither side, the first, the second, or both.
    by = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.bool_).T
    change = by[sides] * protected - by[1 - sides] * threatened
    value = (worth + advanced * round(step / unit))[:, :, None] + change[:, None]
    checks = (by[1 - sides] * check)[:, None]
    tables = [
        LeadTable(sides, np.where(is_own, value, checks - value).astype(np.int32).ravel())
        for is_own in ((sides == side)[:, None, None] for side in range(SIDES))
    ]
    return tables, float(_decimal(terms.scale) * unit)


def _decimal(value: float) -> Fraction:
    """The number that the file's text denotes."""
    if not math.isfinite(value):
        raise ConfigError(f"values of boards must be finite, not {value}")
    return Fraction(repr(float(value)))


def _words(rays: list[list[int]]) -> NDArray[np.uint64]:
    """Sets of squares as words."""
    return np.array([sum(1 << square for square in ray) for ray in rays], dtype=np.uint64)


def advance_of(piece: Piece, role: str, size: tuple[int, int]) -> list[int]:
    """Ranks that a pawn on each square has advanced; 0 for other pieces."""
    steps = piece.takes.get(role, ())
    if not steps:
        return [0] * math.prod(size)
    return [rank if steps[0][1] > 0 else size[1] - 1 - rank for _, rank in np.ndindex(size)]


# ------------------------------------------------------------------------
# Declarations in a file beside a rulesheet: pieces, their values, and moves that capture.

Steps = tuple[tuple[int, int], ...]
"""Offsets from a square, as (files, ranks)."""


@dataclass(frozen=True)
class Piece:
    """A kind of piece.

    Attributes:
        value: in pawns.
        steps: single squares that it attacks.
        slides: directions in which it attacks up to the first piece.
        takes: squares that it attacks, by role, for pieces that move in one direction: pawns.
        king: whether an attack on it is check.
    """

    value: float
    steps: Steps = ()
    slides: Steps = ()
    takes: Mapping[str, Steps] = field(default_factory=dict)
    king: bool = False


@dataclass(frozen=True)
class MovePattern:
    """The form of moves from a square to another.

    Attributes:
        name: of the move.
        size: number of its words, with the name.
        origin, target: indices of the file and rank of either square among these words. A move
            captures only if the piece on the origin attacks the target.
    """

    name: str
    size: int
    origin: tuple[int, int]
    target: tuple[int, int]


@dataclass(frozen=True)
class BoardTerms:
    """The terms of the evaluation, all but `scale` in pawns.

    Attributes:
        scale: goal points for a pawn.
        relation: of the fluents of a board.
        pieces: by name.
        noisy: moves that are played out if they capture, see `quiescence`.
    """

    relation: BoardRelation
    pieces: Mapping[str, Piece]
    scale: float
    protected: float
    threatened: float
    advance: float
    check: float
    noisy: tuple[MovePattern, ...] = ()
