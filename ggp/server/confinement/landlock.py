"""Landlock: refuses this process and its descendants all files but the named ones.

It also refuses everything else that the kernel's version of Landlock can. Rules allow; everything
without a rule is refused. A rule covers a folder with everything below it, and the opening of
files. Whether a file exists, and its size and times, can still be seen. `readable` lists the paths
that a worker needs.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

from ggp.machine.compiling.disk_cache import user_cache

NO_READING = "no reading of other files"

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1
_SCOPE_ABSTRACT_UNIX_SOCKET, _SCOPE_SIGNAL = 1 << 0, 1 << 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = (1 << bit for bit in range(4))
_REMOVE_FILE, _MAKE_FOLDER, _MAKE_REGULAR = 1 << 5, 1 << 7, 1 << 8
_REFER, _TRUNCATE, _DEVICE = 1 << 13, 1 << 14, 1 << 15
_READING = _EXECUTE | _READ_FILE | _READ_FOLDER
_WRITING = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
"""Writing, removing and creating files of every kind, since the first version."""
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE
"""Rights that a rule about a file may have; all others are about folders."""


class _Ruleset(ctypes.Structure):
    """The kernel's description of a rule set; older kernels use only a part of it."""

    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def confine(
    libc: ctypes.CDLL,
    *,
    readable: Iterable[Path],
    listed: Iterable[Path],
    writable: Iterable[Path],
) -> tuple[str, ...]:
    """Refuse all other files, and everything else that the kernel can refuse; irreversible.

    The process must have given up new privileges (`PR_SET_NO_NEW_PRIVS`). Missing paths are
    ignored.

    Args:
        readable: files, and folders below which files may be read and run.
        listed: folders in which, and below which, names may be listed.
        writable: folders below which files may be written and read.

    Returns:
        The restrictions in force, for logs.
    """
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:
        return ()
    rules, restrictions = _Ruleset(_READING | _WRITING), [NO_READING, "no writing"]
    if version >= 2:
        rules.files |= _REFER
    if version >= 3:
        rules.files |= _TRUNCATE
    if version >= 4:
        rules.network = _BIND_TCP | _CONNECT_TCP
        restrictions.append("no TCP")
    if version >= 5:
        rules.files |= _DEVICE
    if version >= 6:
        rules.scopes = _SCOPE_ABSTRACT_UNIX_SOCKET | _SCOPE_SIGNAL
        restrictions += ["no abstract sockets", "no signals"]
    # An older kernel accepts zeros in fields that it does not know.
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    if ruleset < 0:
        return ()
    in_folders = _WRITE_FILE | _MAKE_REGULAR | _REMOVE_FILE | _MAKE_FOLDER | _REFER | _TRUNCATE
    rights = [(path, _READING) for path in readable]
    rights += [(path, _READ_FOLDER) for path in listed]
    rights += [(path, in_folders | _READ_FILE | _READ_FOLDER) for path in writable]
    rights += [(Path(os.devnull), _WRITE_FILE | _READ_FILE | _TRUNCATE)]
    try:
        for path, access in rights:
            _allow(libc, ruleset, path, access & rules.files)
        return tuple(restrictions) if libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0 else ()
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, access: int) -> None:
    with suppress(OSError):
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rule = _PathBeneath(access if path.is_dir() else access & _OF_FILES, fd)
            libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
        finally:
            os.close(fd)


# ------------------------------------------------------------------------
# Paths that a worker may read: the interpreter, libraries, importable code, and caches.
#
# The list follows from the running process, so that it fits a checkout, an installed wheel, and a
# Python of the system, of conda or in the user's home alike:
#
#     libraries of the system     folders of libraries, and a few files that the C library reads
#     the interpreter             its program, `lib` of its prefixes, `pyvenv.cfg`
#     site-packages               the whole folder
#     other import folders        the names in them, and their modules and packages
#     SWI-Prolog                  its home, and the folder of its library
#     caches                      compiled kernels; circuits of this user
#
# So in a checkout only packages are readable, and not `.git`, `.env` or anything else.

SYSTEM: dict[str, str] = {
    **dict.fromkeys(
        ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64"),
        "shared libraries, the program that loads them (ld.so), their locales and encodings",
    ),
    **dict.fromkeys(("/usr/local/lib", "/usr/local/lib64"), "the same, for local builds"),
    **dict.fromkeys(("/nix/store", "/gnu/store"), "the same, for systems with a store of programs"),
    "/etc/ld.so.cache": "the places of shared libraries",
    "/etc/localtime": "the time zone, for times in messages",
    "/usr/share/zoneinfo": "the same, if `TZ` names it",
    "/dev/urandom": "random numbers, if there is no system call for them",
    "/sys/devices/system/cpu": "the number of processors, for the memory allocator",
    "/proc/self": "the process itself: its stack, threads and limits",
    "/proc/cpuinfo": "the kind of processor, by which compiled kernels are found on ARM",
}
"""Files and folders of the system that a worker reads, and their purpose."""

_LIBRARIES = "lib", "lib32", "lib64"
_SITES = "site-packages", "dist-packages", "lib-dynload"
_VARIABLES = "LD_LIBRARY_PATH", "SWI_HOME_DIR", "LIBSWIPL_PATH"
"""Environment variables that name folders of libraries."""


class Readable(NamedTuple):
    """Paths that may be read.

    Attributes:
        code: files and folders of the interpreter, libraries and modules. Whoever can write there
            controls later runs.
        kernels: folders of machine code, which also runs.
        circuits: circuits of this user, which are data.
        system: see `SYSTEM`.
        listed: folders in which names may be read, at any depth, but not the contents of files.
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
    """The paths that this process and its descendants must be able to read.

    Folders that contain the user's home, or are the home, are left out: files in it must be named.

    Args:
        libraries: folders besides the system's and the interpreter's.
    """
    home = Path(os.path.expanduser("~"))
    homes = home, home.resolve()  # by name and resolved
    ours = Path(__file__).resolve().parents[2]
    named = (path for variable in _VARIABLES for path in _named(variable))
    code, listed = [ours, *_interpreter(), *libraries, *named], [ours.parent]
    for folder in dict.fromkeys(Path(name).absolute() for name in sys.path):
        if folder.is_file() or folder.name in _SITES:
            code.append(folder)
        elif not _holds(folder, homes):
            listed.append(folder)
            code += _modules(folder)
    # Used if kernels cannot be stored beside the modules.
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
        paths = sorted(folder.iterdir())
    except OSError:
        return
    for path in paths:
        if path.name.endswith(suffixes) or (path / "__init__.py").is_file():
            yield path


def _named(variable: str) -> Iterator[Path]:
    """The paths in an environment variable."""
    for name in filter(None, os.environ.get(variable, "").split(os.pathsep)):
        yield Path(name).absolute()


def _holds(path: Path, homes: Iterable[Path]) -> bool:
    """Whether a folder contains a home, or is one."""
    return any(home.is_relative_to(folder) for home in homes for folder in (path, path.resolve()))
