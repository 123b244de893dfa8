"""The worker processes of a server: the pool hands them out and watches them.

They come from the `nursery`, which keeps some ready. A worker plays one match and never a second
one: nobody knows what a stranger's rules did to it.

Orders go in and answers come out. A silent process may be starting, searching, stopped or stuck. So
the pool asks it for a sign of life, and a thread of the worker answers immediately, whatever the
worker is doing. As long as a worker is still starting, the pool asks the system instead: a process
that gets CPU time advances.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable, Coroutine, Sequence

from ggp.errors import ProtocolError
from ggp.run import processes
from ggp.run.messages import Messages, framed
from ggp.server.confinement.sandbox import MAX_PROCESSES, gaps
from ggp.server.workers import orders
from ggp.server.workers.nursery import Nursery, Taken
from ggp.server.workers.orders import MAX_MESSAGE_BYTES, Answer, Order, read_answer, to_json

WATCH_EVERY_S = 0.5
"""Seconds between checks of the workers' memory, and of whether they answer."""

FAMILY = 2
"""Factor of the memory limit for a worker with all its descendants: a child grounds rules."""

_log = logging.getLogger(__name__)


class WorkerPool:
    """Gives workers to matches, and watches their memory.

    Args:
        nursery: source of workers.
        memory_bytes: limit of each worker; a worker that uses more is killed.
        confined: whether workers give up rights.
    """

    def __init__(self, nursery: Nursery, memory_bytes: int, *, confined: bool = True) -> None:
        self.memory_bytes = memory_bytes
        self._nursery = nursery
        self._busy: set[WorkerProcess] = set()
        self._background = Background()
        self._is_silent = not confined

    def open(self) -> None:
        """Begin to watch the workers; needs a running loop."""
        self._background.start(self._watch())

    async def take(self, *, light: bool) -> WorkerProcess:
        """A worker for a match.

        Args:
            light: whether a worker without kernels suffices.

        Raises:
            BackendUnavailableError: the system cannot start a process.
        """
        handover = await self._nursery.take(light=light)
        try:
            worker = await connected(handover)
        except asyncio.CancelledError:
            if not handover.ended.done():
                processes.kill_group(handover.pid)
            raise
        self._busy.add(worker)
        return worker

    @property
    def has_ready(self) -> bool:
        """Whether `take` returns a worker immediately."""
        return self._nursery.is_loaded

    def drop(self, worker: WorkerProcess) -> None:
        """Give a worker back without waiting for its end."""
        self._background.start(self.give_back(worker))

    async def give_back(self, worker: WorkerProcess) -> None:
        """End a worker, since it never gets a second match."""
        await worker.close()
        self._busy.discard(worker)

    async def close(self) -> None:
        """End all workers."""
        await self._background.cancel()
        await asyncio.gather(*(worker.close() for worker in self._busy), return_exceptions=True)
        self._nursery.close()

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
        """The limit that a worker with its descendants exceeds, as a reason; empty if none."""
        if len(family) > MAX_PROCESSES:
            return f"it started more than {MAX_PROCESSES} processes"
        if processes.takes_more(family, FAMILY * self.memory_bytes):
            return f"with its children it took more than {FAMILY} times its memory"
        return ""

    def _tell_rights(self) -> None:
        """Log once which rights workers gave up on this system, and which they could not."""
        worker = next((candidate for candidate in self._busy if candidate.is_up), None)
        if worker is not None and not self._is_silent:
            self._is_silent = True
            _log.info("workers gave up: %s", ", ".join(worker.rights) or "nothing")
            for gap in gaps(worker.rights):
                _log.warning("workers could %s", gap)


# ------------------------------------------------------------------------
# One worker, as seen from the server.

START_S = 60.0
STILL_S = 10.0
STOPPED_S = 3.0
"""A process that does not run after `START_S` never will; nor will one that gets no CPU time for
`STILL_S`, or is stopped for `STOPPED_S`. A slow start alone is not a fault: on a busy machine, a
process that waits for its turn advances within `STILL_S`."""

SILENT_S = 5.0
"""A worker that gives no sign of life for this long is stopped or broken."""

STATUS_S = 1.0
"""Time after the end of its output in which a dead process's exit status is known."""

_CHUNK_BYTES = 1 << 16
_STOPPED = "Tt"
"""States in /proc of a process that is stopped, by a signal or by a debugger."""


