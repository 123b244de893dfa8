"""The page "GDL in one page": its two columns mean the same, and its mistakes are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from ggp.gdl import parse
from tests.docs.all_pages import DOCS
from tests.support.commands import run

PAGE = (DOCS / "reference" / "gdl-in-one-page.md").read_text(encoding="utf-8")


def rows_of(section: str) -> list[list[str]]:
    """The cells of the rows of a table whose columns hold code."""
    lines = [line for line in section.splitlines() if line.startswith("| ") and "`" in line]
    return [[cell.strip("` ") for cell in line.strip("| ").split(" | ")] for line in lines]


MEANINGS, MISTAKES = map(rows_of, PAGE.split("## Ten mistakes"))

GAME = """
(role x) (role o) (init (control x)) (init (cell 1 b)) (init (cell 2 b))
(<= (legal ?p (mark ?n)) (true (control ?p)) (true (cell ?n b)))
(<= (legal ?p noop) (role ?p) (not (true (control ?p))))
(<= (next (cell ?n ?p)) (does ?p (mark ?n)))
(<= (next (cell ?n ?m)) (true (cell ?n ?m)) (distinct ?m b))
(<= (next (control o)) (true (control x))) (<= (next (control x)) (true (control o)))
(<= open (true (cell ?n b))) (<= terminal (not open)) (goal x 50) (goal o 50)
"""


def test_the_page_has_ten_of_each() -> None:
    assert (len(MEANINGS), len(MISTAKES)) == (10, 10)


@pytest.mark.parametrize(("kif", "infix"), [row[1:] for row in MEANINGS])
def test_both_syntaxes_mean_the_same(kif: str, infix: str) -> None:
    assert parse(kif).rules == parse(infix).rules


@pytest.mark.parametrize(("written", "rule"), [row[::2] for row in MISTAKES])
def test_a_mistake_is_found(written: str, rule: str, tmp_path: Path) -> None:
    path = tmp_path / "game.kif"
    path.write_text(GAME)
    assert "[" not in run("validate", str(path)).output
    path.write_text(f"{GAME}{written}\n")
    assert f"[{rule}]" in run("validate", str(path)).output
