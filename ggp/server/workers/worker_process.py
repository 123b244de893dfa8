"""A worker process, seen from the server: orders go in, answers come out, and it is looked after.

A process that says nothing may be starting, thinking, stopped or stuck. So it is asked whether
it is there: a thread of the worker answers that at once, whatever the worker does. Of one that is
not up yet the system is asked instead: as long as it gets time on a processor, it advances.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable

from ggp import children
from ggp.errors import ProtocolError
from ggp.server.workers import orders
from ggp.server.workers.lines import read_answer, to_line
from ggp.server.workers.nursery import Taken
from ggp.server.workers.orders import Answer, Order

START_S = 60.0
STILL_S = 10.0
STOPPED_S = 3.0
"""A process that does not run after `START_S` never will; nor will one that the system gives no
processor for `STILL_S`, or that was stopped for `STOPPED_S`. A slow start alone is no fault:
whoever waits for its turn on a busy machine advances within `STILL_S`."""

SILENT_S = 5.0
"""A worker that does not answer for so long that it is there is stopped, or worse."""

TOLD_S = 1.0
"""How it ended is told so soon, unless it is still there."""

_STOPPED = "Tt"
"""States of a process in /proc that is stopped, by a signal or by a debugger."""


class WorkerProcess:
    """A process that is told orders and answers.

    Args:
        pid: its process id, which is its own until `status` is known.
        answers: what it says.
        orders: what it is told.
        status: how it ended, see `ggp.children.how_it_ended`.

    Attributes:
        pid: its process id.
        on_answer: called with each answer.
        on_end: called once, with why, when it has ended; not after `close`.
        is_up: whether it runs and has imported all it needs.
        rights: what it gave up, once it runs.
        heard_s: when it last said anything, on `time.monotonic`.
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
        """Whether it is gone."""
        return self._reader.done()

    def send(self, order: Order) -> None:
        """Give an order; one that is gone hears nothing."""
        with contextlib.suppress(OSError, RuntimeError):
            self._orders.write(to_line(order))

    def kill(self, why: str) -> None:
        """End it at once, with what it has started; `on_end` is called."""
        self._why = self._why or why
        if self._status.done():
            return  # its number may be another's by now
        children.kill_group(self.pid)  # its own child, which grounds rules, dies with it

    async def close(self) -> None:
        """End it without a word."""
        self._silent = True
        self.kill("closed")
        await asyncio.wait([self._reader])

    def ask(self, now_s: float) -> None:
        """See whether it still answers, or starts at all; it is killed if it does not."""
        if not self.is_up:
            self._see_it_start(now_s)
        elif self._asked_s is None:
            self._asked_s = now_s
            self.send(orders.AreYouThere())
        elif now_s - self._asked_s > SILENT_S:
            self.kill("it does not answer")

    def _see_it_start(self, now_s: float) -> None:
        state, cpu = children.state_and_cpu(self.pid)
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
        try:
            while line := await self._answers.readline():
                answer = read_answer(line)
                self._asked_s, self.heard_s = None, time.monotonic()
                if isinstance(answer, orders.Up):
                    self.is_up, self.rights = True, answer.rights
                if not self._silent and not isinstance(answer, orders.Here):
                    self.on_answer(answer)
        except (ProtocolError, ValueError, OSError) as error:
            self.kill(f"it answered nonsense: {error}")
        status = await self._how_it_ended()
        self._orders.close()
        if not self._silent:
            self.on_end(self._why or _how(status))

    async def _how_it_ended(self) -> int:
        """Its status, once it says no more; it is killed unless that is known soon."""
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(asyncio.shield(self._status), TOLD_S)
        self.kill("it closed its output")
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(asyncio.shield(self._status), TOLD_S)
        return -signal.SIGKILL  # whoever should tell is stopped


def _ignore(_: object) -> None:
    """Nobody is interested."""


def _how(status: int) -> str:
    return "out of memory" if status == orders.EXIT_OUT_OF_MEMORY else children.how_it_ended(status)


async def connected(taken: Taken) -> WorkerProcess:
    """A worker that was taken, with its pipes connected to the running loop."""
    loop = asyncio.get_running_loop()
    answers = asyncio.StreamReader(orders.MAX_LINE_BYTES)
    protocol = asyncio.StreamReaderProtocol(answers)
    await loop.connect_read_pipe(lambda: protocol, os.fdopen(taken.answers, "rb", 0))
    writing, flow = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(taken.orders, "wb", 0)
    )
    writer = asyncio.StreamWriter(writing, flow, None, loop)
    return WorkerProcess(taken.pid, answers, writer, taken.ended)
