"""Listening sockets for all servers of the project, opened without slow imports."""

from __future__ import annotations

import errno
import os
import socket

BACKLOG = 2048
"""Maximum number of waiting connections; the system may allow fewer."""


def listen(address: str, port: int) -> socket.socket:
    """A socket that listens on an address; port 0 stands for any free port.

    Raises:
        ConfigError: the address cannot be used, or the port is taken.
    """
    try:
        family = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((address, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:  # the last for impossible host names
        from ggp.errors import ConfigError

        reason = getattr(error, "strerror", None) or str(error)
        number = getattr(error, "errno", None)
        if isinstance(number, int) and number in errno.errorcode:
            reason = os.strerror(number)  # the socket module's message repeats the address
        message = f"cannot listen on {address} port {port}: {reason}"
        raise ConfigError(f"{message}; choose another with --port or --host") from error
