"""The HTTP server: accepts connections within bounds, and shuts down in order.

One message per connection: every reply has a correct Content-Length and closes the socket. Refusals
have a status and a line of text, and are logged with the peer's address. `connection` describes the
life of a connection, `incoming` the reading of a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator

from ggp.server.addresses import is_heard
from ggp.server.host import Host
from ggp.server.http.connection import Connection
from ggp.server.http.kept_connections import KeptConnection, KeptConnections
from ggp.sockets import BACKLOG

AT_ONCE = 16
"""Connections accepted before any is read: many may have waited for a server, and one that has sent
its request must not have to make room for others because it was not read yet."""

SHUTDOWN_S = 2.0
"""Time that clients waiting for an answer get when the server ends."""


class HttpServer:
    """An HTTP server for a host.

    Args:
        host: answers messages.
        custody: keeps connections that wait for an answer.

    Attributes:
        custody: keeps connections that wait for an answer; by default it keeps none.
        is_open: whether connections are answered.
        connections: all that are not closed yet, with their work.
    """

    def __init__(self, host: Host, custody: KeptConnections | None = None) -> None:
        self.custody = custody or KeptConnections()
        self._host, self._limits = host, host.options.limits
        self.is_open = False
        self.connections: dict[Connection, asyncio.Task[None]] = {}
        self._unfinished: dict[Connection, None] = {}  # the oldest first
        self._loop: asyncio.AbstractEventLoop | None = None
        self._num_stops = 0
        self._stopped = asyncio.Event()

    async def serve(self, listening: socket.socket) -> None:
        """Answer all clients until `stop`; then answer what is open and close everything."""
        self._loop = asyncio.get_running_loop()
        if self._num_stops:
            self._stopped.set()
        await self._host.open()
        for kept in self.custody.take_over():
            self._begin(*await asyncio.open_connection(sock=kept.socket), kept)
        server = await asyncio.start_server(self._accept, sock=listening, backlog=AT_ONCE)
        listening.listen(BACKLOG)  # this many may wait; `asyncio` has one number for both
        self.is_open = True
        self.custody.tell_open()
        try:
            await self._stopped.wait()
            server.close()
            await self._end_connections()
        finally:
            self._loop = None
            await self._host.close()

    def stop(self) -> None:
        """End the server; called again, it does not wait for answers. Any thread may call it, and
        so may signal handlers."""
        self._num_stops += 1
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop)

    @contextlib.contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM stop the server within the block, even before it runs.

        Interrupts that were ignored from the start stay ignored.
        """
        before = {
            number: signal.signal(number, lambda *_: self.stop())
            for number in (signal.SIGINT, signal.SIGTERM)
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    # ---------------------------------------------------------------- what connections cost

    def received(self, connection: Connection) -> None:
        """Refuse the oldest long request if all incomplete ones together have too many bytes."""
        if connection not in self._unfinished or not connection.is_long:
            return
        most = self._limits.body_bytes  # more is refused as soon as that is looked at
        held = sum(min(each.num_bytes, most) for each in self._unfinished)
        if held > self._limits.pending_bytes:
            oldest = next(each for each in self._unfinished if each.is_long)
            oldest.refuse(503, "too much is being sent at once")

    def finished(self, connection: Connection) -> None:
        """A request is complete, or never will be."""
        self._unfinished.pop(connection, None)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = self._begin(reader, writer)
        self._unfinished[connection] = None
        allowed = self._host.options.allowed
        if allowed is not None and not is_heard(connection.address, allowed):
            connection.refuse(403, "this address is not allowed")
        elif len(self.connections) > self._limits.connections:
            self._make_room()

    def _begin(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        kept: KeptConnection | None = None,
    ) -> Connection:
        connection = Connection(self._host, self, reader, writer, kept)
        task = asyncio.ensure_future(connection.serve())
        self.connections[connection] = task
        task.add_done_callback(lambda _: self.connections.pop(connection))
        return connection

    def _make_room(self) -> None:
        """Close a connection that has its answer, or refuse the oldest request, possibly the
        newest."""
        for each in self.connections:
            if each.lingers:
                each.abort()
                return
        next(iter(self._unfinished)).refuse(503, "too many connections")

    # ---------------------------------------------------------------- the end

    def _stop(self) -> None:
        self._stopped.set()
        if self._num_stops > 1:
            for task in self.connections.values():
                task.cancel()

    async def _end_connections(self) -> None:
        self._host.hurry()
        tasks = set(self.connections.values())
        for each in [*self._unfinished, *(each for each in self.connections if each.lingers)]:
            each.shut_down()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=SHUTDOWN_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
