"""Tic-tac-toe and connect four in plain Python, written from the rules in words.

A position is two sets of cells as bits: those of who is on turn, then those of the other. The
cells of a column follow each other, from below.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

Position = tuple[int, int]
EMPTY: Position = (0, 0)
WIN, DRAW, LOSS = 100, 50, 0


@dataclass(frozen=True)
class Board:
    """A game of lines on a board.

    Attributes:
        game: its name in ggp.
        roles: who begins, then the other.
        line: how many in a line win.
        falls: whether a move names a column, and takes its lowest empty cell.
    """

    game: str
    roles: tuple[str, str]
    columns: int
    rows: int
    line: int
    falls: bool

    @property
    def size(self) -> int:
        return self.columns * self.rows

    def cell(self, x: int, y: int) -> int:
        """The number of a cell; columns and rows count from 1."""
        return (x - 1) * self.rows + y - 1

    @cached_property
    def lines(self) -> tuple[int, ...]:
        """The cells of each line that wins, as bits."""
        masks = []
        for x, y in product(range(1, self.columns + 1), range(1, self.rows + 1)):
            for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
                places = [(x + k * dx, y + k * dy) for k in range(self.line)]
                if all(1 <= u <= self.columns and 1 <= v <= self.rows for u, v in places):
                    masks.append(sum(1 << self.cell(u, v) for u, v in places))
        return tuple(masks)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """For each cell, the move in ggp that takes it."""
        cells = product(range(1, self.columns + 1), range(1, self.rows + 1))
        return tuple(f"(drop {x})" if self.falls else f"(mark {x} {y})" for x, y in cells)

    def cells(self, position: Position) -> list[int]:
        """The cells that may be taken, if the game is not over."""
        occupied = position[0] | position[1]
        free = [cell for cell in range(self.size) if not occupied >> cell & 1]
        if not self.falls:
            return free
        return [cell for cell in free if cell % self.rows == 0 or occupied >> (cell - 1) & 1]

    def moves(self, position: Position) -> dict[str, int]:
        """The same by the move in ggp that takes each."""
        return {self.names[cell]: cell for cell in self.cells(position)}

    def after(self, position: Position, cell: int) -> Position:
        """The position with the cell taken; then the other is on turn."""
        return position[1], position[0] | 1 << cell

    @cached_property
    def lines_through(self) -> tuple[tuple[int, ...], ...]:
        """For each cell, the lines that it is on."""
        return tuple(
            tuple(line for line in self.lines if line >> cell & 1) for cell in range(self.size)
        )

    def result(self, position: Position, last: int | None = None) -> int | None:
        """The goal of who would be on turn, if the game is over.

        Args:
            last: the cell that was taken last, if that is known: no other line can be new.
        """
        opponent = position[1]
        for line in self.lines if last is None else self.lines_through[last]:
            if line & opponent == line:
                return LOSS
        return DRAW if self.empty(position) == 0 else None

    def empty(self, position: Position) -> int:
        """How many cells are empty."""
        return self.size - (position[0] | position[1]).bit_count()

    @cached_property
    def symmetries(self) -> tuple[tuple[int, ...], ...]:
        """Where each cell goes in every way to look at the same board."""
        cells = [(x, y) for x in range(1, self.columns + 1) for y in range(1, self.rows + 1)]
        turned = [cells]
        if not self.falls:
            for _ in range(3):
                turned.append([(y, self.columns + 1 - x) for x, y in turned[-1]])
        mirrored = [[(self.columns + 1 - x, y) for x, y in cells] for cells in turned]
        return tuple(tuple(self.cell(x, y) for x, y in cells) for cells in turned + mirrored)

    def one_of_its_kind(self, position: Position) -> Position:
        """The same position for all that are alike but for how the board is looked at."""
        return min(
            (_moved(position[0], symmetry), _moved(position[1], symmetry))
            for symmetry in self.symmetries
        )


def _moved(bits: int, places: tuple[int, ...]) -> int:
    return sum(1 << place for cell, place in enumerate(places) if bits >> cell & 1)


BOARDS = {
    board.game: board
    for board in (
        Board("tic_tac_toe", ("xplayer", "oplayer"), 3, 3, line=3, falls=False),
        Board("connect_four", ("first", "second"), 8, 6, line=4, falls=True),
    )
}
