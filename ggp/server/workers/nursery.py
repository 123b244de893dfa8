"""The source of workers: starts the template that they are forked from, and asks it for workers.

`TemplateProcess` belongs to the process that outlives servers: it starts the template, and replaces
a dead one. `Nursery` is the server's end of a channel to the template. `template` describes the
channel.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count

from ggp.errors import BackendUnavailableError
from ggp.run import processes
from ggp.run.messages import Channel
from ggp.server.confinement.sandbox import needed_environment
from ggp.server.settings import WORKERS, HostOptions

START_S = 60.0
"""A template that is not loaded after this time never will be."""

ANSWER_S = 5.0
"""A loaded template that gives no worker for this long is stopped or broken."""

MAX_SILENT = 2
"""After this many consecutive requests without a worker in time, another template is started."""

AGAIN_S = 1.0
"""Minimum time between two starts of a template."""

_ENTRY = "ggp.server.workers.template:main"
_KILLED = -9
_LOAD = {"load": True}

Connect = Callable[[socket.socket, bool], None]
"""Passes a channel to a template; the second argument asks for a new template."""


class TemplateProcess:
    """Starts the template of workers, a process that dies with this one.

    Args:
        memory_bytes: limit of each worker; None to let workers keep all rights.
        spares: number of workers kept ready.
        player, backend: the player and the backend for which it loads code.
        quiet: whether output of libraries is dropped; otherwise it goes to our standard error.

    Attributes:
        waits: whether a template loads no kernels until a `Nursery` reports that they are compiled.
    """

    def __init__(
        self,
        memory_bytes: int | None,
        *,
        spares: int = 0,
        player: str = "random",
        backend: str = "auto",
        quiet: bool = True,
    ) -> None:
        self._arguments = (str(memory_bytes or 0), str(spares), player, backend)
        self._quiet = quiet
        self.waits = False
        self._process: subprocess.Popen[bytes] | None = None
        self._control: Channel | None = None

    def start(self) -> None:
        """Start the template, or replace a dead one; does nothing if it is alive.

        Raises:
            OSError: the system cannot start a process.
        """
        if self._process is not None and not processes.has_ended(self._process):
            return
        self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = processes.start(
                _ENTRY,
                *self._arguments,
                str(int(self.waits)),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL if self._quiet else None,
                base=needed_environment(os.environ),
            )
        self._control = Channel(ours)

    def connect(self, channel: socket.socket, anew: bool = False) -> None:
        """Pass the template's end of a channel to it; a server has the other end.

        Args:
            channel: that end; this process closes its copy.
            anew: whether to end the template first, since it does not answer.

        Raises:
            OSError: the system cannot start a process.
        """
        with channel:
            if anew:
                self.close()
            self.start()
            assert self._control is not None
            self._control.send({}, channel.fileno())

    def forget(self) -> None:
        """Drop the template, in a fork of the process that it belongs to."""
        if self._control is not None:
            self._control.close()
        self._control = self._process = None

    def close(self) -> None:
        """End the template, and all workers with it."""
        if self._process is not None:
            processes.reap(self._process)
        self.forget()


def template_for(options: HostOptions) -> TemplateProcess:
    """The template for the workers of a server with these settings."""
    return TemplateProcess(
        options.memory_bytes if options.confined else None,
        spares=WORKERS * options.matches + 1 if options.spares is None else options.spares,
        player=options.player,
        backend=options.backend,
        quiet=options.quiet,
    )


@dataclass(frozen=True, slots=True)
class Taken:
    """A worker that was handed over.

    Attributes:
        pid: its process id, which is not reused until `ended` is done.
        orders, answers: file descriptors of our ends of its pipes.
        ended: set to its exit status, or its signal as a negative number, as soon as it has ended.
    """

    pid: int
    orders: int
    answers: int
    ended: asyncio.Future[int]


class Nursery:
    """The source of a server's workers. All but `__init__` needs a running loop.

    Args:
        connect: passes a channel to a template.
        is_compiled: whether kernels are compiled; otherwise `load` is called when they are.

    Attributes:
        is_loaded: whether a worker is available immediately.
    """

    def __init__(self, connect: Connect, *, is_compiled: bool = True) -> None:
        self._connect = connect
        self._compiled = asyncio.Event()
        if is_compiled:
            self._compiled.set()
        self._channel: Channel | None = None
        self._numbers = count(1)
        self._requests: dict[int, asyncio.Future[Taken]] = {}
        self._alive: dict[int, asyncio.Future[int]] = {}
        self._began_s = float("-inf")
        self._anew = False
        self._num_silent = 0
        self.is_loaded = False

    async def load(self) -> None:
        """Have the template load the kernels, which are compiled now."""
        self._compiled.set()
        try:
            await self._open()
        except OSError:  # the next request for a worker tries again
            return
        self._tell(_LOAD)

    async def take(self, *, light: bool) -> Taken:
        """A new worker; one with kernels is available only once they are compiled.

        Args:
            light: whether a worker without kernels suffices.

        Raises:
            BackendUnavailableError: there is none; another try may succeed.
        """
        if not light:
            await self._compiled.wait()
        try:
            await self._open()
            number, request = next(self._numbers), asyncio.get_running_loop().create_future()
            self._requests[number] = request
            self._tell({"take": number, "light": light})
            try:
                async with asyncio.timeout(ANSWER_S if self.is_loaded else START_S):
                    worker: Taken = await request
                    return worker
            finally:
                self._requests.pop(number, None)
        except TimeoutError:
            # The first time, the template may just be starved, and its workers still play.
            self._num_silent += 1
            if self._compiled.is_set() and (self._num_silent >= MAX_SILENT or not self.is_loaded):
                self._anew = True
                self.close()
            raise BackendUnavailableError("a worker process", "none is given") from None
        except OSError as error:
            raise BackendUnavailableError("a worker process", str(error)) from error

    def close(self) -> None:
        """Disconnect from the template, which kills all workers that were taken."""
        if self._channel is None:
            return
        channel, self._channel, self.is_loaded = self._channel, None, False
        asyncio.get_running_loop().remove_reader(channel.fileno())
        channel.close()
        for ended in self._alive.values():
            ended.set_result(_KILLED)
        for request in self._requests.values():
            if not request.done():
                request.set_exception(ConnectionResetError("the template of workers ended"))
        self._alive = {}

    # ---------------------------------------------------------------- private

    async def _open(self) -> None:
        """Open a channel to a template."""
        while self._channel is None:
            await asyncio.sleep(max(0.0, self._began_s + AGAIN_S - time.monotonic()))
            if self._channel is None:  # no other task has opened it meanwhile
                self._began_s = time.monotonic()
                ours, theirs = socket.socketpair()
                ours.setblocking(False)
                try:
                    self._connect(theirs, self._anew)
                except OSError:
                    ours.close()
                    raise
                self._channel, self._anew = Channel(ours), False
                asyncio.get_running_loop().add_reader(ours.fileno(), self._hear)
                if self._compiled.is_set():
                    self._tell(_LOAD)

    def _tell(self, message: Mapping[str, object]) -> None:
        if self._channel is not None:
            with contextlib.suppress(OSError):  # `_hear` notices its end
                self._channel.send(message)

    def _hear(self) -> None:
        assert self._channel is not None
        messages = self._channel.receive()
        if messages is None:
            self.close()
            return
        for message in messages:
            self._follow(message, self._channel.fds)

    def _follow(self, message: dict[str, int], fds: deque[int]) -> None:
        if "loaded" in message:
            self.is_loaded = True
        elif "refused" in message:
            self._num_silent = 0
            refused = self._requests.get(message["refused"])
            if refused is not None and not refused.done():
                refused.set_exception(OSError("the system cannot start a process"))
        elif "taken" in message:
            self._num_silent = 0
            ended = self._alive[message["pid"]] = asyncio.get_running_loop().create_future()
            worker = Taken(message["pid"], fds.popleft(), fds.popleft(), ended)
            request = self._requests.get(message["taken"])
            if request is not None and not request.done():
                request.set_result(worker)
            else:  # nobody waits for it any more
                os.close(worker.orders)
                os.close(worker.answers)
                processes.kill_group(worker.pid)
        else:
            self._alive.pop(message["ended"]).set_result(message["status"])
            self._tell({"bury": message["ended"]})
