"""Results for people and for programs: tables in terminals, in notebooks and as frames, and JSON.

A `Table` holds values and how they are written. A `Report` is the whole result of a command or of a
function of the library. pandas is no dependency: whoever works with frames has it, and arrays serve
everybody else.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from io import StringIO
from itertools import chain
from typing import TYPE_CHECKING, Any

from ggp.gdl.source import printable
from ggp.libraries import demand_library

if TYPE_CHECKING:
    import rich.table
    from rich.console import RenderableType

_CELL = "padding:0.1em 0.7em;text-align:"


@dataclass(frozen=True)
class Table:
    """Values in rows.

    Attributes:
        head: headings; `#` begins those of numbers, which are aligned to the right. A pair is a
            heading and the format of its values.
        rows: a value for each heading; None is written as `-`, and in frames it is nan among
            numbers.
        title: a line above it.
    """

    head: Sequence[Sequence[str]]
    rows: Sequence[Sequence[object]]
    title: str = ""

    @property
    def headings(self) -> list[str]:
        """The headings without formats."""
        return [each if isinstance(each, str) else each[0] for each in self.head]

    def texts(self) -> list[list[str]]:
        """The rows as people read them."""
        formats = ["" if isinstance(each, str) else each[1] for each in self.head]
        return [
            [
                "-" if value is None else format(value, layout)
                for value, layout in zip(row, formats, strict=True)
            ]
            for row in self.rows
        ]

    def __rich__(self) -> rich.table.Table:
        """The table for terminals, without characters that could disturb one."""
        from rich import box
        from rich.table import Table as Drawn
        from rich.text import Text

        title = Text(printable(self.title), "dim") if self.title else None
        drawn = Drawn(
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            title=title,
            title_style="",
            title_justify="left",
        )
        for name in self.headings:
            is_number = name.startswith("#")
            drawn.add_column(
                name.removeprefix("#"), justify="right" if is_number else "left", no_wrap=is_number
            )
        for row in self.texts():
            drawn.add_row(*map(printable, row))
        return drawn

    def html(self) -> str:
        """The table for notebooks. All of it is text: rules and records may come from anybody.

        Colours are those of the notebook, so that tables suit light and dark ones.
        """
        sides = ["right" if name.startswith("#") else "left" for name in self.headings]

        def cells(tag: str, texts: Iterable[str]) -> str:
            return "".join(
                f'<{tag} style="{_CELL}{side}">{escape(text)}</{tag}>'
                for text, side in zip(texts, sides, strict=True)
            )

        head = cells("th", (name.removeprefix("#") for name in self.headings))
        body = "".join(f"<tr>{cells('td', row)}</tr>" for row in self.texts())
        style = "text-align:left;white-space:nowrap"
        above = f'<caption style="{style}">{escape(self.title)}</caption>' if self.title else ""
        return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def csv(self) -> str:
        """The table as CSV with a line of headings; None is left empty, numbers are unrounded."""
        out = StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.headings)
        writer.writerows(self.rows)
        return out.getvalue()

    def frame(self) -> Any:
        """The table as a `pandas.DataFrame`, or as a dict of arrays where there is no pandas."""
        names = self.headings
        columns = list(zip(*self.rows, strict=True)) or [()] * len(names)
        arrays = {name: _array(column) for name, column in zip(names, columns, strict=True)}
        try:
            from pandas import DataFrame
        except ImportError as error:
            demand_library(error, "pandas")
            return arrays
        return DataFrame(arrays)


def _array(column: Sequence[object]) -> Any:
    import numpy as np

    if all(isinstance(value, int) for value in column):
        return np.array(column, dtype=np.int64)
    if all(value is None or isinstance(value, int | float) for value in column):
        return np.array([np.nan if value is None else value for value in column], dtype=np.float64)
    return np.array(column, dtype=object)


@dataclass(frozen=True)
class Report:
    """A result.

    Attributes:
        values: for programs, as JSON values.
        parts: for people: tables, lines, and what else rich can show, from top to bottom; they are
            asked for once.
    """

    values: Any
    parts: Iterable[RenderableType]

    def seeded(self, seed: int, backend: str) -> Report:
        """The same with what it depends on besides options: the same seed gives the same result on
        the same backend."""
        values = self.values | {"seed": seed, "backend": backend}
        return replace(self, values=values, parts=chain(self.parts, [f"seed {seed}, on {backend}"]))

    def _repr_html_(self) -> str:
        drawn = (
            part.html() if isinstance(part, Table) else f"<div>{escape(str(part))}</div>"
            for part in self.parts
        )
        return f"<div>{''.join(drawn)}</div>"


def rounded(value: Any, digits: int = 9) -> Any:
    """JSON values without the rounding noise of adding up thousands of numbers."""
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, dict):
        return {name: rounded(each, digits) for name, each in value.items()}
    return [rounded(each, digits) for each in value] if isinstance(value, list | tuple) else value
