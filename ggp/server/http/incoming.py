"""Reads one request, as game servers and strangers send it: h11 with bounds and patience.

h11 parses HTTP leniently enough for servers in the field: HTTP/1.0 without Host, bare line feeds.
This module handles the rest:

- a body that ends before its announced length, because the client closed its writing side, is taken
  as it is;
- a length counted in characters: of `(START é ...)` h11 gives all bytes but the last, and the bytes
  after them belong to the body too;
- a body without any length ends where its outer parenthesis is closed, or when the client closes;
- bounds on headers that arrive at once (`BoundedHttp`), on chunks and on bodies.

It knows no sockets: a function returns the bytes.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Awaitable, Callable
from contextlib import suppress

import h11

from ggp.gdl.source import printable
from ggp.server.settings import ServerLimits

REST_S = 0.2
"""Time to wait for the end of a body that its announced length does not include."""

_EDGE = 64
"""Bytes at either end of a body that are searched for its first and last parenthesis."""

_LONGEST_FAULT = _LONGEST_NAME = 200


class RefusedError(Exception):
    """A request that is refused before its message is read.

    Attributes:
        status: of HTTP.
        reason: a line.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class BoundedHttp(h11.Connection):
    """The server's side of a connection, where headers have a bound however they arrive.

    h11 checks the length of headers only while they are incomplete, so it takes longer ones that
    arrive at once.

    Args:
        header_bytes: most bytes of the headers of a request, with its first line.

    Attributes:
        fault: the latest fault in what arrived; its `error_status_hint` is 431 if headers are too
            long.
    """

    def __init__(self, header_bytes: int) -> None:
        super().__init__(h11.SERVER, header_bytes)
        self._header_bytes = header_bytes
        self.fault: h11.RemoteProtocolError | None = None

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next event.

        Raises:
            h11.RemoteProtocolError: this is not HTTP, or the headers are too long.
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
        go_on: tells a client that waits for permission to send its body.
        limits: bounds on the input.
    """

    def __init__(
        self, read: Callable[[], Awaitable[bytes]], go_on: Callable[[], None], limits: ServerLimits
    ) -> None:
        self._read, self._go_on, self._limits = read, go_on, limits
        self._http = BoundedHttp(limits.header_bytes)
        self._num_received = self._num_chunks = 0
        self._headers: dict[bytes, bytes] = {}

    async def method(self) -> str:
        """The method, in upper case, once the headers are complete; empty if nothing arrived at
        all.

        Raises:
            RefusedError: this is not HTTP, too long, or incomplete.
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
        """What the client calls us; empty if it does not."""
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
        body = bytearray()
        while not isinstance(event := self._next_event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                self._count_chunk(event)
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
        data = await self._read()
        self._num_received += len(data)
        if data:
            self._http.receive_data(data)
        return bool(data)

    def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise _not_understood(str(error)) from error

    def _count_chunk(self, event: h11.Data) -> None:
        self._num_chunks += event.chunk_start
        if self._num_chunks > self._limits.chunks:
            raise _not_understood("too many chunks")

    def _check_length(self, num_bytes: int) -> None:
        most = self._limits.body_bytes
        if num_bytes > most:
            raise RefusedError(413, f"a body of more than {most} bytes")

    async def _until_closed(self) -> bytearray:
        """A body without length: up to where all parentheses are closed, or the client closes."""
        body, depth = bytearray(), 0
        data = self._http.trailing_data[0]
        while True:
            body += data
            self._check_length(len(body))
            depth += data.count(b"(") - data.count(b")")
            begins, ends = body[:_EDGE].lstrip(), body[-_EDGE:].rstrip()
            if depth <= 0 and begins.startswith(b"(") and ends.endswith(b")"):
                return body
            if not (data := await self._read()):
                return body

    async def _counted_in_characters(self, body: bytes) -> str:
        """A whole body whose announced length may count its characters."""
        decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        text = decoder.decode(body)
        if body.count(b"(") > body.count(b")"):
            text += decoder.decode(self._http.trailing_data[0])
            with suppress(TimeoutError):
                async with asyncio.timeout(REST_S):
                    while len(text) < len(body) and (data := await self._read()):
                        text += decoder.decode(data)
        return text[: len(body)]


def _not_understood(fault: str) -> RefusedError:
    return RefusedError(400, f"this HTTP is not understood: {printable(fault)[:_LONGEST_FAULT]}")
