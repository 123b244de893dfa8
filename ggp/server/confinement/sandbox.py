"""Taking rights away from this process before it touches a stranger's rules.

Rules never become code (see the machines), so this is the second wall, not the first. What the
system does not offer is left out; `restrict` says what is in force.

- limits on memory, address space, open files, file sizes; no core dumps; in a user namespace of
  its own also on processes, since it counts those of all the user's elsewhere;
- no network: a network namespace of its own, with nothing in it, so no IP and no abstract sockets;
- no power: the user `nobody` where root has started the server, no capabilities, and no program
  that it starts gains any privileges (`privileges`, `PR_SET_NO_NEW_PRIVS`);
- no files but those that are named: reading for interpreter, libraries and caches (`readable`),
  writing for the cache of circuits, from which nothing is run; no signals to processes but those
  it starts; TCP and abstract sockets are refused once more (`landlock`);
- no sockets at all, no memory that limits do not count, and many other system calls (`seccomp`);
- what it starts stays in its group of processes, and its descendant: it ends with it;
- of the environment only what interpreters and libraries need (`needed`).

What remains is said in docs/security.md.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import resource
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ggp.children import lower_limit
from ggp.machine.propnet.build.cache import STORE_VARIABLE
from ggp.server.confinement import landlock, privileges, seccomp
from ggp.server.confinement.readable import Readable, readable

MAX_OPEN_FILES = 256
MAX_FILE_BYTES = 1 << 29
MAX_STACK_BYTES = 64 << 20
MAX_PROCESSES = 64 + 2 * (os.cpu_count() or 1)
"""Threads count, too: those of one search are as many as processors, at most."""

SPARE_ADDRESSES = 16 << 30
"""Address space beyond the memory, for what is reserved and never used. Its tables of pages are not
counted as memory of the process; they take a 512th of it at most."""

_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_COUNTED_APART = 5, 14
"""Linux from here on counts the processes of each user namespace apart."""

_NEEDED = frozenset(
    ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "VIRTUAL_ENV")
) | {"XDG_CACHE_HOME", "CONDA_PREFIX", "SWI_HOME_DIR", "LIBSWIPL_PATH"}
_NEEDED_FAMILIES = ("LC_", "LD_", "PYTHON", "NUMBA_", "GGP_", "DYLD_", "NIX_LD")
"""Variables of the environment that a worker sees, and how others that it sees begin."""

_NOBODY, _NO_NETWORK, _NO_SOCKETS = "not root but nobody", "no network", "no sockets"
STAYS = "no process outlives it"
_ANOTHER_THREAD = "nothing: another thread had begun"


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

    Must be called before the process has a second thread, which would keep its rights. Afterwards
    `die_with` must be called again, and the user may be another.

    Args:
        memory_bytes: of data (`RLIMIT_DATA`), for this process and for each that it starts.
        writable: folders below which files may still be written; those missing do not count, nor
            those that hold code, or lie beside it. Circuits are stored in the first.
        libraries: what must be read besides the system, the interpreter and its modules.

    Returns:
        What is in force, for logs.
    """
    done = [*_limit(memory_bytes)]
    if sys.platform != "linux":
        return tuple(done)
    libc, may_read = ctypes.CDLL(None, use_errno=True), readable(libraries)
    folders = [folder for folder in writable if _holds_no_code(folder, may_read)]
    is_alone = len(os.listdir("/proc/self/task")) == 1
    # Each step needs what the next takes away: the namespace wants root, or none of its power.
    has_left = privileges.leave_network(libc)
    privileges.bound_capabilities(libc)
    is_root = os.geteuid() == 0
    if privileges.become_nobody([*may_read.code, *_compiled(may_read)], folders):
        done.append(_NOBODY)
        is_root = False
    is_apart = not is_root and has_left and privileges.count_alone(libc)
    if not has_left:
        has_left = is_apart = privileges.leave_network_alone(libc)
    if folders:
        os.environ[STORE_VARIABLE] = str(folders[0])
    if is_apart and not is_root and _counts_apart():  # root has no such limit
        done += ["processes"] * lower_limit(resource.RLIMIT_NPROC, MAX_PROCESSES)
    if has_left:
        done.append(_NO_NETWORK)
    if privileges.drop_capabilities(libc):
        done.append("no capabilities")
    is_found = libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        done.append("no new privileges")
        done += landlock.confine(
            libc, readable=may_read.paths, listed=may_read.listed, writable=folders
        )
        if seccomp.refuse_calls(libc):
            done += [_NO_SOCKETS, "no shared memory", "no system calls but common ones"]
            done += [STAYS] * is_found
    return tuple(done) if is_alone else (_ANOTHER_THREAD,)


def _limit(memory_bytes: int) -> Iterator[str]:
    """Set limits, and name those that are in force."""
    limits = [
        ("memory", resource.RLIMIT_DATA, memory_bytes),
        ("open files", resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        ("file size", resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        ("core dumps", resource.RLIMIT_CORE, 0),
    ]
    if sys.platform == "linux":  # elsewhere libraries may reserve any number of addresses
        limits.append(("address space", resource.RLIMIT_AS, memory_bytes + SPARE_ADDRESSES))
    yield from (name for name, which, most in limits if lower_limit(which, most))
    # How large the stacks of threads are depends on the soft limit, and that stays.
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if soft != resource.RLIM_INFINITY and (hard == resource.RLIM_INFINITY or hard > soft):
        resource.setrlimit(resource.RLIMIT_STACK, (soft, max(soft, MAX_STACK_BYTES)))


def _holds_no_code(folder: Path, may_read: Readable) -> bool:
    """Whether nothing that is run later lies in a folder, or would if it were written there."""
    own = folder.resolve()
    code = [path.resolve() for path in (*may_read.code, *may_read.kernels)]
    imported = [path.resolve() for path in may_read.listed]
    return not (
        any(own.is_relative_to(path) for path in code)
        or any(path.is_relative_to(own) for path in (*code, *imported))
    )


def _compiled(may_read: Readable) -> Iterator[Path]:
    """Kernels beside our modules: who cannot read them compiles for half a minute."""
    if os.geteuid() == 0:
        yield from may_read.code[0].rglob("*.nb[ic]")


def _counts_apart() -> bool:
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    return release is not None and tuple(map(int, release.groups())) >= _COUNTED_APART


def gaps(rights: Container[str]) -> Iterator[str]:
    """What a worker might do that had to keep rights: a line each.

    Args:
        rights: those given up, of `restrict`.
    """
    if _NO_NETWORK not in rights and _NO_SOCKETS not in rights:
        yield "use the network: there are no network namespaces, nor filters of system calls"
    if landlock.NO_READING not in rights:
        yield "read the files of this user: there is no Landlock, as Linux has from 5.13"