class WorkerProcess:
    """A process that receives orders and sends answers.

    Args:
        pid: its process id, which is not reused until `status` is known.
        answers: pipe from it.
        orders: pipe to it.
        status: its exit status, see `ggp.run.processes.how_it_ended`.

    Attributes:
        pid: its process id.
        on_answer: called with each answer.
        on_end: called once, with the reason, when it has ended; not after `close`.
        is_up: whether it runs and has imported everything that it needs.
        rights: the rights that it gave up, once it runs.
        heard_s: time of its last message, on `time.monotonic`.
        started_s: when it was started.
    """

    def __init__(
        self,
        pid: int,
        answers: asyncio.StreamReader,
        orders: asyncio.StreamWriter,
        status: asyncio.Future[int],
    ) -> None:
        self.pid = pid
        self._answers, self._orders, self._status = answers, orders, status
        self.rights: tuple[str, ...] = ()
        self.on_answer: Callable[[Answer], None] = lambda answer: None
        self.on_end: Callable[[str], None] = lambda why: None
        self._why: str | None = None
        self._silent = False
        self.is_up = False
        self._asked_s: float | None = None
        self.heard_s = 0.0
        self.started_s = time.monotonic()
        self._cpu = ""
        self._advanced_s = self.started_s
        self._reader = asyncio.ensure_future(self._read())

    @property
    def ended(self) -> bool:
        """Whether the process is gone."""
        return self._reader.done()

    def send(self, order: Order) -> None:
        """Send an order, if the process is alive."""
        with contextlib.suppress(OSError, RuntimeError):
            self._orders.write(framed(to_json(order)))

    def kill(self, why: str) -> None:
        """Kill the process with all its descendants; `on_end` is called."""
        self._why = self._why or why
        if self._status.done():
            return  # its process id may have been reused
        processes.kill_group(self.pid)  # its own child, which grounds rules, dies with it

    async def close(self) -> None:
        """End the process without calling `on_end`."""
        self._silent = True
        self.kill("closed")
        await asyncio.wait([self._reader])

    def ask(self, now_s: float) -> None:
        """Check that it still answers, or that it is starting; kill it otherwise."""
        if not self.is_up:
            self._see_it_start(now_s)
        elif self._asked_s is None:
            self._asked_s = now_s
            self.send(orders.AreYouThere())
        elif now_s - self._asked_s > SILENT_S:
            self.kill("it does not answer")

    def _see_it_start(self, now_s: float) -> None:
        state, cpu = processes.state_and_cpu(self.pid)
        if cpu != self._cpu or not cpu:
            self._cpu, self._advanced_s = cpu, now_s
        still_s = now_s - self._advanced_s
        if (
            now_s - self.started_s > START_S
            or still_s > STILL_S
            or (still_s > STOPPED_S and state in _STOPPED)
        ):
            self.kill("it does not start")

    async def _read(self) -> None:
        messages = Messages(MAX_MESSAGE_BYTES)
        try:
            while piece := await self._answers.read(_CHUNK_BYTES):
                for message in messages.add(piece):
                    self._take(read_answer(message))
        except (ProtocolError, ValueError, OSError) as error:
            self.kill(f"its answer is malformed: {error}")
        status = await self._how_it_ended()
        self._orders.close()
        if not self._silent:
            is_full = status == orders.EXIT_OUT_OF_MEMORY
            how = "out of memory" if is_full else processes.how_it_ended(status)
            self.on_end(self._why or how)

    def _take(self, answer: Answer) -> None:
        self._asked_s, self.heard_s = None, time.monotonic()
        if isinstance(answer, orders.Up):
            self.is_up, self.rights = True, answer.rights
        if not self._silent and not isinstance(answer, orders.Here):
            self.on_answer(answer)

    async def _how_it_ended(self) -> int:
        """Its exit status after the end of its output; kills it if the status is not known soon."""
        await asyncio.wait([self._status], timeout=STATUS_S)
        if not self._status.done():
            self.kill("it closed its output")
            await asyncio.wait([self._status], timeout=STATUS_S)
        # The template, which should report it, may be stopped.
        return self._status.result() if self._status.done() else -signal.SIGKILL


async def connected(handover: Taken) -> WorkerProcess:
    """A worker whose pipes are connected to the running loop."""
    loop = asyncio.get_running_loop()
    answers = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(answers)
    await loop.connect_read_pipe(lambda: protocol, os.fdopen(handover.answers, "rb", 0))
    writing, flow = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(handover.orders, "wb", 0)
    )
    writer = asyncio.StreamWriter(writing, flow, None, loop)
    return WorkerProcess(handover.pid, answers, writer, handover.ended)


# ------------------------------------------------------------------------
# Background tasks of an event loop, which run until their owner cancels them.


class Background:
    """Tasks that nobody waits for; it refers to them, so that none is collected while it runs."""

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
