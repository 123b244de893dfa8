"""The HTTP server: reads one message per connection, and sends the reply of the host.

It accepts connections within bounds and shuts down in order. Every reply has a correct
Content-Length and closes the socket. Refusals have a status and a line of text, and are logged with
the peer's address. `Connection` is the life of a connection, `Incoming` reads its request.
"""

from __future__ import annotations

import asyncio
import codecs
import errno
import logging
import resource
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus

import h11

from ggp.gdl.source import printable
from ggp.protocol.reading import Request
from ggp.server.host import AT_ONCE_S, Host, HostReply
from ggp.server.http.supervisor import KeptConnections
from ggp.server.settings import ServerLimits, is_heard

SHUTDOWN_S = 2.0
"""Time that clients waiting for an answer get when the server ends."""

EVICTION_S = 0.1
"""Longest wait for the end of a connection that makes room for another."""

RESERVE = 64
"""File descriptors that connections leave free, for workers, logs and libraries."""

WARNING_S = 10.0
"""Time between two lines in the log about connections for which there is no room."""


class HttpServer:
    """An HTTP server for a host.

    Args:
        host: answers messages.
        custody: keeps connections that wait for an answer.

    Attributes:
        custody: keeps connections that wait for an answer; by default it keeps none.
        is_open: whether connections are answered.
        connections: all open connections, with their tasks.
    """

    def __init__(self, host: Host, custody: KeptConnections | None = None) -> None:
        self.custody = custody or KeptConnections()
        self._host, self._limits = host, host.options.limits
        self.is_open = False
        self.connections: dict[Connection, asyncio.Task[None]] = {}
        self._unfinished: dict[Connection, None] = {}  # the oldest first
        self._most = min(self._limits.connections, _room_for_connections())
        self._warned_s = -WARNING_S
        self._loop: asyncio.AbstractEventLoop | None = None
        self._num_stops = 0
        self._stopped = asyncio.Event()

    async def serve(self, listening: socket.socket) -> None:
        """Answer all clients until `stop`; then answer open questions and close everything."""
        self._loop = asyncio.get_running_loop()
        if self._num_stops:
            self._stopped.set()
        await self._host.open()
        for connection in self.custody.take_over():
            self._begin(*await asyncio.open_connection(sock=connection.socket), connection.request)
        accepting = asyncio.ensure_future(self._accept_all(listening))
        accepting.add_done_callback(lambda _: self._stopped.set())
        self.is_open = True
        self.custody.tell_open()
        try:
            await self._stopped.wait()
            if accepting.done():
                accepting.result()  # raises: the socket cannot be used
            accepting.cancel()
            await asyncio.wait((accepting,))  # it lets go of the socket
            listening.close()
            await self._end_connections()
        finally:
            self._loop = None
            await self._host.close()

    def stop(self) -> None:
        """End the server; a second call ends it without waiting for answers.

        Any thread and any signal handler may call this, even before it runs.
        """
        self._num_stops += 1
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop)

    # ---------------------------------------------------------------- limits on connections

    def received(self, connection: Connection) -> None:
        """Refuse the oldest long request if all incomplete ones together have too many bytes."""
        if connection not in self._unfinished or not connection.is_long:
            return
        most = self._limits.body_bytes  # a longer body is refused when it is read
        pending_bytes = sum(min(unfinished.num_bytes, most) for unfinished in self._unfinished)
        if pending_bytes > self._limits.pending_bytes:
            oldest = next(unfinished for unfinished in self._unfinished if unfinished.is_long)
            oldest.refuse(503, "too much is being sent at once")

    def finished(self, connection: Connection) -> None:
        """Record that a request is complete, or never will be."""
        self._unfinished.pop(connection, None)

    # Rule 1: no more than `_most` connections are open, whatever their phase. Rule 2: a client that
    # has sent its request is read before it is a candidate for eviction: each `await` below lets
    # connections read, and the newest is the last candidate. So a flood of silent connections
    # costs each of them its place, and no client that speaks. `asyncio.start_server` keeps
    # neither: it accepts a whole backlog before any is read, and without descriptors it writes a
    # traceback for each attempt.

    async def _accept_all(self, listening: socket.socket) -> None:
        """Accept connections until cancelled.

        Raises:
            OSError: the socket does not listen any more.
        """
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        while True:
            try:
                client, _ = await loop.sock_accept(listening)
            except ConnectionError:
                continue  # the client is gone already
            except OSError as error:
                if error.errno not in _OUT_OF_RESOURCES:
                    raise
                self._warn(f"{error.strerror}; connections wait")
                await self._make_room()
                await asyncio.sleep(EVICTION_S)
                continue
            with suppress(OSError):  # the client is gone already
                self._welcome(*await asyncio.open_connection(sock=client))
            while len(self.connections) > self._most:
                self._warn("too many connections; the oldest without a request are closed")
                await self._make_room()

    def _warn(self, text: str) -> None:
        """Write a line into the log, if there was none for a while."""
        if time.monotonic() - self._warned_s >= WARNING_S:
            self._warned_s = time.monotonic()
            _log.warning("%s", text)

    def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin a new connection, or refuse its address."""
        connection = self._begin(reader, writer)
        self._unfinished[connection] = None
        networks = self._host.options.networks
        if networks is not None and not is_heard(connection.address, networks):
            connection.refuse(403, "this address is not allowed")

    def _begin(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        request: Request | None = None,
    ) -> Connection:
        connection = Connection(self._host, self, reader, writer, request)
        task = asyncio.ensure_future(connection.serve())
        self.connections[connection] = task
        task.add_done_callback(lambda _: self.connections.pop(connection))
        return connection

    async def _make_room(self) -> None:
        """End a connection that has its answer, or refuse the oldest request, possibly the newest;
        return when it is closed."""
        victim = next((c for c in self.connections if c.lingers), None)
        if victim is not None:
            victim.abort()
        else:
            victim = next(iter(self._unfinished), None)
            if victim is not None:
                victim.refuse(503, "too many connections", linger=False)
        tasks = (
            [self.connections[victim]] if victim in self.connections else self.connections.values()
        )
        if tasks:
            await asyncio.wait(tasks, timeout=EVICTION_S, return_when=asyncio.FIRST_COMPLETED)

    # ---------------------------------------------------------------- the end

    def _stop(self) -> None:
        self._stopped.set()
        if self._num_stops > 1:
            for task in self.connections.values():
                task.cancel()

    async def _end_connections(self) -> None:
        self._host.hurry()
        tasks = set(self.connections.values())
        for connection in [*self._unfinished, *(c for c in self.connections if c.lingers)]:
            connection.shut_down()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=SHUTDOWN_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


# ------------------------------------------------------------------------
# One connection: reads a request, answers it once, and closes the socket.
#
# Real servers and strangers send HTTP that no framework would accept, so this is a plain coroutine
# over an asyncio stream. It has three phases:
#
# 1. *unfinished*: the request is being read (`Incoming`), within a time limit. A refusal for any
#    other reason, such as to make room, sets the limit to now, so that there is one way out;
# 2. *answering*: the host finds the reply. Further input is read and dropped. If the connection
#    breaks, nobody waits for the reply any more. If only the client's writing side is closed, the
#    client still gets the reply, but unless it closed that side immediately it was probably killed;
# 3. *lingering*: the reply is written and the writing side closed. Closing a socket with unread
#    input would cost the peer the reply, so input is read for a while. This also shows whether the
#    peer's system has accepted the reply: the system of a killed client refuses it.

_METHODS = "POST, GET, OPTIONS"
_HEADERS = {
    "connection": "close",
    "access-control-allow-origin": "*",
    "access-control-allow-methods": _METHODS,
    "access-control-allow-headers": "Content-Type, Accept, Sender, Receiver",
    "access-control-max-age": "86400",
    "content-type": "text/acl; charset=utf-8",
}
"""Headers of every reply: pages in browsers may send messages too."""

_WELCOME = "ggp: a general game player; send it messages of the GGP protocol with POST\n"
_CHUNK = 1 << 18

_TCP_INFO_LAST_CAME, _TCP_INFO_RTT, _TCP_INFO_ACKED = 52, 68, 120
"""Offsets in Linux's `struct tcp_info` of `tcpi_last_data_recv`, milliseconds since something came,
`tcpi_rtt`, the round trip in microseconds, and `tcpi_bytes_acked`, the number of bytes that the
peer's system has acknowledged."""

