"""Pages of the site that lie outside of docs, and links that leave docs.

MkDocs knows one folder. The files at the root that people read and the notebooks are put beside
its pages, and links to them are turned towards their new place. A link to anything else that is no
page, such as a rulesheet or a test, leads nowhere on the site: its label stays.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PROJECT = Path(__file__).resolve().parent.parent

GUESTS = {
    **{f"{name}.md": f"project/{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")},
    **{
        f"examples/{path.name}": f"examples/{path.name}"
        for path in (PROJECT / "examples").glob("*.ipynb")
    },
    "README.md": "index.md",
}
"""Where files of the project that are not in docs are on the site."""

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The settings, with the addresses of addresses.toml."""
    addresses = tomllib.loads((PROJECT / "addresses.toml").read_text(encoding="utf-8"))
    config.site_url, config.repo_url = addresses["documentation"], addresses["repository"]
    config.repo_name = config.repo_url.rpartition("/")[2]
    return config


@event_priority(100)  # type: ignore[untyped-decorator, unused-ignore]
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what lies outside of docs, before plugins look for files that are theirs.

    mkdocs-jupyter finds the text of a notebook only where its name on the site says.
    """
    for path, uri in GUESTS.items():
        if path == uri:
            folders = str(PROJECT), config.site_dir
            files.append(File(uri, *folders, use_directory_urls=config.use_directory_urls))
        elif uri not in files.src_uris:
            files.append(File.generated(config, uri, abs_src_path=str(PROJECT / path)))
    return files


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The text with every link turned to where the page is on the site."""
    places = {uri: path for path, uri in GUESTS.items() if uri != "index.md"}
    uri = page.file.src_uri
    at = PROJECT / places[uri] if uri in places else Path(config.docs_dir) / uri
    return _LINK.sub(lambda link: _turned(link, at.parent, uri, files), markdown)


def _turned(link: re.Match[str], folder: Path, uri: str, files: Files) -> str:
    picture, label, target = link.groups()
    name, mark, anchor = target.partition("#")
    if not name or re.match(r"[a-z]+:", target):
        return link[0]
    path = Path(os.path.normpath(folder / name))
    if not path.is_relative_to(PROJECT):
        return label
    inside = path.relative_to(PROJECT).as_posix()
    place = inside.removeprefix("docs/") if inside.startswith("docs/") else GUESTS.get(inside)
    if place is None or (place not in files.src_uris):
        return label
    return f"{picture}[{label}]({os.path.relpath(place, Path(uri).parent)}{mark}{anchor})"
