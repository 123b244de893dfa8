"""Package, changelog, citation and README agree about versions and addresses."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

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


def test_the_readme_cites_the_newest_release() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^  version = \{(\S+)\},$", readme, re.MULTILINE) == [PROJECT["version"]]


def test_packages_and_citation_have_the_addresses_of_the_project() -> None:
    addresses = tomllib.loads((REPOSITORY / "addresses.toml").read_text(encoding="utf-8"))
    assert list(addresses) == ["repository", "documentation"]
    metadata = ProjectMetadata(str(REPOSITORY), PluginManager())
    urls = metadata.core.urls
    assert urls == {name.title(): url for name, url in addresses.items() if url}
    cited = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert dict(re.findall(r"^(repository-code|url): (\S+)$", cited, re.MULTILINE)) == {
        field: url
        for field, url in zip(("repository-code", "url"), addresses.values(), strict=True)
        if url
    }


def test_an_address_reaches_the_packages(tmp_path: Path) -> None:
    (tmp_path / "addresses.toml").write_text('repository = "https://example.org/ggp"\n')
    metadata: dict[str, object] = {}
    hook = runpy.run_path(str(REPOSITORY / "scripts" / "package_addresses.py"))["AddressesHook"]
    hook(str(tmp_path), {}).update(metadata)
    assert metadata["urls"] == {"Repository": "https://example.org/ggp"}
