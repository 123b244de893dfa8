"""Turns the fluents of a state into its picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ggp.errors import ConfigError
from ggp.gdl.normalize import normalize
from ggp.gdl.program import RANDOM, Program
from ggp.gdl.source import Rulesheet
from ggp.gdl.terms import Compound, Signature, Term, signature
from match_runner.pictures.grids import MOST_CELLS, MOST_LAYERS, Grid, Place, recognise, words_of
from match_runner.pictures.moves import Moves, Spot, moves_of
from match_runner.pictures.orders import natural
from match_runner.pictures.picture import (
    MOST_FACTS,
    Board,
    Cell,
    Fact,
    Item,
    Json,
    Picture,
    Table,
    id_part,
    short,
)
from match_runner.pictures.shapes import Leaf, Shape, Skeleton, flatten, shapes_of
from match_runner.pictures.side_file import NO_SIDE_FILE, read_side_file
from match_runner.pictures.values import Values, chains_of

_LONGEST_TITLE = 400


class Layout:
    """Layout of the states of a game; made by `Layout.of`."""

    def __init__(
        self,
        roles: Sequence[str],
        grids: Sequence[Grid],
        places: Mapping[Skeleton, Place],
        moves: Moves,
        headers: Mapping[Signature, Sequence[str]],
    ) -> None:
        self._roles, self._grids, self._places = roles, grids, places
        self._moves, self._headers = moves, headers

    @classmethod
    def of(cls, rules: Program | Rulesheet, side_file: Path | None = None) -> Layout:
        """The layout that a game's rules suggest.

        Args:
            side_file: a file that describes the picture better than the rules (`side_file.py`).

        Raises:
            GDLValidationError: a rulesheet that cannot be played.
            ConfigError: the side file cannot be used.
        """
        program = rules if isinstance(rules, Program) else normalize(rules)
        roles = tuple(role for role in program.roles if role != RANDOM)
        side = NO_SIDE_FILE if side_file is None else read_side_file(side_file, roles)
        values = Values(program)
        shapes = shapes_of(program, values)
        try:
            grids, places = recognise(program, shapes, chains_of(values.facts), side)
        except ConfigError as error:
            raise ConfigError(f"{side_file}: {error}") from error
        moves = moves_of(program, roles, grids, places)
        return cls(roles, grids, places, moves, _headers(shapes, roles))

    def picture(self, facts: Iterable[Term]) -> Picture:
        """Picture of the fluents of a state, or of the percepts of a turn.

        It has every board, even those with nothing on them.
        """
        return self._draw([(fact, 1.0) for fact in facts])

    def heat(self, marginals: Mapping[Term, float]) -> Json:
        """Picture of a belief, as JSON for the page.

        Args:
            marginals: the probability of each fluent.
        """
        return self._draw(list(marginals.items())).to_json()

    def cells_of_move(self, move: Term, role: str) -> tuple[str, ...]:
        """Ids of the cells that a move names, in its order; () if there are none.

        Args:
            role: the role that makes it: each role may have a board of its own.
        """
        number, spots = self._moves.spots(move, role)
        return tuple(_cell_id(self._grids[number], *spot) for spot in spots)

    def _draw(self, facts: Sequence[tuple[Term, float]]) -> Picture:
        on_grids: list[dict[Spot, list[Item]]] = [{} for _ in self._grids]
        extents = [Extent(grid) for grid in self._grids]
        rest: list[tuple[Term, float]] = []
        ordered = sorted(((str(fact), fact, share) for fact, share in facts), key=lambda f: f[0])
        for text, fact, share in ordered[:MOST_FACTS]:
            skeleton, leaves = flatten(fact)
            place = self._places.get(skeleton)
            names = [str(leaf) for leaf in leaves]
            where = None if place is None else _where(self._grids[place.grid], place, names)
            if place is None or where is None or not extents[place.grid].takes(where):
                rest.append((fact, share))
                continue
            item = self._item(place, names, skeleton, share, text)
            on_grids[place.grid].setdefault(where, []).append(item)
        boards = [
            board
            for extent, items in zip(extents, on_grids, strict=True)
            for board in _boards(extent, items)
        ]
        tables, facts_left = self._tables(rest)
        if len(ordered) > MOST_FACTS:
            facts_left.append(Fact(f"and {len(ordered) - MOST_FACTS:,} more", 1.0))
        return Picture(boards, tables, facts_left, [short(role) for role in self._roles])

    def _item(
        self, place: Place, names: Sequence[str], skeleton: Skeleton, share: float, text: str
    ) -> Item:
        words = [names[i] for i in place.content]
        head = skeleton[0]
        if place.named and head is not None:
            words = [*words_of(head[0], has_content=bool(words)), *words]
        look = self._grids[place.grid].symbols.look(words)
        return Item(
            short(look.text), short(look.symbol, 24), look.owner, share, short(text, _LONGEST_TITLE)
        )

    def _tables(self, facts: Sequence[tuple[Term, float]]) -> tuple[list[Table], list[Fact]]:
        groups: dict[Signature, list[tuple[Term, float]]] = {}
        for fact, share in facts:
            groups.setdefault(signature(fact), []).append((fact, share))
        tables, single = [], []
        for (name, arity), members in groups.items():
            if arity == 0 or len(members) == 1:
                single += [Fact(short(str(fact), _LONGEST_TITLE), share) for fact, share in members]
                continue
            headers = self._headers.get((name, arity)) or [str(i + 1) for i in range(arity)]
            table = Table(short(name), headers)
            rows = []
            for fact, share in members:
                assert isinstance(fact, Compound)
                rows.append((tuple(str(arg) for arg in fact.args), share))
            for row, share in sorted(rows, key=lambda r: [natural(text) for text in r[0]]):
                table.rows.append(tuple(short(text) for text in row))
                table.shares.append(share)
            tables.append(table)
        return tables, single


class Extent:
    """The part of a grid that is shown: its core, and what is beside it, up to a limit."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._box = grid.core
        few = len(grid.layers) <= MOST_LAYERS
        self._layers = {each for each in grid.layers if few and each != (RANDOM,)}

    def takes(self, spot: Spot) -> bool:
        """Make room for a place; false if the grid would become too large."""
        layer, column, row = spot
        x, y = self.grid.columns.index(column), self.grid.rows.index(row)
        left, right, top, bottom = self._box
        box = min(left, x), max(right, x), min(top, y), max(bottom, y)
        num = (box[1] - box[0] + 1) * (box[3] - box[2] + 1)
        layers = self._layers | {layer}
        if len(layers) > MOST_LAYERS or num * len(layers) > 2 * MOST_CELLS:
            return False
        self._box, self._layers = box, layers
        return True

    @property
    def layers(self) -> list[tuple[str, ...]]:
        """Layers that are shown, in order."""
        return [layer for layer in self.grid.layers if layer in self._layers]

    @property
    def columns(self) -> Sequence[str]:
        """Columns that are shown, from left to right."""
        return self.grid.columns[self._box[0] : self._box[1] + 1]

    @property
    def rows(self) -> Sequence[str]:
        """Rows that are shown, from top to bottom."""
        return self.grid.rows[self._box[2] : self._box[3] + 1]


