"""Child processes: starting, limiting and ending them, so that none outlives its parent.

- A started child is a new Python with the module path of its parent, in a session of its own. So
  Ctrl-C in a terminal reaches only the parent, and one signal to the group ends the child and
  everything that it started;
- it calls an entry, which its command line names as `module:function`. It imports this module
  first, which imports little: a child must start quickly;
- a child dies with its parent, even if that is killed (on Linux; elsewhere when its pipes end).

The parent uses `start` or `fork`, then `kill_group`, `interrupt` and `reap`; the child uses
`run_entry`, `own_input`, `own_answers` and limits. They talk in `messages`.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

_BOOTSTRAP = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT}); "
    "entry, parent, number, *rest = sys.argv[1:]; sys.path[:] = rest[int(number) :]; "
    "from ggp.run.processes import run_entry; run_entry(entry, int(parent), rest[: int(number)])"
)
ENDING = (signal.SIGINT, signal.SIGTERM)
"""Signals that end programs."""

_ENVIRONMENT = {
    # A child uses one core, and may have little address space; numerical libraries would use all
    # cores, and reserve address space for each.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Reproducible results.
    "PYTHONHASHSEED": "0",
}
_PR_SET_PDEATHSIG = 1
_LOOK_S = 0.01
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

# ---------------------------------------------------------------- the parent's side


def command(entry: str, *arguments: str) -> list[str]:
    """The command line of a child.

    Args:
        entry: the function that the child calls, as `module:function`.
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
    """The environment of a child: `base`, or that of this process, with the variables it needs."""
    return {**(os.environ if base is None else base), **_ENVIRONMENT}


def start(
    entry: str,
    *arguments: str,
    stdin: int = subprocess.PIPE,
    stdout: int = subprocess.PIPE,
    stderr: int | None = None,
    base: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a child with pipes to its standard input and output; see `command`.

    Interrupts are blocked until its Python has started, which would otherwise print a traceback.

    Args:
        stdin, stdout, stderr: standard files, see `subprocess.Popen`.
        base: see `environment`.

    Raises:
        OSError: the system cannot start a process.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
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
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def fork(*, leads: bool = False) -> int:
    """Copy this process, as `os.fork` does; the copy dies with this one (on Linux).

    The copy has only the thread that forked. Locks that other threads hold stay locked there
    forever; the caller must prevent that.

    Args:
        leads: whether the copy leads a session of its own, like a started child.

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


@contextlib.contextmanager
def ended_by(heed: Callable[[int, object], None]) -> Iterator[None]:
    """Have a function called at signals that end programs, within the block.

    Signals that were ignored from the start stay ignored.
    """
    handlers = {
        signum: signal.signal(signum, heed)
        for signum in ENDING
        if signal.getsignal(signum) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for signum, handler in handlers.items():
            signal.signal(signum, handler)


def kill_group(pid: int) -> None:
    """Kill a child and everything that it started in its session.

    Nobody may have waited for the child yet: afterwards its process id may be reused.
    """
    # By its id, too: a confined process cannot give its children a group, and a new fork has none.
    for end in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)


def interrupt(*children: subprocess.Popen[bytes], last_words_s: float) -> None:
    """Interrupt children (SIGINT), then kill the remaining ones with everything they started.

    Args:
        last_words_s: time for all of them to end.
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
    """Whether a child has ended; does not wait for it, so that its process id is not reused."""
    if child.returncode is not None:
        return True
    try:
        return status_of(child.pid) is not None
    except ChildProcessError:
        return True


def status_of(pid: int) -> int | None:
    """The exit status of a child, or its signal as a negative number; None if it has not ended.

    Nobody may have waited for the child, and this does not either.
    """
    outcome = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    if outcome is None:
        return None
    return outcome.si_status if outcome.si_code == os.CLD_EXITED else -outcome.si_status


def reap(child: subprocess.Popen[bytes]) -> int:
    """Kill a child, dead or not, and everything that it started; returns its exit status."""
    if child.returncode is None:
        kill_group(child.pid)
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):  # buffered output that nobody can receive
                pipe.close()
    return child.wait()


def how_it_ended(status: int) -> str:
    """An exit status in words."""
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def rss_bytes(pid: int) -> int:
    """Resident memory of a process; 0 if unknown."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def family(pid: int) -> list[int]:
    """A process and its descendants; only the process itself if these are unknown."""
    pids = [pid]
    for parent in pids:  # which grows meanwhile
        for path in Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError, ValueError):  # it ended meanwhile
                pids += map(int, path.read_text().split())
    return pids


def takes_more(pids: Sequence[int], num_bytes: int) -> bool:
    """Whether processes together use more memory than this; shared memory counts once.

    Finding the shared part takes milliseconds per GB, so that is done only if it matters.
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
    """State and CPU time of a process, as texts from /proc/PID/stat; two empty ones if unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], f"{fields[11]} {fields[12]}"
    except (OSError, IndexError):
        return "", ""


# ---------------------------------------------------------------- the child's side


def run_entry(entry: str, parent: int, arguments: list[str]) -> None:
    """Run the entry of a child, in a process with a command line from `command`."""
    die_with(parent)
    module, _, function = entry.partition(":")
    getattr(import_module(module), function)(*arguments)


def die_with(parent: int) -> None:
    """Have the system kill this process when its parent dies (on Linux).

    A change of credentials cancels this.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)


def own_answers() -> BinaryIO:
    """Standard output, reserved for answers; from now on, other output goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def own_input() -> int:
    """Standard input, reserved for messages; from now on, other readers such as Prolog find it
    empty."""
    pipe = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return pipe


def lower_limit(kind: int, most: int, *, stays_hard: bool = False) -> bool:
    """Lower a limit of `resource`, hard and soft, to `most`; never raise a hard one.

    Args:
        stays_hard: keep the hard limit, so that the soft one can be raised again. Exceeding a soft
            limit of CPU time ends the process by a special signal (SIGXCPU).

    Returns:
        whether the limit is in force; not every system has every limit.
    """
    try:
        _, hard = resource.getrlimit(kind)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (bound, hard if stays_hard else bound))
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
