"""Finds the grids of a game: their sizes, their pieces, and the place of each fluent.

Shapes of fluents come in, and a side file if there is one; grids go out, with the place of each
shape on them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ggp.gdl.program import RANDOM, Program
from match_runner.pictures.coordinates import (
    FEW,
    Axis,
    Candidate,
    CoordinateFinder,
    Order,
    natural,
    order_of,
)
from match_runner.pictures.shapes import FluentShape, Skeleton
from match_runner.pictures.side_file import NO_SIDE_FILE, SideFile, groups_of
from match_runner.pictures.symbols import Symbols

MAX_CELLS = 2_600
"""Most cells of a grid at first: enough for 51 by 51."""

MAX_CELLS_OF_ALL = 10_000
MAX_LAYERS = 24
MAX_CONTENTS = 500

_SMALL_WORDS = frozenset(
    {
        *("at", "is", "in", "on", "has", "holds", "location", "position", "pos", "cell"),
        *("mark", "marked", "piece"),
    }
)


Spot = tuple[tuple[str, ...], str, str]
"""Layer, column and row of a cell."""


class Place(NamedTuple):
    """The place of a shape's fluents on boards.

    Attributes:
        grid: index of the grid.
        member: the meaning of the leaves there.
        named: whether the fluent's name is part of the content.
    """

    grid: int
    member: Candidate
    named: bool


@dataclass(slots=True)
class Grid:
    """Boards over the same coordinates, one for each layer.

    Attributes:
        columns, rows: all possible coordinates in order, from left to right and from top to
            bottom; a board of one row has the row "".
        core: indices of the first and last column and row that are always shown.
        cells: column and row of the cells that exist; None if all exist.
        layers: values of the layers, one row of constants for each board. Boards of `random`, and
            all boards if there are very many, are shown only when they are not empty.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    core: tuple[int, int, int, int]
    cells: frozenset[tuple[str, str]] | None
    layers: tuple[tuple[str, ...], ...]
    symbols: Symbols
    members: tuple[Candidate, ...]

    @property
    def num_cells(self) -> int:
        """Number of cells that are always shown, on all boards together."""
        left, right, top, bottom = self.core
        return (right - left + 1) * (bottom - top + 1) * min(len(self.layers), MAX_LAYERS)

    def spot(self, layer: tuple[str, ...], column: str | None, row: str | None) -> Spot | None:
        """A cell of the boards, existing or not; None if it is beside them."""
        if column is None or row is None:
            return None
        is_inside = column in self.columns and row in self.rows and layer in self.layers
        return (layer, column, row) if is_inside else None


def recognise(
    program: Program,
    shapes: Sequence[FluentShape],
    chains: Sequence[Mapping[str, str]],
    side: SideFile = NO_SIDE_FILE,
    cards: Collection[Skeleton] = (),
) -> tuple[list[Grid], dict[Skeleton, Place]]:
    """The grids of a game, and the place of each shape's fluents on them.

    Args:
        cards: shapes of cards and dice, which make no rows of cells.

    Raises:
        ConfigError: the side file has fluents that the game does not have.
    """
    roles = tuple(role for role in program.roles if role != RANDOM)
    finder = CoordinateFinder(program, roles, chains)
    described = groups_of(side, shapes, chains)
    claimed = side.plain | {member.shape.skeleton for _, group in described for member in group}
    free = [shape for shape in shapes if shape.skeleton not in claimed]
    groups: list[list[Candidate]] = []
    squares = [fit for fit in map(finder.square, free) if fit is not None]
    for candidate in sorted(squares, key=rank):
        if not lay_over(groups, candidate.shape):
            join(groups, candidate)
    for shape in _unplaced(free, groups):
        lay_over(groups, shape)
    without_grids = not groups and not described
    in_rows = [shape for shape in _unplaced(free, groups) if shape.skeleton not in cards]
    rows = [finder.line(shape, without_grids=without_grids) for shape in in_rows]
    lines: list[list[Candidate]] = []
    for fit in sorted((row for row in rows if row is not None), key=rank):
        join(lines, fit)
    return _laid_out([*described, *(("", group) for group in (*groups, *lines))], roles, side)


def _unplaced(
    shapes: Sequence[FluentShape], groups: Sequence[Sequence[Candidate]]
) -> list[FluentShape]:
    placed = {member.shape.skeleton for group in groups for member in group}
    return [shape for shape in shapes if shape.skeleton not in placed]


def _laid_out(
    groups: Sequence[tuple[str, Sequence[Candidate]]], roles: Sequence[str], side: SideFile
) -> tuple[list[Grid], dict[Skeleton, Place]]:
    grids: list[Grid] = []
    places: dict[Skeleton, Place] = {}
    names: set[str] = set()
    budget = MAX_CELLS_OF_ALL
    for title, group in groups:
        name = group[0].shape.name
        while name in names:
            name += "+"
        grid = _grid(name, title, group, roles, side)
        num = grid.num_cells
        if num > min(budget, MAX_CELLS):
            continue
        budget -= num
        names.add(name)
        for member in group:
            named = member is not group[0] or not member.content
            places[member.shape.skeleton] = Place(len(grids), member, named)
        grids.append(grid)
    return grids, places


