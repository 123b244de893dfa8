"""Paths that a worker may read: the interpreter, libraries, importable code, and caches.

The list is made from what this process is running with, so that it fits a checkout, an installed
wheel, and a Python of the system, of conda or in the user's home alike:

    libraries of the system     folders of libraries, and a few files the C library looks at
    the interpreter             its program, `lib` of its prefixes, `pyvenv.cfg`
    site-packages               as a whole
    other folders of imports    names in them, their modules and packages, nothing else in them
    SWI-Prolog                  its home, and the folder of its library
    caches                      compiled kernels; circuits of this user

So of a checkout only packages are readable, and not `.git`, `.env` or anything beside them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

from ggp.machine.propnet.build.cache import user_cache

SYSTEM: dict[str, str] = {
    **dict.fromkeys(
        ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64"),
        "shared libraries, the program that loads them (ld.so), their locales and encodings",
    ),
    **dict.fromkeys(("/usr/local/lib", "/usr/local/lib64"), "the same, of what was built here"),
    **dict.fromkeys(("/nix/store", "/gnu/store"), "the same where a system keeps all programs"),
    "/etc/ld.so.cache": "where shared libraries are",
    "/etc/localtime": "the time zone, for times in messages",
    "/usr/share/zoneinfo": "the same, where `TZ` names it",
    "/dev/urandom": "random numbers, where there is no system call for them",
    "/sys/devices/system/cpu": "how many processors there are, for the allocator of memory",
    "/proc/self": "what the process itself is: where its stack is, its threads and limits",
    "/proc/cpuinfo": "what the processor is, by which compiled kernels are found on ARM",
}
"""Files and folders of the system that are read, and their purpose."""

_LIBRARIES = "lib", "lib32", "lib64"
_SITES = "site-packages", "dist-packages", "lib-dynload"
_VARIABLES = "LD_LIBRARY_PATH", "SWI_HOME_DIR", "LIBSWIPL_PATH"
"""Environment variables that name folders of libraries."""


class Readable(NamedTuple):
    """Paths that may be read.

    Attributes:
        code: files and folders of the interpreter, libraries and modules. Whoever can write there
            controls what runs later.
        kernels: folders of machine code, which is run, too.
        circuits: circuits of this user, which are data.
        system: see `SYSTEM`.
        listed: folders where names may be read, at any depth, but not the contents of files.
    """

    code: list[Path]
    kernels: list[Path]
    circuits: list[Path]
    system: list[Path]
    listed: list[Path]

    @property
    def paths(self) -> list[Path]:
        """Files, and folders with everything below them."""
        return [*self.system, *self.code, *self.kernels, *self.circuits]


def readable(libraries: Iterable[Path] = ()) -> Readable:
    """The paths that this process and those that it starts must read.

    Folders that contain the user's home, or are it, are left out: anything in it must be named.

    Args:
        libraries: folders in addition to those of the system and of the interpreter.
    """
    homes = _homes()
    ours = Path(__file__).resolve().parents[2]
    named = (path for variable in _VARIABLES for path in _named(variable))
    code, listed = [ours, *_interpreter(), *libraries, *named], [ours.parent]
    for folder in dict.fromkeys(Path(name).absolute() for name in sys.path):
        if folder.is_file() or folder.name in _SITES:
            code.append(folder)
        elif not _holds(folder, homes):
            listed.append(folder)
            code += _modules(folder)
    # Used when they cannot be beside the modules.
    kernels = [*_numbas_own(), *_named("NUMBA_CACHE_DIR")]
    circuits = user_cache().folder
    return Readable(
        [path for path in dict.fromkeys(code) if not _holds(path, homes) and path.exists()],
        [path for path in kernels if not _holds(path, homes)],
        [] if circuits is None or _holds(circuits, homes) else [circuits],
        [*map(Path, SYSTEM)],
        listed,
    )


def _numbas_own() -> Iterator[Path]:
    """Numba's default folder for kernels; none for a user without a home."""
    with suppress(RuntimeError):
        yield user_cache_path("numba", appauthor=False)


def _interpreter() -> Iterator[Path]:
    """The interpreter's program, libraries and settings."""
    yield Path(sys.executable)
    yield Path(os.__file__).parent
    for prefix in map(Path, (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)):
        yield from (prefix / name for name in _LIBRARIES)
        yield prefix / "pyvenv.cfg"


def _modules(folder: Path) -> Iterator[Path]:
    """Importable items of a folder: module files, and packages."""
    suffixes = tuple(all_suffixes())
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return
    for path in found:
        if path.name.endswith(suffixes) or (path / "__init__.py").is_file():
            yield path


def _named(variable: str) -> Iterator[Path]:
    """The paths in an environment variable."""
    for name in filter(None, os.environ.get(variable, "").split(os.pathsep)):
        yield Path(name).absolute()


def _homes() -> tuple[Path, ...]:
    """The user's home, by name and resolved."""
    home = Path(os.path.expanduser("~"))
    return home, home.resolve()


def _holds(path: Path, homes: Iterable[Path]) -> bool:
    """Whether a folder contains a home, or is one."""
    return any(home.is_relative_to(each) for home in homes for each in (path, path.resolve()))
