"""Executors call functions in other processes; they are a protocol, so that a cluster can take
the place of this machine.

`LocalPool` keeps worker processes, started as in `ggp.run.processes`. Each reads functions and
arguments from its standard input and writes results to its standard output, both pickled. Work
that is broken off is interrupted first, so that a match with players elsewhere can tell them that
it is over.
"""

from __future__ import annotations

import contextlib
import math
import pickle
import queue
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from ggp.errors import GGPError, MatchError
from ggp.run import processes
from ggp.run.clocks import process_cpu_seconds

_T = TypeVar("_T")

LAST_WORDS_S = 3.0
"""Seconds after which an interrupted worker is killed."""


class WorkerCrashError(MatchError):
    """A worker process is gone; its work can be given to another one."""


class WorkerFailedError(MatchError):
    """The work raised an exception; another worker would raise it too."""


def too_long(limit_s: float) -> WorkerCrashError:
    """The error for work that was broken off because it took too long."""
    return WorkerCrashError(f"it took longer than {limit_s:g} seconds and was broken off")


class Executor(Protocol):
    """Calls functions elsewhere.

    A future's exception is `WorkerCrashError` where trying again makes sense, and
    `WorkerFailedError` where the function raised.

    Attributes:
        window: number of calls that are best submitted at a time; None for all there are.
        own_processes: whether functions are called in processes of ours, where nothing else runs.
    """

    window: int | None
    own_processes: bool

    def submit(self, function: Callable[..., _T], args: tuple[Any, ...]) -> Future[_T]:
        """Schedule a call of a module-level function with picklable arguments."""
        ...

    def close(self) -> None:
        """Give up all unfinished calls, within seconds; no process remains."""
        ...


class LocalPool:
    """Worker processes on this machine, started when there is work for them.

    A worker that dies costs the work it had in hand; the next work starts another one.

    Args:
        jobs: number of processes side by side.
        limit_s: a worker that takes longer for one call is killed, which counts as a crash.
    """

    own_processes = True

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

    def submit(
        self,
        function: Callable[..., _T],
        args: tuple[Any, ...],
        hear: Callable[[Any], None] | None = None,
    ) -> Future[_T]:
        """See `Executor.submit`.

        Args:
            hear: called in another thread with whatever the function sends by `process.tell`.
        """
        future: Future[_T] = Future()
        self._work.put((future, pickle.dumps((function, args)), hear))
        return future

    def cpu_seconds(self) -> float:
        """CPU time of the workers that are alive, in seconds."""
        with self._lock:
            return sum(process_cpu_seconds(each.pid) for each in self._processes.values())

    def close(self, last_words_s: float = LAST_WORDS_S) -> None:
        """See `Executor.close`.

        Args:
            last_words_s: seconds that workers may take to end before they are killed.
        """
        with self._lock:
            self._closed = True
            running = list(self._processes.values())
        with contextlib.suppress(queue.Empty):
            while True:
                work = self._work.get_nowait()
                if work is not None:
                    work[0].cancel()
        processes.interrupt(*running, last_words_s=last_words_s)
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self, slot: int) -> None:
        """Thread of one process: it only hands work over and waits."""
        while (work := self._work.get()) is not None:
            future, message, hear = work
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._ask(slot, message, hear))
            except Exception as error:
                future.set_exception(error)
        with self._lock:
            process = self._processes.pop(slot, None)
        if process is not None:
            processes.reap(process)

    def _ask(self, slot: int, message: bytes, hear: Callable[[Any], None] | None) -> Any:
        """Send a message to the worker of this slot, and return its answer."""
        process = self._process(slot)
        assert process.stdin is not None
        assert process.stdout is not None
        limit = _Limit(process, self._limit_s)
        try:
            with limit:
                process.stdin.write(message)
                process.stdin.flush()
                while (answer := pickle.load(process.stdout))[0] is None:
                    if hear is not None:
                        hear(answer[1])
                failed, result = answer
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            status = self._discard(slot, process)
            if limit.passed:
                raise too_long(self._limit_s) from error
            how = processes.how_it_ended(status)
            raise WorkerCrashError(f"a worker process died ({how})") from error
        # The answer counts, but the process is being killed and can take no more work.
        if limit.passed:  # at the very moment at which it answered
            self._discard(slot, process)
        if failed:
            cause = result if isinstance(result, GGPError) else None
            raise WorkerFailedError(str(result)) from cause
        return result

    def _discard(self, slot: int, process: subprocess.Popen[bytes]) -> int:
        """End a process that is no longer of use; returns its exit status."""
        with self._lock:
            self._processes.pop(slot, None)
        return processes.reap(process)

    def _process(self, slot: int) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise WorkerCrashError("the pool of workers is closed")
            process = self._processes.get(slot)
            if process is None or process.poll() is not None:
                process = self._processes[slot] = _start()
            return process


_Work = tuple[Future[Any], bytes, Callable[[Any], None] | None]


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
        processes.interrupt(self._process, last_words_s=LAST_WORDS_S)


def _start() -> subprocess.Popen[bytes]:
    try:
        return processes.start("match_runner.workers.process:serve")
    except OSError as error:
        raise WorkerFailedError(f"cannot start a worker process: {error}") from error
