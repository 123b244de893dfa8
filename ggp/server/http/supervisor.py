"""The supervisor: a small process that keeps the listening socket and restarts a dead server.

Game servers treat a refused connection as an illegal move. While a socket is open in some process,
connections wait in its queue until a process accepts them. So the process that opened the socket
only supervises: the server is its child, a fork that has the socket and all modules and is ready in
a moment. If there are logs, the new server continues the matches (`restore`). The supervisor also
keeps connections that wait for an answer (`KeptConnections`), so that even those are answered, and
the template of the workers (`template`), with the workers that are ready.

    parent:  listen, fork, keep ... the child died: fork, keep ... it ended: end
    child:           serve                          serve

Ctrl-C in a terminal reaches only the supervisor, which passes it on. If the supervisor is killed,
the system kills the child (on Linux).
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from ggp.errors import GGPError
from ggp.protocol.reading import Request
from ggp.run.messages import Channel
from ggp.run.processes import ENDING, ended_by, fork, how_it_ended, kill_group
from ggp.server.http import listening
from ggp.server.workers.nursery import TemplateProcess

MAX_DEATHS = 10
WITHIN_S = 10.0
"""A server that dies this often within this time would only die again. Somebody who kills it at
every other move is slower."""


_log = logging.getLogger(__name__)


def stay_up(
    template: TemplateProcess | None = None, when_open: Callable[[], None] = lambda: None
) -> KeptConnections:
    """Fork: continue in a child, while this process supervises and replaces a child that dies.

    Signals that end programs (SIGINT, SIGTERM) are blocked in the child until it has handlers for
    them: see `heed_signals`. The process must have only one thread.

    Args:
        template: source of the workers of all children; None if each child has its own.
        when_open: called in this process when a child answers connections: what takes long and is
            for no child. What it raises ends the child.

    Returns:
        In each child: what keeps the connections that wait for an answer.

    Raises:
        SystemExit: in this process, when a child ended regularly or on a signal.
        GGPError: in this process, when children keep dying.
        OSError: in this process, when the system cannot start a child.
    """
    deaths: deque[float] = deque(maxlen=MAX_DEATHS)
    supervisor = _Supervisor(template, when_open)
    with ended_by(supervisor.pass_on):
        while isinstance(ended := supervisor.run_child(), int):
            if ended == 0 or supervisor.is_ending:
                if template is not None:
                    template.close()
                raise SystemExit(0)
            how = how_it_ended(ended)
            deaths.append(time.monotonic())
            if len(deaths) == MAX_DEATHS and deaths[-1] - deaths[0] < WITHIN_S:
                raise GGPError(
                    f"the server died {MAX_DEATHS} times within {WITHIN_S:g} s, the last time by "
                    f"{how}; see the lines above, or start it without these logs"
                )
            _log.warning("the server died (%s) and is being restarted", how)
    return ended


def heed_signals() -> None:
    """Unblock the signals that `stay_up` blocked, once a child has handlers for them."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


class _Supervisor:
    """The state of the supervisor.

    Attributes:
        is_ending: whether a signal asked it to end.
    """

    def __init__(self, template: TemplateProcess | None, when_open: Callable[[], None]) -> None:
        self.is_ending = False
        self._template, self._when_open = template, when_open
        self._child = 0
        self._shelf = ConnectionStore()

    def run_child(self) -> int | KeptConnections:
        """Fork a child: returns its exit status once it has ended; in the child, its custody."""
        channel = self._shelf.open()
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        self._child = fork(leads=True)
        if self._child == 0:
            if self._template is not None:
                self._template.forget()
            if channel is None:
                return KeptConnections()
            channel[1].close()
            return KeptConnections(channel[0], self._shelf.inherited())
        heed_signals()
        try:
            if channel is None:
                self._open()
            else:
                channel[0].close()
                with channel[1]:
                    connect = None if self._template is None else self._template.connect
                    self._shelf.follow(channel[1], connect, self._open)
        except BaseException:
            kill_group(self._child)
            raise
        # Until it is waited for, the child keeps its process id, so that no signal goes astray.
        os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOWAIT)
        child, self._child = self._child, 0
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _open(self) -> None:
        """Tell that connections are answered."""
        self._when_open()
        listening.tell(READY="1")

    def pass_on(self, signum: int, _: object) -> None:
        """Pass a signal that ends programs on to the child."""
        self.is_ending = True
        listening.tell(STOPPING="1")
        if self._child:
            os.kill(self._child, signum)


