"""Taking rights away from this process before it touches a stranger's rules.

Rules never become code (see the machines), so this is the second wall, not the first. What the
system does not offer is left out; `restrict` says what is in force.

- limits on memory, open files, file sizes; no core dumps;
- no new privileges: no program that it starts gains any (`PR_SET_NO_NEW_PRIVS`);
- no network: a network namespace of its own, with nothing in it, so no IP and no abstract sockets;
  Landlock refuses TCP and abstract sockets once more;
- no signals to processes but those it starts (Landlock);
- no writing of files but below folders that are named (Landlock);
- of the environment only what interpreters and libraries need (`needed`).

What remains: reading files, changing their modes and times, running programs, which have the
same rights, and connecting to Unix sockets that are files. A limit on processes is not set: it
would count all processes of the user.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Mapping, Sequence
from pathlib import Path

from ggp.children import lower_limit

MAX_OPEN_FILES = 256
MAX_FILE_BYTES = 1 << 29

_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000

_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_ADD_RULE = 445
_LANDLOCK_RESTRICT_SELF = 446
_LANDLOCK_VERSION = 1
_LANDLOCK_PATH_BENEATH = 1
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1
_SCOPE_ABSTRACT_UNIX_SOCKET, _SCOPE_SIGNAL = 1 << 0, 1 << 1
_WRITE_FILE = 1 << 1
_MAKE_REGULAR = 1 << 8
_REMOVE_FILE = 1 << 5
_MAKE_FOLDER = 1 << 7
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_WRITING = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
"""Writing, removing and making files of every kind, since the first version of Landlock."""

_NEEDED = frozenset(
    ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "VIRTUAL_ENV")
) | {"XDG_CACHE_HOME", "CONDA_PREFIX", "SWI_HOME_DIR", "LIBSWIPL_PATH"}
_NEEDED_FAMILIES = ("LC_", "LD_", "PYTHON", "NUMBA_", "GGP_", "DYLD_", "NIX_LD")
"""Variables of the environment that a worker sees, and how others that it sees begin."""


class _Ruleset(ctypes.Structure):
    """What a set of rules is about; the kernel takes as much of it as it knows."""

    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def needed(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a worker needs: others may hold secrets."""
    return {
        name: value
        for name, value in environment.items()
        if name in _NEEDED or name.startswith(_NEEDED_FAMILIES)
    }


def restrict(memory_bytes: int, writable: Sequence[Path]) -> tuple[str, ...]:
    """Give up what a worker does not need; there is no way back.

    Must be called before the process has a second thread.

    Args:
        memory_bytes: of data (`RLIMIT_DATA`), for this process and for each that it starts.
        writable: folders below which files may still be written; those missing do not count.

    Returns:
        What is in force, for logs.
    """
    done = []
    limits = (
        ("memory", resource.RLIMIT_DATA, memory_bytes),
        ("open files", resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        ("file size", resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        ("core dumps", resource.RLIMIT_CORE, 0),
    )
    done += [name for name, which, most in limits if lower_limit(which, most)]
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if _without_network(libc):
            done.append("no network")
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
            done.append("no new privileges")
            done += _confine(libc, writable)
    except (OSError, AttributeError):  # another system than Linux
        pass
    return tuple(done)


def _without_network(libc: ctypes.CDLL) -> bool:
    """Enter an empty network namespace: with the right to, or in a user namespace of our own."""
    return any(
        libc.unshare(flags) == 0 for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET)
    )


def _confine(libc: ctypes.CDLL, writable: Sequence[Path]) -> tuple[str, ...]:
    """Allow writing below some folders and to /dev/null only, and what else Landlock offers."""
    version = libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION)
    if version < 1:
        return ()
    rules, done = _Ruleset(_WRITING), ["no writing"]
    if version >= 2:
        rules.files |= _REFER
    if version >= 3:
        rules.files |= _TRUNCATE
    if version >= 4:
        rules.network = _BIND_TCP | _CONNECT_TCP
        done.append("no TCP")
    if version >= 6:
        rules.scopes = _SCOPE_ABSTRACT_UNIX_SOCKET | _SCOPE_SIGNAL
        done += ["no abstract sockets", "no signals"]
    # An older kernel takes zeros beyond what it knows.
    ruleset = libc.syscall(_LANDLOCK_CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    if ruleset < 0:
        return ()
    try:
        in_folders = _WRITE_FILE | _MAKE_REGULAR | _REMOVE_FILE | _MAKE_FOLDER
        for path in writable:
            _allow(libc, ruleset, path, rules.files & (in_folders | _REFER | _TRUNCATE))
        _allow(libc, ruleset, Path(os.devnull), rules.files & (_WRITE_FILE | _TRUNCATE))
        confined = libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)
    return tuple(done) if confined else ()


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = _PathBeneath(access, fd)
        libc.syscall(_LANDLOCK_ADD_RULE, ruleset, _LANDLOCK_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(fd)
