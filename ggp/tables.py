"""Tables for programs (pandas frames where pandas is installed, else arrays by column), as CSV, and
in HTML for notebooks.

pandas is no dependency: whoever works with frames has it, and arrays serve everybody else.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from html import escape
from io import StringIO
from typing import Any

import numpy as np

from ggp.libraries import demand_library


def frame_of(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Any:
    """Rows as a `pandas.DataFrame`, or as a dict of arrays where there is no pandas.

    Args:
        columns: their names.
        rows: a value for each column; None in a column of numbers becomes nan.
    """
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = {name: _array(column) for name, column in zip(columns, values, strict=True)}
    try:
        from pandas import DataFrame
    except ImportError as error:
        demand_library(error, "pandas")
        return arrays
    return DataFrame(arrays)


def csv_of(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV with a line of column names; None is left empty, numbers are unrounded."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def _array(column: Sequence[object]) -> np.ndarray[tuple[int], np.dtype[Any]]:
    if all(isinstance(value, int) for value in column):
        return np.array(column, dtype=np.int64)
    if all(value is None or isinstance(value, int | float) for value in column):
        return np.array([np.nan if value is None else value for value in column], dtype=np.float64)
    return np.array(column, dtype=object)


# ------------------------------------------------------------------------
# Tables as HTML, for notebooks.
#
# Everything in them is text: rules and records may come from anybody. Colours are those of the
# notebook, so that tables suit light and dark ones.

_CELL = "padding:0.1em 0.7em;text-align:"


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table as HTML.

    Args:
        columns: headings; those that begin with `#` are of numbers, aligned to the right.
        rows: texts, escaped here.
        caption: a line above it.
    """
    sides = ["right" if name.startswith("#") else "left" for name in columns]
    head = "".join(
        f'<th style="{_CELL}{side}">{escape(name.removeprefix("#"))}</th>'
        for name, side in zip(columns, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL}{side}">{escape(text)}</td>'
            for text, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    style = "text-align:left;white-space:nowrap"
    above = f'<caption style="{style}">{escape(caption)}</caption>' if caption else ""
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
