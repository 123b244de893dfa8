"""Draw the set: `python -m benchmarks.positions.draw` writes positions.json, in minutes.

Positions come from random play in which nobody wins while there is another move. One is kept if
nobody can win at once, its moves differ in worth, and none like it, turned or mirrored, was kept
before. As many as wanted mislead random play; these are rare.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from benchmarks.positions.boards import BOARDS, EMPTY, LOSS, Board, Position
from benchmarks.positions.position_set import FILE, Puzzle, puzzles_text
from benchmarks.positions.proof import is_misleading, proven_values, random_values

SEED = 1


class Wanted(NamedTuple):
    """What is wanted of a game.

    Attributes:
        plain: positions in which random play favours a best move.
        misleading: positions in which it does not.
        fewest, most: empty cells.
    """

    plain: int
    misleading: int
    fewest: int
    most: int


WANTED = {"tic_tac_toe": Wanted(20, 20, 3, 8), "connect_four": Wanted(50, 10, 8, 12)}


def main() -> None:
    """Write the set."""
    rng = random.Random(SEED)
    puzzles = [
        puzzle for game, numbers in WANTED.items() for puzzle in draw(BOARDS[game], numbers, rng)
    ]
    FILE.write_text(puzzles_text(puzzles), encoding="utf-8")


def draw(board: Board, numbers: Wanted, rng: random.Random) -> list[Puzzle]:
    """Positions of one game, in the order in which they came up."""
    puzzles: list[Puzzle] = []
    missing = {False: numbers.plain, True: numbers.misleading}
    looked_at: set[Position] = set()
    while any(missing.values()):
        empty = rng.randint(numbers.fewest, numbers.most)
        puzzle = _random_position(board, empty, f"{board.game}-{len(puzzles) + 1:02}", rng)
        if puzzle is None or _can_win(board, puzzle.position):
            continue
        kind = board.one_of_its_kind(puzzle.position)
        if kind in looked_at:
            continue
        looked_at.add(kind)
        proven = _proven(puzzle)
        if proven is not None and missing[proven.misleading]:
            missing[proven.misleading] -= 1
            puzzles.append(proven)
    return puzzles


def _random_position(board: Board, empty: int, name: str, rng: random.Random) -> Puzzle | None:
    """A position with so many empty cells; None if the game was over before."""
    position = EMPTY
    moves = []
    while board.empty(position) > empty:
        cells = board.cells(position)
        going_on = [c for c in cells if board.result(board.after(position, c), c) is None]
        if not going_on:
            return None
        cell = rng.choice(going_on)
        moves.append(board.names[cell])
        position = board.after(position, cell)
    return Puzzle(name, board.game, tuple(moves), {}, misleading=False)


def _can_win(board: Board, position: Position) -> bool:
    return any(board.result(board.after(position, c), c) == LOSS for c in board.cells(position))


def _proven(puzzle: Puzzle) -> Puzzle | None:
    """The position with its answers; None if all its moves are worth the same."""
    values = proven_values(puzzle.board, puzzle.position)
    if len(set(values.values())) == 1:
        return None
    misleading = is_misleading(values, random_values(puzzle.board, puzzle.position))
    return Puzzle(puzzle.name, puzzle.game, puzzle.moves, values, misleading)


if __name__ == "__main__":
    main()
