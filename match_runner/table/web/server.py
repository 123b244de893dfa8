"""The table's server: uvicorn on one socket, with the bounds of `ggp serve`."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from match_runner.table.match_manager import MatchManager
from match_runner.table.web.app import make_app
from match_runner.table.web.guard import Guard

CLOSE_S = 1
"""Seconds that answers under way may take when the server ends."""


class _Server(uvicorn.Server):
    """Server that ends cleanly on a signal: an interrupt is no failure, and ends event streams."""

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


def table_server(manager: MatchManager) -> uvicorn.Server:
    """Make the server of a table, to be run on a socket; it ends on SIGINT and SIGTERM, when its
    terminal is closed (SIGHUP), or when its `should_exit` is set."""
    limits = manager.options.limits

    class Bounded(H11Protocol):
        """Protocol that closes a connection which sends nothing for too long."""

        _patience: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._patience = self.loop.call_later(limits.request_s, self._lose_patience)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._patience is not None:
                self._patience.cancel()
            super().connection_lost(exc)

        def _lose_patience(self) -> None:
            if self.cycle is None:  # it has not sent the head of a request yet
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
        h11_max_incomplete_event_size=limits.header_bytes,
        timeout_graceful_shutdown=CLOSE_S,
        timeout_keep_alive=int(limits.request_s),
    )
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    return _Server(config, guard)
