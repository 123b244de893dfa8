"""Circuits kept on disk between processes. A cache that fails is one that is empty."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from pathlib import Path

from platformdirs import user_cache_path

_log = logging.getLogger(__name__)

MAX_BYTES = 256 << 20
"""Size of all files together; the least recently used go first."""

FOLDER_VARIABLE = "GGP_CACHE_DIR"
"""Environment variable with another folder to use; empty is as good as unset."""

_SUFFIX = ".circuit"


class DiskCache:
    """Files by key in one folder. No method raises because of the disk.

    Several processes may use the same folder: a file is there as a whole or not at all.

    Args:
        folder: made when something is stored; None stores nothing.
        max_bytes: see `MAX_BYTES`.
    """

    def __init__(self, folder: Path | None, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    @property
    def folder(self) -> Path | None:
        """Where the files are; None if nothing is stored."""
        return self._folder

    def get(self, key: str) -> bytes | None:
        """What is stored under a key, None if nothing can be read."""
        if self._folder is None:
            return None
        path = self._path(self._folder, key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            _log.info("cannot read %s: %s", path, error)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # least recently used go first
        return data

    def put(self, key: str, data: bytes) -> None:
        """Store something, if the disk allows."""
        if self._folder is None or len(data) > self._max_bytes:
            return
        part = None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(suffix=".part", dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(part, self._path(self._folder, key))
            self._trim(self._folder)
        except OSError as error:
            _log.info("cannot store a circuit in %s: %s", self._folder, error)
            if part is not None:
                with contextlib.suppress(OSError):
                    os.unlink(part)

    def discard(self, key: str) -> None:
        """Forget a key."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                self._path(self._folder, key).unlink()

    def _path(self, folder: Path, key: str) -> Path:
        return folder / f"{key}{_SUFFIX}"

    def _trim(self, folder: Path) -> None:
        files = []
        for path in folder.glob(f"*{_SUFFIX}"):
            with contextlib.suppress(OSError):
                stat = path.stat()
                files.append((stat.st_mtime_ns, path.name, stat.st_size))
        total = sum(size for _, _, size in files)
        for _, name, size in sorted(files):
            if total <= self._max_bytes:
                return
            (folder / name).unlink(missing_ok=True)
            total -= size


def user_cache() -> DiskCache:
    """The cache of this user: in the folder `FOLDER_VARIABLE` names, or where the system keeps it.

    `~` in the name is the user's home; a relative name is relative to the current folder.
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    try:
        if folder:
            return DiskCache(Path(folder).expanduser())
        return DiskCache(user_cache_path("ggp") / "circuits")
    except (RuntimeError, OSError) as error:  # a user without a home
        _log.info("there is no folder for circuits: %s", error)
        return DiskCache(None)
