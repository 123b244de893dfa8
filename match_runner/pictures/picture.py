"""Picture of a state for a page to draw: boards, tables and single facts, all of them plain text.

Every fact is in a picture exactly once. Names come from rulesheets, so they may be anything: texts
are cut to `LONGEST` characters, and ids are built from their parts so that no two cells share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

LONGEST = 120
"""Most characters of a text that are shown; the rest is cut off."""

MOST_FACTS = 5_000
"""Most facts in one picture; of the others only the number is shown."""

Json = dict[str, Any]


@dataclass(slots=True)
class Item:
    """An item in a cell.

    Attributes:
        text: its name in words, such as `black rook`.
        symbol: what to draw: a character if the piece is well known, else the text; empty if the
            item says that the cell is empty.
        owner: the role that owns it, or empty.
        share: probability, from 0 to 1.
        title: the fluent as KIF.
    """

    text: str
    symbol: str
    owner: str
    share: float
    title: str

    def to_json(self) -> Json:
        """JSON for the page."""
        return {
            "text": self.text,
            "symbol": self.symbol,
            "owner": self.owner,
            "share": self.share,
            "title": self.title,
        }


@dataclass(slots=True)
class Cell:
    """A cell of a board; `column` and `row` are indices from the top left."""

    id: str
    column: int
    row: int
    items: list[Item] = field(default_factory=list)

    def to_json(self) -> Json:
        """JSON for the page; the likeliest item comes first."""
        items = sorted(self.items, key=lambda item: -item.share)
        return {
            "id": self.id,
            "column": self.column,
            "row": self.row,
            "items": [item.to_json() for item in items],
        }


@dataclass(slots=True)
class Board:
    """A board.

    Attributes:
        columns, rows: names at its edges, from left to right and from top to bottom.
        cells: those that exist, row by row; a board need not be a full rectangle.
    """

    id: str
    title: str
    columns: Sequence[str]
    rows: Sequence[str]
    cells: Sequence[Cell]

    def to_json(self) -> Json:
        """JSON for the page."""
        return {
            "id": self.id,
            "title": self.title,
            "columns": list(self.columns),
            "rows": list(self.rows),
            "cells": [cell.to_json() for cell in self.cells],
        }


@dataclass(slots=True)
class Table:
    """A table of facts of one name, a line each."""

    title: str
    headers: Sequence[str]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    def to_json(self) -> Json:
        """JSON for the page."""
        return {
            "title": self.title,
            "headers": list(self.headers),
            "rows": [list(row) for row in self.rows],
            "shares": list(self.shares),
        }


@dataclass(slots=True)
class Fact:
    """A single fact, which is neither on a board nor in a table."""

    text: str
    share: float

    def to_json(self) -> Json:
        """JSON for the page."""
        return {"text": self.text, "share": self.share}


@dataclass(slots=True)
class Picture:
    """Picture of a state, of the percepts of a turn, or of a belief.

    Attributes:
        owners: the roles in their order, for colours.
    """

    boards: Sequence[Board]
    tables: Sequence[Table]
    facts: Sequence[Fact]
    owners: Sequence[str] = ()

    def to_json(self) -> Json:
        """JSON for the page, made of dicts, lists, strings and numbers."""
        return {
            "boards": [board.to_json() for board in self.boards],
            "tables": [table.to_json() for table in self.tables],
            "facts": [fact.to_json() for fact in self.facts],
            "owners": list(self.owners),
        }


def short(text: str, longest: int = LONGEST) -> str:
    """A text, cut off if it is too long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"


def id_part(name: str) -> str:
    """A name as a part of an id: no separators, and short; different for different names."""
    safe = name.replace("%", "%25").replace(",", "%2C").replace(":", "%3A").replace(" ", "%20")
    if len(safe) <= 40:
        return safe
    return f"{safe[:20]}%{blake2b(name.encode(errors='replace'), digest_size=8).hexdigest()}"
