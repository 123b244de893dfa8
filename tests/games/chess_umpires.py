"""The umpire of kriegspiel, on the whole board: python-chess."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import chess

from tests.games.umpires import Seen, words

PLIES = 160
QUIET = 50


def seen_by_both(*percepts: str | None) -> Seen:
    """What both players see."""
    seen = {percept for percept in percepts if percept}
    return {"white": seen, "black": set(seen)} if seen else {}


def kind_of_check(king: tuple[int, int], attacker: tuple[int, int], size: int) -> str:
    """From where a king is attacked; squares are counted from 0."""
    across, up = attacker[0] - king[0], attacker[1] - king[1]
    if not across:
        return "file"
    if not up:
        return "rank"
    if abs(across) != abs(up):
        return "knight"
    slope = 1 if across == up else -1
    lengths = {s: len(list(squares_on(king, 1, s, size))) for s in (1, -1)}
    return "long_diagonal" if lengths[slope] >= lengths[-slope] else "short_diagonal"


def squares_on(
    square: tuple[int, int], across: int, up: int, size: int
) -> Iterator[tuple[int, int]]:
    """The squares of a line through a square."""
    for n in range(-size, size + 1):
        x, y = square[0] + n * across, square[1] + n * up
        if 0 <= x < size and 0 <= y < size:
            yield x, y


class ChessUmpire:
    """The umpire on the whole board."""

    roles: tuple[str, ...] = ("white", "black")

    def __init__(self) -> None:
        self.board = chess.Board()
        self.refused: set[tuple[int, int]] = set()

    def legal(self, role: str) -> set[str]:
        if role != chess.COLOR_NAMES[self.board.turn]:
            return {"noop"}
        return {text_of(move) for move in self._tries() if self._untried(move)}

    def play(self, moves: Mapping[str, str]) -> Seen:
        move = move_of(moves[chess.COLOR_NAMES[self.board.turn]])
        if not self.board.is_legal(move):
            self.refused.add((move.from_square, move.to_square))
            return seen_by_both("refused")
        self.refused.clear()
        captured = self._captured(move)
        self.board.push(move)
        return seen_by_both(captured, *self._checks())

    def scores(self) -> dict[str, int] | None:
        if self.board.is_checkmate():
            loser = chess.COLOR_NAMES[self.board.turn]
            return {role: 100 * (role != loser) for role in self.roles}
        plies = len(self.board.move_stack)
        if self.board.is_stalemate() or plies == PLIES or self.board.halfmove_clock == QUIET:
            return dict.fromkeys(self.roles, 50)
        return None

    def tempting(self, move: str) -> bool:
        """Whether a move is legal and takes, promotes, castles or gives check."""
        attempt = move_of(move)
        if not self.board.is_legal(attempt):
            return False
        board = self.board
        takes = board.is_capture(attempt) or board.gives_check(attempt)
        return takes or attempt.promotion is not None or board.is_castling(attempt)

    def rare(self, move: str) -> str | None:
        """The name of a legal move of a rare kind."""
        attempt = move_of(move)
        if not self.board.is_legal(attempt):
            return None
        if self.board.is_en_passant(attempt):
            return "in passing"
        if self.board.is_castling(attempt):
            return "castling"
        return None if attempt.promotion is None else "promotion"

    def cells(self) -> set[str]:
        """The pieces, as fluents."""
        return {
            f"(cell {square_text(square)} {chess.COLOR_NAMES[piece.color]} "
            f"{chess.PIECE_NAMES[piece.piece_type]})"
            for square, piece in self.board.piece_map().items()
        }

    def _tries(self) -> Iterable[chess.Move]:
        """Moves that the role's pieces would have on an otherwise empty board, and all pawn
        captures."""
        board = self.board.copy(stack=False)
        turn = board.turn
        own_squares = board.occupied_co[turn]
        for square in chess.scan_forward(board.occupied_co[not turn]):
            board.remove_piece_at(square)
        board.ep_square = None
        # Rooks that were taken have no right to castle on the whole board.
        board.castling_rights = self.board.clean_castling_rights()
        yield from board.pseudo_legal_moves
        for pawn in board.pieces(chess.PAWN, turn):
            for target in chess.scan_forward(chess.BB_PAWN_ATTACKS[turn][pawn] & ~own_squares):
                last = chess.square_rank(target) in (0, 7)
                for piece in PROMOTIONS if last else (None,):
                    yield chess.Move(pawn, target, piece)

    def _untried(self, move: chess.Move) -> bool:
        return (move.from_square, move.to_square) not in self.refused

    def _captured(self, move: chess.Move) -> str | None:
        if self.board.is_en_passant(move):
            square = chess.square(
                chess.square_file(move.to_square), chess.square_rank(move.from_square)
            )
        elif self.board.is_capture(move):
            square = move.to_square
        else:
            return None
        return f"(captured {square_text(square)})"

    def _checks(self) -> Iterator[str]:
        king = self.board.king(self.board.turn)
        assert king is not None
        for square in self.board.checkers():
            yield f"(check {kind_of_check(coordinates(king), coordinates(square), 8)})"


PROMOTIONS = (chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)


def coordinates(square: int) -> tuple[int, int]:
    return chess.square_file(square), chess.square_rank(square)


def square_text(square: int) -> str:
    return " ".join(chess.square_name(square))


def text_of(move: chess.Move) -> str:
    """A move of python-chess as it is written in the rulesheet."""
    squares = f"{square_text(move.from_square)} {square_text(move.to_square)}"
    if move.promotion is None:
        return f"(move {squares})"
    return f"(promote {squares} {chess.PIECE_NAMES[move.promotion]})"


def move_of(text: str) -> chess.Move:
    """The same, the other way round."""
    _, *squares = words(text)
    start, end = (chess.parse_square("".join(pair)) for pair in (squares[:2], squares[2:4]))
    promotion = chess.PIECE_NAMES.index(squares[4]) if len(squares) > 4 else None
    return chess.Move(start, end, promotion)
