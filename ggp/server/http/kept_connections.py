"""Keeps connections that wait for an answer safe in another process.

A server that is killed would take its connections with it, and game servers do not ask again. So it
passes each waiting connection to its `supervisor`, together with its message, and takes it back
when there is an answer. A server that replaces a dead one finds what that one had not answered.

The server sends datagrams of JSON to the supervisor, with the socket if there is one. In the same
way it announces that it is open, and asks for workers (`nursery`).
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from ggp.protocol.texts.reading import Request
from ggp.run.messages import Channel

MAX_CHARS = 20_000
"""Longest message that is kept; rules are longer, moves are not."""

_MAX_KEPT = 128

_KEPT_FIELDS = ("text", "came_s", "peer", "receiver")
"""What the supervisor keeps of a request."""

LOOK_S = 1
"""Seconds that a process waits at a time. A signal that arrives just before it waits, or in another
thread, does not end the waiting: Python runs its handler at the next look."""


@dataclass(frozen=True, slots=True)
class KeptConnection:
    """A waiting connection.

    Attributes:
        socket: of the connection.
        request: not read yet; `came_s` is on `time.monotonic`.
    """

    socket: socket.socket
    request: Request


class KeptConnections:
    """The server's side.

    Args:
        channel: to the supervisor; None if nothing can be kept.
        found: what an earlier server had not answered, by number.
    """

    def __init__(
        self, channel: socket.socket | None = None, found: dict[int, KeptConnection] | None = None
    ) -> None:
        self._channel = None if channel is None else Channel(channel)
        self._numbers, self._found = count(max(found or (0,)) + 1), dict(found or {})
        if channel is not None:
            channel.setblocking(False)  # nothing is kept if the supervisor is stopped

    def take_over(self) -> list[KeptConnection]:
        """The connections that have been waiting since an earlier server."""
        return list(self._found.values())

    def tell_open(self) -> None:
        """Announce that connections are answered."""
        self._tell({"open": True})

    @property
    def can_connect(self) -> bool:
        """Whether `connect` can reach anything."""
        return self._channel is not None

    def connect(self, channel: socket.socket, anew: bool = False) -> None:
        """Make the supervisor pass a channel to the template of workers, see
        `TemplateProcess.connect`."""
        with channel:
            self._tell({"template": anew}, channel.fileno())

    @contextlib.contextmanager
    def keeping(self, connection: int, request: Request) -> Iterator[None]:
        """Keep a connection that waits for the answer to a request, within the block.

        Args:
            connection: file descriptor.
        """
        found = (n for n, kept in self._found.items() if kept.socket.fileno() == connection)
        number = next(found, None)
        if number is None:
            number = next(self._numbers)
            if len(request.text) <= MAX_CHARS:
                fields = {name: getattr(request, name) for name in _KEPT_FIELDS}
                self._tell({"number": number, **fields}, connection)
        try:
            yield
        finally:
            self._found.pop(number, None)
            self._tell({"number": number})

    def _tell(self, said: dict[str, object], *connections: int) -> None:
        if self._channel is not None:
            with contextlib.suppress(OSError):
                self._channel.send(said, *connections)


class ConnectionStore:
    """The supervisor's side: what servers passed to it and have not taken back."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[int, Request]] = {}

    def open(self) -> tuple[socket.socket, socket.socket] | None:
        """A channel for the next server, its end and ours; None if the system has none."""
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError:
            return None
        return theirs, ours

    def found(self) -> dict[int, KeptConnection]:
        """The kept connections, in a process that was forked from this one and takes over."""
        return {
            number: KeptConnection(socket.socket(fileno=fd), request)
            for number, (fd, request) in self._kept.items()
        }

    def follow(
        self,
        channel: socket.socket,
        connect: Callable[[socket.socket, bool], None] | None = None,
        on_open: Callable[[], None] = lambda: None,
    ) -> None:
        """Keep what arrives; returns when the server has died.

        Args:
            channel: to the server.
            connect: passes a channel of the server to the template of workers.
            on_open: called when the server announces that it is open.
        """
        arrived, messages = select.poll(), Channel(channel)
        arrived.register(channel, select.POLLIN)
        while True:
            while not arrived.poll(1000 * LOOK_S):
                pass
            told = messages.receive()
            if told is None:
                return
            for said in told:
                self._heed(said, messages.fds, connect, on_open)

    def _heed(
        self,
        said: dict[str, Any],
        fds: deque[int],
        connect: Callable[[socket.socket, bool], None] | None,
        on_open: Callable[[], None],
    ) -> None:
        """Do what a message of the server says."""
        fd = fds.popleft() if fds else None
        if "open" in said:
            on_open()
        elif "template" in said:
            if fd is not None:
                theirs = socket.socket(fileno=fd)
                with contextlib.suppress(OSError), theirs:  # closed, it is asked for again
                    if connect is not None:
                        connect(theirs, bool(said["template"]))
        elif fd is None:
            kept = self._kept.pop(int(said["number"]), None)
            if kept is not None:
                os.close(kept[0])
        elif len(self._kept) < _MAX_KEPT:
            request = Request(**{name: said[name] for name in _KEPT_FIELDS})
            self._kept[int(said["number"])] = fd, request
        else:
            os.close(fd)
