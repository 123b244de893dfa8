"""Writes files completely or not at all, and has one process at a time work in a folder.

A full disk, or an interrupt, must leave neither half a file nor an empty one: it would be taken for
the result. So a file is written beside its place and moved there when it is complete.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from ggp.errors import ConfigError, ResultsError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Errors of a disk, whatever the path."""


def write_whole(path: Path, data: str | bytes) -> None:
    """Write a file; an existing one is replaced, and its mode is kept.

    Anything that is not a regular file, such as /dev/stdout, is written to directly.

    Raises:
        ConfigError: there can be no such file.
        ResultsError: the disk is full, or broken. In both cases nothing has changed.
    """
    content = data.encode() if isinstance(data, str) else data
    with _told_of(path):
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        place = path.resolve()  # a link stays a link
        part = place.parent / f".{os.getpid()}-{threading.get_native_id()}.part"
        _create(part, content)
        try:
            if place.exists():
                shutil.copymode(place, part)
            os.replace(part, place)
        except BaseException:
            _remove(part)
            raise


def write_new(path: Path, data: str | bytes) -> None:
    """Write a file that does not exist yet.

    Raises:
        ConfigError: it exists, or there can be no such file.
        ResultsError: the disk is full, or broken; then there is no file.
    """
    with _told_of(path):
        _create(path, data.encode() if isinstance(data, str) else data)


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Turn errors of the system into ours."""
    try:
        yield
    except FileExistsError:
        raise ConfigError(f"{path} is there already; give the name of a new file") from None
    except OSError as error:
        raise unwritable(f"cannot write {path}", error) from error


def unwritable(what: str, error: OSError) -> ConfigError | ResultsError:
    """The error to raise if something cannot be written: the path is wrong, or the disk."""
    kind = ResultsError if error.errno in _FULL else ConfigError
    return kind(f"{what}: {error.strerror or error}")


def _create(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        try:
            file.write(content)
            file.flush()
        except BaseException:
            _remove(path)
            raise


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


# ------------------------------------------------------------------------
# A lock on a folder, so that one process at a time works in it.
#
# The system drops the lock when the process ends, however it ends, so locks are never stale. The
# locked file says who holds the lock; its text counts only while it is locked.

LOCK_FILE = ".lock"

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
        lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
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
