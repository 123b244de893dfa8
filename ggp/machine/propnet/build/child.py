"""Work that may take any time and memory, done in a child process with limits.

Grounding a stranger's rules may explode, and nothing can stop it from within. The child gets a
task's name on its command line and the task's pickled argument on its standard input. It
answers on its standard output: a kind, a length, and that many bytes. It dies with its parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import pickle
import resource
import signal
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ggp.errors import BackendUnavailableError, MachineError, ReasonerLimitError

Task = Callable[[Any], bytes]

_HEADER = struct.Struct("<8scQ")
_MAGIC = b"ggpchild"
_RESULT, _FAILURE = b"R", b"F"

_BOOTSTRAP = (
    "import sys; arguments = sys.argv[1:]; sys.path[:] = arguments[4:]; "
    "from ggp.machine.propnet.build.child import main; main(arguments[:4])"
)
_ENVIRONMENT = {
    # Each thread of numerical libraries would reserve address space, which is limited.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # The same rules give the same bytes.
    "PYTHONHASHSEED": "0",
}
_PR_SET_PDEATHSIG = 1
_CPU_GRACE_S = 10
_MOST_SECONDS = 86_400.0
_MOST_SAID = 500
_OUT_OF_MEMORY = (b"bad_alloc", b"out of memory", b"MemoryError", b"cannot allocate memory")


# -------------------------------------------------------------------- the parent's side


def run_limited(
    task: str,
    argument: object,
    *,
    seconds: float,
    memory_bytes: int,
    doing: str = "grounding the rules",
) -> bytes:
    """What a task makes of its argument, in a child process.

    Args:
        task: a function of ours with one argument that returns bytes, as `module:name`.
        argument: for the task; must be picklable.
        seconds: wall time the child may take, its start (about 0.2 s) included; no more than
            a day.
        memory_bytes: address space it may use, libraries (about 0.3 GB) included.
        doing: what the task is, for error messages.

    Raises:
        ReasonerLimitError: the child took too long or needed too much memory.
        BackendUnavailableError: a library is missing, or no child can be started.
        MachineError: what the task raised, or the child crashed or was killed.
    """
    seconds = min(seconds, _MOST_SECONDS)
    pickled = pickle.dumps(argument, protocol=pickle.HIGHEST_PROTOCOL)
    command = [
        *(_python(), "-c", _BOOTSTRAP, task),
        *(repr(float(seconds)), str(int(memory_bytes)), str(os.getpid())),
        *(path for path in sys.path if isinstance(path, str)),
    ]
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **_ENVIRONMENT},
            start_new_session=True,
        )
    except OSError as error:
        raise BackendUnavailableError(
            "a child process", f"{error}; play with `--backend prolog`"
        ) from error
    try:
        with child:
            try:
                answer, said = child.communicate(pickled, timeout=seconds)
            finally:
                _kill_group(child)
                child.wait()
    except subprocess.TimeoutExpired as error:
        raise ReasonerLimitError("seconds", seconds, doing) from error
    return _read(answer, said, child.returncode, seconds, memory_bytes, doing)


def _python() -> str:
    if not sys.executable or getattr(sys, "frozen", False):
        raise BackendUnavailableError(
            "a child process",
            "there is no Python interpreter to start; play with `--backend prolog`",
        )
    return sys.executable


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill the child, if it is still there, and what it started."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)


def _read(
    answer: bytes, said: bytes, status: int, seconds: float, memory_bytes: int, doing: str
) -> bytes:
    """The result in a child's answer; raises what went wrong."""
    if len(answer) >= _HEADER.size:
        magic, kind, size = _HEADER.unpack_from(answer)
        body = answer[_HEADER.size :]
        if magic == _MAGIC and len(body) == size:
            if kind == _RESULT:
                return body
            _raise_failure(json.loads(body), memory_bytes, doing)
    if any(words in said for words in _OUT_OF_MEMORY):
        raise ReasonerLimitError("bytes of memory", memory_bytes, doing)
    if status == -signal.SIGXCPU:
        raise ReasonerLimitError("seconds", seconds, doing)
    if status == -signal.SIGKILL:
        raise MachineError(
            f"{doing} was killed from outside (signal 9), perhaps because the system ran out of "
            "memory; lower the limit of memory, or play with `--backend prolog`"
        )
    how = f"signal {-status}" if status < 0 else f"exit status {status}"
    raise MachineError(
        f"{doing} crashed in its child process ({how}); play with `--backend prolog`{_tail(said)}"
    )


def _raise_failure(failure: dict[str, list[str]], memory_bytes: int, doing: str) -> NoReturn:
    """Raise in the parent what the child caught."""
    ((kind, details),) = failure.items()
    if kind == "memory":
        raise ReasonerLimitError("bytes of memory", memory_bytes, doing)
    if kind == "limit":
        raise ReasonerLimitError(details[0], float(details[1]), doing)
    if kind == "unavailable":
        raise BackendUnavailableError(details[0], details[1])
    if kind == "machine":
        raise MachineError(details[0])
    raise MachineError(
        f"{doing} failed in its child process: {details[0]}; play with `--backend prolog`"
        + _tail(details[1].encode())
    )


def _tail(said: bytes) -> str:
    text = said.decode(errors="replace").strip()
    return f"; it said: {text[-_MOST_SAID:]}" if text else ""


# -------------------------------------------------------------------- the child's side


def main(arguments: list[str]) -> None:
    """What the child does; its arguments are made by `run_limited`."""
    task, seconds, memory_bytes, parent = arguments
    _die_with(int(parent))
    _limit_seconds(float(seconds))
    with os.fdopen(os.dup(1), "wb") as answer:
        # What libraries print goes to standard error.
        os.dup2(2, 1)
        argument = sys.stdin.buffer.read()
        kind, body = _outcome(task, argument, int(memory_bytes))
        answer.write(_HEADER.pack(_MAGIC, kind, len(body)))
        answer.write(body)
    # Tearing down a large process takes time, and may fail.
    os._exit(0)


def _outcome(task: str, argument: bytes, memory_bytes: int) -> tuple[bytes, bytes]:
    try:
        module, _, name = task.partition(":")
        function: Task = getattr(importlib.import_module(module), name)
        with _limited_memory(memory_bytes):
            return _RESULT, function(pickle.loads(argument))
    except MemoryError:
        failure = {"memory": [""]}
    except ReasonerLimitError as error:
        failure = {"limit": [error.limit, str(error.reached)]}
    except BackendUnavailableError as error:
        failure = {"unavailable": [error.tool, error.hint]}
    except ModuleNotFoundError as error:
        missing = error.name or str(error)
        failure = {"unavailable": [missing, f"install it with `pip install {missing}`"]}
    except MachineError as error:
        failure = {"machine": [str(error)]}
    except Exception as error:
        where = "".join(traceback.format_tb(error.__traceback__))
        failure = {"crash": [f"{type(error).__name__}: {error}", where]}
    return _FAILURE, json.dumps(failure).encode()


@contextlib.contextmanager
def _limited_memory(num_bytes: int) -> Iterator[None]:
    """Within it, asking the system for more memory than that in all fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bounds = [limit for limit in (num_bytes, soft, hard) if limit != resource.RLIM_INFINITY]
    with contextlib.suppress(OSError, ValueError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (min(bounds), hard))
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _limit_seconds(seconds: float) -> None:
    """The parent looks at the clock; this is for when it cannot."""
    most = int(2 * seconds) + _CPU_GRACE_S
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))


def _die_with(parent: int) -> None:
    """Have the system kill this process when its parent dies (on Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)
