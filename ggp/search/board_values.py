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

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ggp.errors import ConfigError
from ggp.machine.base import BoolArray, FloatArray, FluentWords, IntArray, Machine, States
from ggp.search.anytime import Deadline, check
from ggp.search.board_kernels import EMPTY, SIDES, Boards, attack_boards, value_boards

Steps = tuple[tuple[int, int], ...]
"""Squares from here, as (files, ranks)."""

_STEPS = 1_000
"""Passes through the loops of a kernel for a board, more or less."""

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

    certain = True

    def __init__(self, machine: Machine, terms: BoardTerms) -> None:
        if not isinstance(machine, FluentWords):
            raise ConfigError(
                f"the backend {machine.backend} cannot value boards; use --backend propnet"
            )
        self._machine, self._terms, self._fluents = machine, terms, machine
        found = list(_squares(machine.fluent_names, terms))
        if not found:
            raise ConfigError(f"this game has no fluents ({terms.relation} ...) of known pieces")
        files = sorted({square[0] for _, square in found}, key=_order)
        ranks = sorted({square[1] for _, square in found}, key=_order)
        self._size = len(files), len(ranks)
        self._players = [r for r in range(len(machine.roles)) if r != machine.random_role]
        if len(self._players) != SIDES:
            raise ConfigError("boards are valued in games of two roles")
        names = [machine.roles[player] for player in self._players]
        kinds = sorted({kind for _, (_, _, _, kind) in found})
        codes = {
            key: code for code, key in enumerate((name, kind) for name in names for kind in kinds)
        }
        words = -(-len(machine.fluent_names) // 64)
        square, code = np.full((2, 64 * words), EMPTY, dtype=np.int32)
        for fluent, (file, rank, role, kind) in found:
            if (role, kind) in codes:
                square[fluent] = files.index(file) * len(ranks) + ranks.index(rank)
                code[fluent] = codes[role, kind]
        pieces = [terms.pieces[kind] for _, kind in codes]
        rays = [
            _rays(piece, role, self._size) for (role, _), piece in zip(codes, pieces, strict=True)
        ]
        each = [ray for of_kind in rays for of_square in of_kind for ray in of_square]
        self._boards = Boards(
            square=square,
            code=code,
            side=np.array([names.index(role) for role, _ in codes], dtype=np.int32),
            worth=np.array([piece.value for piece in pieces]),
            ahead=terms.advance
            * np.array(
                [
                    _ahead(piece, role, self._size)
                    for (role, _), piece in zip(codes, pieces, strict=True)
                ]
            ),
            king=np.array([piece.king for piece in pieces], dtype=np.int32),
            first_ray=_firsts([len(of_square) for of_kind in rays for of_square in of_kind]),
            first_target=_firsts([len(ray) for ray in each]),
            target=np.array([target for ray in each for target in ray], dtype=np.int32),
            protected=terms.protected,
            threatened=terms.threatened,
            stands=np.zeros(math.prod(self._size), dtype=np.int32),
            attacked=np.zeros((SIDES, math.prod(self._size)), dtype=np.int32),
        )

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """`[L]` what states that are not over are worth to a role, and zeros: see `Evaluation`."""
        check(deadline)
        totals = np.empty((len(states), SIDES))
        checks = np.empty((len(states), SIDES), dtype=np.int64)
        words = self._fluents.fluent_words(states)
        value_boards.for_steps(_STEPS * len(words))(words, self._boards, totals, checks)
        own = self._players.index(role)
        lead = totals[:, own] - totals[:, 1 - own] + self._terms.check * checks[:, own]
        low, high = self._machine.goal_range
        margin = MARGIN * (high - low)
        values = (low + high) / 2 + self._terms.scale * lead
        # Terminal states are worth their goals: whoever looks ahead does not ask about them.
        return np.clip(values, low + margin, high - margin), np.zeros(len(states), dtype=np.int64)

    def attacked(self, states: States, role: int) -> BoolArray:
        """`[L, X, Y]` squares that some piece of a role attacks."""
        words = self._fluents.fluent_words(states)
        found = np.empty((len(words), math.prod(self._size)), dtype=np.bool_)
        attack_boards.for_steps(_STEPS * len(words))(
            words, self._boards, self._players.index(role), found
        )
        return found.reshape(len(words), *self._size)


def _rays(piece: Piece, role: str, size: tuple[int, int]) -> list[list[list[int]]]:
    """From each square, the squares of each ray of a piece that begin on the board."""
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


def _ahead(piece: Piece, role: str, size: tuple[int, int]) -> list[int]:
    """From each square, the rows that a pawn has gone; 0 of other pieces."""
    steps = piece.takes.get(role, ())
    if not steps:
        return [0] * math.prod(size)
    return [rank if steps[0][1] > 0 else size[1] - 1 - rank for _, rank in np.ndindex(size)]


def _firsts(sizes: list[int]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)


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
