"""A lock on a folder, so that one process at a time works in it.

The system drops the lock when the process ends, however it ends, so locks are never stale. The
locked file says who holds the lock; its text counts only while it is locked.
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
from ggp.run.whole_files import unwritable

FILE = ".lock"

_LONGEST = 4096
"""Most bytes that are read from the file in which the holder names itself."""


class InUse(ConfigError):
    """Another process works in a folder."""


@contextmanager
def locked(folder: Path, what: str, remedy: str) -> Iterator[None]:
    """Lock a folder for this process while the context lasts; make the folder if there is none.

    Args:
        what: what a process that works in it does, for the message: `plays a series in`.
        remedy: what to do instead, for the message.

    Raises:
        InUse: another process works in it; says which one, and since when.
        ConfigError: the folder cannot be used.
        ResultsError: the disk is full.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Links are not followed: the file is about to be overwritten.
        lock = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise unwritable(f"cannot use the folder {folder}", error) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            who = _holder(os.read(lock, _LONGEST))
            raise InUse(f"another process {what} {folder}{who}; {remedy}") from error
        except OSError as error:
            raise ConfigError(f"cannot lock {folder}: {error.strerror or error}") from error
        since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        told = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
        with suppress(OSError):  # on a full disk, others only miss the name of the holder
            os.ftruncate(lock, 0)
            os.pwrite(lock, json.dumps(told).encode(), 0)
        yield
    finally:
        os.close(lock)


def _holder(told: bytes) -> str:
    """Holder of a lock, in words for a message; empty if it has not named itself yet."""
    try:
        data = json.loads(told)
        return f": process {data['pid']} on {data['host']}, since {data['since']}"
    except (ValueError, LookupError, TypeError):
        return ""
