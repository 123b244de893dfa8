"""Executors: they call functions in other processes.

`Executor` is a protocol, so that a cluster can take the place of this machine. `LocalPool` keeps
worker processes on this machine (`ggp.run.calls`). It interrupts a worker before it kills it, so
that a match with players elsewhere can send them the end of the match. `run_all` has a function
called for every task, passes results on as they come, and tries again after a crash.
"""

from __future__ import annotations

import contextlib
import logging
import math
import pickle
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future
from functools import cache
from itertools import islice
from typing import Any, Protocol, TypeVar

from ggp.console import setup_logging
from ggp.errors import NOTE, GGPError, MatchError
from ggp.run import processes
from ggp.run.calls import Child, ChildLostError
from ggp.run.clocks import process_cpu_seconds

_T = TypeVar("_T")

LAST_WORDS_S = 3.0
"""Seconds after which an interrupted worker is killed."""


class WorkerCrashError(MatchError):
    """A worker process is gone; another one can do its work."""


class WorkerFailedError(MatchError):
    """The work raised an exception; another worker would raise it too."""


def too_long(limit_s: float) -> WorkerCrashError:
    """The error for work that took too long."""
    return WorkerCrashError(f"it took longer than {limit_s:g} seconds and was stopped")


class Executor(Protocol):
    """Calls functions elsewhere.

    A future's exception is `WorkerCrashError` where trying again makes sense, and
    `WorkerFailedError` where the function raised.

    Attributes:
        window: best number of submitted calls at a time; None for no limit.
        own_processes: whether functions run in processes of ours, in which nothing else runs.
    """

    window: int | None
    own_processes: bool

    def submit(self, function: Callable[..., _T], args: tuple[Any, ...]) -> Future[_T]:
        """Schedule a call of a module-level function with picklable arguments."""
        ...

    def close(self) -> None:
        """Give up all unfinished calls within seconds, and leave no process behind."""
        ...


class LocalPool:
    """Worker processes on this machine, started when there is work for them.

    If a worker dies, its present call fails; the next call starts another worker.

    Args:
        jobs: number of parallel processes.
        limit_s: time limit of a call; then its worker is killed, which counts as a crash.
    """

    own_processes = True

    def __init__(self, jobs: int, limit_s: float = math.inf) -> None:
        self.window: int | None = 2 * jobs  # for each worker, a present call and a next one
        self._limit_s = limit_s
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._workers: dict[int, Child] = {}
        self._callees: dict[Future[Any], Child] = {}
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
        hear: Callable[[Any], None] = lambda news: None,
    ) -> Future[_T]:
        """See `Executor.submit`.

        Args:
            hear: called in another thread with everything that the function sends by `calls.tell`.
        """
        future: Future[_T] = Future()
        self._work.put((future, pickle.dumps((function, args)), hear))
        return future

    def send(self, call: Future[Any], message: Any) -> bool:
        """Send a message to the function of a call, which receives it by `calls.listen`.

        Returns:
            whether the call is running.
        """
        with self._lock:  # no other call can begin before the message is sent
            worker = self._callees.get(call)
            return worker is not None and worker.send(message)

    def cpu_seconds(self) -> float:
        """CPU time of the workers that are alive, in seconds."""
        with self._lock:
            return sum(process_cpu_seconds(worker.process.pid) for worker in self._workers.values())

    def close(self, last_words_s: float = LAST_WORDS_S) -> None:
        """See `Executor.close`.

        Args:
            last_words_s: seconds that workers may take to end before they are killed.
        """
        with self._lock:
            self._closed = True
            running = [worker.process for worker in self._workers.values()]
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
        """Body of a worker's thread: pass on work, and wait."""
        while (work := self._work.get()) is not None:
            future = work[0]
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._ask(slot, *work))
            except Exception as error:
                future.set_exception(error)
        self._discard(slot)

    def _ask(self, slot: int, future: Future[Any], call: bytes, hear: Callable[[Any], None]) -> Any:
        """Have the worker of a slot make a pickled call, and return the result."""
        worker = self._callees[future] = self._worker(slot)
        try:
            failed, result = worker.call(
                call_in_worker, (call,), hear, until_s=time.monotonic() + self._limit_s
            )
        except TimeoutError as error:
            processes.interrupt(worker.process, last_words_s=LAST_WORDS_S)
            self._discard(slot)
            raise too_long(self._limit_s) from error
        except (ChildLostError, OSError, EOFError, pickle.UnpicklingError) as error:
            how = processes.how_it_ended(self._discard(slot))
            raise WorkerCrashError(f"a worker process died ({how})") from error
        finally:
            with self._lock:
                del self._callees[future]
        if failed:
            cause = result if isinstance(result, GGPError) else None
            raise WorkerFailedError(str(result)) from cause
        return result

    def _discard(self, slot: int) -> int:
        """End the worker of a slot, if there is one; return its exit status, or 0."""
        with self._lock:
            worker = self._workers.pop(slot, None)
        return 0 if worker is None else worker.end()

    def _worker(self, slot: int) -> Child:
        with self._lock:
            if self._closed:
                raise WorkerCrashError("the pool of workers is closed")
            worker = self._workers.get(slot)
            if worker is not None and processes.has_ended(worker.process):
                worker.end()
                worker = None
            try:
                worker = self._workers[slot] = worker or Child()
            except OSError as error:
                raise WorkerFailedError(f"cannot start a worker process: {error}") from error
            return worker


_Work = tuple[Future[Any], bytes, Callable[[Any], None]]

# ---------------------------------------------------------------- in a worker


def call_in_worker(call: bytes) -> Any:
    """Make a pickled call in a worker."""
    _hush()
    function, args = pickle.loads(call)
    return function(*args)


