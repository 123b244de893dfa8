"""A worker process, seen from the server: orders go in, answers come out, and it is watched.

A process that is silent may be starting, searching, stopped or stuck. So it is asked whether it is
alive: a thread of the worker answers at once, whatever the worker is doing. If it is not up yet the
system is asked instead: as long as it gets CPU time, it advances.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable

from ggp.errors import ProtocolError
from ggp.run import processes
from ggp.run.messages import Messages, framed
from ggp.server.workers import orders
from ggp.server.workers.nursery import Taken
from ggp.server.workers.orders import MAX_MESSAGE_BYTES, Answer, Order, read_answer, to_json

START_S = 60.0
STILL_S = 10.0
STOPPED_S = 3.0
"""A process that does not run after `START_S` never will; nor will one that gets no CPU time for
`STILL_S`, or that was stopped for `STOPPED_S`. A slow start alone is no fault: a process that waits
for its turn on a busy machine advances within `STILL_S`."""

SILENT_S = 5.0
"""A worker that has not shown for this long that it is alive is stopped, or worse."""

TOLD_S = 1.0
"""Time in which its exit status is known, unless it is still alive."""

_CHUNK_BYTES = 1 << 16
_STOPPED = "Tt"
"""States in /proc of a process that is stopped, by a signal or by a debugger."""


class WorkerProcess:
    """A process that receives orders and sends answers.

    Args:
        pid: its process id, which belongs to it until `status` is known.
        answers: pipe from it.
        orders: pipe to it.
        status: how it ended, see `ggp.run.processes.how_it_ended`.

    Attributes:
        pid: its process id.
        on_answer: called with each answer.
        on_end: called once, with the reason, when it has ended; not after `close`.
        is_up: whether it runs and has imported all it needs.
        rights: those it gave up, once it runs.
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
        self.on_answer: Callable[[Answer], None] = _ignore
        self.on_end: Callable[[str], None] = _ignore
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
        """Send an order; a process that is gone gets nothing."""
        with contextlib.suppress(OSError, RuntimeError):
            self._orders.write(framed(to_json(order)))

    def kill(self, why: str) -> None:
        """End the process at once, with all that it has started; `on_end` is called."""
        self._why = self._why or why
        if self._status.done():
            return  # its id may be another's by now
        processes.kill_group(self.pid)  # its own child, which grounds rules, dies with it

    async def close(self) -> None:
        """End the process without calling `on_end`."""
        self._silent = True
        self.kill("closed")
        await asyncio.wait([self._reader])

    def ask(self, now_s: float) -> None:
        """Check whether it still answers, or is starting at all; it is killed if not."""
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
            self.kill(f"it answered nonsense: {error}")
        status = await self._how_it_ended()
        self._orders.close()
        if not self._silent:
            self.on_end(self._why or _how(status))

    def _take(self, answer: Answer) -> None:
        self._asked_s, self.heard_s = None, time.monotonic()
        if isinstance(answer, orders.Up):
            self.is_up, self.rights = True, answer.rights
        if not self._silent and not isinstance(answer, orders.Here):
            self.on_answer(answer)

    async def _how_it_ended(self) -> int:
        """Its exit status, once its output has ended; it is killed unless that is known soon."""
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(asyncio.shield(self._status), TOLD_S)
        self.kill("it closed its output")
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(asyncio.shield(self._status), TOLD_S)
        return -signal.SIGKILL  # the process that should report it is stopped


def _ignore(_: object) -> None:
    """Ignore an answer or an end: nobody needs it any more."""


def _how(status: int) -> str:
    return (
        "out of memory" if status == orders.EXIT_OUT_OF_MEMORY else processes.how_it_ended(status)
    )


async def connected(taken: Taken) -> WorkerProcess:
    """A worker that was handed over, with its pipes connected to the running loop."""
    loop = asyncio.get_running_loop()
    answers = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(answers)
    await loop.connect_read_pipe(lambda: protocol, os.fdopen(taken.answers, "rb", 0))
    writing, flow = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(taken.orders, "wb", 0)
    )
    writer = asyncio.StreamWriter(writing, flow, None, loop)
    return WorkerProcess(taken.pid, answers, writer, taken.ended)
