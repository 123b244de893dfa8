"""Reads and writes files as a whole or not at all, and locks a folder for one process at a time.

A full disk or an interrupt must leave neither half a file nor an empty one, which would pass for a
result. So a file is written beside its final place and moved there when it is complete.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import socket
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError, ResultsError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Errors of the disk, as opposed to errors of the path."""


def read_whole(path: Path) -> bytes:
    """The contents of a file.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error


def read_json(path: Path, expected: str = "") -> Any:
    """The value in a JSON file.

    Args:
        expected: what the file must be, for the message.

    Raises:
        ConfigError: the file cannot be read, or is not JSON.
    """
    content = read_whole(path)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        hint = expected and f"; it must be {expected}"
        raise ConfigError(f"{path} is not JSON: {error}{hint}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """The tables in a TOML file.

    Raises:
        ConfigError: the file cannot be read, or is not TOML.
    """
    content = read_whole(path)
    try:
        return tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def write_whole(path: Path, data: str | bytes) -> None:
    """Write a file; an existing one is replaced and keeps its mode.

    Anything but a regular file, such as /dev/stdout, is written to directly.

    Raises:
        ConfigError: the path is impossible.
        ResultsError: the disk is full or broken. In both cases nothing has changed.
    """
    content = data.encode() if isinstance(data, str) else data
    with _errors_named(path):
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        place = path.resolve()  # a link stays a link
        part = place.parent / f".{os.getpid()}-{threading.get_native_id()}.part"
        _remove(part)  # which a killed process with this number may have left
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
        ConfigError: it exists, or the path is impossible.
        ResultsError: the disk is full or broken; then there is no file.
    """
    with _errors_named(path):
        _create(path, data.encode() if isinstance(data, str) else data)


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Turn errors of the system into errors of ggp that name the path."""
    try:
        yield
    except FileExistsError:
        raise ConfigError(f"{path} already exists; give the name of a new file") from None
    except OSError as error:
        raise unwritable(f"cannot write {path}", error) from error


def unwritable(problem: str, error: OSError) -> ConfigError | ResultsError:
    """The error to raise if something cannot be written: the path or the disk is at fault."""
    kind = ResultsError if error.errno in _FULL else ConfigError
    return kind(f"{problem}: {error.strerror or error}")


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
# A lock on a folder, so that only one process at a time works in it.
#
# The system releases the lock when the process ends, however it ends, so locks are never stale. The
# locked file names the holder; its text counts only while it is locked.

LOCK_FILE = ".lock"

_LONGEST = 4096
"""Number of bytes to read from the file in which the holder names itself."""


class InUse(ConfigError):
    """A folder in which another process works."""


@contextmanager
def locked(folder: Path, activity: str, remedy: str) -> Iterator[None]:
    """Lock a folder for this process while the context lasts; make the folder if there is none.

    Args:
        activity: the work of a process in it, for the message: `plays a series in`.
        remedy: advice for the message.

    Raises:
        InUse: another process works in it; the message says which one, and since when.
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
            holder = _holder(os.read(lock, _LONGEST))
            raise InUse(f"another process {activity} {folder}{holder}; {remedy}") from error
        except OSError as error:
            raise ConfigError(f"cannot lock {folder}: {error.strerror or error}") from error
        start = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        entry = {"pid": os.getpid(), "host": socket.gethostname(), "since": start}
        with suppress(OSError):  # on a full disk, messages merely lack the name of the holder
            os.ftruncate(lock, 0)
            os.pwrite(lock, json.dumps(entry).encode(), 0)
        yield
    finally:
        os.close(lock)


def _holder(content: bytes) -> str:
    """The holder of a lock, for a message; empty if it has not named itself yet."""
    try:
        entry = json.loads(content)
        return f": process {entry['pid']} on {entry['host']}, since {entry['since']}"
    except (ValueError, LookupError, TypeError):
        return ""
