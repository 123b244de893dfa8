"""What moves are worth, by searching a position to all its ends: no bound, no estimate."""

from __future__ import annotations

from benchmarks.positions.boards import WIN, Board, Position

ROUNDING = 1e-9
"""Means that differ by less are equal."""


def proven_values(board: Board, position: Position) -> dict[str, int]:
    """The goal that who is on turn gets for sure after each move, if both play their best."""
    values: dict[Position, int] = {}

    def worth(at: Position, cell: int) -> int:
        """Of taking a cell."""
        child = board.after(at, cell)
        if child not in values:
            result = board.result(child, cell)
            if result is None:
                result = max(worth(child, reply) for reply in board.cells(child))
            values[child] = result
        return WIN - values[child]

    return {move: worth(position, cell) for move, cell in board.moves(position).items()}


def random_values(board: Board, position: Position) -> dict[str, float]:
    """The mean goal after each move if both then move at random: what playouts tend to."""
    values: dict[Position, float] = {}

    def worth(at: Position, cell: int) -> float:
        """Of taking a cell."""
        child = board.after(at, cell)
        if child not in values:
            result: float | None = board.result(child, cell)
            if result is None:
                replies = [worth(child, replies) for replies in board.cells(child)]
                result = sum(replies) / len(replies)
            values[child] = result
        return WIN - values[child]

    return {move: worth(position, cell) for move, cell in board.moves(position).items()}


def is_misleading(proven: dict[str, int], random: dict[str, float]) -> bool:
    """Whether a move that is best by random play is not best."""
    favoured = max(random.values()) - ROUNDING
    best = max(proven.values())
    return any(random[move] >= favoured and proven[move] < best for move in proven)