_LOOK_S = 0.005

_OUT_OF_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

_log = logging.getLogger(__name__)


class Connection:
    """A connection; `serve` is its whole life.

    Args:
        host: answers messages.
        server: enforces the limits on all connections together.
        reader, writer: of the socket.
        request: the request that an earlier server has received on it; None for a new connection.

    Attributes:
        address: of the client; empty if it is already gone.
        num_bytes: bytes of the request received so far.
        lingers: whether everything is sent, and only the peer has to close.
    """

    def __init__(
        self,
        host: Host,
        server: HttpServer,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        request: Request | None = None,
    ) -> None:
        self._host, self._server = host, server
        self._reader, self._writer = reader, writer
        self._limits: ServerLimits = host.options.limits
        self._refusal: RefusedError | None = None
        self._may_linger = True
        self._patience: asyncio.Timeout | None = None
        self._request = request
        self._began_s: float | None = None if request is None else request.came_s
        self._host_reply: HostReply | None = None
        self.num_bytes = 0
        self.lingers = False
        peer = writer.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        self._peer = f"{peer[0]}:{peer[1]}" if peer else "?"

    @property
    def is_long(self) -> bool:
        """Whether the request has more than headers."""
        return self.num_bytes > self._limits.header_bytes

    async def serve(self) -> None:
        """Read a request, answer it, and close. Raises nothing except when cancelled."""
        try:
            reply = await self._respond()
            if reply:
                await self._send_reply(reply)
        except OSError:
            _log.debug("%s: the connection broke", self._peer)
        finally:
            self.abort()

    def refuse(self, status: int, reason: str, *, linger: bool = True) -> None:
        """Refuse an incomplete request.

        Args:
            status, reason: see `RefusedError`.
            linger: whether input is still read after the reply, so that the peer gets it for
                certain.
        """
        self._refusal, self._may_linger = RefusedError(status, reason), linger
        if self._patience is not None and not self._patience.expired():
            self._patience.reschedule(0)
        self._server.finished(self)

    def shut_down(self) -> None:
        """Prepare for the end of the server: only complete requests get an answer."""
        if self._began_s is None or self.lingers:
            self.abort()
        else:
            self.refuse(503, "the server ends")

    def abort(self) -> None:
        """Close immediately."""
        self.lingers = False
        self._writer.transport.abort()

    # ---------------------------------------------------------------- phases

    async def _respond(self) -> bytes:
        """The reply; empty if the client is gone."""
        try:
            method = "POST" if self._request is not None else await self._receive()
            match method:
                case "":
                    return b""
                case "POST" if self._request is not None:
                    waits = self._writer.get_extra_info("socket")
                    with self._server.custody.keeping(waits.fileno(), self._request):
                        return await self._answer(self._request)
                case "OPTIONS":
                    return _reply(200, "")
                case "GET":
                    return _reply(200, _WELCOME)
                case "HEAD":
                    return _reply(200, _WELCOME).removesuffix(_WELCOME.encode())
            raise RefusedError(405, "messages are sent with POST")
        except RefusedError as refusal:
            level = logging.WARNING if self._may_linger else logging.DEBUG  # the server warns
            _log.log(level, "%s: refused: %s", self._peer, refusal.reason)
            return _reply(refusal.status, refusal.reason)
        except Exception as error:  # a bug of ggp
            _log.error("%s: %r", self._peer, error, exc_info=error)
            return _reply(500, "internal error")

    async def _receive(self) -> str:
        """The method of the request; empty if the connection broke. Stores the message of a POST in
        `_request`.

        Raises:
            RefusedError: the request is refused.
        """
        request_s = self._limits.request_s
        incoming = Incoming(self._read, self._go_on, self._limits)
        try:
            if self._refusal is not None:
                raise self._refusal
            async with asyncio.timeout(request_s) as self._patience:
                method = await incoming.method()
                if method == "POST":
                    text, came_s = await incoming.body(), self._began_s or time.monotonic()
                    self._request = Request(text, came_s, self._peer, incoming.receiver)
                return method
        except TimeoutError:
            late = RefusedError(408, f"the request was not complete after {request_s:g} s")
            raise self._refusal or late from None
        except OSError:
            if self._began_s is not None:
                _log.warning("%s: the connection broke before the message was complete", self._peer)
            return ""
        finally:
            self._server.finished(self)

    async def _answer(self, request: Request) -> bytes:
        """The reply to a request; empty if the connection breaks meanwhile."""
        trip_s = _round_trip_s(self._writer)
        hung_up: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        answer = asyncio.ensure_future(self._host.reply(request, trip_s, hung_up))
        broken = asyncio.ensure_future(self._until_broken(hung_up))
        try:
            await asyncio.wait((answer, broken), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                _log.info("%s: the connection broke before the answer", self._peer)
                return b""
            reply = self._host_reply = answer.result()
            return _reply(400 if reply.refused else 200, reply.text)
        finally:
            answer.cancel()
            broken.cancel()
            await asyncio.gather(answer, broken, return_exceptions=True)

    async def _send_reply(self, reply: bytes) -> None:
        """Write the reply, and read until the peer closes, too, or a bound is reached."""
        budget, hooks = self._limits.linger_bytes, self._host_reply or HostReply("")
        self._writer.transport.set_write_buffer_limits(0)  # drain returns when all is written
        self.lingers = True
        with self._writer.get_extra_info("socket").dup() as sock:  # it reports a broken one, too
            try:
                async with asyncio.timeout(self._limits.linger_s):
                    self._writer.write(reply)
                    await self._writer.drain()
                    if hooks.on_sent is not None:
                        hooks.on_sent(time.monotonic())
                    self._writer.write_eof()
                    if not self._may_linger:
                        return
                    while budget >= 0 and (dropped := await self._reader.read(_CHUNK)):
                        budget -= len(dropped)
                    while hooks.on_lost is not None and _may_be_taken(sock, len(reply)):
                        await asyncio.sleep(_LOOK_S)
            finally:
                if hooks.on_lost is not None and not _is_taken(sock, len(reply)):
                    _log.info("%s: the connection broke before the answer was taken", self._peer)
                    hooks.on_lost()
                elif hooks.on_taken is not None and _tcp(sock, "Q", _TCP_INFO_ACKED) is not None:
                    hooks.on_taken()

    # ---------------------------------------------------------------- bytes

    async def _read(self) -> bytes:
        """The next bytes of the request; empty if the client closed its writing side."""
        chunk = await self._reader.read(_CHUNK)
        if chunk:
            if self._began_s is None:
                # It may have waited in the system's queue, if an earlier server was killed.
                self._began_s = time.monotonic() - waited_s(self._writer.get_extra_info("socket"))
            self.num_bytes += len(chunk)
            self._server.received(self)
        return chunk

    async def _until_broken(self, hung_up: asyncio.Future[bool]) -> None:
        """Drop all input; return or raise when the connection is gone.

        Args:
            hung_up: set when the client closes its writing side: to true if that is too late to
                mark only the end of its message.
        """
        began_s = time.monotonic()
        while await self._reader.read(_CHUNK):
            pass
        if not hung_up.done():
            hung_up.set_result(time.monotonic() - began_s > AT_ONCE_S)
        await self._writer.wait_closed()

    def _go_on(self) -> None:
        self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _room_for_connections() -> int:
    """How many connections this process has descriptors for: one each, and one to watch an answer
    until it is taken."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (1 << 20) if soft == resource.RLIM_INFINITY else max(8, (soft - RESERVE) // 2)


def _round_trip_s(writer: asyncio.StreamWriter) -> float | None:
    """The system's estimate of the round trip to the peer; None if it has none."""
    microseconds = _tcp(writer.get_extra_info("socket"), "I", _TCP_INFO_RTT)
    return None if microseconds is None else microseconds * 1e-6


def waited_s(connection: socket.socket) -> float:
    """Minimum age of the data that the system delivers now; 0 if unknown."""
    milliseconds = _tcp(connection, "I", _TCP_INFO_LAST_CAME)
    return 0.0 if milliseconds is None else milliseconds * 1e-3


def _is_taken(connection: socket.socket, num_bytes: int) -> bool:
    """Whether the peer's system has acknowledged this many bytes; true if unknown."""
    acked = _tcp(connection, "Q", _TCP_INFO_ACKED)
    return acked is None or acked >= num_bytes


def _may_be_taken(connection: socket.socket, num_bytes: int) -> bool:
    """Whether the peer's system has neither acknowledged nor refused these bytes yet."""
    try:
        is_broken = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
    except OSError:
        is_broken = True
    return not is_broken and not _is_taken(connection, num_bytes)


def _tcp(connection: socket.socket, kind: str, offset: int) -> int | None:
    """A number from the system's information on a connection; None if it has none."""
    try:
        size = offset + struct.calcsize(kind)
        record = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size)
        (number,) = struct.unpack_from(kind, record, offset)
    except (OSError, AttributeError, struct.error):
        return None  # another system, or the connection is gone
    return int(number)


