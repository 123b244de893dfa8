"""The worker processes of a server: each plays one match, and all are watched.

They come from the `nursery`, which keeps some ready. None gets a second match: nobody knows what a
stranger's rules did to it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

from ggp.run import processes
from ggp.server.background import Background
from ggp.server.confinement.sandbox import MAX_PROCESSES, gaps
from ggp.server.workers.nursery import Nursery
from ggp.server.workers.worker_process import WorkerProcess, connected

WATCH_EVERY_S = 0.5
"""Seconds between checks of the workers' memory, and of whether they answer."""

FAMILY = 2
"""Factor of its memory that a worker may use with all that it started: a child grounds rules."""

_log = logging.getLogger(__name__)


class WorkerPool:
    """Gives workers to matches, and watches their memory.

    Args:
        nursery: source of workers.
        memory_bytes: limit of each worker; one that uses more is killed.
        confined: whether workers give up rights.
    """

    def __init__(self, nursery: Nursery, memory_bytes: int, *, confined: bool = True) -> None:
        self.memory_bytes = memory_bytes
        self._nursery = nursery
        self._busy: set[WorkerProcess] = set()
        self._background = Background()
        self._is_silent = not confined

    def open(self) -> None:
        """Begin to watch; needs a running loop."""
        self._background.start(self._watch())

    async def take(self, *, light: bool) -> WorkerProcess:
        """A worker for a match.

        Args:
            light: whether a worker without kernels will do.

        Raises:
            BackendUnavailableError: the system cannot start a process.
        """
        worker = await self._start(light)
        self._busy.add(worker)
        return worker

    @property
    def has_ready(self) -> bool:
        """Whether `take` returns a worker at once."""
        return self._nursery.is_loaded

    def drop(self, worker: WorkerProcess) -> None:
        """Give a worker back without waiting for its end."""
        self._background.start(self.give_back(worker))

    async def give_back(self, worker: WorkerProcess) -> None:
        """End a worker; none has a second match."""
        await worker.close()
        self._busy.discard(worker)

    async def close(self) -> None:
        """End all workers."""
        await self._background.cancel()
        await asyncio.gather(*(worker.close() for worker in self._busy), return_exceptions=True)
        self._nursery.close()

    async def _start(self, light: bool) -> WorkerProcess:
        taken = await self._nursery.take(light=light)
        try:
            return await connected(taken)
        except asyncio.CancelledError:
            if not taken.ended.done():
                processes.kill_group(taken.pid)
            raise

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            now_s = time.monotonic()
            for worker in [*self._busy]:
                if worker.ended:
                    self._busy.discard(worker)
                elif processes.rss_bytes(worker.pid) > self.memory_bytes:
                    worker.kill(f"it took more memory than {self.memory_bytes >> 20} MB")
                elif why := self._excess(processes.family(worker.pid)):
                    worker.kill(why)
                else:
                    worker.ask(now_s)
            self._tell_rights()

    def _excess(self, family: Sequence[int]) -> str:
        """The limit that a worker with all that it started exceeds; empty if none."""
        if len(family) > MAX_PROCESSES:
            return f"it started more than {MAX_PROCESSES} processes"
        if processes.takes_more(family, FAMILY * self.memory_bytes):
            return f"with its children it took more than {FAMILY} times its memory"
        return ""

    def _tell_rights(self) -> None:
        """Log once which rights workers gave up here, and which they could not."""
        worker = next((each for each in self._busy if each.is_up), None)
        if worker is not None and not self._is_silent:
            self._is_silent = True
            _log.info("workers gave up: %s", ", ".join(worker.rights) or "nothing")
            for gap in gaps(worker.rights):
                _log.warning("workers could %s", gap)
