"""Writes files completely or not at all.

A full disk, or an interrupt, must leave neither half a file nor an empty one: it would be taken for
the result. So a file is written beside its place and moved there when it is complete.
"""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
