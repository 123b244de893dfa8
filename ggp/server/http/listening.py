"""Opens the server's listening socket before anything slow is imported.

Game servers treat a refused connection as an illegal move, and importing the server takes a fifth
of a second of CPU time, seconds on a busy machine. While a socket listens, connections wait in
its queue. So `listen_early` guesses the address from the command line and opens the socket, unless
a service manager holds one. `listening_on` returns the inherited socket, the early one if the guess
was right, or a new one.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Sequence

from ggp.run.sockets import listen

COMMAND = "serve"
DEFAULT_PORT = 9147
DEFAULT_ADDRESS = "127.0.0.1"
ALWAYS_S = 0.0
"""Start of the system on `time.monotonic`: an inherited socket may be that old."""

_early: dict[tuple[str, int], tuple[socket.socket, float]] = {}


def listen_early(arguments: Sequence[str]) -> None:
    """Open the socket that a command line asks for, if that is clear.

    Args:
        arguments: of the program, without its name.
    """
    address = _address(arguments)
    if address is None or hands_over():
        return
    try:
        _early[address] = listen(*address), time.monotonic()
    except Exception:  # opening it again later reports the error
        return


def listening_on(address: str, port: int) -> tuple[socket.socket, float]:
    """The socket to listen on: an inherited one, one opened early, or a new one.

    Returns:
        The socket, and since when messages arrive there, on `time.monotonic`.

    Raises:
        ConfigError: see `listen`, or the inherited file is not a listening socket.
    """
    handed_over = socket_handed_over()
    early = _early.pop((address, port), None)
    for unused, _ in _early.values():
        unused.close()
    _early.clear()
    if handed_over is not None:
        return handed_over, ALWAYS_S
    return early or (listen(address, port), time.monotonic())


def _address(arguments: Sequence[str]) -> tuple[str, int] | None:
    """The address on which `ggp serve` will listen; None for other commands, or if unclear."""
    words = iter(arguments)
    if next((word for word in words if not word.startswith("-")), "") != COMMAND:
        return None
    options = {"--host": DEFAULT_ADDRESS, "--port": str(DEFAULT_PORT)}
    for word in words:
        name, has_value, value = word.partition("=")
        if name == "--help":
            return None
        if name in options:
            options[name] = value if has_value else next(words, "")
    try:
        port = int(options["--port"])
    except ValueError:
        return None
    return options["--host"], port


# ------------------------------------------------------------------------
# The protocol of systemd between a service manager and us, in a few lines.
#
# The manager may hold the listening socket, so that it stays open whatever happens to us: then the
# socket is file descriptor 3, and `LISTEN_PID` and `LISTEN_FDS` announce it (sd_listen_fds(3)). It
# may want to know our state: `NOTIFY_SOCKET` names the socket for that (sd_notify(3)). Without
# these variables nothing here has any effect. Workers never see them.

_FIRST = 3
_LISTENING = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
_NOTIFYING = "NOTIFY_SOCKET"


def hands_over() -> bool:
    """Whether this process inherited sockets."""
    return os.environ.get("LISTEN_PID") == str(os.getpid()) and "LISTEN_FDS" in os.environ


def socket_handed_over() -> socket.socket | None:
    """The listening socket that this process inherited; None if there is none.

    Removes the variables, since children must not see them.

    Raises:
        ConfigError: it inherited something else, or more than one socket.
    """
    if not hands_over():
        return None
    num_fds = os.environ["LISTEN_FDS"]
    for name in _LISTENING:
        os.environ.pop(name, None)
    try:
        inherited = socket.socket(fileno=_FIRST)
        listens = inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
        is_one = inherited.type == socket.SOCK_STREAM and inherited.family in _FAMILIES
        if not (listens and is_one and num_fds == "1"):
            raise OSError("this is something else")
    except OSError as error:
        from ggp.errors import ConfigError

        raise ConfigError(
            f"LISTEN_FDS={num_fds} must stand for one listening TCP socket, file descriptor "
            f"{_FIRST}: {error}; see ListenStream= in systemd.socket(5)"
        ) from error
    os.set_inheritable(_FIRST, False)
    return inherited


def tell(**news: str) -> None:
    """Report our state to the service manager, if there is one: `tell(READY="1")`."""
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
