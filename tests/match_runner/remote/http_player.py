"""A remote player over real sockets that follows a script, good or bad."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ggp.protocol.messages import DONE, READY, Play, Start
from ggp.protocol.reading import parse_message

MAX_S = 60.0
"""Nothing in these tests is waited for longer."""


def http(body: str, *, length: int | None = None, status: str = "200 OK") -> bytes:
    """A reply as a good player sends it."""
    data = body.encode()
    header = f"HTTP/1.0 {status}\r\nContent-Type: text/acl\r\nContent-Length: "
    return f"{header}{len(data) if length is None else length}\r\n\r\n".encode() + data


@dataclass(frozen=True)
class Behaviour:
    """The treatment of one connection after its request.

    Attributes:
        data: the bytes to send.
        hold: whether the socket then stays open until the peer or the test is done.
    """

    data: bytes = b""
    hold: bool = False


SILENT = Behaviour(hold=True)
CLOSING = Behaviour()

Action = str | Behaviour | Callable[[str], str]
"""A move, something else, or a function of the message that gives a move."""


@dataclass
class HttpPlayer:
    """Answers start with `ready`, stop with `done`, and the n-th play message as scripted.

    Attributes:
        moves: answers to play messages; the last one serves for all later ones.
        start: the answer to start.
        requests: every request as bytes.
    """

    moves: Sequence[Action] = ("noop",)
    start: Action = READY
    requests: list[bytes] = field(default_factory=list)
    port: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._plays = 0
        self._over = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def messages(self) -> list[str]:
        """The bodies of all requests."""
        return [request.partition(b"\r\n\r\n")[2].decode() for request in self.requests]

    def serve(self, listener: socket.socket) -> None:
        while not self._over.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._handle, args=(connection,), daemon=True).start()

    def stop(self) -> None:
        self._over.set()

    def _handle(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.settimeout(MAX_S)
            body = self._read(connection)
            behaviour = self._behaviour(body)
            connection.sendall(behaviour.data)
            if behaviour.hold:
                while not self._over.is_set() and connection.recv(100):
                    pass

    def _read(self, connection: socket.socket) -> str:
        data = b""
        while b"\r\n\r\n" not in data or len(_body(data).decode()) < _length(data):
            chunk = connection.recv(1 << 16)
            if not chunk:
                break
            data += chunk
        with self._lock:
            self.requests.append(data)
        return _body(data).decode()

    def _behaviour(self, body: str) -> Behaviour:
        match parse_message(body):
            case Start():
                action = self.start
            case Play():
                with self._lock:
                    action = self.moves[min(self._plays, len(self.moves) - 1)]
                    self._plays += 1
            case _:
                action = DONE
        if callable(action):
            action = action(body)
        return action if isinstance(action, Behaviour) else Behaviour(http(action))


@contextmanager
def playing(player: HttpPlayer) -> Iterator[HttpPlayer]:
    """The player listening at a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        player.port = listener.getsockname()[1]
        thread = threading.Thread(target=player.serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield player
        finally:
            player.stop()
            listener.shutdown(socket.SHUT_RDWR)
    thread.join(MAX_S)


def free_port() -> int:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _body(data: bytes) -> bytes:
    return data.partition(b"\r\n\r\n")[2]


def _length(data: bytes) -> int:
    for line in data.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0
