"""The template: the process that workers are forked from, with everything that they need loaded.

Starting Python, numpy, Prolog and kernels takes a second of CPU time; forking a process that has
them takes some milliseconds, and both share the memory. So the template loads them once, has a
single thread, and never sees a stranger's rules: its forks are as good as new. It keeps some forks
ready, which have already given up their rights. It outlives the server, so that a server that
replaces a dead one gets these workers.

    owner     --(control: a channel for each server)-->  template
    server    --(channel: load, take, bury)----------->  template  --fork-->  workers
    server    <-(channel: loaded, taken + pipes, ended)  template

Rules: the workers of a server that is gone are killed, and all workers die with this process. A
dead worker is waited for only after its server knows of its death: until then its process id is not
reused. Channels are in `ggp.run.messages`; the message `taken` carries the two pipe ends of
the worker.

The template loads in steps. After the first, workers can look for a legal move with Prolog. If
kernels are still being compiled, it loads them only when a server reports that they are ready.
"""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import signal
import socket
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import NoReturn

from ggp.errors import BackendUnavailableError
from ggp.run import processes
from ggp.run.messages import Channel

REFILL_S = 0.3
"""Delay before ready processes are replenished: processes for a match come first."""

LIFE_S = 5.0
"""A ready process that died is replaced no sooner than this after its start, since the cause may
persist."""

_SEND_S = 5.0


@dataclass(eq=False, slots=True)
class _Worker:
    """A worker: its process id, and our ends of its pipes until a server gets them."""

    pid: int
    orders: int
    answers: int
    started_s: float
    ended: bool = False


@dataclass(eq=False, slots=True)
class _Client:
    """A server, with the workers that it took and its waiting requests, as numbers and `light`."""

    channel: Channel
    workers: dict[int, _Worker] = field(default_factory=dict)
    requests: deque[tuple[int, bool]] = field(default_factory=deque)


def main(memory: str, spares: str, player: str, backend: str, waits: str) -> None:
    """Run the template until its control channel, the standard input, ends.

    Args:
        memory: bytes that each worker may use; 0 to let workers keep all rights.
        spares: number of workers kept ready.
        player: a spec; everything that such players import is loaded.
        backend: of their machines.
        waits: 1 if kernels are loaded only when a server asks for it, else 0.
    """
    control = Channel(socket.socket(fileno=processes.own_input()))
    template = _Template(control, int(memory), int(spares), waits=waits == "1")
    load_modules = partial(_load_modules, player, backend)
    template.run([_load_grammar, _load_machine], [load_modules, _load_kernels])


def _load_grammar() -> None:
    from ggp.gdl import parse

    parse("(role nobody)", "a first parse")


def _load_machine() -> None:
    import ggp.machine.propnet.compile.circuits
    import ggp.machine.propnet.play.propnet_machine  # noqa: F401


def _load_modules(player: str, backend: str) -> None:
    """Load the modules that compiling the kernels has noted."""
    from ggp.server.workers.kernels import modules_of

    for name in modules_of(player, backend):
        with contextlib.suppress(ImportError):
            import_module(name)


def _load_kernels() -> None:
    from ggp.machine.compiling import jit

    with contextlib.suppress(BackendUnavailableError):
        jit.prepare()
        jit.load_cached()


