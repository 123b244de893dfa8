"""Opens the executor that a command's options name, and runs many tasks on it.

`open_executor` chooses this process, local processes or a cluster. `run_all` has a function called
for every task, passes results on as they come, and tries again after a crash.
"""

from __future__ import annotations

import logging
import math
import queue
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from ggp.errors import ConfigError, MatchError
from match_runner.workers.executor import Executor, LocalPool, WorkerCrashError, close_idle

MATCH_SECONDS = 3600
"""Default time limit of a match, in seconds."""

_F = TypeVar("_F", bound=Callable[..., Any])


@contextmanager
def open_executor(
    jobs: int | None, scheduler: str | None, match_seconds: float = MATCH_SECONDS
) -> Iterator[Executor]:
    """Open an executor that plays matches; closing it gives up unfinished matches.

    Args:
        jobs: number of parallel processes on this machine; 0 to play in this process; None for one.
        scheduler: address of a Dask scheduler, or path of its scheduler file; None for this
            machine.
        match_seconds: time limit of a match, which then counts as crashed; 0 for none.

    Raises:
        ConfigError: the scheduler cannot be used, or both `jobs` and `scheduler` are given.
    """
    limit_s = match_seconds or math.inf
    executor: Executor
    if scheduler is None:
        executor = InlineExecutor() if jobs == 0 else LocalPool(jobs or 1, limit_s)
    elif jobs is not None:
        raise ConfigError(
            "--jobs is for this machine; with --scheduler, the threads of its workers set the "
            "number of parallel matches: leave one of them out"
        )
    else:
        from match_runner.workers.cluster import ClusterExecutor  # Dask is slow to import

        executor = ClusterExecutor(scheduler, limit_s)
    try:
        yield executor
    finally:
        executor.close()


# ------------------------------------------------------------------------
# Calls in this process, one after the other: nothing has to start, and Ctrl-C acts immediately.

_T = TypeVar("_T")


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
