"""What a page draws of a state: parts of several kinds, boards, tables and facts, all plain text.

Every fact is in a picture exactly once: each kind takes those that it can draw, and leaves the rest
to the next. Another kind is its functions here and a line in `KINDS`, which the page has as well
(`KINDS` in `board.js`).

Names come from rulesheets, so they may be anything: texts are cut to `LONGEST` characters, and ids
are built from their parts so that no two cells share one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from ggp.gdl.program import RANDOM
from ggp.gdl.terms import Compound, Signature, Term, signature
from match_runner.pictures.coordinates import natural
from match_runner.pictures.grids import MOST_CELLS, MOST_LAYERS, Grid, Place, words_of
from match_runner.pictures.moves import Spot
from match_runner.pictures.shapes import FluentLeaf, FluentShape, Skeleton, flatten
from match_runner.pictures.words import in_order

LONGEST = 120
"""Most characters of a text that are shown; the rest is cut off."""

LONGEST_FACT = 400
"""The same of a whole fact."""

MOST_FACTS = 5_000
"""Most facts in one picture; of the others only the number is shown."""

Json = dict[str, Any]


class DrawnFact(NamedTuple):
    """A fact to be drawn.

    Attributes:
        text: the fact as KIF; facts come in its order.
        share: its probability, from 0 to 1.
    """

    text: str
    fact: Term
    share: float


class Rules(NamedTuple):
    """What is known of a game's fluents before any of them is drawn.

    Attributes:
        roles: without `random`.
        grids, places: its boards, and which fluents go where on them.
        words: puts a fluent into words; empty for bookkeeping that people need not see, None where
            the game has no words for it.
    """

    roles: tuple[str, ...]
    shapes: Sequence[FluentShape]
    grids: Sequence[Grid]
    places: Mapping[Skeleton, Place]
    words: Callable[[Term], str | None] = lambda fluent: None


Taker = Callable[[Sequence[DrawnFact]], tuple[Sequence[Json], Sequence[DrawnFact]]]
"""Makes parts of facts, and leaves those that it has no use for."""


class Kind(NamedTuple):
    """One kind of parts; a part is what the page reads.

    Attributes:
        taker: what makes them in one game.
        certain: what is left of a part for somebody who is told only what is certain, if anything
            is; it may change the part.
        is_view: whether it is worth a picture of its own where it stands for percepts.
        words: the part in plain text, where the terminal does not draw it.
        lines: the same for people, without bookkeeping, where a picture has it beside the boards.
    """

    taker: Callable[[Rules], Taker]
    certain: Callable[[Json], Json | None]
    is_view: Callable[[Json], bool] = lambda part: False
    words: Callable[[Json], str] = str
    lines: Callable[[Json], Sequence[str]] = lambda part: [str(part["words"])]


@dataclass(slots=True)
class Picture:
    """Picture of a state, of the percepts of a turn, or of a belief.

    Attributes:
        parts: of every kind, by its name.
        owners: the roles in their order, for colours.
    """

    parts: Mapping[str, Sequence[Json]]
    owners: Sequence[str] = ()

    def to_json(self) -> Json:
        """What the page draws: made of dicts, lists, strings and numbers."""
        return {**self.parts, "owners": list(self.owners)}


def short(text: str, longest: int = LONGEST) -> str:
    """A text, cut off if it is too long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"


def id_part(name: str) -> str:
    """A name as a part of an id: no separators, and short; different for different names."""
    safe = name.replace("%", "%25").replace(",", "%2C").replace(":", "%3A").replace(" ", "%20")
    if len(safe) <= 40:
        return safe
    return f"{safe[:20]}%{blake2b(name.encode(errors='replace'), digest_size=8).hexdigest()}"


# ------------------------------------------------------------------------
# Grids with something in their cells.
#
# board  id, title; columns, from left to right, and rows, from top to bottom: the names at its
#        edge; cells, row by row: a board need not be a full rectangle
# cell   id; column and row, indices from the top left; items, the likeliest first
# item   text: it in words, such as `black rook`; symbol: what to draw, a character where the
#        piece is well known, else the text, empty if the item says that the cell is empty; owner:
#        the role whose it is, or empty; mark: what tells the owner where symbols are alike, 0 for
#        none; share: its probability; title: the fluent as KIF

UNKNOWN = {
    **{"text": "unknown", "symbol": "?", "owner": None},
    **{"mark": 0, "share": 1.0, "title": "not known"},
}
"""Stands in a cell of which a role does not know all."""


def board_taker(rules: Rules) -> Taker:
    """Puts fluents on the grids of a game. Every board is there, also where nothing is on it."""

    def take(facts: Sequence[DrawnFact]) -> tuple[list[Json], list[DrawnFact]]:
        on_grids: list[dict[Spot, list[Json]]] = [{} for _ in rules.grids]
        extents = [ShownExtent(grid) for grid in rules.grids]
        rest = []
        for drawn_fact in facts:
            skeleton, leaves = flatten(drawn_fact.fact)
            place = rules.places.get(skeleton)
            names = [str(leaf) for leaf in leaves]
            spot = None if place is None else _spot(rules.grids[place.grid], place, names)
            if place is None or spot is None or not extents[place.grid].takes(spot):
                rest.append(drawn_fact)
                continue
            item = _item(rules.grids[place.grid], place, skeleton, names, drawn_fact)
            on_grids[place.grid].setdefault(spot, []).append(item)
        pairs = zip(extents, on_grids, strict=True)
        return [board for extent, items in pairs for board in _of_layers(extent, items)], rest

    return take


def certain_board(part: Json) -> Json:
    """What is there for sure, and a sign in cells where something else may be."""
    for cell in part["cells"]:
        sure = [item for item in cell["items"] if item["share"] >= 1.0]
        cell["items"] = sure if len(sure) == len(cell["items"]) else [*sure, dict(UNKNOWN)]
    return part