@cache
def _hush() -> None:
    """Suppress warnings, because the parent has shown a game's warnings, or will show an error.
    Keep notes that machine code has to be compiled, of which the parent cannot know."""
    setup_logging(0)
    logging.getLogger("ggp").setLevel(logging.ERROR)
    logging.getLogger("ggp.machine.compiling.jit").setLevel(NOTE)


# ------------------------------------------------------------------------
# Idle pools of one process, kept for a while because a child takes seconds to start.

KEPT_S = 30.0
"""Seconds for which we keep an idle pool."""

_idle: dict[LocalPool, tuple[Hashable, threading.Timer]] = {}
"""Idle pools, with their keys and the timers that end them."""
_lock = threading.Lock()


def take_pool(key: Hashable = None) -> LocalPool:
    """Take a pool of one process: an idle one with this key, or a new one."""
    with _lock:
        pool = next((pool for pool, (pool_key, _) in _idle.items() if pool_key == key), None)
        if pool is None:
            return LocalPool(1)
        _, timer = _idle.pop(pool)
    timer.cancel()
    return pool


def keep_pool(pool: LocalPool, key: Hashable = None) -> None:
    """Keep an idle pool for the next caller that takes one with this key.

    Args:
        key: the use of the pool, such as the name of a player.
    """
    timer = threading.Timer(KEPT_S, _drop_pool, (pool,))
    timer.daemon = True
    with _lock:
        _idle[pool] = key, timer
    timer.start()


def num_kept(key: Hashable) -> int:
    """Number of idle pools with a key."""
    with _lock:
        return sum(pool_key == key for pool_key, _ in _idle.values())


def close_idle() -> None:
    """End all idle pools."""
    with _lock:
        pools = list(_idle)
    for pool in pools:
        _drop_pool(pool)


def _drop_pool(pool: LocalPool) -> None:
    with _lock:
        if pool not in _idle:
            return
        _, timer = _idle.pop(pool)
    timer.cancel()
    pool.close()


# ------------------------------------------------------------------------
# Calls in this process, one after the other: nothing has to start, and Ctrl-C acts immediately.


class InlineExecutor:
    """An `Executor` that finishes each call before `submit` returns."""

    window: int | None = 1
    own_processes = False

    def submit(self, function: Callable[..., _T], args: tuple[Any, ...]) -> Future[_T]:
        """Call a function; the future gets its exception, except for interrupts."""
        future: Future[_T] = Future()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        """End the idle processes that calls have kept; there is nothing else to give up."""
        close_idle()


# ------------------------------------------------------------------------
# Calls one function for many tasks, and calls it again after a crash.

MAX_TRIES = 3
"""Most tries of a task whose worker processes crash."""

_Key = TypeVar("_Key")
_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_log = logging.getLogger(__name__)


def results_of(
    executor: Executor,
    function: Callable[[_Task], _Result],
    tasks: Iterable[tuple[_Key, _Task]],
    name: Callable[[_Key], str],
    watch: Callable[[_Result], None],
) -> dict[_Key, _Result]:
    """The results of a function of every task, by the keys of the tasks; see `run_all`.

    Args:
        watch: called with each result as it comes.

    Raises:
        MatchError: a function raised, or a task crashed too often.
    """
    results: dict[_Key, _Result] = {}

    def keep(key: _Key, result: _Result) -> None:
        results[key] = result
        watch(result)

    failures = run_all(executor, function, tasks, keep, name)
    if failures:
        raise MatchError("\n".join(failures))
    return results


def run_all(
    executor: Executor,
    function: Callable[[_Task], _Result],
    tasks: Iterable[tuple[_Key, _Task]],
    keep: Callable[[_Key, _Result], None],
    name: Callable[[_Key], str],
    most_pending: int | None = None,
) -> tuple[str, ...]:
    """Have a function called for every task, in parallel if the executor can.

    Args:
        executor: calls the function.
        function: a module-level function of a task.
        tasks: tasks, each with a key; taken as there is room for them.
        keep: called with each result as it comes.
        name: gives the name of a task for messages.
        most_pending: most unfinished tasks at a time, where results decide whether there are more
            tasks; no task starts after one that crashed too often. None for as many as the
            executor takes.

    Returns:
        the tasks that crashed `MAX_TRIES` times, one line each.

    Raises:
        MatchError: a function raised.
    """
    waiting = iter(tasks)
    ended: queue.SimpleQueue[Future[_Result]] = queue.SimpleQueue()
    running: dict[Future[_Result], tuple[int, _Key, _Task]] = {}
    tries: Counter[int] = Counter()
    failures: list[str] = []
    num_begun = 0
    windows = [window for window in (executor.window, most_pending) if window is not None]

    def submit(number: int, key: _Key, task: _Task) -> None:
        tries[number] += 1
        future = executor.submit(function, (task,))
        running[future] = number, key, task
        future.add_done_callback(ended.put)

    while True:
        # Take tasks only as there is room: each costs time and memory, and a series may have many.
        room = max(0, min(windows) - len(running)) if windows else None
        if failures and most_pending is not None:
            room = 0
        for key, task in islice(waiting, room):
            submit(num_begun, key, task)
            num_begun += 1
        if not running:
            return tuple(failures)
        future = ended.get()
        number, key, task = running.pop(future)
        try:
            result = future.result()
        except WorkerCrashError as error:
            _log.info("%s: %s", name(key), error)
            if tries[number] < MAX_TRIES:
                submit(number, key, task)
            else:
                failures.append(f"{name(key)} was tried {MAX_TRIES} times: {error}")
        else:
            keep(key, result)
