"""Host names, looked up once a match, and never for longer than there is time to connect."""

from __future__ import annotations

import socket
import threading

_POLL_S = 0.002

Found = tuple[str, ...] | OSError | ValueError
"""Numeric addresses in the order in which to try them, or the error that explains their lack."""


class HostNames:
    """Numeric addresses of hosts.

    A lookup cannot be cancelled, so it runs in a thread, and callers wait for it only as long as
    they have time; a result that comes later is used the next time. Failed lookups are repeated.
    """

    def __init__(self) -> None:
        self._found: dict[str, Found] = {}
        self._threads: dict[str, threading.Thread] = {}

    async def of(self, host: str) -> tuple[str, ...]:
        """The numeric addresses of a host.

        Raises:
            OSError: the host has none.
            ValueError: the text cannot be the name of a host.
        """
        if not isinstance(self._found.get(host), tuple):
            import asyncio

            thread = self._threads.get(host)
            if thread is None or not thread.is_alive():
                thread = threading.Thread(target=self._look_up, args=(host,), daemon=True)
                self._threads[host] = thread
                thread.start()
            while thread.is_alive():
                await asyncio.sleep(_POLL_S)
        found = self._found[host]
        if not isinstance(found, tuple):
            raise found
        return found

    def _look_up(self, host: str) -> None:
        self._found[host] = _look_up(host)


def _look_up(host: str) -> Found:
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:
        return error
    return tuple(dict.fromkeys(str(info[4][0]) for info in infos))
