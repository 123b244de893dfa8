"""Calls in this process, one after the other: nothing has to start, and Ctrl-C acts at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from match_runner.workers.idle import close_idle

_T = TypeVar("_T")


class InlineExecutor:
    """An `Executor` that has finished the call when `submit` returns."""

    window: int | None = 1
    own_processes = False

    def submit(self, function: Callable[..., _T], args: tuple[Any, ...]) -> Future[_T]:
        """Call a function; the future gets what it raises, except for interrupts."""
        future: Future[_T] = Future()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        """End processes that calls have kept for later ones; there is nothing else to give up."""
        close_idle()
