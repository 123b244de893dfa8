"""Work that goes on beside an event loop's other work, until its owner ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class Background:
    """Tasks nobody waits for. They are held, so that none is collected while it runs."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()

    def start(self, work: Coroutine[object, object, object]) -> None:
        """Begin some work."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def cancel(self) -> None:
        """End all that is still going on, and wait until it has ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
