"""Child processes: how they start, what they may use, and why none outlives its parent.

- A child that is started is a new Python with the module path of its parent, in its own session. So
  Ctrl-C in a terminal reaches only the parent, and one signal to the group ends everything it has
  started;
- it calls an entry, which is named on its command line as `module:function`. This module comes
  first and imports little: a child must start quickly;
- a child dies with its parent, even if that is killed (on Linux; elsewhere when its pipes end).

In the parent: `start` or `fork`; then `kill_group`, `interrupt` and `reap`. In the child:
`run_entry`, `own_input`, `own_answers`, limits. What they say to each other is in `messages`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

_BOOTSTRAP = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT}); "
    "entry, parent, number, *rest = sys.argv[1:]; sys.path[:] = rest[int(number) :]; "
    "from ggp.run.processes import run_entry; run_entry(entry, int(parent), rest[: int(number)])"
)
_ENVIRONMENT = {
    # A child uses one core, and may have little address space; numerical libraries would use all
    # cores, and reserve address space for each.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # The same work gives the same result.
    "PYTHONHASHSEED": "0",
}
_PR_SET_PDEATHSIG = 1
_LOOK_S = 0.01
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

# ---------------------------------------------------------------- the parent's side


def command(entry: str, *arguments: str) -> list[str]:
    """The command line of a child.

    Args:
        entry: the function that it calls, as `module:function`.
        arguments: of the entry.

    Raises:
        OSError: there is no interpreter to start.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise FileNotFoundError("there is no Python interpreter to start")
    paths = (path for path in sys.path if isinstance(path, str))
    head = (entry, str(os.getpid()), str(len(arguments)))
    return [sys.executable, "-c", _BOOTSTRAP, *head, *arguments, *paths]


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: that of this process, or another, with the variables it needs."""
    return {**(os.environ if base is None else base), **_ENVIRONMENT}


def start(
    entry: str,
    *arguments: str,
    stdin: int = subprocess.PIPE,
    stdout: int = subprocess.PIPE,
    stderr: int | None = None,
    base: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """A child with pipes to its standard input and output; see `command`.

    An interrupt waits until Python has started, which else would complain of it at length.

    Args:
        stdin, stdout, stderr: other standard files than pipes, see `subprocess.Popen`.
        base: see `environment`.

    Raises:
        OSError: the system cannot start a process.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(
            command(entry, *arguments),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=environment(base),
            start_new_session=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def fork(*, leads: bool = False) -> int:
    """Copy this process, as `os.fork`; the copy dies with this one (on Linux).

    Only the thread that forks is in the copy. What others hold, such as locks, is held there for
    ever: the caller sees to that.

    Args:
        leads: whether the copy leads a session of its own, as a child that was started.

    Returns:
        its process id; 0 in the copy.

    Raises:
        OSError: the system cannot start a process.
    """
    parent = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of other threads
        pid = os.fork()
    if pid == 0:
        if leads:
            os.setsid()
        die_with(parent)
    return pid


def kill_group(pid: int) -> None:
    """Kill a child and everything it has started in its session.

    Only for a child that nobody has waited for yet: its process id may be reused afterwards.
    """
    # A confined process cannot give its children a group, and a new fork has none yet.
    for end in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)


def interrupt(*children: subprocess.Popen[bytes], last_words_s: float) -> None:
    """Interrupt children (SIGINT), then kill those that do not end, and everything they started.

    Args:
        last_words_s: time they have to end, all together.
    """
    for child in children:
        if not has_ended(child):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGINT)
    until_s = time.monotonic() + last_words_s
    for child in children:
        while not has_ended(child) and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
        if child.returncode is None:
            kill_group(child.pid)


def has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether a child has ended; it is not waited for, so that its process id is not reused."""
    if child.returncode is not None:
        return True
    try:
        return status_of(child.pid) is not None
    except ChildProcessError:
        return True


def status_of(pid: int) -> int | None:
    """How a child ended that nobody has waited for; None if it has not.

    It is not waited for here either. An exit status, or a signal as a negative number.
    """
    found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def reap(child: subprocess.Popen[bytes]) -> int:
    """Kill a child and everything it has started, even if it is dead itself; its exit status."""
    if child.returncode is None:
        kill_group(child.pid)
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):  # output that could not be written any more
                pipe.close()
    return child.wait()


def how_it_ended(status: int) -> str:
    """An exit status in words."""
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def rss_bytes(pid: int) -> int:
    """Memory a process occupies; 0 if unknown."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def family(pid: int) -> list[int]:
    """A process and its descendants; only the process itself if these are unknown."""
    found = [pid]
    for each in found:  # grows meanwhile
        for path in Path(f"/proc/{each}/task").glob("*/children"):
            with contextlib.suppress(OSError, ValueError):  # it ended meanwhile
                found += map(int, path.read_text().split())
    return found


def takes_more(pids: Sequence[int], num_bytes: int) -> bool:
    """Whether processes use more memory than that together; shared memory counts once.

    Finding what is shared takes milliseconds per GB, so it is done only where it matters.
    """
    return (
        sum(map(rss_bytes, pids)) > num_bytes
        and sum(_share_bytes(pid) or rss_bytes(pid) for pid in pids) > num_bytes
    )


def _share_bytes(pid: int) -> int:
    """Memory of a process, with its share of shared memory; 0 if unknown."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    except (OSError, StopIteration, IndexError, ValueError):
        return 0


def state_and_cpu(pid: int) -> tuple[str, str]:
    """State and CPU time of a process, as text, from /proc/PID/stat.

    Two empty texts if unknown.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], f"{fields[11]} {fields[12]}"
    except (OSError, IndexError):
        return "", ""


def processor_seconds(pid: int) -> float | None:
    """CPU time of a process; None if unknown."""
    _, ticks = state_and_cpu(pid)
    if not ticks:
        return None
    return sum(map(int, ticks.split())) / os.sysconf("SC_CLK_TCK")


# ---------------------------------------------------------------- the child's side


def run_entry(entry: str, parent: int, arguments: list[str]) -> None:
    """Run a child; its command line was made by `command`."""
    die_with(parent)
    module, _, function = entry.partition(":")
    getattr(import_module(module), function)(*arguments)


def die_with(parent: int) -> None:
    """Make the system kill this process when its parent dies (on Linux).

    A change of credentials undoes it.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)


def own_answers() -> BinaryIO:
    """Standard output, reserved for answers: all other output goes to standard error from now
    on."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def own_input() -> int:
    """Standard input, reserved for messages: whoever else reads it, such as Prolog, finds nothing
    from now on."""
    own = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return own


def lower_limit(which: int, most: int, *, stays_hard: bool = False) -> bool:
    """Lower a limit of `resource`, hard and soft, to `most`; never raise a hard one.

    Args:
        stays_hard: leave the hard limit, so that the soft one can be raised again. Passing a soft
            limit of CPU time ends the process by a signal of its own (SIGXCPU).

    Returns:
        whether it is in force; not every system has every limit.
    """
    try:
        _, hard = resource.getrlimit(which)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (bound, hard if stays_hard else bound))
    except (OSError, ValueError):
        return False
    return True


@contextlib.contextmanager
def limited_memory(num_bytes: int) -> Iterator[None]:
    """Limit address space within the block: requests beyond this total fail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = num_bytes if soft == resource.RLIM_INFINITY else min(num_bytes, soft)
    is_limited = lower_limit(resource.RLIMIT_AS, most, stays_hard=True)
    try:
        yield
    finally:
        if is_limited:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
