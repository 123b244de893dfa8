"""Checks every request before anything else reads it, and adds headers to every answer.

Nobody gets an answer without a token (`Door`). But a browser with a token also runs strangers'
pages. Three checks keep these out. A page whose host name was made to point here (DNS rebinding)
has a wrong Host header. A page of another site that posts here has a wrong Origin or
`Sec-Fetch-Site`. And without permission (CORS), a page of another site cannot post JSON.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, Response

from ggp.gdl.source import printable
from match_runner.table.options import AllowedHosts, RequestLimits

# ------------------------------------------------------------------------
# Tokens: they decide who may request what, and come once in a link and then in a cookie.
#
# The table has one token. With it, a visitor may begin matches, watch open matches and manage all
# matches. Every seat has its own token, which even the table's token does not replace. A seat's
# token alone gives access to that seat and the files of the page.
#
# A link has its token in the address. The answer sets a cookie and redirects to the address without
# the token, which thus stays out of the browser's history. The names of cookies contain the port,
# because browsers send cookies to all ports of a machine.

Scope = MutableMapping[str, Any]

Refusal = tuple[str, Response]
"""Reason for a refusal, and its response."""

TOKEN = "token"
"""Query parameter for the token in a link."""

ALIVE = "/api/alive"
"""Path of the stream that only shows that the server runs."""

_REFUSED = (
    "you need a link: open the link that `match-runner table` printed, or the link of your seat"
)
_HEAD = '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
_REFUSED_PAGE = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>403</title>{_HEAD}</head>
<body>
<h1>403: the link is missing</h1>
<p>You need a link: open the link that <code>match-runner table</code> printed, or the link of your
seat.</p>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Sender of a request.

    Attributes:
        is_host: whether the sender has the table's token.
        seats: seats whose tokens the sender has.
    """

    is_host: bool
    seats: frozenset[str]


class Door:
    """Decides which requests are let in.

    Args:
        token: token of the table; None to let everybody in.
        seat_token: gives the token of a seat by its name; None if there is no such seat.
        is_secure: whether browsers connect by https.
    """

    def __init__(
        self, token: str | None, seat_token: Callable[[str], str | None], *, is_secure: bool
    ) -> None:
        self._token, self._seat_token, self._is_secure = token, seat_token, is_secure

    def visitor(self, scope: Scope) -> Visitor:
        """Sender of a request, by its cookies."""
        table, prefix = _names(scope)
        cookies = cookie_parser(Headers(scope=scope).get("cookie", ""))
        is_host = self._token is None or _equal(cookies.get(table, ""), self._token)
        tokens = {k.removeprefix(prefix): v for k, v in cookies.items() if k.startswith(prefix)}
        return Visitor(
            is_host, frozenset(seat for seat, token in tokens.items() if self._is_of(token, seat))
        )

    def admits(self, visitor: Visitor, path: str) -> bool:
        """Whether a visitor may request a path."""
        seat = _seat_of(path)
        if seat is not None and self._seat_token(seat) is not None:
            return seat in visitor.seats
        is_shared = path.startswith("/static/") or path == ALIVE
        return visitor.is_host or (is_shared and bool(visitor.seats))

    def answer_to_link(self, scope: Scope) -> Response | None:
        """Response to a link with a token: cookies and a redirect.

        None if the request is not such a link, or if neither its token nor a cookie admits the
        visitor.
        """
        path = scope["path"]
        if scope["method"] not in ("GET", "HEAD") or path.startswith(("/api/", "/static/")):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == TOKEN]
        if not tokens:
            return None
        cookies = list(self._cookies(scope, tokens[-1]))
        if not cookies and not self.admits(self.visitor(scope), path):
            return None
        rest = urlencode([pair for pair in query if pair[0] != TOKEN])
        answer = _lead_to(scope, f"/{quote(path.lstrip('/'))}{'?' if rest else ''}{rest}")
        for name, value in cookies:
            answer.set_cookie(
                name, value, path="/", httponly=True, samesite="strict", secure=self._is_secure
            )
        return answer

    def _cookies(self, scope: Scope, token: str) -> Iterator[tuple[str, str]]:
        """Yield names and values of the cookies that keep a token."""
        table, prefix = _names(scope)
        if self._token is not None and _equal(token, self._token):
            yield table, token
        seat = _seat_of(scope["path"])
        if seat is not None and self._is_of(token, seat):
            yield f"{prefix}{seat}", token

    def _is_of(self, token: str, seat: str) -> bool:
        seat_token = self._seat_token(seat)
        return seat_token is not None and _equal(token, seat_token)


