"""What a request must be before anything else looks at it, and what every answer carries.

The server listens on this machine only, but browsers on it run pages of strangers. Three things
keep those out. A page whose name was made to point here (DNS rebinding) gives itself away by its
Host. A page that posts here from elsewhere does so by its Origin, or by `Sec-Fetch-Site`. And what
it may post without being asked for permission is no JSON.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from ggp.gdl.source import printable
from ggp.server.settings import ServerLimits

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

NAMES = ("127.0.0.1", "localhost", "[::1]")
"""What this machine may be called in a Host header."""

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
"""Of every answer. Links with secrets are never sent on as a referrer."""

_METHODS = ("GET", "HEAD", "POST")
_log = logging.getLogger(__name__)


class Guard:
    """Wraps an application.

    Args:
        app: is only asked what may be asked.
        limits: of one request.
    """

    def __init__(self, app: App, limits: ServerLimits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                taken = [each for each in message["headers"] if each[0].decode() not in HEADERS]
                message = {**message, "headers": [*taken, *own]}
            await send(message)

        refusal = next(self._refusals(scope), None)
        if refusal is None and scope["method"] == "POST":
            try:
                body = await asyncio.wait_for(self._body(receive), self._limits.request_s)
            except TimeoutError:
                body = None
                refusal = 408, "the request was not complete in time"
            else:
                if body is None:
                    refusal = 413, f"more than {self._limits.body_bytes:,} bytes"
            receive = _repeat(body or b"", receive)
        if refusal is not None:
            status, text = refusal
            _log.warning("refused: %s %s: %s", scope["method"], printable(scope["path"]), text)
            answer = JSONResponse({"error": text}, status, {"connection": "close"})
            await answer(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)

    def _refusals(self, scope: Scope) -> Iterator[tuple[int, str]]:
        headers = Headers(scope=scope)
        host, own_port = headers.get("host", ""), scope["server"][1]
        if host.lower() not in [f"{name}:{own_port}" for name in NAMES]:
            yield 421, f"this server is http://localhost:{own_port}/ and has no other name"
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host.lower()}":
            yield 403, "a page from elsewhere may not ask this server anything"
        site = headers.get("sec-fetch-site", "same-origin")
        is_visit = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if site not in ("same-origin", "none") and not is_visit:
            yield 403, "a page from elsewhere may not ask this server anything"
        if scope["method"] not in _METHODS:
            yield 405, f"only {', '.join(_METHODS)}"
        if scope["method"] == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                yield 415, "what is posted must be application/json"

    async def _body(self, receive: Receive) -> bytes | None:
        """The body; None if it is too long. What comes after the limit is not read."""
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


def _repeat(body: bytes, receive: Receive) -> Receive:
    """What gives a body that was read, and then what there is besides."""
    given = False

    async def repeat() -> MutableMapping[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return repeat
