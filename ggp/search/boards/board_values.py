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
from collections.abc import Mapping, Sequence
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
from ggp.machine.boards import BoardSquares
from ggp.machine.propnet.play.kernels.packed import pack, words_for
from ggp.machine.propnet.play.turns import CircuitTurns
from ggp.search.anytime import Deadline, check
from ggp.search.boards.block_boards import BoardTables
from ggp.search.boards.board_kernels import (
    EMPTY,
    SIDES,
    attack_boards,
    read_boards,
    value_boards,
)
from ggp.search.boards.board_terms import BoardTerms
from ggp.search.boards.leaf_turns import LeafTurns
from ggp.search.boards.mask_kernels import MOST_SQUARES, list_captures, value_masks
from ggp.search.boards.piece_tables import leads_of, masks_of, rays_of, tables_of
from ggp.search.parts import ValuedTurns

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
        self, machine: CircuitTurns, role: int, moves: Mapping[int, MovesByPlace]
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
        """None if the machine makes no such turns, or boards are too large."""
        machine = self._machine
        if not (self.has_masks and isinstance(machine, CircuitTurns) and not machine.parts.apart):
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
