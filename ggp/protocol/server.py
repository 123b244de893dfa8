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
import signal
import socket
import threading
from collections.abc import AsyncIterator, Iterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from ggp.errors import ConfigError
from ggp.protocol.connection import CONNECTION, HEADERS, GameConnection, peer_name
from ggp.protocol.host import Host
from ggp.protocol.limits import ServerLimits

_log = logging.getLogger(__name__)

_WELCOME = "ggp: a general game player; send it messages of the GGP protocol with POST\n"
_SHUTDOWN_S = 2

REST_S = 0.2
REST_LOOKS = 10
"""How long, and how often, the end of a body is waited for that its length does not count."""


def make_app(host: Host) -> Starlette:
    """The application: any path, POST for messages, GET and OPTIONS for browsers."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await host.open()
        yield
        await host.close()

    return Starlette(
        routes=[_AnyPath(host)], exception_handlers={Exception: _fail}, lifespan=lifespan
    )


class _AnyPath(BaseRoute):
    """Everything that is requested: servers may be told any address, with any path."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return Match.FULL if scope["type"] == "http" else Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._respond(Request(scope, receive, send))
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        peer = peer_name(request.client)
        try:
            match request.method.upper():
                case "POST":
                    body = await _body(request, self._host.options.limits)
                case "OPTIONS":
                    return _response("")
                case "GET" | "HEAD":
                    return _response(_WELCOME)
                case _:
                    raise _RefusedError(405, "messages are sent with POST")
        except ClientDisconnect:
            connection: GameConnection | None = request.scope.get(CONNECTION)
            if connection is None or not connection.was_refused:
                _log.warning("%s: the connection broke before the message was complete", peer)
            return _response("")
        except _RefusedError as refusal:
            _log.warning("%s: refused: %s", peer, refusal.reason)
            response = _response(refusal.reason, refusal.status)
            if refusal.status == 405:
                response.headers["Allow"] = HEADERS["Access-Control-Allow-Methods"]
            return response
        return await _reply(request, self._host, body.decode("utf-8", "replace"), peer)


async def _fail(request: Request, error: Exception) -> Response:
    """A bug of ours."""
    _log.error("%s: %r", peer_name(request.client), error, exc_info=error)
    return _response("internal error", 500)


def listen(address: str, port: int) -> socket.socket:
    """A socket bound to an address; port 0 for any that is free.

    Raises:
        ConfigError: the address cannot be used, or the port is taken.
    """
    try:
        family = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((address, port), family=family, backlog=128)
    except (OSError, OverflowError, UnicodeError) as error:  # the last of names no host can have
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
    """Answers what is open before it ends, and ends without a word."""

    def __init__(self, config: uvicorn.Config, host: Host) -> None:
        super().__init__(config)
        self._host = host

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Have signals end the server, within the block too before it runs.

        Unlike uvicorn's, does not raise them again afterwards: who ends a server gets what he
        wants. Interrupts that were ignored from the start stay so. Blocks may be nested.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._host.hurry()
        await super().shutdown(sockets)


class _RefusedError(Exception):
    """A request that is refused before it is a message."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


async def _body(request: Request, limits: ServerLimits) -> bytes:
    """The body, within limits.

    Raises:
        _RefusedError: it is too long.
        ClientDisconnect: it never came.
    """
    too_long = _RefusedError(413, f"a body of more than {limits.body_bytes} bytes")
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced[:20]) > limits.body_bytes:
        raise too_long
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limits.body_bytes:
            raise too_long
    connection: GameConnection | None = request.scope.get(CONNECTION)
    if connection is None:
        return bytes(body)
    try:
        if connection.has_no_length:
            body += await connection.body_without_length()
            if len(body) > limits.body_bytes:
                raise too_long
        elif not body.isascii():
            return await _counted_in_characters(connection, bytes(body))
        return bytes(body)
    finally:
        connection.forget_trailing()


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
    connection: GameConnection | None = request.scope.get(CONNECTION)
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
    return Response(text, status, HEADERS, media_type="text/acl")
