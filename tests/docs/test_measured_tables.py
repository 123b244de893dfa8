"""Tables of measured pages are made of the numbers that lie beside the pages."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from tests.docs.all_pages import DOCS
from tests.support.games import REPOSITORY

SCRIPT = runpy.run_path(str(REPOSITORY / "scripts" / "measured_tables.py"))
PLACE, cell_text, rows_of, with_tables, written = (
    SCRIPT[name] for name in ("PLACE", "cell_text", "rows_of", "with_tables", "written")
)

BY_HAND = {"gallery", "papers"}
"""Pages that show no measurements of their own."""

PAGES = sorted(page for page in DOCS.glob("measured/*.md") if page.stem not in BY_HAND)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_numbers_make(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == with_tables(page), "run `python scripts/measured_tables.py`"
    tables = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert [place[1] for place in PLACE.finditer(text)] == [*tables]
    assert not re.search(r"^\|", PLACE.sub("", text), re.MULTILINE), "a table is written by hand"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_table_says_when_and_on_what_it_was_measured(page: Path) -> None:
    tables = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    for table in tables.values():
        assert re.match(r"2\d{3}-\d\d-\d\d", table["day"])
        assert table["conditions"]
        assert "csv" in table or {len(row) for row in table["rows"]} == {len(table["columns"])}


def test_cells_have_the_format_of_their_column() -> None:
    assert cell_text([58.31, 35, 80.25], "{:.1f} [{:.1f}, {:.1f}]") == "58.3 [35.0, 80.2]"
    assert cell_text(1683, "{:,}") == "1,683"
    assert cell_text("**best**", "{:,}") == "**best**"
    assert cell_text(None, "{:,}") == ""


def test_rows_of_a_csv_file_are_shown_where_they_have_all_numbers() -> None:
    rows = [
        {"game": "meier", "lead": "-3.25", "games": "1200"},
        {"game": "chess", "lead": "", "games": "1"},
    ]
    assert rows_of(rows, ["`{game}`", "{lead:.1f}", "{games:,}"]) == [["`meier`", "-3.2", "1,200"]]
    assert rows_of(rows, ["{game}: {games}"]) == [["meier: 1200"], ["chess: 1"]]


def test_a_table_stands_below_its_command() -> None:
    table = {
        "command": ["ggp bench GAME"],
        "day": "2026-11-26",
        "conditions": "seed 0",
        "columns": [["game", ""], ["states", "{:,}"]],
        "rows": [["meier", 4130], ["kuhn_poker", None]],
    }
    assert written(table) == (
        "```sh\nggp bench GAME\n```\n\n2026-11-26, seed 0:\n\n"
        "| game | states |\n|---|---|\n| meier | 4,130 |\n| kuhn_poker | |\n"
    )
