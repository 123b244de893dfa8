"""Background tasks of an event loop, which run until their owner ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class Background:
    """Tasks nobody waits for. References to them are kept, so that none is collected while
    running."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()

    def start(self, work: Coroutine[object, object, object]) -> None:
        """Start a task."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def cancel(self) -> None:
        """Cancel all tasks that are still running, and wait until they have ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
