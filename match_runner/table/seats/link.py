"""The link between a match in a worker process and the server: one JSON object a line.

A worker connects to a socket in a folder that only this user may enter, and sends a key that it was
given for its match. From then on both sides may send messages at any time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ggp.errors import MatchError

MOST_LINE_BYTES = 1 << 26
"""Longest line that is read; pictures of hostile states are bounded far below."""

LAST_WORDS_S = 5.0
"""Most seconds of reading what is still in the socket of a worker that has finished its work."""

MOST_FOLDER_BYTES = 70
"""Longest name of the folder for temporary files in which a table's own folder is made: with it and
the socket's name, a path has 30 bytes more, and systems take 103 (macOS) or 107 (Linux)."""

Message = Mapping[str, Any]
"""An object with the field `kind`."""


class LinkBrokenError(MatchError):
    """The server is gone, or has ended the match."""


class WorkerLink:
    """The worker's end of the link.

    Args:
        path: path of the socket.
        key: key of the match.
        hear: called with every message of the server, in a thread of its own; with None when
            there will be no more.

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
        """Send the server a message.

        Raises:
            LinkBrokenError: the server is gone.
        """
        line = json.dumps(message).encode() + b"\n"
        try:
            with self._lock:
                self._socket.sendall(line)
        except OSError as error:
            raise LinkBrokenError("the match was ended") from error

    def close(self) -> None:
        """Close the link: no more is sent."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _read(self, hear: Callable[[Message | None], None]) -> None:
        with contextlib.suppress(OSError, ValueError), self._socket.makefile("rb") as lines:
            for line in lines:
                hear(json.loads(line))
        hear(None)


def make_private() -> Path:
    """A new folder that only this user may enter, near enough to the root for a socket in it."""
    usual = tempfile.gettempdir()
    is_far = len(os.fsencode(usual)) > MOST_FOLDER_BYTES
    return Path(tempfile.mkdtemp(prefix="ggp-table-", dir="/tmp" if is_far else usual))


class LinkExchange:
    """The server's end of all links.

    Attributes:
        path: path of the socket.
    """

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "table.sock")
        self._server: asyncio.Server | None = None
        self._hear: dict[str, Callable[[Message], None]] = {}
        self._writers: dict[str, asyncio.StreamWriter] = {}
        self._read: dict[str, asyncio.Event] = {}

    async def open(self) -> None:
        """Listen for workers."""
        self._server = await asyncio.start_unix_server(
            self._serve, self.path, limit=MOST_LINE_BYTES
        )

    async def close(self) -> None:
        """Break all links off."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers.values()):
            writer.transport.abort()

    def expect(self, key: str, hear: Callable[[Message], None]) -> None:
        """Expect a worker with this key; `hear` is called with its messages."""
        self._hear[key] = hear
        self._read[key] = asyncio.Event()

    async def all_heard(self, key: str) -> None:
        """Wait until all messages of a worker that has finished its work have been read.

        Its result comes another way, and may arrive earlier, even before the worker connected, or
        after the match was ended and its key forgotten: then nothing more is read.
        """
        if (read := self._read.get(key)) is None:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(read.wait(), LAST_WORDS_S)

    def forget(self, key: str) -> None:
        """Drop the worker with this key: no more is read from it."""
        self._hear.pop(key, None)
        if (read := self._read.pop(key, None)) is not None:
            read.set()  # whoever waits for its last words need not wait any longer
        writer = self._writers.pop(key, None)
        if writer is not None:
            writer.transport.abort()

    def send(self, key: str, message: Message) -> bool:
        """Send a worker a message; false if it is not connected."""
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
