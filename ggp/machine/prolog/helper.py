"""A thread that does the work other threads give it, one piece after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

_T = TypeVar("_T")


class Helper:
    """A thread that only ends with the process, whichever thread started it."""

    def __init__(self, name: str) -> None:
        self._given: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def run(self, work: Callable[[], _T]) -> _T:
        """The result of work done in the thread; raises whatever the work raises."""
        return self.give(work).result()

    def give(self, work: Callable[[], _T]) -> Future[_T]:
        """Have work done in the thread, without having to wait for it."""
        future: Future[_T] = Future()
        self._given.put((work, future))
        return future

    def _serve(self) -> None:
        while True:
            work, future = self._given.get()
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
            del work, future  # hold nothing while there is nothing to do