def has_items(part: Json) -> bool:
    """Whether there is something on it."""
    return any(cell["items"] for cell in part["cells"])


def _item(
    grid: Grid, place: Place, skeleton: Skeleton, names: Sequence[str], drawn_fact: DrawnFact
) -> Json:
    words = [names[i] for i in place.content]
    head = skeleton[0]
    if place.named and head is not None:
        words = [*words_of(head[0], has_content=bool(words)), *words]
    look = grid.symbols.look(words)
    title = short(drawn_fact.text, LONGEST_FACT)
    return {
        "text": short(look.text),
        "symbol": short(look.symbol, 24),
        "owner": look.owner,
        "mark": look.mark,
        "share": drawn_fact.share,
        "title": title,
    }


class ShownExtent:
    """How much of a grid is shown: its core, and what there is beside it, up to a limit."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._box = grid.core
        has_few = len(grid.layers) <= MOST_LAYERS
        self._layers = {layer for layer in grid.layers if has_few and layer != (RANDOM,)}

    def takes(self, spot: Spot) -> bool:
        """Make room for a place; false if the grid would be too large."""
        layer, column, row = spot
        x, y = self.grid.columns.index(column), self.grid.rows.index(row)
        first_column, last_column, first_row, last_row = self._box
        box = min(first_column, x), max(last_column, x), min(first_row, y), max(last_row, y)
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


def _spot(grid: Grid, place: Place, names: Sequence[str]) -> Spot | None:
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


# ------------------------------------------------------------------------
# Facts of one name, a line each.
#
# table  title, headers, rows, and shares of the rows; words: the lines as people read them, each
#        empty for bookkeeping, which is folded away; no lines where the game has no words for them


def table_taker(rules: Rules) -> Taker:
    """Makes tables of facts that have their name in common with others."""
    headers = _headers(rules.shapes, rules.roles)

    def take(facts: Sequence[DrawnFact]) -> tuple[list[Json], list[DrawnFact]]:
        groups: dict[Signature, list[DrawnFact]] = {}
        for drawn_fact in facts:
            groups.setdefault(signature(drawn_fact.fact), []).append(drawn_fact)
        tables, single = [], []
        for (name, arity), members in groups.items():
            if arity == 0 or len(members) == 1:
                single += members
                continue
            rows = []
            for drawn_fact in members:
                assert isinstance(drawn_fact.fact, Compound)
                row = tuple(str(arg) for arg in drawn_fact.fact.args)
                rows.append((row, drawn_fact.share, rules.words(drawn_fact.fact)))
            rows.sort(key=lambda r: [natural(text) for text in r[0]])
            words = [text for _, _, text in rows]
            tables.append(
                {
                    "title": short(name),
                    "headers": headers.get((name, arity)) or [str(i + 1) for i in range(arity)],
                    "rows": [[short(text) for text in row] for row, _, _ in rows],
                    "shares": [share for _, share, _ in rows],
                    "words": [] if None in words else words,
                }
            )
        return tables, single

    return take


def certain_table(part: Json) -> Json | None:
    """The lines that hold for sure."""
    certain = [number for number, share in enumerate(part["shares"]) if share >= 1]
    for key in ("rows", "shares", "words"):
        part[key] = [part[key][number] for number in certain] if part[key] else []
    return part if certain else None


def _headers(shapes: Sequence[FluentShape], roles: Sequence[str]) -> dict[Signature, list[str]]:
    """What the columns of tables are called: by the variables of the rules, if these are words."""
    headers = {}
    for shape in shapes:
        head = shape.skeleton[0]
        if head is not None and head[1] == len(shape.leaves) == len(shape.skeleton) - 1:
            headers[head] = [_header(i, leaf, roles) for i, leaf in enumerate(shape.leaves)]
    return headers


def _header(number: int, leaf: FluentLeaf, roles: Sequence[str]) -> str:
    if leaf.values and set(leaf.values) <= {*roles, RANDOM}:
        return "role"
    return leaf.name if len(leaf.name) > 2 and leaf.name.isalpha() else str(number + 1)


# ------------------------------------------------------------------------
# Facts that no other kind has taken.
#
# fact  text: as KIF; share; words: what people read, empty for bookkeeping, which is folded away


def fact_taker(rules: Rules) -> Taker:
    """Takes all there are."""

    def take(facts: Sequence[DrawnFact]) -> tuple[list[Json], list[DrawnFact]]:
        parts = []
        for drawn_fact in facts:
            words = rules.words(drawn_fact.fact)
            words = in_order(drawn_fact.fact) if words is None else words
            parts.append(fact(short(drawn_fact.text, LONGEST_FACT), drawn_fact.share, words))
        return parts, []

    return take


def fact(text: str, share: float = 1.0, words: str | None = None) -> Json:
    """A line of text, and what it is in words if that is something else."""
    return {"text": text, "share": share, "words": text if words is None else words}


def lines_of_table(part: Json) -> Sequence[str]:
    """Its rows, in the words of the game if it has some."""
    plain = [" ".join([part["title"], *row]) for row in part["rows"]]
    words: Sequence[str] = part["words"]
    return words or plain


def certain_fact(part: Json) -> Json | None:
    """It, if it holds for sure."""
    return part if part["share"] >= 1.0 else None


KINDS: Mapping[str, Kind] = {
    "boards": Kind(board_taker, certain_board, is_view=has_items),
    "tables": Kind(table_taker, certain_table, lines=lines_of_table),
    "facts": Kind(fact_taker, certain_fact, words=lambda fact: str(fact["text"])),
}
"""By their names in JSON. They take facts in this order, and so they are drawn."""
