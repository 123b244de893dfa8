"""The umpire of kriegspiel, on the small board: plain Python.

It makes a move and looks whether the king is attacked, where the rulesheet has pins and beams.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.games.chess_umpires import PLIES, QUIET, kind_of_check, seen_by_both
from tests.games.umpires import Seen, words

Square = tuple[int, int]
Piece = tuple[str, str]

STRAIGHT = ((0, 1), (0, -1), (1, 0), (-1, 0))
SLANTED = ((1, 1), (-1, -1), (1, -1), (-1, 1))
LEAPS = tuple((x, y) for x in (-2, -1, 1, 2) for y in (-2, -1, 1, 2) if abs(x) != abs(y))
LINES = {"rook": STRAIGHT, "bishop": SLANTED, "queen": STRAIGHT + SLANTED}
STEPS = {"knight": LEAPS, "king": STRAIGHT + SLANTED}
UP = {"white": 1, "black": -1}


class SmallUmpire:
    """The umpire on the small board."""

    roles: tuple[str, ...] = ("white", "black")
    size = 5

    def __init__(self) -> None:
        army = ("rook", "knight", "bishop", "queen", "king")
        self.pieces: dict[Square, Piece] = {}
        for x, kind in enumerate(army):
            self.pieces |= {(x, 0): ("white", kind), (x, 1): ("white", "pawn")}
            self.pieces |= {(x, 4): ("black", kind), (x, 3): ("black", "pawn")}
        self.on_turn, self.waiting = self.roles
        self.refused: set[tuple[Square, Square]] = set()
        self.plies = self.quiet = 0

    def legal(self, role: str) -> set[str]:
        if role != self.on_turn:
            return {"noop"}
        own_pieces = {square: piece for square, piece in self.pieces.items() if piece[0] == role}
        texts = set()
        for square, piece in own_pieces.items():
            for target in self._targets(own_pieces, square, piece):
                if (square, target) not in self.refused:
                    texts |= self._texts(piece, square, target)
        return texts

    def play(self, moves: Mapping[str, str]) -> Seen:
        start, end, lands = self._read(moves[self.on_turn])
        if not self._is_legal(start, end):
            self.refused.add((start, end))
            return seen_by_both("refused")
        self.refused.clear()
        colour, kind = self.pieces[start]
        is_capture = end in self.pieces
        self.pieces = self._pieces_after(start, end) | {end: (colour, lands or kind)}
        self.plies += 1
        self.quiet = 0 if is_capture or kind == "pawn" else self.quiet + 1
        self.on_turn, self.waiting = self.waiting, self.on_turn
        king = self._king(self.pieces, self.on_turn)
        checks = [
            f"(check {kind_of_check(king, square, self.size)})"
            for square in self._attackers(self.pieces, king, self.waiting)
        ]
        return seen_by_both(f"(captured {self._name(end)})" if is_capture else None, *checks)

    def scores(self) -> dict[str, int] | None:
        can_move = any(
            self._is_legal(square, target)
            for square, piece in self.pieces.items()
            if piece[0] == self.on_turn
            for target in self._targets(self.pieces, square, piece)
        )
        king = self._king(self.pieces, self.on_turn)
        if not can_move and self._attackers(self.pieces, king, self.waiting):
            return {role: 100 * (role != self.on_turn) for role in self.roles}
        if not can_move or self.plies == PLIES or self.quiet == QUIET:
            return dict.fromkeys(self.roles, 50)
        return None

    def tempting(self, move: str) -> bool:
        """Whether a move is legal and takes or promotes."""
        start, end, lands = self._read(move)
        return self._is_legal(start, end) and (end in self.pieces or lands is not None)

    def rare(self, move: str) -> str | None:
        """The name of a legal move of a rare kind."""
        start, end, lands = self._read(move)
        return "promotion" if lands and self._is_legal(start, end) else None

    def cells(self) -> set[str]:
        """The pieces, as fluents."""
        return {f"(cell {self._name(square)} {c} {k})" for square, (c, k) in self.pieces.items()}

    def _name(self, square: Square) -> str:
        return f"{'abcde'[square[0]]} {square[1] + 1}"

    def _texts(self, piece: Piece, start: Square, end: Square) -> set[str]:
        squares = f"{self._name(start)} {self._name(end)}"
        if piece[1] == "pawn" and end[1] in (0, self.size - 1):
            return {f"(promote {squares} {kind})" for kind in ("queen", "rook", "bishop", "knight")}
        return {f"(move {squares})"}

    def _read(self, move: str) -> tuple[Square, Square, str | None]:
        _, x, y, u, v, *lands = words(move)
        return (
            ("abcde".index(x), int(y) - 1),
            ("abcde".index(u), int(v) - 1),
            lands[0] if lands else None,
        )

    def _targets(
        self, pieces: Mapping[Square, Piece], start: Square, piece: Piece
    ) -> Iterator[Square]:
        """Where a piece can go on a board with these pieces, and where pawns may capture."""
        colour, kind = piece
        for dx, dy in LINES.get(kind, ()):
            for n in range(1, self.size):
                target = start[0] + n * dx, start[1] + n * dy
                if self._free(pieces, target, colour):
                    yield target
                if target in pieces or not self._inside(target):
                    break
        steps = STEPS.get(kind, ())
        if kind == "pawn":
            steps = tuple((dx, UP[colour]) for dx in (-1, 0, 1))
        for dx, dy in steps:
            if self._free(pieces, (start[0] + dx, start[1] + dy), colour):
                yield start[0] + dx, start[1] + dy

    def _inside(self, square: Square) -> bool:
        return all(0 <= coordinate < self.size for coordinate in square)

    def _free(self, pieces: Mapping[Square, Piece], square: Square, colour: str) -> bool:
        return self._inside(square) and pieces.get(square, ("",))[0] != colour

    def _is_legal(self, start: Square, end: Square) -> bool:
        colour, kind = self.pieces[start]
        if end not in self._targets(self.pieces, start, (colour, kind)):
            return False
        if kind == "pawn" and (end[0] != start[0]) != (end in self.pieces):
            return False
        pieces = self._pieces_after(start, end)
        return not self._attackers(pieces, self._king(pieces, colour), self.waiting)

    def _pieces_after(self, start: Square, end: Square) -> dict[Square, Piece]:
        pieces = dict(self.pieces)
        pieces[end] = pieces.pop(start)
        return pieces

    def _king(self, pieces: Mapping[Square, Piece], colour: str) -> Square:
        return next(square for square, piece in pieces.items() if piece == (colour, "king"))

    def _attackers(
        self, pieces: Mapping[Square, Piece], target: Square, colour: str
    ) -> list[Square]:
        """The squares of this player's pieces that attack a square with a piece of the other."""
        return [
            square
            for square, piece in pieces.items()
            if piece[0] == colour
            and target in self._targets(pieces, square, piece)
            and (piece[1] != "pawn" or square[0] != target[0])
        ]
