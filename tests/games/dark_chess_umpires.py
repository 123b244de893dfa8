"""The umpires of dark chess: OpenSpiel and pyffish, which have the game, each with its own eyes.

Both tell a position as FEN, and what a player sees of it as FEN with fog. The percepts of a move
are read off these. Where the umpires are known to differ from the rules of the sheet:

- OpenSpiel draws when a position comes for the third time. It goes on from the FEN then.
- A player who waits sees in OpenSpiel the square that its own pawn has just crossed, as if it
  might capture it. Who waits is asked about a position without such a square.
- pyffish leaves the pawn in fog that may be captured in passing. It is added.
- In pyffish nobody sees anything once a king is taken. It is asked in a variant without end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from importlib import import_module
from typing import Any, Self

from tests.games.umpires import Seen, words

START = {
    8: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    4: "r1kr/pppp/PPPP/R1KR w - - 0 1",
}
KINDS = {"p": "pawn", "n": "knight", "b": "bishop", "r": "rook", "q": "queen", "k": "king"}
QUIET = 100
FOG = "?*"
RUNS = str.maketrans({str(length): "." * length for length in range(1, 9)})

Squares = dict[str, str]
"""Letters of FEN by square, such as `e 2`; `.` where a square is empty."""


def squares_of(fen: str) -> Squares:
    """All squares of a position."""
    rows = fen.split()[0].translate(RUNS).split("/")
    return {
        f"{file} {len(rows) - y}": letter
        for y, row in enumerate(rows)
        for file, letter in zip("abcdefgh", row, strict=False)
    }


def owner(letter: str) -> str | None:
    """Whose piece a letter is."""
    return None if letter in "." + FOG else "white" if letter.isupper() else "black"


class FogUmpire:
    """What both umpires have in common.

    Attributes:
        fen: the position.
        moves: the legal moves of the player on turn, and what the umpire calls each.
    """

    roles: tuple[str, ...] = ("white", "black")

    def __init__(self, size: int) -> None:
        self.size = size
        self._set(START[size])

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy(self)  # moves replace what it has, and change nothing of it

    def _set(self, fen: str) -> None:
        self.fen = fen
        self.squares = squares_of(fen)
        self.on_turn = "white" if fen.split()[1] == "w" else "black"
        self.waiting = "black" if self.on_turn == "white" else "white"
        self.moves = dict(self._named_moves())
        self.result = self._result()

    def _named_moves(self) -> Iterator[tuple[str, str]]:
        raise NotImplementedError

    def _after(self, move: str) -> str:
        """The position after a move, as the umpire calls it."""
        raise NotImplementedError

    def _result(self) -> dict[str, int] | None:
        """The scores, if the game is over."""
        raise NotImplementedError

    def _fog(self, role: str) -> str:
        """What a player sees, as FEN; nothing may be captured in passing if it waits."""
        raise NotImplementedError

    def legal(self, role: str) -> set[str]:
        return set(self.moves) if role == self.on_turn else {"noop"}

    def scores(self) -> dict[str, int] | None:
        return self.result

    def cells(self) -> set[str]:
        """The pieces, as fluents."""
        return {
            f"(cell {square} {colour} {KINDS[letter.lower()]})"
            for square, letter in self.squares.items()
            if (colour := owner(letter))
        }

    def play(self, moves: Mapping[str, str]) -> Seen:
        before = self.squares
        self._set(self._after(self.moves[moves[self.on_turn]]))
        seen = {role: self._view(role) for role in self.roles}
        seen[self.on_turn] |= {
            f"(lost {square})"
            for square, letter in before.items()
            if owner(letter) == self.on_turn != owner(self.squares[square])
        }
        for move in self.moves:
            if self._passes(move):
                _, _, y, u, v = words(move)
                seen[self.on_turn] |= {f"(passed {u} {v})", f"(piece {u} {y} pawn)"}
        return seen

    def _view(self, role: str) -> set[str]:
        """The percepts of a player but `lost` and `passed`.

        It must see its own pieces, and what it sees must be so.
        """
        percepts = set()
        for square, letter in squares_of(self._fog(role)).items():
            there = self.squares[square]
            assert letter == there or (letter in FOG and owner(there) != role)
            if letter == ".":
                percepts.add(f"(empty {square})")
            elif letter not in FOG and owner(letter) != role:
                percepts.add(f"(piece {square} {KINDS[letter.lower()]})")
        return percepts

    def tempting(self, move: str) -> bool:
        """Whether a move is of a rare kind."""
        return self.rare(move) is not None

    def rare(self, move: str) -> str | None:
        """The name of a move of a rare kind."""
        kind, x, y, u, _, *_ = words(move)
        if kind == "promote":
            return "promotion"
        if self._passes(move):
            return "in passing"
        castles = self.squares[f"{x} {y}"] in "kK" and abs(ord(x) - ord(u)) == 2
        return "castling" if castles else None

    def _passes(self, move: str) -> bool:
        _, x, y, u, v, *_ = words(move)
        return x != u and self.squares[f"{x} {y}"] in "pP" and self.squares[f"{u} {v}"] == "."


class SpielUmpire(FogUmpire):
    """OpenSpiel's `dark_chess`, in which player 0 is black."""

    def __init__(self, size: int) -> None:
        self.spiel: Any = import_module("pyspiel")
        super().__init__(size)

    def _set(self, fen: str) -> None:
        actions = getattr(self, "_actions", {})
        self.state = actions[fen] if fen in actions else self._state(fen)
        if self.state.is_terminal() and not any(self.state.returns()):
            # Positions that came before may have made it a draw.
            self.state = self._state(fen)
        super()._set(fen)

    def _state(self, fen: str) -> Any:
        game = self.spiel.load_game(f"dark_chess(board_size={self.size},fen={fen})")
        return game.new_initial_state()

    def _named_moves(self) -> Iterator[tuple[str, str]]:
        children = [self.state.child(action) for action in self.state.legal_actions()]
        self._actions = {str(child): child for child in children}
        for fen in self._actions:
            yield self._text(squares_of(fen)), fen

    def _after(self, move: str) -> str:
        return move

    def _text(self, after: Squares) -> str:
        """The move that leads to a position: castling is the king's move."""
        changed = {s for s, letter in self.squares.items() if letter != after[s]}
        froms = {s for s in changed if owner(self.squares[s]) == self.on_turn}
        tos = {s for s in changed if owner(after[s]) == self.on_turn}
        if len(tos) == 2:
            froms = {s for s in froms if self.squares[s] in "kK"}
            tos = {s for s in tos if after[s] in "kK"}
        (start,), (end,) = froms, tos
        if self.squares[start] == after[end]:
            return f"(move {start} {end})"
        return f"(promote {start} {end} {KINDS[after[end].lower()]})"

    def _result(self) -> dict[str, int] | None:
        if not self.state.is_terminal():
            return None
        black, white = self.state.returns()
        return {"white": round(50 + 50 * white), "black": round(50 + 50 * black)}

    def _fog(self, role: str) -> str:
        board, turn, castling, passed, *counts = self.fen.split()
        state = self.state
        if role == self.waiting and passed != "-":
            state = self._state(" ".join([board, turn, castling, "-", *counts]))
        return str(state.observation_string(self.roles[::-1].index(role)))


