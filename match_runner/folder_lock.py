"""A folder that one process at a time works in.

The system drops the lock when the process ends, however it ends, so there are no stale ones. The
file that is locked says who holds it; what it says counts only while it is locked.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from ggp.errors import ConfigError
from ggp.whole_files import unwritable

FILE = ".lock"

_LONGEST = 4096
"""Bytes that are read of what the holder says."""


@contextmanager
def locked(folder: Path, what: str, remedy: str) -> Iterator[None]:
    """A folder that nobody else works in, made if there is none.

    Args:
        what: what the others do who work in it, for the message: `plays a series in`.
        remedy: what to do instead.

    Raises:
        ConfigError: it cannot be used, or another process works in it: which, and since when.
        ResultsError: there is no room.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Not where a link leads: what is there is about to be written over.
        lock = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise unwritable(f"cannot use the folder {folder}", error) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            who = _holder(os.read(lock, _LONGEST))
            raise ConfigError(f"another process {what} {folder}{who}; {remedy}") from error
        except OSError as error:
            raise ConfigError(f"cannot lock {folder}: {error.strerror or error}") from error
        since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        told = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
        with suppress(OSError):  # a full disk costs others the name of the holder, and that is all
            os.ftruncate(lock, 0)
            os.pwrite(lock, json.dumps(told).encode(), 0)
        yield
    finally:
        os.close(lock)


def _holder(told: bytes) -> str:
    """Who holds a lock; empty where it has not said so yet."""
    try:
        data = json.loads(told)
        return f": process {data['pid']} on {data['host']}, since {data['since']}"
    except (ValueError, LookupError, TypeError):
        return ""