def _reply(status: int, text: str) -> bytes:
    body = text.encode("utf-8", "replace")
    fields = {**_HEADERS, "content-length": len(body), "date": formatdate(usegmt=True)}
    if status == 405:
        fields["allow"] = _METHODS
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join((*lines, "", "")).encode("ascii") + body


# ------------------------------------------------------------------------
# Reading of one request, as game servers and strangers send it: h11, with bounds and more leniency.
#
# h11 parses HTTP leniently enough for real servers: HTTP/1.0 without Host, bare line feeds. The
# code below handles the rest:
#
# - a body that ends before its announced length, because the client closed its writing side, is
#   taken as it is;
# - a length counted in characters: of `(START é ...)` h11 gives all bytes but the last, and the
#   bytes after them belong to the body too;
# - a body without any length ends where its outer parenthesis is closed, or when the client closes;
# - bounds on headers that arrive in one piece (`BoundedHttp`), on chunks and on bodies.
#
# It knows no sockets: a function returns the bytes.

REST_S = 0.2
"""Time to wait for the end of a body that its announced length does not include."""

_EDGE = 64
"""Number of bytes at either end of a body that are searched for its outer parentheses."""

_LONGEST_FAULT = _LONGEST_NAME = 200


class RefusedError(Exception):
    """A request that is refused before its message is read.

    Attributes:
        status: the HTTP status.
        reason: one line of text.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class BoundedHttp(h11.Connection):
    """The server's side of a connection, with a bound on headers however they arrive.

    h11 checks the length of headers only while they are incomplete, so it accepts longer ones that
    arrive in one piece.

    Args:
        header_bytes: maximum length of the headers of a request, with its first line.

    Attributes:
        fault: the latest fault in the input; its `error_status_hint` is 431 if headers are too
            long.
    """

    def __init__(self, header_bytes: int) -> None:
        super().__init__(h11.SERVER, header_bytes)
        self._header_bytes = header_bytes
        self.fault: h11.RemoteProtocolError | None = None

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next event.

        Raises:
            h11.RemoteProtocolError: the input is not HTTP, or the headers are too long.
        """
        num_before = len(self.trailing_data[0]) if self.their_state is h11.IDLE else 0
        try:
            event = super().next_event()
            num_read = num_before - len(self.trailing_data[0]) if num_before else 0
            if isinstance(event, h11.Request) and num_read > self._header_bytes:
                raise h11.RemoteProtocolError("headers are too long", error_status_hint=431)
        except h11.RemoteProtocolError as fault:
            self.fault = fault
            raise
        return event


