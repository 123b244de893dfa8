"""Links between pages lead to a file that is there, and to a heading in it. No page has marks of a
merge that was not finished."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.all_pages import PAGES, name_of_page

_FENCED = re.compile(r"```.*?```", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_LABEL = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@cache
def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs name them."""
    headings = _HEADING.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))
    plain = (_LABEL.sub(r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in plain}


def is_broken(page: Path, link: str) -> bool:
    if re.match(r"[a-z]+:", link):
        return False
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors_of(target)


@pytest.mark.parametrize("page", PAGES, ids=name_of_page)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))
    assert not [link for link in links if is_broken(page, link)]


@pytest.mark.parametrize("page", PAGES, ids=name_of_page)
def test_no_merge_is_unfinished(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if line.startswith(("<<<<<<< ", ">>>>>>> "))]
