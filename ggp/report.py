"""Results for people and for programs: tables in terminals, notebooks and frames, and JSON.

A `Table` holds values and their formats. A `Report` is the whole result of a command or a library
function. pandas is not a dependency: people who work with frames have it, and everybody else gets
arrays.
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

    from ggp.gdl.source import Diagnostic

_CELL = "padding:0.1em 0.7em;text-align:"


@dataclass(frozen=True)
class Table:
    """Values in rows, with their headings and formats.

        >>> table = Table(("name", ("#share", ".2f")), [("ann", 0.5), ("bob", None)])
        >>> table.texts()
        [['ann', '0.50'], ['bob', '-']]
        >>> print(table.csv(), end="")
        name,#share
        ann,0.5
        bob,

    Attributes:
        head: headings, or pairs of a heading and a format. A heading that begins with `#` is one of
            numbers, which are aligned to the right.
        rows: a value for each heading. None is written as `-`; among the numbers of a frame it is
            nan.
        title: a line above the table.
    """

    head: Sequence[Sequence[str]]
    rows: Sequence[Sequence[object]]
    title: str = ""

    @property
    def headings(self) -> list[str]:
        """The headings without formats."""
        return [heading if isinstance(heading, str) else heading[0] for heading in self.head]

    def texts(self) -> list[list[str]]:
        """The rows as people read them."""
        formats = ["" if isinstance(heading, str) else heading[1] for heading in self.head]
        return [
            [
                "-" if value is None else format(value, layout)
                for value, layout in zip(row, formats, strict=True)
            ]
            for row in self.rows
        ]

    def __rich__(self) -> rich.table.Table:
        """The table for a terminal, without characters that could disturb it.

        Where it is too wide, headings and texts wrap, but no number.
        """
        from rich import box
        from rich.cells import cell_len
        from rich.table import Table as RichTable
        from rich.text import Text

        title = Text(printable(self.title), "dim") if self.title else None
        table = RichTable(
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            title=title,
            title_style="",
            title_justify="left",
        )
        rows = [list(map(printable, row)) for row in self.texts()]
        for number, heading in enumerate(self.headings):
            name = heading.removeprefix("#")
            is_number = name != heading
            cells = [*name.split(), *(row[number] for row in rows)] if is_number else []
            table.add_column(
                name,
                justify="right" if is_number else "left",
                min_width=max(map(cell_len, cells), default=None),
            )
        for row in rows:
            table.add_row(*row)
        return table

    def html(self) -> str:
        """The table for notebooks, with all text escaped: rules and records may be anybody's.

        It takes its colours from the notebook, light or dark.
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
        """The table as CSV with a line of headings. None is empty, and numbers are not rounded."""
        out = StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.headings)
        writer.writerows(self.rows)
        return out.getvalue()

    def frame(self) -> Any:
        """The table as a `pandas.DataFrame`, or as a dict of arrays without pandas."""
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
    """A result, for programs and for people.

        >>> report = Report({"value": 50.0}, ["an even game"]).seeded(1, "propnet")
        >>> report.values
        {'value': 50.0, 'seed': 1, 'backend': 'propnet'}
        >>> list(report.parts)
        ['an even game', 'seed 1, on propnet']

    Attributes:
        values: JSON values, for programs.
        parts: tables, lines, diagnostics and other things that rich can print, for people, from top
            to bottom; they are iterated over once.
    """

    values: Any
    parts: Iterable[RenderableType | Diagnostic]

    def seeded(self, seed: int, backend: str) -> Report:
        """This report with the seed and the backend, which reproduce it together."""
        values = self.values | {"seed": seed, "backend": backend}
        return replace(self, values=values, parts=chain(self.parts, [f"seed {seed}, on {backend}"]))

    def _repr_html_(self) -> str:
        blocks = (
            part.html() if isinstance(part, Table) else f"<div>{escape(str(part))}</div>"
            for part in self.parts
        )
        return f"<div>{''.join(blocks)}</div>"


def rounded(value: Any, digits: int = 9) -> Any:
    """JSON values with every float rounded, which removes the noise of long sums.

    >>> rounded({"mean": 0.1 + 0.2, "counts": [1, 2]})
    {'mean': 0.3, 'counts': [1, 2]}
    """
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, dict):
        return {name: rounded(element, digits) for name, element in value.items()}
    return [rounded(v, digits) for v in value] if isinstance(value, list | tuple) else value
