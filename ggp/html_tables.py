"""Tables as HTML, for notebooks.

Everything in them is text: rules and records may come from anybody. Colours are those of the
notebook, so that tables suit light and dark ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

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
