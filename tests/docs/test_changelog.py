"""The version of the project is the newest release in the changelog."""

from __future__ import annotations

import re
import tomllib

from tests.support.games import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]

HEADING = re.compile(r"^## \[(.+?)\](?: - (\S+))?$", re.MULTILINE)


def test_the_newest_release_has_the_version_of_the_project() -> None:
    headings = HEADING.findall((REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"))
    if headings[0] == ("Unreleased", ""):
        del headings[0]
    version, day = headings[0]
    assert version == PROJECT["version"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day), f"{version} has no day of release"


def test_the_citation_names_the_newest_release() -> None:
    cited = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)$", cited, re.MULTILINE) == [PROJECT["version"]]
