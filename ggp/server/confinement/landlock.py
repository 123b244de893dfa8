"""Landlock: limits which files this process and all that it starts may read and write, and what
else the kernel's version of Landlock can refuse.

Rules allow: what is not named is refused. They apply to folders with everything below them, and to
opening files. Whether a file exists, and its size and times, can still be seen.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

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

    The process must have no right to new privileges (`PR_SET_NO_NEW_PRIVS`). Missing paths are
    ignored.

    Args:
        readable: files, and folders below which files may be read and run.
        listed: folders of which, and below which, names may be read.
        writable: folders below which files may be written and read.

    Returns:
        The restrictions in force, for logs.
    """
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:
        return ()
    rules, done = _Ruleset(_READING | _WRITING), [NO_READING, "no writing"]
    if version >= 2:
        rules.files |= _REFER
    if version >= 3:
        rules.files |= _TRUNCATE
    if version >= 4:
        rules.network = _BIND_TCP | _CONNECT_TCP
        done.append("no TCP")
    if version >= 5:
        rules.files |= _DEVICE
    if version >= 6:
        rules.scopes = _SCOPE_ABSTRACT_UNIX_SOCKET | _SCOPE_SIGNAL
        done += ["no abstract sockets", "no signals"]
    # An older kernel accepts zeros beyond what it knows.
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    if ruleset < 0:
        return ()
    in_folders = _WRITE_FILE | _MAKE_REGULAR | _REMOVE_FILE | _MAKE_FOLDER | _REFER | _TRUNCATE
    allowed = [(path, _READING) for path in readable]
    allowed += [(path, _READ_FOLDER) for path in listed]
    allowed += [(path, in_folders | _READ_FILE | _READ_FOLDER) for path in writable]
    allowed += [(Path(os.devnull), _WRITE_FILE | _READ_FILE | _TRUNCATE)]
    try:
        for path, access in allowed:
            _allow(libc, ruleset, path, access & rules.files)
        return tuple(done) if libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0 else ()
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
