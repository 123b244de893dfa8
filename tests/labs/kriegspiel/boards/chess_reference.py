"""Alpha-beta with quiescence on boards of python-chess, one at a time: nothing of ggp.search."""

from __future__ import annotations

from collections.abc import Callable

import chess

VALUES = {
    chess.PAWN: 1.0,
    chess.KNIGHT: 3.0,
    chess.BISHOP: 3.5,
    chess.ROOK: 5.0,
    chess.QUEEN: 9.0,
    chess.KING: 0.0,
}
SCALE, MARGIN = 1.2, 2.0
PROTECTED, THREATENED, ADVANCE, CHECK = 0.05, 0.05, 0.05, -0.2

Worth = Callable[[chess.Board, chess.Color], float]
"""The worth of a board to a colour, without searching."""


def material(board: chess.Board, colour: chess.Color) -> float:
    """The worth of a board to a colour by its pieces."""
    lead = sum(
        value * (len(board.pieces(kind, colour)) - len(board.pieces(kind, not colour)))
        for kind, value in VALUES.items()
    )
    return goals(lead)


def kriegspiel(board: chess.Board, colour: chess.Color) -> float:
    """The same by all that `games/kriegspiel.toml` names."""
    gives_check = bool(board.attackers_mask(colour, board.king(not colour) or 0))
    return goals(pieces(board, colour) - pieces(board, not colour) + CHECK * gives_check)


def pieces(board: chess.Board, colour: chess.Color) -> float:
    """The worth of a colour's pieces to it, and of the enemy pieces that it attacks."""
    total = 0.0
    attacked = 0
    for square in chess.scan_forward(board.occupied_co[colour]):
        attacked |= board.attacks_mask(square)
    for square, piece in board.piece_map().items():
        value = VALUES[piece.piece_type]
        hit = bool(attacked >> square & 1)
        if piece.color != colour:
            total += THREATENED * value * hit
            continue
        total += value + PROTECTED * value * hit
        if piece.piece_type == chess.PAWN:
            rank = chess.square_rank(square)
            total += ADVANCE * (rank if colour == chess.WHITE else 7 - rank)
    return total


def goals(lead: float) -> float:
    """The worth of being so many pawns ahead."""
    return min(max(50 + SCALE * lead, MARGIN), 100 - MARGIN)


def ended(board: chess.Board, colour: chess.Color) -> float | None:
    """The goal of a colour, if the game is over."""
    if any(board.legal_moves):
        return None
    if not board.is_check():
        return 50.0
    return 0.0 if board.turn == colour else 100.0


def board_after(board: chess.Board, move: chess.Move) -> chess.Board:
    board = board.copy(stack=False)
    board.push(move)
    return board


def quiet(
    board: chess.Board,
    colour: chess.Color,
    most: int,
    low: float = -1.0,
    high: float = 101.0,
    square: chess.Square | None = None,
    worth: Worth = material,
) -> float:
    """The worth of a board to a colour once the exchange has been played out."""
    over = ended(board, colour)
    if over is not None:
        return over
    best = worth(board, colour)
    if not most:
        return best
    for move in board.legal_moves:
        if board.piece_at(move.to_square) is None or square not in (None, move.to_square):
            continue
        ours = board.turn == colour
        low, high = (max(low, best), high) if ours else (low, min(high, best))
        if low >= high:
            break
        value = quiet(board_after(board, move), colour, most - 1, low, high, move.to_square, worth)
        best = max(best, value) if ours else min(best, value)
    return best


def searched(
    board: chess.Board,
    colour: chess.Color,
    depth: int,
    most: int,
    worth: Worth,
    low: float = -1.0,
    high: float = 101.0,
) -> float:
    """The worth of a board to a colour, so many plies ahead and then quiet."""
    over = ended(board, colour)
    if over is not None:
        return over
    if not depth:
        return quiet(board, colour, most, low, high, worth=worth)
    best = -1.0 if board.turn == colour else 101.0
    for move in board.legal_moves:
        value = searched(board_after(board, move), colour, depth - 1, most, worth, low, high)
        if board.turn == colour:
            best = max(best, value)
            low = max(low, best)
        else:
            best = min(best, value)
            high = min(high, best)
        if low >= high:
            break
    return best


def by_move(
    board: chess.Board, depth: int, most: int, worth: Worth = material
) -> dict[chess.Move, float]:
    """The worth of each move to the colour on turn, so many plies ahead with the move."""
    return {
        move: searched(board_after(board, move), board.turn, depth - 1, most, worth)
        for move in board.legal_moves
    }
