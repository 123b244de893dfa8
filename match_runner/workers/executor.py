"""Where matches are played: behind a protocol, so that a cluster can take the place of this
machine.

`LocalPool` keeps worker processes. Each is a new Python that is told functions and arguments
on its standard input and answers on its standard output, both pickled. It has a session of its
own, so that Ctrl-C in a terminal reaches the parent only, and dies with its parent. Work that is
broken off is interrupted first: who plays against players elsewhere tells them that it is over.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from ggp.errors import MatchError

_T = TypeVar("_T")

_BOOTSTRAP = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "parent = int(sys.argv[1]); sys.path[:] = sys.argv[2:]; "
    "from match_runner.workers.process import serve; serve(parent)"
)
_ENVIRONMENT = {
    # One worker is one core; numerical libraries would take them all.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Nothing may differ between workers.
    "PYTHONHASHSEED": "0",
}


LAST_WORDS_S = 3.0
"""What a worker that is interrupted may take until it is killed."""


class WorkerCrashError(MatchError):
    """The process that worked on something is gone; the work can be given to another."""


class WorkerFailedError(MatchError):
    """The work raised an exception; another worker would raise it too."""


def too_long(limit_s: float) -> WorkerCrashError:
    """What is said of work that was broken off."""
    return WorkerCrashError(f"it took longer than {limit_s:g} seconds and was broken off")


class Executor(Protocol):
    """Something that calls functions elsewhere.

    A future's exception is `WorkerCrashError` where trying again makes sense, and
    `WorkerFailedError` where the function raised.

    Attributes:
        window: calls it is best handed at a time; None for all there are.
    """

    window: int | None

    def submit(self, function: Callable[..., _T], args: tuple[Any, ...]) -> Future[_T]:
        """Have a function of a module called with picklable arguments, some time."""
        ...

    def close(self) -> None:
        """Give up what is not finished, within seconds; no process remains."""
        ...


class LocalPool:
    """Worker processes on this machine, started when there is work for them.

    A worker that dies costs the work it had in hand; the next work starts another one.

    Args:
        jobs: processes side by side.
        limit_s: a worker that takes longer for one call is killed, and so has crashed.
    """

    def __init__(self, jobs: int, limit_s: float = math.inf) -> None:
        self.window: int | None = 2 * jobs  # one to work on, and one to go on with
        self._limit_s = limit_s
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        # Daemons: nothing waits for them if the parent ends without closing the pool.
        self._threads = [
            threading.Thread(target=self._run, args=(slot,), daemon=True) for slot in range(jobs)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., _T], args: tuple[Any, ...]) -> Future[_T]:
        future: Future[_T] = Future()
        self._work.put((future, pickle.dumps((function, args))))
        return future

    def close(self) -> None:
        with self._lock:
            self._closed = True
            processes = list(self._processes.values())
        with contextlib.suppress(queue.Empty):
            while True:
                work = self._work.get_nowait()
                if work is not None:
                    work[0].cancel()
        _end(*processes)
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self, slot: int) -> None:
        """One thread for each process: it does nothing but hand work over and wait."""
        while (work := self._work.get()) is not None:
            future, message = work
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._ask(slot, message))
            except Exception as error:
                future.set_exception(error)
        with self._lock:
            process = self._processes.pop(slot, None)
        if process is not None:
            _kill(process)
            _reap(process)

    def _ask(self, slot: int, message: bytes) -> Any:
        """What the worker of this slot answers."""
        process = self._process(slot)
        assert process.stdin is not None
        assert process.stdout is not None
        limit = _Limit(process, self._limit_s)
        try:
            with limit:
                process.stdin.write(message)
                process.stdin.flush()
                failed, answer = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            status = self._discard(slot, process)
            if limit.passed:
                raise too_long(self._limit_s) from error
            how = f"signal {-status}" if status < 0 else f"exit status {status}"
            raise WorkerCrashError(f"a worker process died ({how})") from error
        if limit.passed:  # at the very moment it answered
            self._discard(slot, process)
        if failed:
            raise WorkerFailedError(answer)
        return answer

    def _discard(self, slot: int, process: subprocess.Popen[bytes]) -> int:
        """End a process that is of no more use; its exit status."""
        with self._lock:
            self._processes.pop(slot, None)
        _kill(process)
        return _reap(process)

    def _process(self, slot: int) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise WorkerCrashError("the pool of workers is closed")
            process = self._processes.get(slot)
            if process is None or process.poll() is not None:
                process = self._processes[slot] = _start()
            return process


_Work = tuple[Future[Any], bytes]


class _Limit:
    """Kills a process if the block takes too long.

    Attributes:
        passed: whether it did; settled once the block has been left.
    """

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.passed = False
        self._process = process
        self._timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self._pass)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()

    def _pass(self) -> None:
        self.passed = True
        _end(self._process)


def _start() -> subprocess.Popen[bytes]:
    paths = [path for path in sys.path if isinstance(path, str)]
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _BOOTSTRAP, str(os.getpid()), *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ENVIRONMENT},
            start_new_session=True,
        )
    except OSError as error:
        raise WorkerFailedError(f"cannot start a worker process: {error}") from error


def _end(*processes: subprocess.Popen[bytes]) -> None:
    """Interrupt workers, and kill those that do not end, and what all have started."""
    for process in processes:
        if not _has_ended(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGINT)
    until_s = time.monotonic() + LAST_WORDS_S
    for process in processes:
        while not _has_ended(process) and time.monotonic() < until_s:
            time.sleep(0.01)
        _kill(process)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a worker has ended; it is not reaped, so that its number stays its own."""
    if process.returncode is not None:
        return True
    try:
        found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    except ChildProcessError:
        return True
    return found is not None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker and what it started in its session, even if the worker itself is dead."""
    if process.returncode is None:  # nobody else has its number before it is reaped
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _reap(process: subprocess.Popen[bytes]) -> int:
    """Its exit status, its pipes closed."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what could not be written any more
                pipe.close()
    return process.wait()
