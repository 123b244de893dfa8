"""One connection: uvicorn's and h11's, with bounds, and with patience for odd clients."""

from __future__ import annotations

import asyncio
import logging
import time
from http import HTTPStatus
from typing import Any

import h11
from starlette.requests import ClientDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol

from ggp.gdl.source import printable
from ggp.protocol.limits import ServerLimits

CONNECTION = "ggp.connection"
"""Where the scope of a request has its `GameConnection`."""

HEADERS = {
    "Connection": "close",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET, OPTIONS",
    "Access-Control-Allow-Headers": "Content-Type, Accept, Sender, Receiver",
    "Access-Control-Max-Age": "86400",
}
"""Of every reply."""

_EDGE = 64
"""Bytes at either end of a body in which its first and its last parenthesis are looked for."""

_LONGEST_FAULT = 200
_log = logging.getLogger(__name__)


def peer_name(client: Any) -> str:
    """An address as logs show it."""
    return f"{client[0]}:{client[1]}" if client else "?"


class LingeringTransport(asyncio.Transport):
    """A transport that is closed without a reset, which would cost the peer what was written.

    After `close` the peer sees the end of the stream at once. What it still sends is read and
    dropped, until it closes as well or a bound is reached.

    Args:
        inner: of the socket.
        loop: it belongs to.
        limits: how long and how much to read after `close`.
    """

    def __init__(
        self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop, limits: ServerLimits
    ) -> None:
        super().__init__()
        self._inner, self._loop = inner, loop
        self._linger_s, self._bytes_left = limits.linger_s, limits.linger_bytes
        self._timer: asyncio.TimerHandle | None = None
        self._is_closing = False
        self.peer_ended = False
        """Whether the peer has closed its writing side."""

    @property
    def lingers(self) -> bool:
        """Whether everything was said, and only the peer's end is waited for."""
        return self._is_closing and not self._inner.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._inner.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._is_closing or self._inner.is_closing()

    def write(self, data: Any) -> None:
        if not self.is_closing():
            self._inner.write(data)

    def pause_reading(self) -> None:
        if not self._is_closing:
            self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def close(self) -> None:
        if self.is_closing():
            return
        self._is_closing = True
        self._timer = self._loop.call_later(self._linger_s, self.abort)
        # With bytes still to be written, asyncio would end the stream later, in a callback of
        # its own where nobody catches that the peer is gone.
        if self.peer_ended or self._inner.get_write_buffer_size():
            self._inner.close()
            return
        try:
            self._inner.write_eof()
        except OSError:  # the peer is gone
            self.abort()
        else:
            self._inner.resume_reading()

    def abort(self) -> None:
        self.forget_timer()
        self._inner.abort()

    def drop(self, num_bytes: int) -> None:
        """Take note of bytes that came after `close`."""
        self._bytes_left -= num_bytes
        if self._bytes_left < 0:
            self.abort()

    def forget_timer(self) -> None:
        """The connection is lost."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class BoundedHTTP(h11.Connection):
    """h11, which has no bounds on headers that come at once, nor on the number of chunks.

    Args:
        limits: on headers and chunks.

    Attributes:
        fault: what is wrong with what came, once something is.
    """

    def __init__(self, limits: ServerLimits) -> None:
        super().__init__(h11.SERVER, limits.header_bytes)
        self._limits = limits
        self._num_received = self._num_chunks = 0
        self.fault = ""

    def receive_data(self, data: bytes) -> None:
        self._num_received += len(data)
        super().receive_data(data)

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._bounded(super().next_event())
        except h11.RemoteProtocolError as error:
            self.fault = str(error)
            raise

    def _bounded(
        self, event: h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]
    ) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        if isinstance(event, h11.Request):
            head = self._num_received - len(self.trailing_data[0])
            if head > self._limits.header_bytes:
                raise h11.RemoteProtocolError("the headers are too long")
        if isinstance(event, h11.Data) and event.chunk_start:
            self._num_chunks += 1
            if self._num_chunks > self._limits.chunks:
                raise h11.RemoteProtocolError("too many chunks")
        return event


class GameConnection(H11Protocol):
    """A connection with bounds on time and number, and with patience for odd clients.

    - A client that closes its writing side after the request still gets its answer.
    - A body that ends before its announced length is taken as it is.
    - Bytes after the announced length, where characters were counted, belong to the body.
    - A body without any length ends with its message, or where the client ends.
    """

    limits: ServerLimits
    unfinished: dict[GameConnection, None]
    """Connections whose request is not complete, the oldest first."""

    began_s: float | None = None
    """When the first byte came, on `time.monotonic`."""

    num_bytes = 0
    """That came so far."""

    was_refused = False
    """Whether `refuse` answered."""

    has_no_length = False
    """Whether a body must be expected whose length is not announced in any way."""

    _peer: LingeringTransport
    _timer: asyncio.TimerHandle | None = None
    _is_parsed = False
    _keeps_rest = True
    _depth = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.conn = BoundedHTTP(self.limits)
        self._rest = bytearray()
        self._came = asyncio.Event()
        self._peer = LingeringTransport(transport, self.loop, self.limits)
        super().connection_made(self._peer)
        self._timer = self.loop.call_later(self.limits.request_s, self._be_too_slow)
        if len(self.connections) > self.limits.connections:
            self._make_room()
        if not self._peer.is_closing():
            self.unfinished[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._peer.forget_timer()
        self._finish()
        super().connection_lost(exc)
        self._came.set()

    def data_received(self, data: bytes) -> None:
        if self._peer.is_closing():
            self._peer.drop(len(data))
            return
        if self.began_s is None:
            self.began_s = time.monotonic()
        self.num_bytes += len(data)
        if self.cycle is None or self.cycle.more_body:
            super().data_received(data)
        else:
            self._keep(data)  # h11 would take it for an error
        if self in self.unfinished and self._is_long:
            self._free_memory()

    def handle_events(self) -> None:
        super().handle_events()
        if self.scope is not None:
            self.scope[CONNECTION] = self  # type: ignore[literal-required]
        if self.cycle is None or self.cycle.more_body or self._is_parsed:
            return
        self._is_parsed = True
        names = {name for name, _ in self.headers}
        self.has_no_length = self.scope["method"].upper() == "POST" and names.isdisjoint(
            (b"content-length", b"transfer-encoding")
        )
        self._keep(self.conn.trailing_data[0])
        if not self.has_no_length:
            self._finish()

    def eof_received(self) -> bool:  # type: ignore[override]
        self._peer.peer_ended = True
        if self._peer.is_closing():
            return False
        if self.cycle is None:
            if self.began_s is not None:
                self.refuse(400, "the request ended within its headers")
            return False
        self.cycle.more_body = False
        self.cycle.message_event.set()
        self._came.set()
        self._finish()
        return True

    def shutdown(self) -> None:
        """The server ends: only those that have sent their request get an answer to it."""
        if self in self.unfinished and self.began_s is not None:
            self.refuse(503, "the server ends")
        elif self.cycle is None or self._peer.is_closing():
            self._peer.abort()
        else:
            super().shutdown()

    def trailing(self) -> bytes:
        """What came after the announced end of the body so far."""
        self.flow.resume_reading()
        return bytes(self._rest)

    def forget_trailing(self) -> None:
        """The body is known: what came after it, and what still comes, is not needed."""
        self._keeps_rest = False
        self._rest.clear()

    async def body_without_length(self) -> bytes:
        """A body that is a whole message, or all that came until the client ended; where it is
        too long, as much of it as shows that.

        Raises:
            ClientDisconnect: the connection broke, or took too long and was refused.
        """
        while not (
            self._peer.peer_ended
            or self.cycle.disconnected
            or self._has_message()
            or len(self._rest) > self.limits.body_bytes
        ):
            self._came.clear()
            self.flow.resume_reading()
            await self._came.wait()
        if self.cycle.disconnected:
            raise ClientDisconnect
        self._finish()
        return bytes(self._rest)

    def refuse(self, status: int, reason: str) -> None:
        """Answer without the application, and close."""
        self._finish()
        if self._peer.is_closing():
            return
        _log.warning("%s: refused: %s", peer_name(self.client), reason)
        self.was_refused = True
        self.forget_trailing()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            text = reason.encode("utf-8", "replace")
            fields = {**HEADERS, "Content-Type": "text/acl", "Content-Length": len(text)}
            lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
            lines += [f"{name}: {value}" for name, value in fields.items()]
            self._peer.write("\r\n".join((*lines, "", "")).encode("ascii") + text)
        self._peer.close()
        if self.cycle is not None:  # the application must not answer any more
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._came.set()

    def send_400_response(self, msg: str) -> None:
        fault = printable(self.conn.fault) if isinstance(self.conn, BoundedHTTP) else msg
        self.refuse(400, f"this HTTP is not understood: {fault[:_LONGEST_FAULT]}")

    def _keep(self, data: bytes) -> None:
        """Keep bytes after what h11 takes for the request, as long as they may be needed."""
        if not self._keeps_rest:
            return
        data = data[: max(0, self.limits.body_bytes + 1 - len(self._rest))]
        self._rest += data
        self._depth += data.count(b"(") - data.count(b")")
        self._came.set()

    def _has_message(self) -> bool:
        """Whether all parentheses are closed."""
        rest = self._rest
        begins = rest[:_EDGE].lstrip().startswith(b"(")
        return begins and self._depth <= 0 and rest[-_EDGE:].rstrip().endswith(b")")

    def _make_room(self) -> None:
        """Close a connection: one that has its answer, the oldest without request, or this."""
        each: Any
        for each in self.connections:
            if isinstance(each, GameConnection) and each._peer.lingers:
                each._peer.abort()
                return
        next(iter(self.unfinished), self).refuse(503, "too many connections")

    @property
    def _is_long(self) -> bool:
        return self.num_bytes > self.limits.header_bytes

    def _free_memory(self) -> None:
        """Refuse the oldest long request if all that are not complete have too many bytes."""
        most = self.limits.body_bytes  # who sends more is refused as soon as that is looked at
        held = sum(min(each.num_bytes, most) for each in self.unfinished)
        if held > self.limits.pending_bytes:
            oldest = next(each for each in self.unfinished if each._is_long)
            oldest.refuse(503, "too much is being sent at once")

    def _be_too_slow(self) -> None:
        self._timer = None
        if self in self.unfinished:
            self.refuse(408, f"the request was not complete after {self.limits.request_s:g} s")

    def _finish(self) -> None:
        """The request is complete, or will never be."""
        self.unfinished.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
