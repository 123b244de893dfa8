"""A folder whose one SQLite file is filled while matches are played, by one process at a time."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ggp.errors import ConfigError

_WAIT_S = 60.0


@contextmanager
def open_results(folder: Path, name: str, doing: str) -> Iterator[sqlite3.Connection]:
    """The file in a folder, both made if there are none; others may read it meanwhile.

    Args:
        doing: what another process does that has the folder, for the message.

    Raises:
        ConfigError: the folder or the file cannot be used, or another process uses it.
    """
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise ConfigError(f"cannot use the folder {folder}: {error.strerror or error}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigError(f"another process {doing} in {folder}") from error
        try:
            with closing(sqlite3.connect(path, timeout=_WAIT_S)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise ConfigError(f"cannot use {path}: {error}") from error
    finally:
        os.close(lock)
