"""Modules of players that are not ours, written for one test."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

_numbers = itertools.count()


def write_module(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a module into a folder, which becomes the current one; its name, which is new."""
    name = f"plug_in_{next(_numbers)}"
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.chdir(folder)
    return name
