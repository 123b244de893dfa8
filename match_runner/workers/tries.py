"""Calls one function for many tasks, and calls it again where a worker crashed."""

from __future__ import annotations

import logging
import queue
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from itertools import islice
from typing import TypeVar

from match_runner.workers.executor import Executor, WorkerCrashError

MAX_TRIES = 3
"""Number of worker processes that one task may cost."""

_Key = TypeVar("_Key")
_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_log = logging.getLogger(__name__)


def run_all(
    executor: Executor,
    function: Callable[[_Task], _Result],
    tasks: Iterable[tuple[_Key, _Task]],
    keep: Callable[[_Key, _Result], None],
    name: Callable[[_Key], str],
    ahead: int | None = None,
) -> tuple[str, ...]:
    """Have a function called for every task, side by side where the executor can.

    Args:
        executor: where the function is called.
        function: a module-level function, called with a task.
        tasks: tasks, each with a key; taken as there is room for them.
        keep: called with each result as it comes.
        name: gives the name of a task for messages.
        ahead: most tasks in hand at a time, where results decide whether there are others; then
            none is begun after one that crashed too often. None for as many as the executor takes.

    Returns:
        the tasks that crashed `MAX_TRIES` times, one line each.

    Raises:
        MatchError: a function raised.
    """
    todo = iter(tasks)
    ended: queue.SimpleQueue[Future[_Result]] = queue.SimpleQueue()
    running: dict[Future[_Result], tuple[int, _Key, _Task]] = {}
    tries: Counter[int] = Counter()
    failures: list[str] = []
    begun = 0
    windows = [each for each in (executor.window, ahead) if each is not None]

    def submit(number: int, key: _Key, task: _Task) -> None:
        tries[number] += 1
        future = executor.submit(function, (task,))
        running[future] = number, key, task
        future.add_done_callback(ended.put)

    while True:
        # Taken as there is room: making a task costs time and memory, and a series may have many.
        room = max(0, min(windows) - len(running)) if windows else None
        if failures and ahead is not None:
            room = 0
        for key, task in islice(todo, room):
            submit(begun, key, task)
            begun += 1
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
