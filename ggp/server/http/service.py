"""The protocol between a service manager and us, as in systemd, in a few lines.

The manager may hold the listening socket itself, so that it stays open whatever happens to us: then
the socket is file descriptor 3, and `LISTEN_PID` and `LISTEN_FDS` say so (sd_listen_fds(3)). It may
want to know our state: `NOTIFY_SOCKET` names the socket for that (sd_notify(3)). Without these
variables nothing here has any effect. Workers never see them.
"""

from __future__ import annotations

import contextlib
import os
import socket

_FIRST = 3
_LISTENING = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
_NOTIFYING = "NOTIFY_SOCKET"


def hands_over() -> bool:
    """Whether this process was given sockets."""
    return os.environ.get("LISTEN_PID") == str(os.getpid()) and "LISTEN_FDS" in os.environ


def socket_handed_over() -> socket.socket | None:
    """The listening socket that this process was given; None if there is none.

    The variables are removed, since children must not see them.

    Raises:
        ConfigError: it was given something else, or more than one socket.
    """
    if not hands_over():
        return None
    number = os.environ["LISTEN_FDS"]
    for name in _LISTENING:
        os.environ.pop(name, None)
    try:
        found = socket.socket(fileno=_FIRST)
        listens = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
        is_one = found.type == socket.SOCK_STREAM and found.family in _FAMILIES
        if not (listens and is_one and number == "1"):
            raise OSError("what is handed over is something else")
    except OSError as error:
        from ggp.errors import ConfigError

        raise ConfigError(
            f"LISTEN_FDS={number} promises one TCP socket that listens, as file descriptor "
            f"{_FIRST}: {error}; see ListenStream= in systemd.socket(5)"
        ) from error
    os.set_inheritable(_FIRST, False)
    return found


def tell(**news: str) -> None:
    """Tell the service manager, if there is one, our state: `tell(READY="1")`."""
    name = os.environ.get(_NOTIFYING)
    if not name:
        return
    address = f"\0{name[1:]}" if name.startswith("@") else name
    text = "\n".join(f"{key}={value}" for key, value in news.items())
    with (
        contextlib.suppress(OSError, ValueError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifying,
    ):
        notifying.settimeout(1.0)
        notifying.sendto(text.encode(), address)


_FAMILIES = (socket.AF_INET, socket.AF_INET6)
