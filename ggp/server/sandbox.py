"""Taking rights away from this process before it touches a stranger's rules.

Rules never become code (see the machines), so this is the second wall, not the first. What the
system does not offer is left out; `restrict` says what is in force.

- limits on memory, open files, file sizes; no core dumps;
- no network: a network namespace of its own, with nothing in it, so no IP and no abstract sockets;
- no power: the user `nobody` where root has started the server, no capabilities, and no program
  that it starts gains any privileges (`privileges`, `PR_SET_NO_NEW_PRIVS`);
- no files but those that are named: reading for interpreter, libraries and caches, writing for the
  cache of circuits; no signals to processes but those it starts; TCP and abstract sockets are
  refused once more (`landlock`);
- no sockets at all, and many other system calls (`seccomp`);
- of the environment only what interpreters and libraries need (`needed`).

What remains: seeing which files there are, and running programs that may be read, which have the
same rights. A limit on processes is not set: it would count all processes of the user.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from platformdirs import user_cache_path

from ggp.children import lower_limit
from ggp.server import landlock, privileges, seccomp

MAX_OPEN_FILES = 256
MAX_FILE_BYTES = 1 << 29

_PR_SET_NO_NEW_PRIVS = 38
_OURS = Path(__file__).resolve().parents[1]

_NEEDED = frozenset(
    ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "VIRTUAL_ENV")
) | {"XDG_CACHE_HOME", "CONDA_PREFIX", "SWI_HOME_DIR", "LIBSWIPL_PATH"}
_NEEDED_FAMILIES = ("LC_", "LD_", "PYTHON", "NUMBA_", "GGP_", "DYLD_", "NIX_LD")
"""Variables of the environment that a worker sees, and how others that it sees begin."""

_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime"),
    *("/dev/urandom", "/dev/random", "/dev/zero", "/sys/devices/system/cpu"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat"),
)
"""What programs and libraries of the system read, besides what the user gave them."""

_NOBODY, _NO_NETWORK, _NO_SOCKETS = "not root but nobody", "no network", "no sockets"


def needed(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a worker needs: others may hold secrets."""
    return {
        name: value
        for name, value in environment.items()
        if name in _NEEDED or name.startswith(_NEEDED_FAMILIES)
    }


def restrict(
    memory_bytes: int, writable: Sequence[Path], libraries: Iterable[Path] = ()
) -> tuple[str, ...]:
    """Give up what a worker does not need; there is no way back.

    Must be called before the process has a second thread. Afterwards `die_with` must be called
    again, and the user may be another.

    Args:
        memory_bytes: of data (`RLIMIT_DATA`), for this process and for each that it starts.
        writable: folders below which files may still be written; those missing do not count.
        libraries: what must be read besides the system, the interpreter and its modules.

    Returns:
        What is in force, for logs.
    """
    limits = (
        ("memory", resource.RLIMIT_DATA, memory_bytes),
        ("open files", resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        ("file size", resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        ("core dumps", resource.RLIMIT_CORE, 0),
    )
    done = [name for name, which, most in limits if lower_limit(which, most)]
    if sys.platform != "linux":
        return tuple(done)
    libc = ctypes.CDLL(None, use_errno=True)
    homes, folders = _homes(), [*writable]
    own = [path for path in (*_interpreter(), *libraries) if not _holds(path, homes)]
    kernels = user_cache_path("numba", appauthor=False)  # where they cannot be beside the modules
    # Each step needs what the next takes away: the namespace wants root, or none of its power.
    has_left = privileges.leave_network(libc)
    privileges.bound_capabilities(libc)
    if privileges.become_nobody([path for path in own if path.exists()], folders):
        done.append(_NOBODY)
    if has_left or privileges.leave_network_alone(libc):
        done.append(_NO_NETWORK)
    if privileges.drop_capabilities(libc):
        done.append("no capabilities")
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        done.append("no new privileges")
        done += landlock.confine(
            libc,
            readable=[*map(Path, _SYSTEM), *own, kernels, *_named("NUMBA_CACHE_DIR")],
            listed=[_OURS.parent],  # it may be the home itself
            writable=folders,
        )
        if seccomp.refuse_calls(libc):
            done += [_NO_SOCKETS, "no system calls but common ones"]
    return tuple(done)


def gaps(rights: Container[str]) -> Iterator[str]:
    """What a worker might do that had to keep rights: a line each.

    Args:
        rights: those given up, of `restrict`.
    """
    if _NO_NETWORK not in rights and _NO_SOCKETS not in rights:
        yield "use the network: there are no network namespaces, nor filters of system calls"
    if landlock.NO_READING not in rights:
        yield "read the files of this user: there is no Landlock, as Linux has from 5.13"


def _interpreter() -> Iterator[Path]:
    """Files and folders that Python and our modules are read from."""
    yield _OURS
    yield Path(sys.executable)
    for name in (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__), *sys.path):
        yield Path(name).absolute()
    if swipl := shutil.which("swipl"):
        yield Path(swipl).resolve().parent
    for variable in ("LD_LIBRARY_PATH", "SWI_HOME_DIR", "LIBSWIPL_PATH"):
        yield from _named(variable)


def _named(variable: str) -> Iterator[Path]:
    """The paths that a variable of the environment names."""
    yield from map(Path, filter(None, os.environ.get(variable, "").split(os.pathsep)))


def _homes() -> tuple[Path, ...]:
    """The user's home as it is called, and as it really is."""
    home = Path(os.path.expanduser("~"))
    return home, home.resolve()


def _holds(path: Path, homes: Iterable[Path]) -> bool:
    """Whether a home is in a folder, or is it: then what is read in it must be named."""
    return any(home.is_relative_to(each) for home in homes for each in (path, path.resolve()))