def _grid(
    name: str, title: str, group: Sequence[Candidate], roles: Sequence[str], side: SideFile
) -> Grid:
    head = group[0]
    columns = _united([member.orders[0] for member in group])
    rows = _united([member.orders[1] for member in group])
    if not head.downwards:
        rows = rows[::-1]
    keys = {key for member in group for key in member.keys}
    core = _core(columns, rows, keys, complete=head.complete)
    size = (core[1] - core[0] + 1) * (core[3] - core[2] + 1)
    layers: tuple[tuple[str, ...], ...] = ((),)
    if head.layers:
        values = {value for member in group for row in layer_values(member) for value in row}
        layers = tuple((value,) for value in sorted(values, key=natural))
    contents = [m.shape.leaves[i].values[:MAX_CONTENTS] for m in group for i in m.content]
    contents += [
        words_of(m.shape.name, has_content=bool(m.content))
        for m in group
        if m is not head or not m.content
    ]
    empties = sum("b" in row for row in head.shape.initial)
    symbols = Symbols(
        roles,
        contents,
        common_empty=3 * empties > len(head.shape.initial),
        symbols=side.symbols,
        owners=side.owners,
    )
    bounded = head.holes or (head.complete and head.content and len(head.keys) < size)
    cells = head.keys if bounded else None
    return Grid(name, title or name, columns, rows, core, cells, layers, symbols, tuple(group))


def words_of(name: str, *, has_content: bool) -> tuple[str, ...]:
    """Words of a fluent's name that are the content of a cell: `king` of `king_at`.

    Args:
        has_content: whether leaves are the content, so that no word is needed.
    """
    words = tuple(word for word in name.replace("-", "_").split("_") if word)
    telling = tuple(word for word in words if word not in _SMALL_WORDS)
    return telling if telling or has_content else (name,)


def _united(orders: Sequence[Order | None]) -> tuple[str, ...]:
    """Coordinates of all members of a group."""
    head = orders[0]
    if head is None:
        return ("",)
    union = dict.fromkeys(value for order in orders if order is not None for value in order.values)
    if set(union) == {*head.values}:
        return head.values
    order = order_of(union, (), gaps=True)
    return order.values if order is not None else tuple(union)


def _core(
    columns: Sequence[str], rows: Sequence[str], keys: set[tuple[str, str]], *, complete: bool
) -> tuple[int, int, int, int]:
    """Indices of the first and last column and row that are always shown.

    The rules often allow coordinates beyond the board, because one relation counts both squares and
    steps. So if the initial fluents fill a smaller rectangle fairly well, that is the board.
    """
    whole = 0, len(columns) - 1, 0, len(rows) - 1
    xs = [columns.index(x) for x, _ in keys if x in columns]
    ys = [rows.index(y) for _, y in keys if y in rows]
    if not xs or not ys:
        return whole
    hull = min(xs), max(xs), min(ys), max(ys)
    width, height = hull[1] - hull[0] + 1, hull[3] - hull[2] + 1
    dense = 2 * len(keys) >= width * height >= 3 * max(width, height)
    dense = dense and 2 * width * height < len(columns) * len(rows)
    wide = max(len(columns), len(rows)) > FEW
    return hull if complete or dense or wide else whole


# ------------------------------------------------------------------------
# Groups shapes over the same coordinates on one board, unless each of them fills it.
#
# So `(cell ?x ?y ?piece)` and `(blocked ?x ?y)` share a board, but `cell1` and `cell2` have two.


def rank(candidate: Candidate) -> tuple[bool, bool, int]:
    return candidate.side is not None, not candidate.complete, -len(candidate.keys)


def join(groups: list[list[Candidate]], candidate: Candidate) -> None:
    """Put a candidate into the group that has its coordinates, or into a new group."""
    for group in groups:
        fitted = _fitted(group[0], candidate)
        if fitted is not None:
            group.append(fitted)
            return
    if candidate.side is not None:
        content = tuple(i for i in candidate.content if i != candidate.side)
        candidate = replace(candidate, layers=(candidate.side,), content=content)
    groups.append([candidate])


def lay_over(groups: Sequence[list[Candidate]], shape: FluentShape) -> bool:
    """Put a shape of two leaves, such as walls or marks, onto the board with these coordinates.

    Returns:
        Whether there is such a board.
    """
    if len(shape.leaves) != 2 or not all(leaf.values for leaf in shape.leaves):
        return False
    values = tuple(set(leaf.values) for leaf in shape.leaves)
    for group in groups:
        head = group[0]
        if head.rows is None or head.orders[1] is None or head.layers:
            continue
        across, up = (set(order.values) for order in (head.orders[0], head.orders[1]))
        straight = max(head.columns.leaves) <= max(head.rows.leaves)
        for columns, rows in ((0, 1), (1, 0)) if straight else ((1, 0), (0, 1)):
            if values[columns] <= across and values[rows] <= up:
                keys = frozenset((row[columns], row[rows]) for row in shape.initial)
                axes = Axis((columns,)), Axis((rows,))
                group.append(Candidate(shape, *axes, head.orders, (), keys=keys))
                return True
    return False


def _fitted(head: Candidate, candidate: Candidate) -> Candidate | None:
    """A candidate fitted to another's board; None if it needs its own board."""
    full = head.complete and candidate.complete and head.content and candidate.content
    if full or len(head.axes) != len(candidate.axes):
        return None
    if head.side is not None and candidate.side is not None:
        content = tuple(i for i in candidate.content if i != candidate.side)
        candidate = replace(candidate, layers=(candidate.side,), content=content)
    if [set(v) for v in layer_values(head)] != [set(v) for v in layer_values(candidate)]:
        return None
    return candidate if _overlap(head.orders, candidate.orders) else None


def _overlap(
    orders: tuple[Order | None, Order | None], head_orders: tuple[Order | None, Order | None]
) -> bool:
    for a, b in zip(orders, head_orders, strict=True):
        if a is None or b is None:
            continue
        num, common = len(a.values), len({*a.values} & {*b.values})
        if 2 * common < num or (2 * common < len(b.values) and len(b.values) <= FEW):
            return False
    return True


def layer_values(candidate: Candidate) -> list[tuple[str, ...]]:
    return [candidate.shape.leaves[i].values for i in candidate.layers]
