"""The user of this process, and the powers that come with it.

Capabilities are the parts of root's power. A process in a user namespace of its own has all of
them there, and could attack much more of the kernel than others.
"""

from __future__ import annotations

import ctypes
import os
import pwd
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ggp.machine.propnet.build.cache import FOLDER_VARIABLE

NOBODY = "nobody"
CACHE_OF_NOBODY = Path("/var/cache/ggp-nobody")
"""Circuit cache of workers of a server started by root, unless another folder is named."""

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_CAPBSET_DROP = 24
_PR_CAP_AMBIENT, _CLEAR_ALL = 47, 4
_CAPABILITY_VERSION = 0x20080522
_MOST_CAPABILITIES = 64


def leave_network(libc: ctypes.CDLL) -> bool:
    """Enter an empty network namespace, which requires root."""
    return bool(libc.unshare(_CLONE_NEWNET) == 0)


def leave_network_alone(libc: ctypes.CDLL) -> bool:
    """Enter an empty network namespace within a new user namespace, where a process acts as
    root."""
    return bool(libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0)


def count_alone(libc: ctypes.CDLL) -> bool:
    """Enter a user namespace, in which limits count what is in it, not everything of the user's."""
    return bool(libc.unshare(_CLONE_NEWUSER) == 0)


def become_nobody(needed: Iterable[Path], writable: list[Path]) -> bool:
    """Become the user `nobody`, if this process runs as root.

    Args:
        needed: paths that must stay readable; if one would not be, this process stays root.
        writable: folders for circuits. If the user `nobody` cannot write them, another is used
            instead, unless the environment names a folder.

    Returns:
        whether this process now runs as nobody.
    """
    if os.geteuid() != 0:
        return False
    with suppress(OSError, KeyError):  # there may be no such user, or not in this container
        entry = pwd.getpwnam(NOBODY)
        user, group = entry.pw_uid, entry.pw_gid
        os.setgroups([])
        with _acting_as(user, group):
            if not all(_may_read(path) for path in needed):
                return False
        for path in writable:
            _give(path, user, group)
        with _acting_as(user, group):
            may_write = all(_may(path, os.W_OK | os.X_OK) for path in writable)
        if not may_write and not os.environ.get(FOLDER_VARIABLE):
            with suppress(OSError):
                CACHE_OF_NOBODY.mkdir(mode=0o700, exist_ok=True)
                os.chown(CACHE_OF_NOBODY, user, group)
                writable[:] = [CACHE_OF_NOBODY]
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
        return True
    return False


def drop_capabilities(libc: ctypes.CDLL) -> bool:
    """Drop all capabilities, and the means to regain them by running programs; true if none is
    left."""
    bound_capabilities(libc)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    none = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, in two halves
    return bool(libc.capset(header, none) == 0)


def bound_capabilities(libc: ctypes.CDLL) -> None:
    """Keep programs from gaining capabilities, as far as this process is allowed to."""
    libc.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    for number in range(_MOST_CAPABILITIES):
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)


@contextmanager
def _acting_as(user: int, group: int) -> Iterator[None]:
    """Act with the rights of another user within the block."""
    os.setegid(group)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def _give(path: Path, user: int, group: int) -> None:
    """Give a folder of root's to a user; never something that has since taken its place."""
    with suppress(OSError):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(folder).st_uid == 0:
                os.fchown(folder, user, group)
        finally:
            os.close(folder)


def _may_read(path: Path) -> bool:
    return _may(path, os.R_OK | os.X_OK if path.is_dir() else os.R_OK)


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=True)
