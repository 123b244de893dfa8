"""The form of all messages between processes: a length in eight bytes, then that many bytes.

The receiver decides how to read the bytes. Between processes that trust each other they are pickled
objects (`calls`, `ggp.machine.forks`). A process that holds a stranger's rules sends JSON or plain
bytes, which are never unpickled: a pickle may run any code.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from collections import deque
from collections.abc import Mapping
from typing import IO, Any

_LENGTH = struct.Struct("<Q")
_MAX_AT_ONCE, _MAX_FDS = 1 << 18, 16
_CLOSED_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


def framed(body: bytes) -> bytes:
    """A message with its length in front."""
    return _LENGTH.pack(len(body)) + body


def read_message(pipe: IO[bytes]) -> bytes | None:
    """The next message of a blocking pipe; None at the pipe's end, even within a message."""
    header = pipe.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(header)
    body = pipe.read(size)
    return body if len(body) == size else None


class Messages:
    """Assembles messages from the pieces in which they arrive.

    Args:
        most_bytes: maximum length of a message.
    """

    def __init__(self, most_bytes: int = sys.maxsize) -> None:
        self._most_bytes, self._pieces = most_bytes, bytearray()

    def add(self, piece: bytes) -> list[bytes]:
        """The messages that a piece completes, in order.

        Raises:
            ValueError: the announced length of a message is too large.
        """
        self._pieces += piece
        complete = []
        while len(self._pieces) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._pieces)
            if size > self._most_bytes:
                raise ValueError(f"a message of {size} bytes")
            end = _LENGTH.size + size
            if len(self._pieces) < end:
                break
            complete.append(bytes(memoryview(self._pieces)[_LENGTH.size : end]))
            del self._pieces[:end]
        return complete


class Channel:
    """One end of a pair of sockets that carries JSON and file descriptors between two processes.

    Attributes:
        fds: descriptors that have arrived and are still to be taken, in order.
    """

    def __init__(self, end: socket.socket) -> None:
        self._end, self._messages = end, Messages()
        self.fds: deque[int] = deque()

    def fileno(self) -> int:
        """Its file descriptor, for selectors."""
        return self._end.fileno()

    def send(self, message: Mapping[str, object], *fds: int) -> None:
        """Send a message with copies of descriptors.

        Raises:
            OSError: the other end is closed, or its queue is full.
        """
        socket.send_fds(self._end, [framed(json.dumps(message).encode())], fds)

    def receive(self) -> list[dict[str, Any]] | None:
        """The messages that have arrived, perhaps none; None once the other end is closed."""
        try:
            piece, fds, _, _ = socket.recv_fds(self._end, _MAX_AT_ONCE, _MAX_FDS, _CLOSED_ON_EXEC)
        except BlockingIOError:
            return []
        except OSError:
            return None
        self.fds.extend(fds)
        return [json.loads(body) for body in self._messages.add(piece)] if piece else None

    def close(self) -> None:
        """Close this end, and the descriptors that nobody has taken."""
        self._end.close()
        while self.fds:
            os.close(self.fds.popleft())
