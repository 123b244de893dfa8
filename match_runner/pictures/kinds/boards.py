"""Grids with something in their cells.

board  id, title; columns, from left to right, and rows, from top to bottom: the names at its
       edge; cells, row by row: a board need not be a full rectangle
cell   id; column and row, indices from the top left; items, the likeliest first
item   text: it in words, such as `black rook`; symbol: what to draw, a character where the
       piece is well known, else the text, empty if the item says that the cell is empty; owner:
       the role whose it is, or empty; mark: what tells the owner where symbols are alike, 0 for
       none; share: its probability; title: the fluent as KIF
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ggp.gdl.program import RANDOM
from match_runner.pictures.grids import MOST_CELLS, MOST_LAYERS, Grid, Place, words_of
from match_runner.pictures.moves import Spot
from match_runner.pictures.picture import (
    LONGEST_FACT,
    DrawnFact,
    Json,
    Rules,
    Taker,
    id_part,
    short,
)
from match_runner.pictures.shapes import Skeleton, flatten

UNKNOWN = {
    **{"text": "unknown", "symbol": "?", "owner": None},
    **{"mark": 0, "share": 1.0, "title": "not known"},
}
"""Stands in a cell of which a role does not know all."""


def taker(rules: Rules) -> Taker:
    """Puts fluents on the grids of a game. Every board is there, also where nothing is on it."""

    def take(told: Sequence[DrawnFact]) -> tuple[list[Json], list[DrawnFact]]:
        on_grids: list[dict[Spot, list[Json]]] = [{} for _ in rules.grids]
        extents = [ShownExtent(grid) for grid in rules.grids]
        rest = []
        for each in told:
            skeleton, leaves = flatten(each.fact)
            place = rules.places.get(skeleton)
            names = [str(leaf) for leaf in leaves]
            where = None if place is None else _where(rules.grids[place.grid], place, names)
            if place is None or where is None or not extents[place.grid].takes(where):
                rest.append(each)
                continue
            item = _item(rules.grids[place.grid], place, skeleton, names, each)
            on_grids[place.grid].setdefault(where, []).append(item)
        pairs = zip(extents, on_grids, strict=True)
        return [board for extent, items in pairs for board in _of_layers(extent, items)], rest

    return take


def certain(part: Json) -> Json:
    """What is there for sure, and a sign in cells where something else may be."""
    for cell in part["cells"]:
        sure = [item for item in cell["items"] if item["share"] >= 1.0]
        cell["items"] = sure if len(sure) == len(cell["items"]) else [*sure, dict(UNKNOWN)]
    return part


def is_view(part: Json) -> bool:
    """Whether there is something on it."""
    return any(cell["items"] for cell in part["cells"])


def _item(
    grid: Grid, place: Place, skeleton: Skeleton, names: Sequence[str], told: DrawnFact
) -> Json:
    words = [names[i] for i in place.content]
    head = skeleton[0]
    if place.named and head is not None:
        words = [*words_of(head[0], has_content=bool(words)), *words]
    look = grid.symbols.look(words)
    title = short(told.text, LONGEST_FACT)
    return {
        "text": short(look.text),
        "symbol": short(look.symbol, 24),
        "owner": look.owner,
        "mark": look.mark,
        "share": told.share,
        "title": title,
    }


class ShownExtent:
    """How much of a grid is shown: its core, and what there is beside it, up to a limit."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._box = grid.core
        few = len(grid.layers) <= MOST_LAYERS
        self._layers = {each for each in grid.layers if few and each != (RANDOM,)}

    def takes(self, spot: Spot) -> bool:
        """Make room for a place; false if the grid would be too large."""
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
        """Those that are shown, in order."""
        return [layer for layer in self.grid.layers if layer in self._layers]

    @property
    def columns(self) -> Sequence[str]:
        """Those that are shown, from left to right."""
        return self.grid.columns[self._box[0] : self._box[1] + 1]

    @property
    def rows(self) -> Sequence[str]:
        """Those that are shown, from top to bottom."""
        return self.grid.rows[self._box[2] : self._box[3] + 1]


def _where(grid: Grid, place: Place, names: Sequence[str]) -> Spot | None:
    """Layer, column and row of a fluent; None if it is beside the board."""
    column = place.columns.of(names)
    row = "" if place.rows is None else place.rows.of(names)
    layer = tuple(names[i] for i in place.layers)
    if column not in grid.columns or row not in grid.rows or layer not in grid.layers:
        return None
    assert column is not None
    assert row is not None
    return layer, column, row


def _of_layers(extent: ShownExtent, items: Mapping[Spot, list[Json]]) -> Iterator[Json]:
    grid, columns, rows = extent.grid, extent.columns, extent.rows
    for layer in extent.layers:
        cells = [
            {
                "id": cell_id(grid, layer, column, row),
                "column": x,
                "row": y,
                "items": sorted(items.get((layer, column, row), []), key=lambda i: -i["share"]),
            }
            for y, row in enumerate(rows)
            for x, column in enumerate(columns)
            if grid.cells is None or (column, row) in grid.cells or (layer, column, row) in items
        ]
        yield {
            "id": _board_id(grid, layer),
            "title": short(" ".join((grid.title, *layer))),
            "columns": [short(column) for column in columns],
            "rows": [short(row) for row in rows],
            "cells": cells,
        }


def _board_id(grid: Grid, layer: Sequence[str]) -> str:
    return "@".join(id_part(name) for name in (grid.name, *layer))


def cell_id(grid: Grid, layer: Sequence[str], column: str, row: str) -> str:
    at = id_part(column) if grid.rows == ("",) else f"{id_part(column)},{id_part(row)}"
    return f"{_board_id(grid, layer)}:{at}"
