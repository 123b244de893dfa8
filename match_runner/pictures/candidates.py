"""Candidates: fluents that may be on a board, and how, from `finder` or from a side file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from match_runner.pictures.orders import Order, square_of
from match_runner.pictures.shapes import FluentShape


@dataclass(frozen=True, slots=True)
class Axis:
    """The place of a coordinate in a fluent: several leaves if it is made of several.

    Attributes:
        leaves: indices of its leaves.
        part: -1 if it is the whole leaf, 0 or 1 if it is the letter or the number of a square.
    """

    leaves: tuple[int, ...]
    part: int = -1

    def of(self, leaves: Sequence[str] | Mapping[int, str]) -> str | None:
        """The coordinate that the leaves of a fluent name."""
        if self.part < 0:
            return " ".join(leaves[i] for i in self.leaves)
        square = square_of(leaves[self.leaves[0]])
        return None if square is None else square[self.part]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A shape that may be in a grid, and how.

    Attributes:
        orders: orders of the columns and the rows.
        content: leaves that say what a cell holds.
        layers: leaves with a further coordinate.
        side: a leaf that names a role, whose own board this may be.
        downwards: whether the first row is at the top.
        complete: whether the initial fluents fill the grid.
        keys: column and row of the initial fluents, or of all fluents if `holes`.
        holes: whether there are no cells other than those of `keys`.
    """

    shape: FluentShape
    columns: Axis
    rows: Axis | None
    orders: tuple[Order, Order | None]
    content: tuple[int, ...]
    layers: tuple[int, ...] = ()
    side: int | None = None
    downwards: bool = False
    complete: bool = False
    keys: frozenset[tuple[str, str]] = frozenset()
    holes: bool = False

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Columns, and rows if there are several."""
        return (self.columns,) if self.rows is None else (self.columns, self.rows)
