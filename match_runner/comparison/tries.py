"""Has matches played elsewhere, and tries those again whose worker crashed."""

from __future__ import annotations

import logging
import queue
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TypeVar

from match_runner.comparison.executor import Executor, WorkerCrashError

MAX_TRIES = 3
"""Worker processes that one match may cost."""

_Match = TypeVar("_Match")
_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_log = logging.getLogger(__name__)


def play_all(
    executor: Executor,
    play: Callable[[_Task], _Result],
    tasks: Iterable[tuple[_Match, _Task]],
    keep: Callable[[_Match, _Result], None],
    name: Callable[[_Match], str],
) -> tuple[str, ...]:
    """Play matches side by side.

    Args:
        play: called in workers.
        tasks: matches, and what `play` is called with for each.
        keep: told of each match as it ends.
        name: of a match, for people.

    Returns:
        what could not be played, one line a match.

    Raises:
        MatchError: a worker failed otherwise than by crashing.
    """
    todo = list(tasks)
    ended: queue.SimpleQueue[Future[_Result]] = queue.SimpleQueue()
    running: dict[Future[_Result], int] = {}
    tries: Counter[int] = Counter()
    failures = []

    def submit(number: int) -> None:
        tries[number] += 1
        future = executor.submit(play, (todo[number][1],))
        running[future] = number
        future.add_done_callback(ended.put)

    for number in range(len(todo)):
        submit(number)
    while running:
        future = ended.get()
        number = running.pop(future)
        match = todo[number][0]
        try:
            result = future.result()
        except WorkerCrashError as error:
            _log.info("%s: %s", name(match), error)
            if tries[number] < MAX_TRIES:
                submit(number)
            else:
                failures.append(f"{name(match)} was tried {MAX_TRIES} times: {error}")
        else:
            keep(match, result)
    return tuple(failures)
