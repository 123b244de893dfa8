"""Takes rights away from this process before it reads a stranger's rules.

Rules never become code (see the machines), so this is the second line of defence, not the first.
`restrict` applies every restriction that the system offers, and returns those in force:

- limits on memory, address space, open files, file sizes; no core dumps; in its own user namespace
  also a limit on processes, which elsewhere would count all processes of the user;
- no network: an empty network namespace of its own, so no IP and no abstract sockets;
- no power: the user `nobody` if root started the server, no capabilities, and no new privileges
  for programs that it starts (`PR_SET_NO_NEW_PRIVS`);
- no files except the named ones: reading for interpreter, libraries and caches (`readable`),
  writing for the circuit cache, from which nothing is run; no signals except to its descendants;
  TCP and abstract sockets are refused once more (`landlock`);
- no sockets at all, no memory that limits do not count, and many other system calls (`seccomp`);
- its descendants stay in its process group, and end with it;
- of the environment only the variables that interpreters and libraries need
  (`needed_environment`).

docs/reference/security.md lists what remains possible.
"""

from __future__ import annotations

import ctypes
import os
import platform
import pwd
import re
import resource
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ggp.machine.compiling.disk_cache import FOLDER_VARIABLE, STORE_VARIABLE
from ggp.run.processes import lower_limit
from ggp.server.confinement import landlock, seccomp
from ggp.server.confinement.landlock import Readable, readable

MAX_OPEN_FILES = 256
MAX_FILE_BYTES = 1 << 29
MAX_STACK_BYTES = 64 << 20
MAX_PROCESSES = 64 + 2 * (os.cpu_count() or 1)
"""Threads count, too; one search has at most as many as there are processors."""

SPARE_ADDRESSES = 16 << 30
"""Address space beyond the memory limit, for reservations that are never used. Its page tables do
not count as memory of the process; they take at most a 512th of it."""

_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_COUNTED_APART = 5, 14
"""Since this version Linux counts the processes of each user namespace separately."""

_NEEDED = frozenset(
    ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "VIRTUAL_ENV")
) | {"XDG_CACHE_HOME", "CONDA_PREFIX", "SWI_HOME_DIR", "LIBSWIPL_PATH"}
_NEEDED_FAMILIES = ("LC_", "LD_", "PYTHON", "NUMBA_", "GGP_", "DYLD_", "NIX_LD")
"""Environment variables that a worker sees, and prefixes of others."""

_NOBODY, _NO_NETWORK, _NO_SOCKETS = "not root but nobody", "no network", "no sockets"
STAYS = "no process outlives it"
_ANOTHER_THREAD = "nothing: another thread had begun"


