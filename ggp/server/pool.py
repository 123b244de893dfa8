"""The worker processes of a server: some are kept ready, all are watched.

A process takes up to a second to start, and a match that begins wants its workers at once. So
there are spares, started when nothing else is being started. None has a second match: what a
stranger's rules did to it, nobody knows.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence

from ggp import children
from ggp.errors import BackendUnavailableError
from ggp.server.background import Background
from ggp.server.sandbox import MAX_PROCESSES, gaps
from ggp.server.worker_process import WorkerProcess, start_worker

WATCH_EVERY_S = 0.5
"""How often workers are looked at: their memory, and whether they answer."""

FAMILY = 2
"""How many times its memory a worker may take with all that it started: a child grounds rules."""

MAX_SPARES = 4
"""Of each kind: those of one match are 150 MB."""

SPARE_S = 5.0
"""Spares that die are replaced, but none sooner after its own start: a cause may last."""

SETTLE_S = 0.05
SETTLE_MOST_S = 5.0
"""A spare is started when all workers run, or so much later."""

_log = logging.getLogger(__name__)


class WorkerPool:
    """Starts workers, keeps some ready, and watches how much memory they take.

    Args:
        memory_bytes: what each may use; one that takes more is killed.
        spares: processes of each kind, light and not, that are kept ready; `MAX_SPARES` at most.
        confined: whether workers give up rights.
        quiet: see `start_worker`.
    """

    def __init__(
        self, memory_bytes: int, *, spares: int = 1, confined: bool = True, quiet: bool = True
    ) -> None:
        self.memory_bytes = memory_bytes
        self._spares, self._confined, self._quiet = min(spares, MAX_SPARES), confined, quiet
        self._ready: dict[bool, list[WorkerProcess]] = {True: [], False: []}
        self._busy: set[WorkerProcess] = set()
        self._background = Background()
        self._is_silent = not confined
        self._wants_spares = asyncio.Event()
        self._wants_spares.set()

    def open(self) -> None:
        """Begin to watch and to keep processes ready; needs a running loop."""
        self._background.start(self._watch())
        self._background.start(self._keep_spares())

    async def take(self, *, light: bool) -> WorkerProcess:
        """A worker for a match: one that is ready if there is one, else a new one.

        Args:
            light: see `start_worker`.

        Raises:
            BackendUnavailableError: the system starts no process.
        """
        ready = self._ready[light]
        alive = [worker for worker in ready if not worker.ended]
        worker = next((each for each in alive if each.is_up), alive[0] if alive else None)
        if worker is None:
            worker = await self._start(light)
        else:
            ready.remove(worker)
        self._busy.add(worker)
        self._wants_spares.set()
        return worker

    def has_ready(self, *, light: bool) -> bool:
        """Whether `take` would give a worker that runs."""
        return any(worker.is_up and not worker.ended for worker in self._ready[light])

    def drop(self, worker: WorkerProcess) -> None:
        """Give a worker back without waiting for its end."""
        self._background.start(self.give_back(worker))

    async def give_back(self, worker: WorkerProcess) -> None:
        """End a worker; none has a second match."""
        await worker.close()
        self._busy.discard(worker)

    async def close(self) -> None:
        """End all of them."""
        await self._background.cancel()
        workers = self._workers
        await asyncio.gather(*(worker.close() for worker in workers), return_exceptions=True)

    @property
    def _workers(self) -> list[WorkerProcess]:
        return [*self._ready[True], *self._ready[False], *self._busy]

    async def _start(self, light: bool) -> WorkerProcess:
        return await start_worker(
            self.memory_bytes, light=light, confined=self._confined, quiet=self._quiet
        )

    async def _settled(self) -> None:
        """Return when all workers run: those of a match are not to wait for others.

        One that hangs is waited for `SETTLE_MOST_S` only.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_MOST_S):
                while not all(worker.is_up or worker.ended for worker in self._workers):
                    await asyncio.sleep(SETTLE_S)

    async def _keep_spares(self) -> None:
        while True:
            await self._wants_spares.wait()
            self._wants_spares.clear()
            try:
                for light in (True, False):
                    while len(self._ready[light]) < self._spares:
                        await self._settled()
                        self._ready[light].append(await self._start(light))
            except BackendUnavailableError as error:
                _log.warning("no worker is kept ready: %s", error)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            now_s = time.monotonic()
            for worker in self._workers:
                if worker.ended:
                    self._busy.discard(worker)
                elif children.rss_bytes(worker.pid) > self.memory_bytes:
                    worker.kill(f"it took more memory than {self.memory_bytes >> 20} MB")
                elif why := self._excess(children.family(worker.pid)):
                    worker.kill(why)
                else:
                    worker.ask(now_s)
            self._bury(now_s)
            self._tell_rights()

    def _excess(self, family: Sequence[int]) -> str:
        """What a worker with all that it started takes too much of; nothing if empty."""
        if len(family) > MAX_PROCESSES:
            return f"it started more than {MAX_PROCESSES} processes"
        if children.takes_more(family, FAMILY * self.memory_bytes):
            return f"with its children it took more than {FAMILY} times its memory"
        return ""

    def _tell_rights(self) -> None:
        """Say once what workers gave up here, and what they could not."""
        worker = next((each for each in self._workers if each.is_up), None)
        if worker is not None and not self._is_silent:
            self._is_silent = True
            _log.info("workers gave up: %s", ", ".join(worker.rights) or "nothing")
            for gap in gaps(worker.rights):
                _log.warning("workers could %s", gap)

    def _bury(self, now_s: float) -> None:
        """Forget spares that died, and have others started."""
        for ready in self._ready.values():
            for worker in [each for each in ready if each.ended]:
                if now_s - worker.started_s > SPARE_S:
                    ready.remove(worker)
                    self._wants_spares.set()
