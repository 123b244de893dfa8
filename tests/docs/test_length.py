"""Pages are short enough to be read to the end; reference pages may be longer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.all_pages import DOCS, name_of_page
from tests.support.games import REPOSITORY

MAX_WORDS = 1500
"""Of a page that is read from its beginning to its end."""

MAX_OF_ALL = 37_000
"""Of all pages of the site together, without the pages of `LISTS`."""

LISTS = {
    DOCS / "reference" / f"{name}.md"
    for name in ("api", "commands", "gdl-in-one-page", "glossary", "other-engines", "players")
}
"""Pages that are made by a program, or looked up a word at a time."""

READ = sorted(
    page
    for room in ("start", "use", "understand", "measured")
    for page in (DOCS / room).glob("*.md")
)


def words_of(page: Path) -> int:
    """How many words a page has; the bars and lines of its tables are none."""
    return len(re.findall(r"\S*\w\S*", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", READ, ids=name_of_page)
def test_a_page_is_read_to_its_end(page: Path) -> None:
    assert words_of(page) <= MAX_WORDS


def test_all_pages_together_are_a_book_that_is_not_long() -> None:
    assert sum(words_of(page) for page in {*DOCS.glob("**/*.md")} - LISTS) <= MAX_OF_ALL


def test_the_readme_is_for_a_stranger() -> None:
    assert words_of(REPOSITORY / "README.md") <= 900
