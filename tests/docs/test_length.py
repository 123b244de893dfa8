"""Pages are short enough to be read to the end; what is looked up may be longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.all_pages import DOCS, name_of_page
from tests.support.games import REPOSITORY

MOST_WORDS = 1700
"""Of a page that is read from its beginning to its end."""

LOOKED_UP = {DOCS / "measured" / "papers.md", DOCS / "measured" / "strength.md"}
"""Tables with a row for each claim or duel."""

READ = sorted(
    {
        page
        for room in ("start", "use", "understand", "measured")
        for page in (DOCS / room).glob("*.md")
    }
    - LOOKED_UP
)


@pytest.mark.parametrize("page", READ, ids=name_of_page)
def test_a_page_is_read_to_its_end(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").split()) <= MOST_WORDS


def test_the_readme_is_for_a_stranger() -> None:
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").split()) <= 900
