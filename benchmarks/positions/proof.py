"""What moves are worth, by searching a position to all its ends: no bound, no estimate."""

from __future__ import annotations

from benchmarks.positions.boards import WIN, Board, Position

ROUNDING = 1e-9
"""Means that differ by less are equal."""


def proven_values(board: Board, position: Position) -> dict[str, int]:
    """The goal that who is on turn gets for sure after each move, if both play their best."""
    known: dict[Position, int] = {}

    def worth(at: Position, cell: int) -> int:
        """Of taking a cell."""
        after = board.after(at, cell)
        if after not in known:
            result = board.result(after, cell)
            if result is None:
                result = max(worth(after, each) for each in board.cells(after))
            known[after] = result
        return WIN - known[after]

    return {move: worth(position, cell) for move, cell in board.moves(position).items()}


def random_values(board: Board, position: Position) -> dict[str, float]:
    """The mean goal after each move if both then move at random: what playouts tend to."""
    known: dict[Position, float] = {}

    def worth(at: Position, cell: int) -> float:
        """Of taking a cell."""
        after = board.after(at, cell)
        if after not in known:
            result: float | None = board.result(after, cell)
            if result is None:
                each = [worth(after, each) for each in board.cells(after)]
                result = sum(each) / len(each)
            known[after] = result
        return WIN - known[after]

    return {move: worth(position, cell) for move, cell in board.moves(position).items()}


def is_misleading(proven: dict[str, int], random: dict[str, float]) -> bool:
    """Whether a move that is best by random play is not best."""
    favoured = max(random.values()) - ROUNDING
    best = max(proven.values())
    return any(random[move] >= favoured and proven[move] < best for move in proven)