class FishUmpire(FogUmpire):
    """pyffish, with a variant of chess: the king is a commoner, and who has none has lost.

    A second variant, in which games go on without kings, says what is seen.
    """

    VARIANTS = """
[lit{size}:chess]
maxRank = {size}
maxFile = {size}
promotionRegionWhite = *{size}
promotionRegionBlack = *1
startFen = {start}
king = -
commoner = k
castlingKingPiece = k
castling = {whole}
doubleStep = {whole}

[dark{size}:lit{size}]
extinctionValue = loss
extinctionPieceTypes = k
"""

    def __init__(self, size: int) -> None:
        self.fish: Any = import_module("pyffish")
        self.variant = f"dark{size}"
        if self.variant not in self.fish.variants():
            whole = str(size == 8).lower()
            self.fish.load_variant_config(
                self.VARIANTS.format(size=size, start=START[size], whole=whole)
            )
        super().__init__(size)

    def _named_moves(self) -> Iterator[tuple[str, str]]:
        for move in self.fish.legal_moves(self.variant, self.fen, []):
            start, end, lands = move[0:2], move[2:4], move[4:]
            squares = " ".join(start + end)
            text = f"(promote {squares} {KINDS[lands]})" if lands else f"(move {squares})"
            yield text, move

    def _after(self, move: str) -> str:
        return str(self.fish.get_fen(self.variant, self.fen, [move]))

    def _result(self) -> dict[str, int] | None:
        # Each question takes milliseconds; pyffish has no moves in games that are over.
        if (
            not self.moves
            and (end := self.fish.is_immediate_game_end(self.variant, self.fen, []))[0]
        ):
            assert end[1] < 0
            return {self.on_turn: 0, self.waiting: 100}
        is_quiet = int(self.fen.split()[4]) >= QUIET
        if is_quiet:
            assert self.fish.is_optional_game_end(self.variant, self.fen, [])[0]
        return None if self.moves and not is_quiet else dict.fromkeys(self.roles, 50)

    def _fog(self, role: str) -> str:
        fen = self.fen
        if role == self.waiting:
            board, _, castling, _, *counts = fen.split()
            fen = " ".join([board, role[0], castling, "-", *counts])
        return str(self.fish.get_fog_fen(fen, f"lit{self.size}"))


UMPIRES = {"pyspiel": SpielUmpire, "pyffish": FishUmpire}
"""The umpires by the library that each needs."""