# ------------------------------------------------------------------------
# Custody of connections that wait for an answer, in another process.
#
# A killed server would take its connections with it, and game servers do not ask again. So a server
# passes each waiting connection to its supervisor, together with its message, and takes it back
# when there is an answer. A server that replaces a dead one inherits the connections that were
# waiting.
#
# The server sends datagrams of JSON to the supervisor, with the socket if there is one. In the same
# way it announces that it is open, and asks for workers (`nursery`).

MAX_CHARS = 20_000
"""Maximum length of a kept message: long enough for moves, not for rules."""

_MAX_KEPT = 128

_KEPT_FIELDS = ("text", "came_s", "peer", "receiver")
"""The fields of a request that the supervisor keeps."""

LOOK_S = 1
"""Maximum seconds of one wait. A signal that arrives just before the wait, or in another thread,
does not end it; Python runs its handler after the wait."""


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
    """The server's side of the custody of connections.

    Args:
        channel: to the supervisor; None if nothing can be kept.
        inherited: connections that an earlier server had not answered, by number.
    """

    def __init__(
        self,
        channel: socket.socket | None = None,
        inherited: dict[int, KeptConnection] | None = None,
    ) -> None:
        self._channel = None if channel is None else Channel(channel)
        self._numbers, self._inherited = count(max(inherited or (0,)) + 1), dict(inherited or {})
        if channel is not None:
            channel.setblocking(False)  # nothing is kept if the supervisor is stopped

    def take_over(self) -> list[KeptConnection]:
        """The connections that have been waiting since the time of an earlier server."""
        return list(self._inherited.values())

    def tell_open(self) -> None:
        """Announce that connections are answered."""
        self._tell({"open": True})

    @property
    def can_connect(self) -> bool:
        """Whether `connect` can reach a supervisor."""
        return self._channel is not None

    def connect(self, channel: socket.socket, anew: bool = False) -> None:
        """Have the supervisor pass a channel to the template, see `TemplateProcess.connect`."""
        with channel:
            self._tell({"template": anew}, channel.fileno())

    @contextlib.contextmanager
    def keeping(self, connection: int, request: Request) -> Iterator[None]:
        """Have a connection kept within the block, while it waits for the answer to a request.

        Args:
            connection: file descriptor.
        """
        numbers = (n for n, c in self._inherited.items() if c.socket.fileno() == connection)
        number = next(numbers, None)
        if number is None:
            number = next(self._numbers)
            if len(request.text) <= MAX_CHARS:
                fields = {name: getattr(request, name) for name in _KEPT_FIELDS}
                self._tell({"number": number, **fields}, connection)
        try:
            yield
        finally:
            self._inherited.pop(number, None)
            self._tell({"number": number})

    def _tell(self, message: dict[str, object], *connections: int) -> None:
        if self._channel is not None:
            with contextlib.suppress(OSError):
                self._channel.send(message, *connections)


class ConnectionStore:
    """The supervisor's side: connections that servers passed to it and have not taken back."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[int, Request]] = {}

    def open(self) -> tuple[socket.socket, socket.socket] | None:
        """A channel for the next server, as its end and ours; None if the system has none."""
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError:
            return None
        return theirs, ours

    def inherited(self) -> dict[int, KeptConnection]:
        """The kept connections, for a fork of this process that takes over."""
        return {
            number: KeptConnection(socket.socket(fileno=fd), request)
            for number, (fd, request) in self._entries.items()
        }

    def follow(
        self,
        channel: socket.socket,
        connect: Callable[[socket.socket, bool], None] | None = None,
        on_open: Callable[[], None] = lambda: None,
    ) -> None:
        """Carry out the messages of the server; returns when it has died.

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
            arrivals = messages.receive()
            if arrivals is None:
                return
            for message in arrivals:
                self._heed(message, messages.fds, connect, on_open)

    def _heed(
        self,
        message: dict[str, Any],
        fds: deque[int],
        connect: Callable[[socket.socket, bool], None] | None,
        on_open: Callable[[], None],
    ) -> None:
        """Carry out a message of the server."""
        fd = fds.popleft() if fds else None
        if "open" in message:
            on_open()
        elif "template" in message:
            if fd is not None:
                theirs = socket.socket(fileno=fd)
                with contextlib.suppress(OSError), theirs:  # if it closes, the server asks again
                    if connect is not None:
                        connect(theirs, bool(message["template"]))
        elif fd is None:
            entry = self._entries.pop(int(message["number"]), None)
            if entry is not None:
                os.close(entry[0])
        elif len(self._entries) < _MAX_KEPT:
            request = Request(**{name: message[name] for name in _KEPT_FIELDS})
            self._entries[int(message["number"])] = fd, request
        else:
            os.close(fd)
