"""The line between a match in a worker process and the server: one JSON object a line.

A worker connects to a socket in a folder that only this user may enter, and says a key that it was
given for its match. From then on both sides may speak at any time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ggp.errors import MatchError

MOST_LINE_BYTES = 1 << 26
"""Longest line that is read; pictures of hostile states are bounded far below."""

LAST_WORDS_S = 5.0
"""What is in the socket of a worker that has done its work is read in so much time."""

Message = Mapping[str, Any]
"""An object with the field `kind`."""


class LinkBrokenError(MatchError):
    """The server is gone, or has ended the match."""


class WorkerLink:
    """The worker's end.

    Args:
        path: of the socket.
        key: of the match.
        hear: told every message of the server, in a thread of its own; None when there will be no
            more.

    Raises:
        LinkBrokenError: there is no server.
    """

    def __init__(self, path: str, key: str, hear: Callable[[Message | None], None]) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._lock = threading.Lock()
        try:
            self._socket.connect(path)
        except OSError as error:
            raise LinkBrokenError(f"the table is gone: {error}") from error
        self.send({"kind": "hello", "key": key})
        threading.Thread(target=self._read, args=(hear,), daemon=True).start()

    def send(self, message: Message) -> None:
        """Tell the server something.

        Raises:
            LinkBrokenError: nobody is there.
        """
        line = json.dumps(message).encode() + b"\n"
        try:
            with self._lock:
                self._socket.sendall(line)
        except OSError as error:
            raise LinkBrokenError("the match was ended") from error

    def close(self) -> None:
        """No more is said."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _read(self, hear: Callable[[Message | None], None]) -> None:
        with contextlib.suppress(OSError, ValueError), self._socket.makefile("rb") as lines:
            for line in lines:
                hear(json.loads(line))
        hear(None)


class Exchange:
    """The server's end of all lines.

    Attributes:
        path: of the socket.
    """

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "table.sock")
        self._server: asyncio.Server | None = None
        self._hear: dict[str, Callable[[Message], None]] = {}
        self._writers: dict[str, asyncio.StreamWriter] = {}
        self._read: dict[str, asyncio.Event] = {}

    async def open(self) -> None:
        """Listen."""
        self._server = await asyncio.start_unix_server(
            self._serve, self.path, limit=MOST_LINE_BYTES
        )

    async def close(self) -> None:
        """Break all lines off."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers.values()):
            writer.transport.abort()

    def expect(self, key: str, hear: Callable[[Message], None]) -> None:
        """Somebody will say this key; `hear` is told what else it says."""
        self._hear[key] = hear
        self._read[key] = asyncio.Event()

    async def all_heard(self, key: str) -> None:
        """Wait until everything was heard that a worker said who has done its work.

        What it returned comes another way, and may be here before, even before the line was begun.
        """
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._read[key].wait(), LAST_WORDS_S)

    def forget(self, key: str) -> None:
        """Nothing more is heard from whoever said this key."""
        self._hear.pop(key, None)
        self._read.pop(key, None)
        writer = self._writers.pop(key, None)
        if writer is not None:
            writer.transport.abort()

    def send(self, key: str, message: Message) -> bool:
        """Tell a worker something; false if it is not there."""
        writer = self._writers.get(key)
        if writer is None or writer.transport.is_closing():
            return False
        writer.write(json.dumps(message).encode() + b"\n")
        return True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        key = ""
        try:
            key = str(json.loads(await reader.readline()).get("key", ""))
            if key not in self._hear:
                return
            self._writers[key] = writer
            while line := await reader.readline():
                hear = self._hear.get(key)
                if hear is None:
                    return
                hear(json.loads(line))
        except (OSError, ValueError, AttributeError, asyncio.IncompleteReadError):
            pass  # the worker is gone, and its pool says how
        finally:
            if key in self._read:
                self._read[key].set()
            writer.close()
