"""The table's web server: uvicorn on one socket, with the limits of `ggp serve`.

If a server closes a socket with unread input, the peer may lose the answer. So it reads on for a
while after it closes a connection (`_Lingering`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import webbrowser
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ggp.server.http.http_server import BoundedHttp
from match_runner.table.app import make_app
from match_runner.table.guard import Guard
from match_runner.table.match_manager import MatchManager

CLOSE_S = 1
"""Seconds that unfinished answers may take when the server ends."""

LINGER_S = 1.0
"""Seconds for which the server reads on after it has closed a connection."""

_TOO_LONG = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


class _Server(uvicorn.Server):
    """Server that ends cleanly on a signal: an interrupt ends event streams and is not an error."""

    def __init__(self, config: uvicorn.Config, guard: Guard) -> None:
        super().__init__(config)
        self._guard = guard

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        is_main = threading.current_thread() is threading.main_thread()  # others can't set any
        if is_main and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not so under nohup
            signal.signal(signal.SIGHUP, self.handle_exit)
        super().run(sockets)

    def handle_exit(self, sig: int, frame: object) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._guard.stop()
        await super().shutdown(sockets)


class _Lingering:
    """A transport that drops further input after closing, so that the peer can read the answer.

    Args:
        transport: of the socket.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether the server has closed the connection, or it is broken."""
        return self._is_closed or self._transport.is_closing()

    def close(self) -> None:
        """Close the writing side now, and the connection soon."""
        if self.is_closing():
            return
        self._is_closed = True
        self._transport.write_eof()
        self._transport.resume_reading()
        asyncio.get_running_loop().call_later(LINGER_S, self._transport.abort)


def table_server(manager: MatchManager) -> uvicorn.Server:
    """Make the server of a table, to run on a socket. It ends on SIGINT and SIGTERM, when its
    terminal closes (SIGHUP), or when its `should_exit` is set."""
    limits = manager.options.limits

    class Bounded(H11Protocol):
        """Protocol that closes a connection after a long silence, or when there are too many, and
        refuses long headers."""

        _patience: asyncio.TimerHandle | None = None

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.conn = self._http = BoundedHttp(limits.header_bytes)

        def connection_made(self, transport: Any) -> None:
            super().connection_made(_Lingering(transport))  # type: ignore[arg-type]
            if len(self.connections) > limits.connections:
                transport.abort()  # uvicorn's own limit is only for requests
            self._patience = self.loop.call_later(limits.request_s, self._lose_patience)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._patience is not None:
                self._patience.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if not self.transport.is_closing():
                super().data_received(data)

        def send_400_response(self, msg: str) -> None:
            """Refuse a malformed request, or one with long headers."""
            fault = self._http.fault
            status = HTTPStatus.BAD_REQUEST
            if fault is not None and fault.error_status_hint == _TOO_LONG:
                status, msg = _TOO_LONG, f"headers of more than {limits.header_bytes:,} bytes"
            headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
            head = h11.Response(status_code=status, headers=headers, reason=status.phrase.encode())
            for event in (head, h11.Data(data=msg.encode()), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

        def _lose_patience(self) -> None:
            if self.cycle is None:  # the peer has not sent the head of a request yet
                self.transport.abort()

    guard = make_app(manager)
    config = uvicorn.Config(
        guard,
        http=Bounded,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # links have secrets in them
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=CLOSE_S,
        timeout_keep_alive=int(limits.request_s),
    )
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    return _Server(config, guard)


# ------------------------------------------------------------------------
# Opens the table's link in the user's browser.

_PAGE = '<!doctype html><title>The table</title><meta http-equiv="refresh" content="0; url={}">\n'


def has_screen() -> bool:
    """Whether the user has a screen on which a browser can open."""
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.stdout.isatty() and (sys.platform == "darwin" or any(map(os.environ.get, displays)))


def open_link(link: str, private: Path) -> None:
    """Open a link in the user's browser, if there is one.

    The browser opens a file that redirects to the link: all users of a machine see the command
    lines of all processes, and the link contains a secret.

    Args:
        private: a folder that only this user may enter.
    """
    page = private / "open.html"
    page.touch(0o600)
    page.write_text(_PAGE.format(escape(link)), encoding="utf-8")
    # Some browsers, and some programs that start browsers, return only when they are closed.
    threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