def needed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that a worker needs; others may hold secrets."""
    return {
        name: value
        for name, value in environment.items()
        if name in _NEEDED or name.startswith(_NEEDED_FAMILIES)
    }


def restrict(
    memory_bytes: int, writable: Sequence[Path], libraries: Iterable[Path] = ()
) -> tuple[str, ...]:
    """Give up all rights that a worker does not need; irreversible.

    Must be called before the process has a second thread, which would keep its rights. Afterwards
    `die_with` must be called again, and the user may have changed.

    Args:
        memory_bytes: limit of data (`RLIMIT_DATA`), for this process and for each descendant.
        writable: folders below which files may still be written. Missing folders are ignored, and
            so are folders that contain code or lie beside it. Circuits are stored in the first.
        libraries: folders to read besides the system, the interpreter and its modules.

    Returns:
        The restrictions in force, for logs.
    """
    restrictions = [*_limit(memory_bytes)]
    if sys.platform != "linux":
        return tuple(restrictions)
    libc, may_read = ctypes.CDLL(None, use_errno=True), readable(libraries)
    folders = [folder for folder in writable if _holds_no_code(folder, may_read)]
    is_alone = len(os.listdir("/proc/self/task")) == 1
    # The order matters: each step needs a right that a later step takes away.
    has_left = enter_namespaces(libc, _CLONE_NEWNET)
    bound_capabilities(libc)
    is_root = os.geteuid() == 0
    # A worker that cannot read the kernels beside ggp's modules compiles for half a minute.
    kernels = may_read.code[0].rglob("*.nb[ic]") if is_root else ()
    if become_nobody([*may_read.code, *kernels], folders):
        restrictions.append(_NOBODY)
        is_root = False
    is_apart = not is_root and has_left and enter_namespaces(libc, _CLONE_NEWUSER)
    if not has_left:
        has_left = is_apart = enter_namespaces(libc, _CLONE_NEWUSER | _CLONE_NEWNET)
    if folders:
        os.environ[STORE_VARIABLE] = str(folders[0])
    if is_apart and not is_root and _counts_apart():  # root has no such limit
        restrictions += ["processes"] * lower_limit(resource.RLIMIT_NPROC, MAX_PROCESSES)
    if has_left:
        restrictions.append(_NO_NETWORK)
    if drop_capabilities(libc):
        restrictions.append("no capabilities")
    is_found = libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        restrictions.append("no new privileges")
        restrictions += landlock.confine(
            libc, readable=may_read.paths, listed=may_read.listed, writable=folders
        )
        if seccomp.refuse_calls(libc):
            restrictions += [_NO_SOCKETS, "no shared memory", "no system calls but common ones"]
            restrictions += [STAYS] * is_found
    return tuple(restrictions) if is_alone else (_ANOTHER_THREAD,)


def _limit(memory_bytes: int) -> Iterator[str]:
    """Set limits, and yield the names of those in force."""
    limits = [
        ("memory", resource.RLIMIT_DATA, memory_bytes),
        ("open files", resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        ("file size", resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        ("core dumps", resource.RLIMIT_CORE, 0),
    ]
    if sys.platform == "linux":  # elsewhere libraries may reserve any number of addresses
        limits.append(("address space", resource.RLIMIT_AS, memory_bytes + SPARE_ADDRESSES))
    yield from (name for name, kind, most in limits if lower_limit(kind, most))
    # Only the hard limit: the size of thread stacks depends on the soft one, which stays.
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if soft != resource.RLIM_INFINITY and (hard == resource.RLIM_INFINITY or hard > soft):
        resource.setrlimit(resource.RLIMIT_STACK, (soft, max(soft, MAX_STACK_BYTES)))


def _holds_no_code(folder: Path, may_read: Readable) -> bool:
    """Whether a folder neither holds code nor is a place from which code is loaded."""
    target = folder.resolve()
    code = [path.resolve() for path in (*may_read.code, *may_read.kernels)]
    imported = [path.resolve() for path in may_read.listed]
    return not (
        any(target.is_relative_to(path) for path in code)
        or any(path.is_relative_to(target) for path in (*code, *imported))
    )


def _counts_apart() -> bool:
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    return release is not None and tuple(map(int, release.groups())) >= _COUNTED_APART


def gaps(rights: Container[str]) -> Iterator[str]:
    """Yield a line for each dangerous right that a worker could not give up on this system.

    Args:
        rights: the rights given up, from `restrict`.
    """
    if _NO_NETWORK not in rights and _NO_SOCKETS not in rights:
        yield "use the network: there are neither network namespaces nor filters of system calls"
    if landlock.NO_READING not in rights:
        yield "read the files of this user: there is no Landlock, as Linux has from 5.13"


# ------------------------------------------------------------------------
# The user of this process, and its powers.
#
# Capabilities are the parts of root's power. A process in a user namespace of its own has all of
# them there, and could attack much more of the kernel than other processes.

NOBODY = "nobody"
CACHE_OF_NOBODY = Path("/var/cache/ggp-nobody")
"""Circuit cache of workers if root started the server, unless another folder is named."""

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_CAPBSET_DROP = 24
_PR_CAP_AMBIENT, _CLEAR_ALL = 47, 4
_CAPABILITY_VERSION = 0x20080522
_MAX_CAPABILITIES = 64


def enter_namespaces(libc: ctypes.CDLL, kinds: int) -> bool:
    """Enter new namespaces; returns success.

    Args:
        kinds: flags: an empty network namespace, which requires root or a new user namespace; a
            user namespace, where we act as root, and limits count only its processes, not all of
            the user's.
    """
    return bool(libc.unshare(kinds) == 0)


def become_nobody(required: Iterable[Path], writable: list[Path]) -> bool:
    """Become the user `nobody`, if this process runs as root.

    Args:
        required: paths that must stay readable; otherwise this process stays root.
        writable: folders for circuits. If the user `nobody` cannot write there, another folder
            replaces them, unless the environment names one.

    Returns:
        whether this process now runs as `nobody`.
    """
    if os.geteuid() != 0:
        return False
    with suppress(OSError, KeyError):  # there may be no such user, or not in this container
        entry = pwd.getpwnam(NOBODY)
        user, group = entry.pw_uid, entry.pw_gid
        os.setgroups([])
        with _acting_as(user, group):
            if not all(_may_read(path) for path in required):
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
    """Drop all capabilities, and the means to regain them by running programs; returns success."""
    bound_capabilities(libc)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    none = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, in two halves
    return bool(libc.capset(header, none) == 0)


def bound_capabilities(libc: ctypes.CDLL) -> None:
    """Keep programs from gaining capabilities, as far as this process is allowed to."""
    libc.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    for capability in range(_MAX_CAPABILITIES):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


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
    """Give a folder of root's to a user; never a link or file that has replaced it."""
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
