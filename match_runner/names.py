"""Names of hosts, looked up once a match, and never for longer than there is time to connect."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

Found = tuple[str, ...] | OSError | UnicodeError
"""Numeric addresses in the order they are to be tried, or why there are none."""


class Names:
    """Numeric addresses of hosts.

    Looking one up cannot be broken off, so it is done in a thread that nobody waits for longer
    than he has time. What it finds then is known the next time.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    async def of(self, host: str) -> tuple[str, ...]:
        """The numeric addresses of a host.

        Raises:
            OSError: it has none.
            UnicodeError: it cannot be the name of a host.
        """
        if host not in self._known:
            loop = asyncio.get_running_loop()
            done: asyncio.Future[Found] = loop.create_future()

            def look_up() -> None:
                found = _look_up(host)
                if isinstance(found, tuple):
                    self._known[host] = found
                with contextlib.suppress(RuntimeError):  # the loop is closed: too late
                    loop.call_soon_threadsafe(_tell, done, found)

            threading.Thread(target=look_up, name=f"ggp-name-{host}", daemon=True).start()
            found = await done
            if not isinstance(found, tuple):
                raise found
        return self._known[host]


def _look_up(host: str) -> Found:
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return error
    return tuple(dict.fromkeys(str(info[4][0]) for info in infos))


def _tell(done: asyncio.Future[Found], found: Found) -> None:
    if not done.done():
        done.set_result(found)
