"""Packages that are installed for a test, with the entry points of a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.games import REPOSITORY

PAGE = REPOSITORY / "docs" / "use" / "extending.md"

STRANGER = {
    "ggp.samplers": {"lone": "lone:Lone"},
    "ggp.models": {"bold": "tests.support.stranger:BOLD"},
    "ggp.evaluations": {"num": "tests.support.stranger:NUMBERS"},
    "ggp.frontends": {"toy": "tests.support.sheets.toy_frontend:FRONTEND"},
    "ggp.commands": dict.fromkeys(("greet", "games"), "tests.support.stranger:greet"),
}
"""The offers of a stranger's package: the sampler of the page on extensions, and `stranger`."""


def offer_everything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the stranger's package."""
    _, _, code = PAGE.read_text().partition("```python\n")
    (folder / "lone.py").write_text(code.partition("```")[0])
    for group, places in STRANGER.items():
        offer(folder, monkeypatch, group, **places)


def offer(folder: Path, monkeypatch: pytest.MonkeyPatch, group: str, **places: str) -> None:
    """Install a package that offers objects.

    Args:
        folder: where it is installed.
        group: the entry point group.
        places: `module:attribute` of each object, by its name.
    """
    info = folder / "stranger-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    lines = "".join(f"{name} = {place}\n" for name, place in places.items())
    with (info / "entry_points.txt").open("a") as file:
        file.write(f"[{group}]\n{lines}")
    monkeypatch.syspath_prepend(folder)
