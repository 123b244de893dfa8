"""Where matches are played: behind a protocol, so that a cluster can take the place of this
machine.

`LocalPool` keeps worker processes, children as in `ggp.children`. Each is told functions and
arguments on its standard input and answers on its standard output, both pickled. Work that is
broken off is interrupted first: who plays against players elsewhere tells them that it is over.
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

from ggp import children
from ggp.clocks import process_cpu_seconds
from ggp.errors import MatchError

_T = TypeVar("_T")

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
        own_processes: whether functions are called in processes of ours, where nothing else runs.
    """

    window: int | None
    own_processes: bool

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
            hear: given what the function says by `process.tell`, in another thread.
        """
        future: Future[_T] = Future()
        self._work.put((future, pickle.dumps((function, args)), hear))
        return future

    def cpu_seconds(self) -> float:
        """CPU time of the workers that live."""
        with self._lock:
            return sum(process_cpu_seconds(each.pid) for each in self._processes.values())

    def close(self, last_words_s: float = LAST_WORDS_S) -> None:
        """See `Executor.close`.

        Args:
            last_words_s: what workers may take to end until they are killed.
        """
        with self._lock:
            self._closed = True
            processes = list(self._processes.values())
        with contextlib.suppress(queue.Empty):
            while True:
                work = self._work.get_nowait()
                if work is not None:
                    work[0].cancel()
        children.interrupt(*processes, last_words_s=last_words_s)
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self, slot: int) -> None:
        """One thread for each process: it does nothing but hand work over and wait."""
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
            children.reap(process)

    def _ask(self, slot: int, message: bytes, hear: Callable[[Any], None] | None) -> Any:
        """What the worker of this slot answers."""
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
            how = children.how_it_ended(status)
            raise WorkerCrashError(f"a worker process died ({how})") from error
        # The answer counts, but the process is being killed and can take no more work.
        if limit.passed:  # at the very moment it answered
            self._discard(slot, process)
        if failed:
            raise WorkerFailedError(result)
        return result

    def _discard(self, slot: int, process: subprocess.Popen[bytes]) -> int:
        """End a process that is of no more use; its exit status."""
        with self._lock:
            self._processes.pop(slot, None)
        return children.reap(process)

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
        children.interrupt(self._process, last_words_s=LAST_WORDS_S)


def _start() -> subprocess.Popen[bytes]:
    try:
        return children.start("match_runner.workers.process:serve")
    except OSError as error:
        raise WorkerFailedError(f"cannot start a worker process: {error}") from error