class _Template:
    """The state of the template process.

    Args:
        control: delivers channels of servers; its end ends the process.
        memory_bytes: see `main`.
        num_spares: see `main`.
        waits: see `main`.
    """

    def __init__(
        self, control: Channel, memory_bytes: int, num_spares: int, *, waits: bool = False
    ) -> None:
        self._control, self._memory_bytes, self._num_spares = control, memory_bytes, num_spares
        self._waits = waits
        self._clients: dict[int, _Client] = {}
        self._spares: deque[_Worker] = deque()
        self._dying: list[_Worker] = []
        self._is_light = self._is_loaded = False
        self._refill_at_s = 0.0
        self._selector = selectors.DefaultSelector()
        self._woken, self._waking = socket.socketpair()
        for end in (self._woken, self._waking):
            end.setblocking(False)

    def run(
        self, steps: list[Callable[[], None]], kernel_steps: list[Callable[[], None]]
    ) -> NoReturn:
        """Load, then serve; ends with the process.

        Args:
            steps: load everything but kernels, in order.
            kernel_steps: load kernels, and modules that are known once kernels are compiled.
        """
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waking.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._control, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        for step in steps:
            self._load(step)
        while self._waits:
            self._handle_events(None)
        for step in kernel_steps:
            self._load(step)
        self._is_loaded = True
        for client in self._clients.values():
            self._say_loaded(client)
        self._handle_events(0.0)  # serves requests that waited for this
        while True:
            self._handle_events(self._patience_s())

    def _load(self, step: Callable[[], None]) -> None:
        gc.disable()  # everything stays, and collecting garbage in it would take longer and longer
        from ggp.server.workers.worker_main import start_prolog

        step()
        self._is_light = start_prolog()
        gc.freeze()  # later collections would copy memory that children share
        gc.enable()
        while self._handle_events(0.0):
            pass

    # ---------------------------------------------------------------- events

    def _handle_events(self, timeout_s: float | None) -> bool:
        """Wait for events and handle them; returns whether there were any."""
        events = self._selector.select(timeout_s)
        for key, _ in events:
            if key.fileobj is self._control:
                self._welcome()
            elif key.fileobj is self._woken:
                with contextlib.suppress(BlockingIOError):
                    self._woken.recv(1 << 10)
            else:
                self._hear(self._clients[key.fd])
        self._reap_dead()
        for client in list(self._clients.values()):
            for number, light in list(client.requests):
                if self._is_loaded or (light and self._is_light):
                    client.requests.remove((number, light))
                    self._give(client, number)
        if self._is_loaded and not events and self._patience_s() == 0.0:
            try:
                self._spares.append(self._fork())
            except OSError:  # the system refuses
                self._refill_at_s = time.monotonic() + LIFE_S
        return bool(events)

    def _patience_s(self) -> float | None:
        """Time until another worker to keep ready is forked; None if there are enough."""
        if len(self._spares) >= self._num_spares:
            return None
        return max(0.0, self._refill_at_s - time.monotonic())

    def _welcome(self) -> None:
        """Accept the channel of another server."""
        if self._control.receive() is None:
            self._end()
        while self._control.fds:
            channel = socket.socket(fileno=self._control.fds.popleft())
            channel.settimeout(_SEND_S)
            client = self._clients[channel.fileno()] = _Client(Channel(channel))
            self._selector.register(channel.fileno(), selectors.EVENT_READ)
            if self._is_loaded:
                self._say_loaded(client)

    def _hear(self, client: _Client) -> None:
        messages = client.channel.receive()
        if messages is None:
            self._drop_client(client)
            return
        for message in messages:
            if "load" in message:
                self._waits = False
            elif "take" in message:
                client.requests.append((int(message["take"]), bool(message["light"])))
            else:
                pid = client.workers.pop(int(message["bury"])).pid
                processes.kill_group(pid)  # with its descendants; its id is not reused until now
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    def _drop_client(self, client: _Client) -> None:
        """Drop a server that is gone, and kill its workers, which no other server can use."""
        self._selector.unregister(client.channel.fileno())
        del self._clients[client.channel.fileno()]
        client.channel.close()
        for worker in client.workers.values():
            processes.kill_group(worker.pid)
            self._dying.append(worker)

    def _say_loaded(self, client: _Client) -> None:
        """Report that everything is loaded."""
        self._send(client, {"loaded": True})

    def _send(self, client: _Client, message: dict[str, int], *fds: int) -> None:
        with contextlib.suppress(OSError):  # if it is closed, the next turn notices
            client.channel.send(message, *fds)

    # ---------------------------------------------------------------- workers

    def _give(self, client: _Client, number: int) -> None:
        """Give a server a worker: a ready one if possible, else a new one."""
        worker = None
        while worker is None and self._spares:
            worker = self._spares.popleft()
            if processes.state_and_cpu(worker.pid)[0] in _STOPPED_OR_DEAD:
                self._kill(worker)
                worker = None
        if worker is None:
            try:
                worker = self._fork()
            except OSError:  # must not end this process, and existing workers with it
                self._send(client, {"refused": number})
                return
        client.workers[worker.pid] = worker
        self._send(client, {"taken": number, "pid": worker.pid}, worker.orders, worker.answers)
        _close(worker)
        self._refill_at_s = time.monotonic() + REFILL_S

    def _reap_dead(self) -> None:
        """Report dead workers to their servers; reap all other dead ones."""
        for client in self._clients.values():
            for worker in client.workers.values():
                if not worker.ended and (status := processes.status_of(worker.pid)) is not None:
                    worker.ended = True
                    self._send(client, {"ended": worker.pid, "status": status})
        self._dying = [dying for dying in self._dying if os.waitpid(dying.pid, os.WNOHANG)[0] == 0]
        for worker in [
            spare for spare in self._spares if processes.status_of(spare.pid) is not None
        ]:
            self._spares.remove(worker)
            self._kill(worker)
            self._refill_at_s = max(self._refill_at_s, worker.started_s + LIFE_S)

    def _kill(self, worker: _Worker) -> None:
        """Kill a worker that nobody has taken."""
        processes.kill_group(worker.pid)
        _close(worker)
        self._dying.append(worker)

    def _fork(self) -> _Worker:
        from ggp.machine.prolog import engine

        engine.stop_threads()
        pipes: list[int] = []
        parent = os.getpid()
        try:
            pipes += os.pipe()
            pipes += os.pipe()
            pid = processes.fork(leads=True)
        except OSError:
            for fd in pipes:
                os.close(fd)
            raise
        orders_in, orders_out, answers_in, answers_out = pipes
        if pid == 0:
            self._become_worker(parent, orders_in, answers_out, (orders_out, answers_in))
        os.close(orders_in)
        os.close(answers_out)
        return _Worker(pid, orders_out, answers_in, time.monotonic())

    def _become_worker(
        self, parent: int, orders: int, answers: int, parent_ends: tuple[int, int]
    ) -> NoReturn:
        """Turn a new fork into a worker, which keeps only the loaded modules of this process."""
        try:
            from ggp.server.workers.worker_main import serve

            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._selector.close()
            for channel in (self._control, self._woken, self._waking):
                channel.close()
            for client in self._clients.values():
                client.channel.close()
            for worker in self._spares:
                _close(worker)
            for fd in parent_ends:
                os.close(fd)
            os.dup2(orders, 0)
            os.dup2(answers, 1)
            os.close(orders)
            os.close(answers)
            serve(parent, self._memory_bytes)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    def _end(self) -> NoReturn:
        for client in list(self._clients.values()):
            self._drop_client(client)
        for worker in [*self._spares, *self._dying]:
            processes.kill_group(worker.pid)
        os._exit(0)


_STOPPED_OR_DEAD = ("T", "t", "Z", "X")


def _close(worker: _Worker) -> None:
    for fd in (worker.orders, worker.answers):
        os.close(fd)
