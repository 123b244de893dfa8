"""Keeps compiled circuits on disk between processes; a cache that fails counts as empty.

`propnet` asks the cache before it grounds rules, and stores each new circuit. Keys include a digest
of the code that makes circuits (`makers_version`), so a change of the code makes old files useless.
"""

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

from platformdirs import user_cache_path

from ggp.machine.compiling.kernel_version import code_version

_log = logging.getLogger(__name__)

MAX_BYTES = 256 << 20
"""Greatest total size of all files; the least recently used ones are deleted first."""

FOLDER_VARIABLE = "GGP_CACHE_DIR"
"""Environment variable with the name of another folder; empty counts as unset."""

STRANGERS = "strangers"
"""Subfolder for processes that read untrusted rules and have dropped their privileges."""

STORE_VARIABLE = "GGP_CACHE_STORE"
"""Environment variable with the folder to write to, if that is not the folder to read. It is set in
processes that must not write files that others trust."""

_SUFFIX = ".circuit"


class DiskCache:
    """Files by key in one folder. No method raises an error of the disk.

    Several processes may use the same folder: a file is renamed into place when it is complete.

    Args:
        folder: created on the first write; None stores nothing.
        max_bytes: see `MAX_BYTES`.
        base: another folder, which is read first and never written.
    """

    def __init__(
        self, folder: Path | None, max_bytes: int = MAX_BYTES, base: Path | None = None
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._base = base

    @property
    def folder(self) -> Path | None:
        """The folder of the files; None if nothing is stored."""
        return self._folder

    def get(self, key: str) -> bytes | None:
        """The bytes under a key; None if there are none or they cannot be read."""
        return next(self.versions(key), None)

    def versions(self, key: str) -> Iterator[bytes]:
        """Yield the bytes under a key in each folder that has them."""
        for folder in (self._base, self._folder):
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
        """Store bytes under a key, if the disk permits."""
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
        """Delete the file of a key."""
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
    """The cache of this user, in the folder of `FOLDER_VARIABLE` or else the system's cache folder.

    `~` in the name is the user's home; a relative name is relative to the current folder.
    `STORE_VARIABLE` can give another folder for new circuits.
    """
    folder, store = os.environ.get(FOLDER_VARIABLE), os.environ.get(STORE_VARIABLE)
    try:
        usual = Path(folder).expanduser() if folder else user_cache_path("ggp") / "circuits"
        return DiskCache(Path(store), base=usual) if store else DiskCache(usual)
    except (RuntimeError, OSError) as error:  # a user without a home
        _log.info("there is no folder for circuits: %s", error)
        return DiskCache(None)


# ------------------------------------------------------------------------
# The version of the code that makes circuits: a digest of its files.
#
# A cached circuit is valid only for the code that made it. After a change of one of these files, or
# with another version of clingo or numpy, circuits are built again.

FOLDERS = (
    "gdl",
    "machine/propnet/compile/rewriting",
    "machine/propnet/compile/ground_rules",
    "machine/propnet/optimise",
)
"""Folders of `ggp` of which all files count, including subfolders."""

FILES = (
    "machine/arrays",
    "machine/mixing",
    "machine/circuit",
    "machine/rows",
    "machine/propnet/compile/circuit_file",
    "machine/propnet/compile/circuits",
    "machine/propnet/compile/gates",
)
"""Other modules of `ggp` that take part in making a circuit. A test follows every name that is read
on the way to a circuit, and fails if a module is missing here."""


@cache
def makers_version() -> str:
    """Hex digest of the code that makes circuits, and of the versions of its libraries."""
    libraries = map(_version_of, ("numpy", "clingo"))
    return code_version((*FILES, *FOLDERS), *sys.version_info[:2], *libraries)


def _version_of(library: str) -> str:
    """The version of a library, from package metadata, since importing it is slow."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""
