"""Writes the tables of docs/measured from the numbers in the JSON files beside its pages.

Where a table stands, a page has `<!-- NAME -->` and `<!-- /NAME -->`; what is between them is made
here. The page's JSON file, of the same name, has under NAME:

- `command` (may be left out): what measures the numbers again, as lines for a shell;
- `day` and `conditions`: when it was run, and on what, with which seeds and clocks;
- `columns`: heading and format of each. `"{:.1f} [{:.1f}, {:.1f}]"` writes three numbers;
- `rows`: a cell is a number, a list of numbers, null where nothing was measured, or text as it is.

Instead of `rows` it may have `csv`, the name of a file beside the page. The formats of its columns
name columns of the file: `"{lead:.0f} [{low:.0f}, {high:.0f}]"`. A row is shown if it has a value
in all of them.

    python scripts/measured_tables.py
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any

import click

MEASURED = Path(__file__).resolve().parents[1] / "docs" / "measured"

PLACE = re.compile(r"<!-- (\w+) -->\n.*?<!-- /\1 -->", re.DOTALL)


@click.command()
def main() -> None:
    """Write the tables of all pages that have numbers beside them."""
    for numbers in sorted(MEASURED.glob("*.json")):
        page = numbers.with_suffix(".md")
        page.write_text(with_tables(page), encoding="utf-8")


def with_tables(page: Path) -> str:
    """The text of a page with the tables of its JSON file.

    Raises:
        KeyError: it has a place for a table that the file does not have.
    """
    tables = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    return PLACE.sub(
        lambda place: f"<!-- {place[1]} -->\n\n{written(tables[place[1]])}\n<!-- /{place[1]} -->",
        page.read_text(encoding="utf-8"),
    )


def written(table: dict[str, Any]) -> str:
    """A table in Markdown, below the command that measures it, the day and the conditions."""
    headings = [heading for heading, _ in table["columns"]]
    formats = [form for _, form in table["columns"]]
    if "csv" in table:
        with (MEASURED / table["csv"]).open(encoding="utf-8", newline="") as file:
            rows = rows_of(csv.DictReader(file), formats)
    else:
        rows = [list(map(cell_text, row, formats)) for row in table["rows"]]
    lines = [f"| {' | '.join(row)} |" for row in (headings, *rows)]
    lines.insert(1, "|---" * len(headings) + "|")
    command = "```sh\n" + "\n".join(table["command"]) + "\n```\n\n" if "command" in table else ""
    grid = "\n".join(re.sub(r"\|  (?=\|)", "| ", line) for line in lines)
    return f"{command}{table['day']}, {table['conditions']}:\n\n{grid}\n"


def rows_of(rows: Iterable[Mapping[str, str]], formats: Sequence[str]) -> list[list[str]]:
    """The cells of the rows of a CSV file that have a value in all columns of the formats."""
    names = {name for form in formats for _, name, _, _ in Formatter().parse(form) if name}
    return [
        [form.format(**{name: number_of(row[name]) for name in names}) for form in formats]
        for row in rows
        if all(row[name] for name in names)
    ]


def number_of(text: str) -> float | str:
    """The number that a text is, if it is one."""
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text


def cell_text(cell: float | list[float] | str | None, form: str) -> str:
    """A cell as it is shown; `form` is the format of its column."""
    if cell is None or isinstance(cell, str):
        return cell or ""
    return form.format(*cell) if isinstance(cell, list) else form.format(cell)


if __name__ == "__main__":
    main()
