"""Packages that are installed for a test, with the entry points of a real one."""

from __future__ import annotations

from pathlib import Path

import pytest


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
