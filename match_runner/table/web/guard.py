"""Checks every request before anything else reads it, and adds headers to every answer.

Nobody is answered without a token (`door`). But the browsers of those who have one also run
strangers' pages. Three checks keep these out. A page whose name was made to point here (DNS
rebinding) gives itself away by its Host. A page that posts here from elsewhere gives itself away by
its Origin, or by `Sec-Fetch-Site`. And what a page may post elsewhere without asking for permission
(CORS) cannot be JSON.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from ggp.gdl.source import printable
from match_runner.table.web.door import Door, Refusal, Scope, refusal

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Names by which this machine may call itself in a Host header."""

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
"""Headers of every answer. Links with secrets are never sent on as a referrer."""

_METHODS = ("GET", "HEAD", "POST")
_ELSEWHERE = "a page from elsewhere may not ask this server anything"
_ENDED = "the table was ended"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostNames:
    """Names by which requests may reach the server.

    Attributes:
        hosts: names by which others know this machine, besides `NAMES` and the address that a
            connection came to.
        origin: origin of the table in browsers if it is behind a reverse proxy, such as
            `https://table.example`; empty if there is none.
    """

    hosts: tuple[str, ...] = ()
    origin: str = ""

    def has(self, host: str, server: tuple[str, int]) -> bool:
        """Whether a Host header names this server."""
        address, port = server
        own = f"[{address}]" if ":" in address else address
        names = [f"{name.lower()}:{port}" for name in (*NAMES, own, *self.hosts)]
        return host in names or (self.origin != "" and host == self.origin.partition("://")[2])


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits on requests of browsers.

    Attributes:
        body_bytes: most bytes of the body of a request.
        header_bytes: most bytes of the header of a request, its first line included.
        request_s: most seconds from the connection to the last byte of the body.
        connections: most connections at once.
    """

    body_bytes: int = 4 << 20
    header_bytes: int = 16 << 10
    request_s: float = 20.0
    connections: int = 128


class Guard:
    """Wraps an application, and passes on only the requests that are allowed.

    Args:
        app: the application.
        door: knows who may request what.
        names: names by which requests may reach this server.
        limits: limits of one request.
    """

    def __init__(self, app: App, door: Door, names: HostNames, limits: RequestLimits) -> None:
        self._app, self._door, self._names, self._limits = app, door, names, limits
        self._answering: set[asyncio.Task[Any]] = set()
        self._is_stopped = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sending = _Sending(send)
        if self._is_stopped:
            await sending.end(scope, receive)
            return
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            await self._answer(scope, receive, sending)
        except asyncio.CancelledError:
            if not self._is_stopped:
                raise
            task.uncancel()
            await sending.end(scope, receive)
        finally:
            self._answering.discard(task)

    def stop(self) -> None:
        """End all answers, including streams of events; no others begin."""
        self._is_stopped = True
        for task in self._answering:
            task.cancel()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        link = self._door.answer_to_link(scope)
        scope["visitor"] = self._door.visitor(scope)
        refused = next(self._refusals(scope, is_link=link is not None), None)
        if refused is None and scope["method"] == "POST":
            try:
                body = await asyncio.wait_for(self._body(receive), self._limits.request_s)
            except TimeoutError:
                body = None
                refused = _error(408, "the request was not complete in time")
            else:
                if body is None:
                    refused = _error(413, f"more than {self._limits.body_bytes:,} bytes")
            receive = _repeat(body or b"", receive)
        if refused is not None:
            text, answer = refused
            _log.warning("refused: %s %s: %s", scope["method"], printable(scope["path"]), text)
            await answer(scope, receive, send)
            return
        await (link or self._app)(scope, receive, send)

    def _refusals(self, scope: Scope, *, is_link: bool) -> Iterator[Refusal]:
        if not is_link and not self._door.admits(scope["visitor"], scope["path"]):
            yield refusal(scope)
        headers = Headers(scope=scope)
        host, server = headers.get("host", "").lower(), scope["server"]
        if not self._names.has(host, server):
            own = self._names.origin or f"http://localhost:{server[1]}"
            yield _error(421, f"this server is {own}/ and has no other name")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}", self._names.origin):
            yield _error(403, _ELSEWHERE)
        site = headers.get("sec-fetch-site", "same-origin")
        is_visit = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if site not in ("same-origin", "none") and not is_visit:
            yield _error(403, _ELSEWHERE)
        if scope["method"] not in _METHODS:
            yield _error(405, f"only {', '.join(_METHODS)}")
        if scope["method"] == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                yield _error(415, "what is posted must be application/json")

    async def _body(self, receive: Receive) -> bytes | None:
        """Read the body; None if it is too long. What comes after the limit is not read."""
        parts, length = [], 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return b""
            parts.append(message.get("body", b""))
            length += len(parts[-1])
            if length > self._limits.body_bytes:
                return None
            if not message.get("more_body"):
                return b"".join(parts)


class _Sending:
    """Passes an answer on with `HEADERS` added, and can end it at any point."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._has_begun = self._has_ended = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._has_begun = True
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            taken = [each for each in message["headers"] if each[0].decode() not in HEADERS]
            message = {**message, "headers": [*taken, *own]}
        else:
            self._has_ended = not message.get("more_body")
        await self._send(message)

    async def end(self, scope: Scope, receive: Receive) -> None:
        """End the answer; if it has not begun, with status 503."""
        if not self._has_begun:
            await _error(503, _ENDED)[1](scope, receive, self)
        elif not self._has_ended:
            await self({"type": "http.response.body", "body": b"", "more_body": False})


def _error(status: int, text: str) -> Refusal:
    return text, JSONResponse({"error": text}, status, {"connection": "close"})


def _repeat(body: bytes, receive: Receive) -> Receive:
    """Make a `receive` that first gives a body that was read already, then passes on the rest."""
    given = False

    async def repeat() -> MutableMapping[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return repeat
