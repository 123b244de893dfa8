"""The supervisor: a small process that keeps the listening socket and restarts a dead server.

Game servers take a refused connection for an illegal move. While a socket is open somewhere,
connections wait in its queue until a process accepts them. So the process that opened it does
nothing else: the server is its child, a fork that already has all modules and the socket and is
ready in a moment. With logs it continues its matches (`restore`). Connections that wait for an
answer are kept too (`kept_connections`), so that even those are answered, and so is the template of
the workers (`template`), with the workers that are ready.

    parent:  listen, fork, keep ... the child died: fork, keep ... it ended: end
    child:           serve                          serve

Ctrl-C in a terminal reaches only the supervisor, which passes it on. If the supervisor is killed,
the system kills the child (on Linux).
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from ggp.errors import GGPError
from ggp.run.processes import fork, how_it_ended
from ggp.server.http import listening
from ggp.server.http.kept_connections import ConnectionStore, KeptConnections
from ggp.server.workers.nursery import TemplateProcess

MOST_DEATHS = 10
WITHIN_S = 10.0
"""A server that died so often in so short a time would only die again. Somebody who kills it at
every other move is slower."""

_ENDING = (signal.SIGINT, signal.SIGTERM)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shift:
    """The initial state of a child.

    Attributes:
        is_first: whether it is the first one.
        custody: keeps the connections that wait for an answer.
    """

    is_first: bool
    custody: KeptConnections


def stay_up(template: TemplateProcess | None = None) -> Shift:
    """Continue in a child; this process starts another whenever a child dies.

    Signals that end programs (SIGINT, SIGTERM) are blocked in the child until it has handlers for
    them: see `heed_signals`. Must be called while there is one thread.

    Args:
        template: source of the workers of all children; None if each child has its own.

    Returns:
        In each child: its initial state.

    Raises:
        SystemExit: in this process, when a child ended by itself or was told to.
        GGPError: in this process, when children die again and again.
        OSError: in this process, when the system cannot start a child.
    """
    deaths: deque[float] = deque(maxlen=MOST_DEATHS)
    supervisor = _Supervisor(template)
    with supervisor.passing_on():
        while isinstance(ended := supervisor.run_child(), int):
            if ended == 0 or supervisor.is_ending:
                supervisor.close()
                raise SystemExit(0)
            how = how_it_ended(ended)
            deaths.append(time.monotonic())
            if len(deaths) == MOST_DEATHS and deaths[-1] - deaths[0] < WITHIN_S:
                raise GGPError(
                    f"the server died {MOST_DEATHS} times within {WITHIN_S:g} s, the last time by "
                    f"{how}; see the lines above, or start it without these logs"
                )
            _log.warning("the server died (%s) and is started again", how)
    return Shift(not deaths, ended)


def heed_signals() -> None:
    """Unblock the signals that `stay_up` has blocked, in a child that has handlers for them."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


class _Supervisor:
    """The state of the supervisor.

    Attributes:
        is_ending: whether it was told to end.
    """

    def __init__(self, template: TemplateProcess | None) -> None:
        self.is_ending = False
        self._template = template
        self._child = 0
        self._shelf = ConnectionStore()

    def run_child(self) -> int | KeptConnections:
        """The exit status of a new child, once it has ended; in the child, its custody."""
        channel = self._shelf.open()
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        self._child = fork(leads=True)
        if self._child == 0:
            if self._template is not None:
                self._template.forget()
            if channel is None:
                return KeptConnections()
            channel[1].close()
            return KeptConnections(channel[0], self._shelf.found())
        heed_signals()
        if channel is not None:
            channel[0].close()
            with channel[1]:
                connect = None if self._template is None else self._template.connect
                self._shelf.follow(channel[1], connect, lambda: listening.tell(READY="1"))
        # Not waited for yet, the child keeps its process id: no signal goes to another process.
        os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOWAIT)
        child, self._child = self._child, 0
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def close(self) -> None:
        """End the template of the workers."""
        if self._template is not None:
            self._template.close()

    @contextlib.contextmanager
    def passing_on(self) -> Iterator[None]:
        """Pass signals that end programs on to the child; ignored ones stay ignored."""
        before = {
            number: signal.signal(number, self._pass_on)
            for number in _ENDING
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _pass_on(self, number: int, _: object) -> None:
        self.is_ending = True
        listening.tell(STOPPING="1")
        if self._child:
            os.kill(self._child, number)