def refusal(scope: Scope) -> Refusal:
    """Refusal of a forbidden request, with status 403."""
    is_page = scope["method"] == "GET" and not scope["path"].startswith(("/api/", "/static/"))
    page = HTMLResponse(_REFUSED_PAGE, 403) if is_page else JSONResponse({"error": _REFUSED}, 403)
    return _REFUSED, page


def _lead_to(scope: Scope, address: str) -> Response:
    if Headers(scope=scope).get("sec-fetch-site") != "cross-site":
        return Response(status_code=303, headers={"location": address})
    # A browser sends no strict cookie while it follows a link of another site, redirects included.
    # So we send a page of ours, from which it does.
    text = f'<title>The table</title>{_HEAD}<a href="{escape(address)}">To the table</a>'
    return HTMLResponse(f"<!doctype html>{text}", headers={"refresh": f"0; url={address}"})


def _names(scope: Scope) -> tuple[str, str]:
    """Name of the table's cookie, and prefix of the seats' cookies."""
    port = scope["server"][1]
    return f"ggp-table-{port}", f"ggp-seat-{port}-"


def _seat_of(path: str) -> str | None:
    """The seat that a path belongs to: `/seat/SEAT`, `/api/seats/SEAT`, and paths below it."""
    match path.split("/"):
        case ["", "seat", seat, *_] | ["", "api", "seats", seat, *_]:
            return seat
    return None


def _equal(a: str, b: str) -> bool:
    return secrets.compare_digest(a.encode(), b.encode())


Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

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
"""Headers of every answer; among others, browsers never send a link with a secret as a referrer."""

_METHODS = ("GET", "HEAD", "POST")
_ELSEWHERE = "pages of other sites may not send requests to this server"
_ENDED = "the table was ended"
_log = logging.getLogger(__name__)


class Guard:
    """Wraps an application, and passes on allowed requests only.

    Args:
        app: the application.
        door: decides who may request what.
        names: names by which requests may reach this server.
        limits: limits of one request.
    """

    def __init__(self, app: App, door: Door, names: AllowedHosts, limits: RequestLimits) -> None:
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
        """End all answers, including streams of events, and refuse further requests."""
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
            address = self._names.origin or f"http://localhost:{server[1]}"
            yield _error(421, f"this server has only the address {address}/")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}", self._names.origin):
            yield _error(403, _ELSEWHERE)
        site = headers.get("sec-fetch-site", "same-origin")
        is_visit = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if site not in ("same-origin", "none") and not is_visit:
            yield _error(403, _ELSEWHERE)
        if scope["method"] not in _METHODS:
            yield _error(405, f"the method must be one of {', '.join(_METHODS)}")
        if scope["method"] == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                yield _error(415, "the body must be application/json")

    async def _body(self, receive: Receive) -> bytes | None:
        """Read the body, up to the limit; None if it is longer."""
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
    """Sends an answer on with `HEADERS` added, and can end it at any point."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._has_begun = self._has_ended = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._has_begun = True
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            passed = [header for header in message["headers"] if header[0].decode() not in HEADERS]
            message = {**message, "headers": [*passed, *added]}
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
    """Make a `receive` that first returns a body that was read before, then passes on the rest."""
    is_repeated = False

    async def repeat() -> MutableMapping[str, Any]:
        nonlocal is_repeated
        if is_repeated:
            return await receive()
        is_repeated = True
        return {"type": "http.request", "body": body, "more_body": False}

    return repeat
