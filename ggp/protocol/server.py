"""The HTTP side: starlette on uvicorn with h11, and what real servers do to HTTP.

One message a connection: every reply has a correct Content-Length and closes the socket. What
is refused is refused with a status and a line of text, and logged with the peer's address.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from ggp.errors import ConfigError
from ggp.protocol.host import Host
from ggp.protocol.limits import ServerLimits

_log = logging.getLogger(__name__)

_CONNECTION = "ggp.connection"
_HEADERS = {
    "Connection": "close",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET, OPTIONS",
    "Access-Control-Allow-Headers": "Content-Type, Accept, Sender, Receiver",
    "Access-Control-Max-Age": "86400",
}
_WELCOME = "ggp: a general game player; send it messages of the GGP protocol with POST\n"
_SHUTDOWN_S = 2

REST_S = 0.2
REST_LOOKS = 10
"""How long, and how often, the end of a body is waited for that its length does not count."""


def make_app(host: Host) -> Starlette:
    """The application: any path, POST for messages, GET and OPTIONS for browsers."""

    async def endpoint(request: Request) -> Response:
        if request.method != "POST":
            return _response(_WELCOME if request.method != "OPTIONS" else "")
        peer = _peer(request.client)
        try:
            body = await _body(request, host.options.limits)
        except _RefusedError as refusal:
            _log.warning("%s: refused: %s", peer, refusal.reason)
            return _response(refusal.reason, refusal.status)
        return await _reply(request, host, body.decode("utf-8", "replace"), peer)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await host.open()
        yield
        await host.close()

    return Starlette(
        routes=[Route("/{path:path}", endpoint, methods=["GET", "HEAD", "POST", "OPTIONS"])],
        exception_handlers={HTTPException: _refuse, Exception: _fail},
        lifespan=lifespan,
    )


async def _refuse(request: Request, error: Exception) -> Response:
    """What starlette itself refuses: a method we do not have."""
    assert isinstance(error, HTTPException)
    _log.warning("%s: refused: %s", _peer(request.client), error.detail)
    return _response(error.detail, error.status_code)


async def _fail(request: Request, error: Exception) -> Response:
    """A bug of ours."""
    _log.error("%s: %r", _peer(request.client), error, exc_info=error)
    return _response("internal error", 500)


def listen(address: str, port: int) -> socket.socket:
    """A socket bound to an address; port 0 for any that is free.

    Raises:
        ConfigError: the address cannot be used, or the port is taken.
    """
    try:
        family = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((address, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or str(error)
        number = getattr(error, "errno", None)
        if isinstance(number, int) and number in errno.errorcode:
            said = os.strerror(number)  # what the socket module says repeats the address
        raise ConfigError(
            f"cannot listen on {address} port {port}: {said}; choose another with --port or --host"
        ) from error


def make_server(host: Host) -> uvicorn.Server:
    """An HTTP server for a host; run it with `serve(sockets=[listen(...)])`."""
    limits = host.options.limits

    class Connection(GameConnection):
        pass

    Connection.limits = limits
    Connection.unfinished = {}
    config = uvicorn.Config(
        make_app(host),
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=1,
        timeout_graceful_shutdown=_SHUTDOWN_S,
        h11_max_incomplete_event_size=limits.header_bytes,
    )
    return _Server(config, host)


class _Server(uvicorn.Server):
    """Answers what is open before it ends."""

    def __init__(self, config: uvicorn.Config, host: Host) -> None:
        super().__init__(config)
        self._host = host

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._host.hurry()
        await super().shutdown(sockets)


class GameConnection(H11Protocol):
    """A connection with bounds on time and number, and with patience for odd clients.

    - A client that closes its writing side after the request still gets its answer.
    - A body that ends before its announced length is taken as it is.
    - Bytes after the announced length, where characters were counted, belong to the body.
    """

    limits: ServerLimits
    unfinished: dict[GameConnection, None]
    """Connections whose request is not complete, the oldest first."""

    began_s: float | None = None
    """When the first byte came, on `time.monotonic`."""

    _timer: asyncio.TimerHandle | None = None
    _rest = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.limits.request_s, self._be_too_slow)
        if len(self.connections) > self.limits.connections:
            victim = next(iter(self.unfinished), self)
            victim.refuse(503, "too many connections")
        if not transport.is_closing():
            self.unfinished[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.began_s is None:
            self.began_s = time.monotonic()
        if self.cycle is None or self.cycle.more_body:
            super().data_received(data)
        elif len(self._rest) < self.limits.header_bytes:
            self._rest += data  # h11 would take it for an error

    def handle_events(self) -> None:
        super().handle_events()
        if self.scope is not None:
            self.scope[_CONNECTION] = self  # type: ignore[literal-required]
        if self.cycle is not None and not self.cycle.more_body:
            self._finish()

    def eof_received(self) -> bool:  # type: ignore[override]
        if self.cycle is None:
            return False
        self.cycle.more_body = False
        self.cycle.message_event.set()
        self._finish()
        return True

    def trailing(self) -> bytes:
        """What came after the announced end of the body so far."""
        self.flow.resume_reading()
        return self.conn.trailing_data[0] + self._rest

    def refuse(self, status: int, reason: str) -> None:
        """Answer without the application, and close."""
        _log.warning("%s: refused: %s", _peer(self.client), reason)
        self._finish()
        if self.transport.is_closing():
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            head = f"HTTP/1.1 {status} Refused\r\nConnection: close\r\n"
            text = f"{head}Content-Length: {len(reason)}\r\n\r\n{reason}"
            self.transport.write(text.encode())
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self.refuse(400, "this is not HTTP, or its headers are too long")

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


class _RefusedError(Exception):
    """A request that is refused before it is a message."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


