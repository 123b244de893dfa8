"""Keeps circuits on disk between processes. A cache that fails counts as empty."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path

from ggp.machine.compiling.kernel_version import code_version

_log = logging.getLogger(__name__)

MAX_BYTES = 256 << 20
"""Greatest size of all files together; the least recently used ones are deleted first."""

FOLDER_VARIABLE = "GGP_CACHE_DIR"
"""Environment variable that names another folder to use; empty counts as unset."""

STRANGERS = "strangers"
"""Folder below the user's, for processes that read rules of strangers and gave up their rights."""

STORE_VARIABLE = "GGP_CACHE_STORE"
"""Environment variable that names the folder to store in, if it is not the one to read. It is set
in processes that may not write what others trust."""

_SUFFIX = ".circuit"


class DiskCache:
    """Files by key in one folder. No method raises because of the disk.

    Several processes may use the same folder: a file is complete or not there at all.

    Args:
        folder: created when something is stored; None stores nothing.
        max_bytes: see `MAX_BYTES`.
        known: another folder that is read first, and never written.
    """

    def __init__(
        self, folder: Path | None, max_bytes: int = MAX_BYTES, known: Path | None = None
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._known = known

    @property
    def folder(self) -> Path | None:
        """The folder of the files; None if nothing is stored."""
        return self._folder

    def get(self, key: str) -> bytes | None:
        """The bytes stored under a key, None if nothing can be read."""
        return next(self.each(key), None)

    def each(self, key: str) -> Iterator[bytes]:
        """The bytes stored under a key, in both folders."""
        for folder in (self._known, self._folder):
            if folder is not None and (data := self._read(folder, key)) is not None:
                yield data

    def _read(self, folder: Path, key: str) -> bytes | None:
        path = self._path(folder, key)
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
        """Store bytes under a key, if the disk allows."""
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
        """Delete what is stored under a key."""
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
    """The cache of this user: in the folder `FOLDER_VARIABLE` names, or where the system has it.

    `~` in the name is the user's home; a relative name is relative to the current folder. New
    circuits are stored elsewhere if `STORE_VARIABLE` says so.
    """
    folder, store = os.environ.get(FOLDER_VARIABLE), os.environ.get(STORE_VARIABLE)
    try:
        usual = Path(folder).expanduser() if folder else user_cache_path("ggp") / "circuits"
        return DiskCache(Path(store), known=usual) if store else DiskCache(usual)
    except (RuntimeError, OSError) as error:  # a user without a home
        _log.info("there is no folder for circuits: %s", error)
        return DiskCache(None)


# ------------------------------------------------------------------------
# The version of the code that makes circuits: a digest of its files.
#
# A circuit in the cache is right for the code that made it: after a change of one of these files,
# or with another clingo or numpy, circuits are made anew.

FOLDERS = (
    "gdl",
    "machine/propnet/compile/rewriting",
    "machine/propnet/compile/ground_rules",
    "machine/propnet/optimise",
)
"""Folders of `ggp` all of whose files count, with those in their subfolders."""

FILES = (
    "machine/arrays",
    "machine/mixing",
    "machine/circuit",
    "machine/propnet/compile/circuit_file",
    "machine/propnet/compile/circuits",
    "machine/propnet/compile/gates",
)
"""Other modules of `ggp` that take part; those that only play or store circuits do not. A test
follows every name that is read on the way to a circuit, and fails if a module is missing."""


@cache
def makers_version() -> str:
    """Hex digest of the code that makes circuits, and of the libraries it makes them with."""
    return code_version(
        (*FILES, *FOLDERS), *sys.version_info[:2], np.__version__, _clingo_version()
    )


def _clingo_version() -> str:
    """The package's version: importing clingo takes long, and a stored circuit does not need it."""
    try:
        return metadata.version("clingo")
    except metadata.PackageNotFoundError:
        return ""
