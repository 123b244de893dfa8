"""What others have put into the table's folder: records of matches, and series."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ggp.errors import ConfigError
from match_runner.series.store import FILE

MOST_FILES = 200
"""Records and series that are shown, the newest first."""

_DEPTH = 3
"""Folders below the table's in which series are looked for."""


class Shelf:
    """The folder, read only.

    Args:
        folder: of the table.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def records(self) -> list[str]:
        """Names of the records: `*.json` in the folder and in those below it."""
        found = [
            path
            for pattern in ("*.json", "*/*.json")
            for path in self._folder.glob(pattern)
            if path.parent.name != "matches"
        ]
        found.sort(key=_changed_s, reverse=True)
        return [str(path.relative_to(self._folder)) for path in found[:MOST_FILES]]

    def record(self, name: str) -> Path:
        """The path of a record.

        Raises:
            ConfigError: there is none of that name.
        """
        if name not in self.records():
            raise ConfigError(f"there is no record {name!r} in {self._folder}")
        return self._folder / name

    def series(self) -> Iterator[tuple[str, Path, int]]:
        """Name, folder and time of the last change of every series."""
        found = [
            path
            for depth in range(_DEPTH + 1)
            for path in self._folder.glob("/".join(["*"] * depth + [FILE]))
        ]
        found.sort(key=_changed_s, reverse=True)
        for path in found[:MOST_FILES]:
            name = str(path.parent.relative_to(self._folder))
            yield name if name != "." else self._folder.name, path.parent, path.stat().st_mtime_ns


def _changed_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
