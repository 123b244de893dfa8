"""Repeats work whenever a file is saved, as `ggp trace --watch` does.

The time and size of files are checked a few times a second, which works on every file system. An
editor may write a file in several steps, or replace it: it counts as saved when it has stopped
changing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from ggp.console import show_diagnostics, show_failure
from ggp.errors import GGPError
from ggp.gdl.source import errors, printable

POLL_S = 0.25
_SETTLE_S = 0.05


def game_file(game: str) -> Path:
    """The file of a game by name or path; the path itself if there is no file yet.

    Raises:
        ConfigError: there is no such game, and it cannot become a file.
    """
    from ggp.gdl.games import find_game

    if os.path.isdir(os.path.dirname(game) or ".") and Path(game).suffix:
        return Path(game)
    return find_game(game)


def keep_watching(
    files: Sequence[Path], do: Callable[[], None], sleep: Callable[[float], None] = time.sleep
) -> None:
    """Call a function now and whenever one of the files is saved, until there is an interrupt.

    Problems of the first file, which contains rules, are shown first. Errors are shown, and
    watching continues.
    """
    try:
        for _ in each_saving(files, sleep):
            click.echo(printable(f"--- {files[0]} at {time.strftime('%H:%M:%S')}"))
            try:
                if not _has_errors(files[0]):
                    do()
            except GGPError as error:
                show_failure(error)
    except KeyboardInterrupt:
        return


def each_saving(files: Sequence[Path], sleep: Callable[[float], None]) -> Iterator[None]:
    """Yields at once, and then after each save of one of the files."""
    known: list[object] | None = None
    while True:
        seen = list(map(_stamp, files))
        if seen == known:
            sleep(POLL_S)
            continue
        while known is not None and (later := _after(files, sleep)) != seen:
            seen = later
        known = seen
        yield


def _after(files: Sequence[Path], sleep: Callable[[float], None]) -> list[object]:
    sleep(_SETTLE_S)
    return list(map(_stamp, files))


def _stamp(file: Path) -> object:
    """A value that changes when a file is saved; None if there is no file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _has_errors(file: Path) -> bool:
    """Whether rules cannot be played; shows all their problems."""
    from ggp.gdl import read_rulesheet
    from ggp.gdl.normalize import validate

    found = validate(read_rulesheet(str(file)))
    show_diagnostics(found)
    return bool(errors(found))
