"""What a file beside a rulesheet declares of boards: pieces, their worth, and moves that take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ggp.machine.boards import BoardRelation

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
