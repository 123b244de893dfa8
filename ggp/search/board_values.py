"""The `Evaluation` of boards with pieces: material, and who attacks what, as KS of paper 000.

The fluents of a board say which piece of which role is on which square. From them follows what each
role attacks. A state is worth a linear function of that:

    value    of own pieces, less that of the other role's
    +        something for each own piece that is protected, times its value
    +        something for each piece of the other role that is attacked, times its value
    +        something for each row that a pawn has gone ahead
    -        something for giving check, which tells the other where one is

Everything but check counts with the opposite sign for the other role.

Shapes: L lanes, X files, Y ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ggp.errors import ConfigError
from ggp.machine.base import BoolArray, FloatArray, FluentBits, IntArray, Machine, States
from ggp.search.anytime import Deadline, check

Steps = tuple[tuple[int, int], ...]
"""Squares from here, as (files, ranks)."""

MARGIN = 0.02
"""Share of the goal range at either end of which no state is worth that is not over."""


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
class BoardTerms:
    """What counts how much, in pawns but for the first.

    Attributes:
        scale: goals for a pawn.
        columns: of the fluents of a board: the places of file, rank, role and piece in them.
        relation: name of these fluents.
        pieces: by name.
    """

    relation: str
    columns: tuple[int, int, int, int]
    pieces: Mapping[str, Piece]
    scale: float
    protected: float
    threatened: float
    advance: float
    check: float


class BoardValues:
    """Values of states of two roles by their pieces.

    Raises:
        ConfigError: the game has no such fluents, or the machine cannot tell them in batches.
    """

    def __init__(self, machine: Machine, terms: BoardTerms) -> None:
        if not isinstance(machine, FluentBits):
            raise ConfigError(
                f"the backend {machine.backend} cannot value boards; use --backend propnet"
            )
        self._machine, self._terms, self._bits = machine, terms, machine
        found = list(_squares(machine.fluent_names, terms))
        if not found:
            raise ConfigError(f"this game has no fluents ({terms.relation} ...) of known pieces")
        files = sorted({square[0] for _, square in found}, key=_order)
        ranks = sorted({square[1] for _, square in found}, key=_order)
        self._size = len(files), len(ranks)
        players = [r for r in range(len(machine.roles)) if r != machine.random_role]
        if len(players) != 2:
            raise ConfigError("boards are valued in games of two roles")
        self._other = {players[0]: players[1], players[1]: players[0]}
        self._places: dict[tuple[int, str], tuple[IntArray, IntArray, IntArray]] = {}
        by_kind: dict[tuple[int, str], list[tuple[int, int, int]]] = {}
        for fluent, (name, rank, role, kind) in found:
            if role in machine.roles:
                key = machine.roles.index(role), kind
                by_kind.setdefault(key, []).append((fluent, files.index(name), ranks.index(rank)))
        for key, squares in by_kind.items():
            columns = np.array(squares, dtype=np.int64).T
            self._places[key] = columns[0], columns[1], columns[2]

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """`[L]` what states that are not over are worth to a role, and zeros: see `Evaluation`."""
        check(deadline)
        bits = self._bits.fluent_bits(states)
        boards = {key: self._board(bits, places) for key, places in self._places.items()}
        occupied = np.zeros((len(states), *self._size), dtype=np.bool_)
        for board in boards.values():
            occupied |= board
        attacks = {each: self._attacks(boards, occupied, each) for each in self._other}
        other = self._other[role]
        total = self._side(boards, attacks, role) - self._side(boards, attacks, other)
        total += self._terms.check * self._checks(boards, attacks, role)
        low, high = self._machine.goal_range
        margin = MARGIN * (high - low)
        values = (low + high) / 2 + self._terms.scale * total
        # Terminal states are worth their goals: whoever looks ahead does not ask about them.
        return np.clip(values, low + margin, high - margin), np.zeros(len(states), dtype=np.int64)

    def attacked(self, states: States, role: int) -> BoolArray:
        """`[L, X, Y]` squares that some piece of a role attacks."""
        bits = self._bits.fluent_bits(states)
        boards = {key: self._board(bits, places) for key, places in self._places.items()}
        occupied = np.zeros((len(states), *self._size), dtype=np.bool_)
        for board in boards.values():
            occupied |= board
        return self._attacks(boards, occupied, role)

    def _board(self, bits: BoolArray, places: tuple[IntArray, IntArray, IntArray]) -> BoolArray:
        fluents, files, ranks = places
        board = np.zeros((len(bits), *self._size), dtype=np.bool_)
        board[:, files, ranks] = bits[:, fluents]
        return board

    def _attacks(
        self, boards: Mapping[tuple[int, str], BoolArray], occupied: BoolArray, role: int
    ) -> BoolArray:
        found = np.zeros_like(occupied)
        for (owner, kind), board in boards.items():
            if owner != role:
                continue
            piece = self._terms.pieces[kind]
            for step in (*piece.steps, *piece.takes.get(self._machine.roles[role], ())):
                found |= _moved(board, step)
            for step in piece.slides:
                ray = board
                for _ in range(max(self._size) - 1):
                    ray = _moved(ray, step)
                    found |= ray
                    ray = ray & ~occupied
        return found

    def _side(
        self,
        boards: Mapping[tuple[int, str], BoolArray],
        attacks: Mapping[int, BoolArray],
        role: int,
    ) -> FloatArray:
        """`[L]` what counts for a role, but for check."""
        terms = self._terms
        total = np.zeros(len(attacks[role]))
        for (owner, kind), board in boards.items():
            piece = terms.pieces[kind]
            hit = (board & attacks[role]).sum(axis=(1, 2))
            if owner != role:
                total += terms.threatened * piece.value * hit
                continue
            total += piece.value * (board.sum(axis=(1, 2)) + terms.protected * hit)
            steps = piece.takes.get(self._machine.roles[role], ())
            if steps:
                ahead = np.arange(self._size[1])
                rows = ahead if steps[0][1] > 0 else ahead[::-1]
                total += terms.advance * (board.sum(axis=1) @ rows)
        return total

    def _checks(
        self,
        boards: Mapping[tuple[int, str], BoolArray],
        attacks: Mapping[int, BoolArray],
        role: int,
    ) -> FloatArray:
        found = np.zeros(len(attacks[role]))
        for (owner, kind), board in boards.items():
            if owner != role and self._terms.pieces[kind].king:
                found += (board & attacks[role]).any(axis=(1, 2))
        return found


def _squares(
    names: tuple[str, ...], terms: BoardTerms
) -> list[tuple[int, tuple[str, str, str, str]]]:
    """The fluents of a board, as file, rank, role and piece."""
    found = []
    for fluent, name in enumerate(names):
        words = name.strip("()").split()
        if words[:1] != [terms.relation] or len(words) <= max(terms.columns):
            continue
        file, rank, role, kind = (words[column] for column in terms.columns)
        if kind in terms.pieces:
            found.append((fluent, (file, rank, role, kind)))
    return found


def _order(name: str) -> tuple[int, str]:
    """Numbers by size, words by alphabet."""
    return (int(name), "") if name.isdigit() else (0, name)


def _moved(board: BoolArray, step: tuple[int, int]) -> BoolArray:
    """Boards with everything moved by a step; what leaves the board is gone."""
    moved = np.zeros_like(board)
    (to_x, from_x), (to_y, from_y) = (_slices(s) for s in step)
    moved[:, to_x, to_y] = board[:, from_x, from_y]
    return moved


def _slices(step: int) -> tuple[slice, slice]:
    """Where to, and from where, along an axis."""
    if step > 0:
        return slice(step, None), slice(None, -step)
    if step < 0:
        return slice(None, step), slice(-step, None)
    return slice(None), slice(None)