async def _body(request: Request, limits: ServerLimits) -> bytes:
    """The body, within limits.

    Raises:
        _RefusedError: it is too long, or never came.
    """
    too_long = _RefusedError(413, f"a body of more than {limits.body_bytes} bytes")
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced[:20]) > limits.body_bytes:
        raise too_long
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limits.body_bytes:
                raise too_long
    except ClientDisconnect:
        raise _RefusedError(400, "the connection broke before the message was complete") from None
    connection: GameConnection | None = request.scope.get(_CONNECTION)
    if connection is not None and not body.isascii():
        return await _counted_in_characters(connection, bytes(body))
    return bytes(body)


async def _counted_in_characters(connection: GameConnection, body: bytes) -> bytes:
    """A body whose announced length may be that of its characters, with all its bytes."""
    whole = body
    if body.count(b"(") > body.count(b")"):
        for _ in range(REST_LOOKS):
            whole = body + connection.trailing()
            if len(whole.decode("utf-8", "ignore")) >= len(body):
                break
            await asyncio.sleep(REST_S / REST_LOOKS)
    return whole.decode("utf-8", "ignore")[: len(body)].encode()


async def _reply(request: Request, host: Host, text: str, peer: str) -> Response:
    """The answer to a message; if the connection breaks meanwhile, nobody waits for it."""
    connection: GameConnection | None = request.scope.get(_CONNECTION)
    came_s = None if connection is None else connection.began_s
    answer = asyncio.ensure_future(host.reply(text, peer, came_s))
    broken = asyncio.ensure_future(_until_broken(request))
    try:
        await asyncio.wait((answer, broken), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            _log.info("%s: the connection broke before the answer", peer)
            return _response("")
        reply = answer.result()
        return _response(reply.text, 400 if reply.refused else 200)
    finally:
        for task in (answer, broken):
            task.cancel()


async def _until_broken(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        # What is received after an early end of the body says nothing new.
        await asyncio.sleep(0.05)


def _response(text: str, status: int = 200) -> Response:
    return Response(text, status, _HEADERS, media_type="text/acl")


def _peer(client: Any) -> str:
    return f"{client[0]}:{client[1]}" if client else "?"
