"""All pages that people read: docs, the files at the root, and the texts of examples."""

from __future__ import annotations

from pathlib import Path

from tests.support.games import REPOSITORY

DOCS = REPOSITORY / "docs"

PAGES = sorted(
    page
    for folder, pattern in (
        (REPOSITORY, "*.md"),
        (DOCS, "**/*.md"),
        (REPOSITORY / "examples", "**/*.md"),
    )
    for page in folder.glob(pattern)
)


def name_of_page(page: Path) -> str:
    """The page by its path, as test ids show it."""
    return page.relative_to(REPOSITORY).as_posix()
