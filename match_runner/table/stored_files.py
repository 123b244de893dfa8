"""Records, logs of `ggp serve` and series that others have put into the table's folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError
from ggp.protocol.retelling import SUFFIX
from match_runner.series.store import FILE

MOST_FILES = 200
"""Most records, logs and series that are shown, the newest first."""

_DEPTH = 3
"""Depth of folders below the table's in which series are looked for."""

_LONGEST_LINE = 1 << 16
"""Most bytes that are read of a log's first line to find its match: ids of matches are short."""


class StoredFiles:
    """The table's folder, read only.

    Args:
        folder: the folder of the table.
        logs: another folder, in which only logs are looked for.
    """

    def __init__(self, folder: Path, logs: Path | None = None) -> None:
        self._folder, self._logs = folder, logs

    def records(self) -> list[str]:
        """Names of the records: `*.json` in the folder and in those below it."""
        return list(self._found(".json"))

    def logs(self) -> list[dict[str, Any]]:
        """Name of each log with the fields of its first line: `match`, `role`, `player`, `time`."""
        return [
            {"name": name, **begin}
            for name, path in self._found(SUFFIX).items()
            if (begin := _begin(path)) is not None
        ]

    def path(self, name: str) -> Path:
        """Path of a record or a log.

        Raises:
            ConfigError: there is none of that name.
        """
        found = self._found(Path(name).suffix)
        if name not in found:
            raise ConfigError(f"there is no record {name!r} in {self._folder}")
        return found[name]

    def series(self) -> Iterator[tuple[str, Path, int]]:
        """Yield name, folder and time of the last change of every series."""
        found = [
            path
            for depth in range(_DEPTH + 1)
            for path in self._folder.glob("/".join(["*"] * depth + [FILE]))
        ]
        found.sort(key=_changed_s, reverse=True)
        for path in found[:MOST_FILES]:
            name = str(path.parent.relative_to(self._folder))
            yield name if name != "." else self._folder.name, path.parent, path.stat().st_mtime_ns

    def _found(self, suffix: str) -> dict[str, Path]:
        """Files with a suffix, by name, newest first; those of the table itself are left out."""
        if suffix not in (".json", SUFFIX):
            return {}
        found = {
            str(path.relative_to(self._folder)): path
            for pattern in (f"*{suffix}", f"*/*{suffix}")
            for path in self._folder.glob(pattern)
            if path.parent.name != "matches"
        }
        if suffix == SUFFIX and self._logs is not None:
            folder = self._logs.resolve()
            found |= {f"{folder.name}/{path.name}": path for path in folder.glob(f"*{suffix}")}
        newest = sorted(found, key=lambda name: _changed_s(found[name]), reverse=True)
        return {name: found[name] for name in newest[:MOST_FILES]}


def _begin(path: Path) -> dict[str, Any] | None:
    """Read the first line of a log; None if the file is not a log."""
    try:
        with path.open("rb") as file:
            begin = json.loads(file.readline(_LONGEST_LINE))
        if begin["event"] != "begin":
            return None
        return {key: str(begin[key]) for key in ("match", "role", "player", "time")}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _changed_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
