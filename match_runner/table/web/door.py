"""Who may request what: tokens, which come once in a link and from then on in a cookie.

The table has one token. Whoever shows it may begin matches, watch those that are open and manage
all of them. Every seat has a token of its own, which even those who have the table's token need to
sit there. A seat's token alone gives access to that seat and the files of the page.

A link has its token in the address. The answer sets a cookie and redirects to the address without
the token, which thus stays out of the browser's history. Cookies are named by port, because
browsers send them to all ports of a machine.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, Response

Scope = MutableMapping[str, Any]

Refusal = tuple[str, Response]
"""Reason for a refusal, and its response."""

TOKEN = "token"
"""Query parameter of a link that has its token."""

ALIVE = "/api/alive"
"""Path of the stream that only shows that the server is there."""

_REFUSED = (
    "this table needs its link: open the one that `match-runner table` printed, or your seat's"
)
_HEAD = '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
_REFUSED_PAGE = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>403</title>{_HEAD}</head>
<body>
<h1>403: the link is missing</h1>
<p>This table needs its link: open the one that <code>match-runner table</code> printed, or the
link of your seat.</p>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Sender of a request.

    Attributes:
        is_host: whether the table's token was shown.
        seats: seats whose tokens were shown.
    """

    is_host: bool
    seats: frozenset[str]


class Door:
    """Decides which requests are let in.

    Args:
        token: token of the table; None where everybody is let in.
        seat_token: gives the token of a seat by its name; None if there is no such seat.
        is_secure: whether browsers connect by https.
    """

    def __init__(
        self, token: str | None, seat_token: Callable[[str], str | None], *, is_secure: bool
    ) -> None:
        self._token, self._seat_token, self._is_secure = token, seat_token, is_secure

    def visitor(self, scope: Scope) -> Visitor:
        """Sender of a request, recognised by its cookies."""
        table, prefix = _names(scope)
        cookies = cookie_parser(Headers(scope=scope).get("cookie", ""))
        is_host = self._token is None or _equal(cookies.get(table, ""), self._token)
        shown = {k.removeprefix(prefix): v for k, v in cookies.items() if k.startswith(prefix)}
        return Visitor(
            is_host, frozenset(seat for seat, token in shown.items() if self._is_of(token, seat))
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

        None if the request is not such a link, or if neither its token nor a cookie admits it.
        """
        path = scope["path"]
        if scope["method"] not in ("GET", "HEAD") or path.startswith(("/api/", "/static/")):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == TOKEN]
        if not given:
            return None
        cookies = list(self._cookies(scope, given[-1]))
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
        own = self._seat_token(seat)
        return own is not None and _equal(token, own)


def refusal(scope: Scope) -> Refusal:
    """Refusal of a request that is not allowed: status 403, and nothing else."""
    is_page = scope["method"] == "GET" and not scope["path"].startswith(("/api/", "/static/"))
    page = HTMLResponse(_REFUSED_PAGE, 403) if is_page else JSONResponse({"error": _REFUSED}, 403)
    return _REFUSED, page


def _lead_to(scope: Scope, address: str) -> Response:
    if Headers(scope=scope).get("sec-fetch-site") != "cross-site":
        return Response(status_code=303, headers={"location": address})
    # A browser sends no strict cookie while it follows a link of another site, not even to where
    # that redirects. From a page of ours it does.
    text = f'<title>The table</title>{_HEAD}<a href="{escape(address)}">To the table</a>'
    return HTMLResponse(f"<!doctype html>{text}", headers={"refresh": f"0; url={address}"})


def _names(scope: Scope) -> tuple[str, str]:
    """Name of the table's cookie, and the prefix of those of seats."""
    port = scope["server"][1]
    return f"ggp-table-{port}", f"ggp-seat-{port}-"


def _seat_of(path: str) -> str | None:
    """The seat that a path belongs to: `/seat/SEAT`, `/api/seats/SEAT`, and paths below it."""
    match path.split("/"):
        case ["", "seat", seat, *_] | ["", "api", "seats", seat, *_]:
            return seat
    return None


def _equal(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())
