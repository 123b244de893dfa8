"""Opens the server's listening socket before anything that is slow to import.

Game servers take a refused connection for an illegal move, and importing the server takes half a
second of CPU time, which on a busy machine is several. While a socket listens, connections wait in
it. So `listen_early` opens it as soon as the command line says where, or takes it from a service
manager that holds it (`service`). Its reading of the command line is a guess: `listening_on`
returns the socket if the guess was right, and otherwise a new one.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence

from ggp.run.sockets import listen
from ggp.server.http import service

COMMAND = "serve"
DEFAULT_PORT = 9147
DEFAULT_ADDRESS = "127.0.0.1"
ALWAYS_S = 0.0
"""When the system started, on `time.monotonic`: an inherited socket may be that old."""

_early: dict[tuple[str, int], tuple[socket.socket, float]] = {}


def listen_early(arguments: Sequence[str]) -> None:
    """Open the socket that a command line asks for, if that is clear.

    Args:
        arguments: those after the name of the program.
    """
    where = _address(arguments)
    if where is None or service.hands_over():
        return
    try:
        _early[where] = listen(*where), time.monotonic()
    except Exception:  # the regular opening reports what is wrong
        return


def listening_on(address: str, port: int) -> tuple[socket.socket, float]:
    """The socket to listen on: an inherited one, one opened early, or a new one.

    Returns:
        The socket, and since when messages arrive there, on `time.monotonic`.

    Raises:
        ConfigError: see `listen`, or what was inherited is not a listening socket.
    """
    handed_over = service.socket_handed_over()
    found = _early.pop((address, port), None)
    for other, _ in _early.values():
        other.close()
    _early.clear()
    if handed_over is not None:
        return handed_over, ALWAYS_S
    return found or (listen(address, port), time.monotonic())


def _address(arguments: Sequence[str]) -> tuple[str, int] | None:
    """Where `ggp serve` is to listen; None for other commands, or if unclear."""
    own = iter(arguments)
    if next((each for each in own if not each.startswith("-")), "") != COMMAND:
        return None
    given = {"--host": DEFAULT_ADDRESS, "--port": str(DEFAULT_PORT)}
    for each in own:
        name, has_value, value = each.partition("=")
        if name == "--help":
            return None
        if name in given:
            given[name] = value if has_value else next(own, "")
    try:
        port = int(given["--port"])
    except ValueError:
        return None
    return given["--host"], port