class Incoming:
    """A request that is being read: first `method`, then, if it has one, `body`.

    Args:
        read: waits for bytes; returns none if the client has closed its writing side.
        go_on: permits the body to a client that waits for permission.
        limits: bounds on the input.
    """

    def __init__(
        self, read: Callable[[], Awaitable[bytes]], go_on: Callable[[], None], limits: ServerLimits
    ) -> None:
        self._read, self._go_on, self._limits = read, go_on, limits
        self._http = BoundedHttp(limits.header_bytes)
        self._num_received = 0
        self._headers: dict[bytes, bytes] = {}

    async def method(self) -> str:
        """The method, in upper case, once the headers are complete; empty if nothing arrived.

        Raises:
            RefusedError: the input is not HTTP, too long, or incomplete.
        """
        while not isinstance(event := self._next_event(), h11.Request):
            if not await self._receive():
                if not self._num_received:
                    return ""
                raise RefusedError(400, "the request ended within its headers")
        self._headers = dict(event.headers)
        return event.method.decode("ascii").upper()

    @property
    def receiver(self) -> str:
        """The client's name for us; empty if it uses none."""
        return self._headers.get(b"receiver", b"").decode("latin-1")[:_LONGEST_NAME]

    async def body(self) -> str:
        """The text of the body.

        Raises:
            RefusedError: it is too long, or h11 does not understand it.
        """
        announced = self._headers.get(b"content-length", b"")
        self._check_length(int(announced[:20] or b"0"))
        if self._http.they_are_waiting_for_100_continue:
            self._go_on()
        body, num_chunks = bytearray(), 0
        while not isinstance(event := self._next_event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                num_chunks += event.chunk_start
                if num_chunks > self._limits.chunks:
                    raise _not_understood("too many chunks")
                body += event.data
                self._check_length(len(body))
            elif not await self._receive():
                break
        if not self._headers.keys() & {b"content-length", b"transfer-encoding"}:
            body = await self._until_closed()
        elif not body.isascii():
            return await self._counted_in_characters(bytes(body))
        return body.decode("utf-8", "replace")

    async def _receive(self) -> bool:
        """Let h11 read the next bytes; false if there are none."""
        chunk = await self._read()
        self._num_received += len(chunk)
        if chunk:
            self._http.receive_data(chunk)
        return bool(chunk)

    def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise _not_understood(str(error)) from error

    def _check_length(self, num_bytes: int) -> None:
        most = self._limits.body_bytes
        if num_bytes > most:
            raise RefusedError(413, f"a body of more than {most} bytes")

    async def _until_closed(self) -> bytearray:
        """A body without a length, which ends with its parentheses or when the client closes."""
        body, depth = bytearray(), 0
        chunk = self._http.trailing_data[0]
        while True:
            body += chunk
            self._check_length(len(body))
            depth += chunk.count(b"(") - chunk.count(b")")
            begins, ends = body[:_EDGE].lstrip(), body[-_EDGE:].rstrip()
            if depth <= 0 and begins.startswith(b"(") and ends.endswith(b")"):
                return body
            if not (chunk := await self._read()):
                return body

    async def _counted_in_characters(self, body: bytes) -> str:
        """A whole body whose announced length may count its characters."""
        decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        text = decoder.decode(body)
        if body.count(b"(") > body.count(b")"):
            text += decoder.decode(self._http.trailing_data[0])
            with suppress(TimeoutError):
                async with asyncio.timeout(REST_S):
                    while len(text) < len(body) and (chunk := await self._read()):
                        text += decoder.decode(chunk)
        return text[: len(body)]


def _not_understood(fault: str) -> RefusedError:
    return RefusedError(400, f"this HTTP is not understood: {printable(fault)[:_LONGEST_FAULT]}")
