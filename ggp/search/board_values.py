"""The `Evaluation` of boards with pieces: material, and who attacks what, as KS of paper 000.

The fluents of a board say which piece of which role is on which square. From them follows what each
role attacks. A state is worth a linear function of that:

    value    of own pieces, less that of the other role's
    +        something for each own piece that is protected, times its value
    +        something for each piece of the other role that is attacked, times its value
    +        something for each row that a pawn has gone ahead
    -        something for giving check, which tells the other where one is

Everything but check counts with the opposite sign for the other role.

Lanes come last in the arrays of boards: a step moves all of them as one piece of memory.

Shapes: L lanes, X files, Y ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ggp.errors import ConfigError
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States
from ggp.machine.boards import BoardRelation, BoardSquares, Kind
from ggp.search.anytime import Deadline, check

Steps = tuple[tuple[int, int], ...]
"""Squares from here, as (files, ranks)."""

MARGIN = 0.02
"""Share of the goal range at either end of which no state is worth that is not over."""


LANES_AT_ONCE = 2048
"""Boards valued side by side: they stay in the cache."""


@dataclass(frozen=True)
class Piece:
    """A kind of piece.

    Attributes:
        value: in pawns.
        steps: what it attacks, one square each.
        slides: directions in which it attacks until something is in the way.
        takes: what it attacks by role, for pieces that go in one direction: pawns.
        king: whether attacking it is check.
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
    """

    name: str
    size: int
    file: int
    rank: int


@dataclass(frozen=True)
class BoardTerms:
    """What counts how much, in pawns but for the first.

    Attributes:
        scale: goals for a pawn.
        relation: of the fluents of a board.
        pieces: by name.
        noisy: moves that are played out where they take something, see `quiescence`.
    """

    relation: BoardRelation
    pieces: Mapping[str, Piece]
    scale: float
    protected: float
    threatened: float
    advance: float
    check: float
    noisy: tuple[MovePattern, ...] = ()


class Boards(NamedTuple):
    """L boards.

    Attributes:
        pieces: `[X, Y, L]` where pieces of each kind are.
        occupied: `[X, Y, L]` where any piece is.
    """

    pieces: Mapping[Kind, BoolArray]
    occupied: BoolArray

    def of(self, role: int) -> BoolArray:
        """`[X, Y, L]` where pieces of a role are."""
        found = np.zeros_like(self.occupied)
        for (owner, _), board in self.pieces.items():
            if owner == role:
                found |= board
        return found

    @property
    def number(self) -> IntArray:
        """`[L]` pieces on each board."""
        return np.asarray(self.occupied.sum(axis=(0, 1)))


class BoardValues:
    """Values of states of two roles by their pieces.

    Attributes:
        terms: what counts how much.
        squares: of the board.

    Raises:
        ConfigError: the game has no such fluents, or the machine cannot tell them in batches.
    """

    def __init__(self, machine: Machine, terms: BoardTerms) -> None:
        self.squares = BoardSquares(machine, terms.relation, terms.pieces)
        self.terms, self._machine = terms, machine
        players = [r for r in range(len(machine.roles)) if r != machine.random_role]
        if len(players) != 2:
            raise ConfigError("boards are valued in games of two roles")
        self._other = {players[0]: players[1], players[1]: players[0]}

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """`[L]` what states that are not over are worth to a role, and zeros: see `Evaluation`."""
        found = np.empty(len(states))
        for start in range(0, len(states), LANES_AT_ONCE):
            check(deadline)
            some = np.arange(start, min(start + LANES_AT_ONCE, len(states)))
            found[some] = self.worth(self.boards(states.take(some)), role)
        return found, np.zeros(len(states), dtype=np.int64)

    def boards(self, states: States) -> Boards:
        """States as boards."""
        bits = self.squares.bits.fluent_bits(states)
        pieces = {}
        occupied = np.zeros((*self.squares.size, len(states)), dtype=np.bool_)
        for kind, places in self.squares.places.items():
            board = np.zeros_like(occupied)
            board[places.files, places.ranks] = bits[:, places.fluents].T
            pieces[kind] = board
            occupied |= board
        return Boards(pieces, occupied)

    def worth(self, boards: Boards, role: int) -> FloatArray:
        """`[L]` what boards are worth to a role, if the game is not over there."""
        other = self._other[role]
        attacks = {each: self._attacks(boards, each) for each in self._other}
        total = self._side(boards, attacks, role) - self._side(boards, attacks, other)
        total += self.terms.check * self._checks(boards, attacks, role)
        low, high = self._machine.goal_range
        margin = MARGIN * (high - low)
        values = (low + high) / 2 + self.terms.scale * total
        # Terminal states are worth their goals: whoever looks ahead does not ask about them.
        return np.clip(values, low + margin, high - margin)

    def attacked(self, states: States, role: int) -> BoolArray:
        """`[L, X, Y]` squares that some piece of a role attacks."""
        return np.moveaxis(self._attacks(self.boards(states), role), -1, 0)

    def _attacks(self, boards: Boards, role: int) -> BoolArray:
        """`[X, Y, L]` squares that some piece of a role attacks."""
        steps: dict[tuple[int, int], BoolArray] = {}
        slides: dict[tuple[int, int], BoolArray] = {}
        # Pieces that go in the same direction go together.
        for (owner, kind), board in boards.pieces.items():
            if owner != role:
                continue
            piece = self.terms.pieces[kind]
            for step in (*piece.steps, *piece.takes.get(self._machine.roles[role], ())):
                steps[step] = steps[step] | board if step in steps else board
            for step in piece.slides:
                slides[step] = slides[step] | board if step in slides else board
        found = np.zeros_like(boards.occupied)
        for step, board in steps.items():
            found |= _moved(board, step)
        empty = ~boards.occupied
        for step, ray in slides.items():
            for _ in range(max(self.squares.size) - 1):
                ray = _moved(ray, step)
                found |= ray
                ray &= empty
                if not ray.any():
                    break
        return found

    def _side(self, boards: Boards, attacks: Mapping[int, BoolArray], role: int) -> FloatArray:
        """`[L]` what counts for a role, but for check."""
        terms = self.terms
        total = np.zeros(boards.occupied.shape[-1])
        for (owner, kind), board in boards.pieces.items():
            piece = terms.pieces[kind]
            hit = (board & attacks[role]).sum(axis=(0, 1))
            if owner != role:
                total += terms.threatened * piece.value * hit
                continue
            total += piece.value * (board.sum(axis=(0, 1)) + terms.protected * hit)
            steps = piece.takes.get(self._machine.roles[role], ())
            if steps:
                ahead = np.arange(self.squares.size[1])
                rows = ahead if steps[0][1] > 0 else ahead[::-1]
                total += terms.advance * (rows @ board.sum(axis=0))
        return total

    def _checks(self, boards: Boards, attacks: Mapping[int, BoolArray], role: int) -> FloatArray:
        found = np.zeros(boards.occupied.shape[-1])
        for (owner, kind), board in boards.pieces.items():
            if owner != role and self.terms.pieces[kind].king:
                found += (board & attacks[role]).any(axis=(0, 1))
        return found


def _moved(board: BoolArray, step: tuple[int, int]) -> BoolArray:
    """Boards with everything moved by a step; what leaves the board is gone."""
    moved = np.zeros_like(board)
    (to_x, from_x), (to_y, from_y) = (_slices(s) for s in step)
    moved[to_x, to_y] = board[from_x, from_y]
    return moved


def _slices(step: int) -> tuple[slice, slice]:
    """Where to, and from where, along an axis."""
    if step > 0:
        return slice(step, None), slice(None, -step)
    if step < 0:
        return slice(None, step), slice(-step, None)
    return slice(None), slice(None)