def _headers(shapes: Sequence[Shape], roles: Sequence[str]) -> dict[Signature, list[str]]:
    """Headers of the columns of tables: the variables of the rules, if these are words."""
    found = {}
    for shape in shapes:
        head = shape.skeleton[0]
        if head is not None and head[1] == len(shape.leaves) == len(shape.skeleton) - 1:
            found[head] = [_header(i, leaf, roles) for i, leaf in enumerate(shape.leaves)]
    return found


def _header(number: int, leaf: Leaf, roles: Sequence[str]) -> str:
    if leaf.values and set(leaf.values) <= {*roles, RANDOM}:
        return "role"
    return leaf.name if len(leaf.name) > 2 and leaf.name.isalpha() else str(number + 1)


def _where(grid: Grid, place: Place, names: Sequence[str]) -> Spot | None:
    """Layer, column and row of a fluent; None if it is not on the board."""
    column = place.columns.of(names)
    row = "" if place.rows is None else place.rows.of(names)
    layer = tuple(names[i] for i in place.layers)
    if column not in grid.columns or row not in grid.rows or layer not in grid.layers:
        return None
    assert column is not None
    assert row is not None
    return layer, column, row


def _boards(extent: Extent, items: Mapping[Spot, list[Item]]) -> Iterator[Board]:
    grid, columns, rows = extent.grid, extent.columns, extent.rows
    for layer in extent.layers:
        cells = [
            Cell(_cell_id(grid, layer, column, row), x, y, items.get((layer, column, row), []))
            for y, row in enumerate(rows)
            for x, column in enumerate(columns)
            if grid.cells is None or (column, row) in grid.cells or (layer, column, row) in items
        ]
        title = short(" ".join((grid.title, *layer)))
        names = [short(column) for column in columns], [short(row) for row in rows]
        yield Board(_board_id(grid, layer), title, *names, cells)


def _board_id(grid: Grid, layer: Sequence[str]) -> str:
    return "@".join(id_part(name) for name in (grid.name, *layer))


def _cell_id(grid: Grid, layer: Sequence[str], column: str, row: str) -> str:
    at = id_part(column) if grid.rows == ("",) else f"{id_part(column)},{id_part(row)}"
    return f"{_board_id(grid, layer)}:{at}"
