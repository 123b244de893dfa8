"""Sends one message to a player over HTTP, byte for byte like servers in the field.

A message and an address come in; a `PostReply` comes back, or says what went wrong. It uses no HTTP
library, because libraries prevent exactly the habits of these servers: lengths counted in
characters, requests without Host, and replies that end with the stream.

Few matches have remote players, so asyncio is imported only for them.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ggp.errors import ConfigError
from match_runner.remote.wire import DRESDEN, GGP_BASE, ConnectingTime, Server

if TYPE_CHECKING:
    import asyncio


DEFAULT_PORT = 9147

MAX_REPLY_BYTES = 1 << 20
"""Most bytes of a reply that we read; no move is that long."""

_CHUNK = 1 << 16
_HOST_AND_PORT = re.compile(r"[^\s:=]+:\d+/?")
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/\d\.\d +(\d{3})([^\r\n]*)")
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,9})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)

_DRESDEN_HEADER = (
    "POST / HTTP/1.0\r\nAccept: text/delim\r\nSender: Gamecontroller\r\nReceiver: {host}\r\n"
    "Content-type: text/acl\r\nContent-length: {length}\r\n\r\n"
)
_GGP_BASE_HEADER = (
    "POST / HTTP/1.0\r\nAccept: text/delim\r\nHost: {host}\r\nSender: GAMESERVER\r\n"
    "Receiver: {host}\r\nContent-Type: text/acl\r\nContent-Length: {length}\r\n\r\n"
)
_HEADERS: Mapping[str, str] = {DRESDEN.name: _DRESDEN_HEADER, GGP_BASE.name: _GGP_BASE_HEADER}


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a player."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def is_address(text: str) -> bool:
    """Whether a text is meant as a player's address, not as its spec."""
    return "://" in text or _HOST_AND_PORT.fullmatch(text) is not None


def parse_address(text: str) -> Address:
    """Read `http://host:port`.

    Raises:
        ConfigError: it is something else.
    """
    wrong = ConfigError(
        f"{text!r} is not the address of a player; it must be like http://localhost:{DEFAULT_PORT}"
    )
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise wrong from error
    extra = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    if parts.scheme != "http" or not host or extra or port == 0:
        raise wrong
    return Address(host, port or DEFAULT_PORT)


class PostResult(StrEnum):
    """Outcome of sending a message."""

    ANSWERED = "answered"
    UNREACHABLE = "unreachable"
    LATE = "late"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class PostReply:
    """Reply to a message.

    Attributes:
        outcome: outcome of sending the message.
        text: the body of an answer; otherwise the error.
        seconds: time from the connection to the end.
    """

    outcome: PostResult
    text: str
    seconds: float


def request_bytes(body: str, address: Address, server: Server) -> bytes:
    """The whole request; its length is counted in characters, as servers count it."""
    host = address.host.encode("ascii", "replace").decode()
    header = _HEADERS[server.name].format(host=host, length=len(body))
    return (header + body).encode()


async def post(
    body: str,
    address: Address,
    server: Server,
    connecting: ConnectingTime,
    limit_s: float,
    names: HostNames,
) -> PostReply:
    """Send a message and read the reply; whatever the player does, this raises no exception.

    Args:
        connecting: time left to connect, lookup of the host name included; the time used is
            deducted.
        limit_s: most seconds from the connection to the end of the reply.
        names: looks up host names.
    """
    import asyncio

    clock = asyncio.get_running_loop().time
    started = clock()
    try:
        async with asyncio.timeout(connecting.limit_s):
            reader, writer = await _connect(address, names)
    except TimeoutError:
        text = f"accepted no connection within {clock() - started:.1f} s"
        return PostReply(PostResult.UNREACHABLE, text, 0.0)
    except (OSError, ValueError) as error:
        return PostReply(PostResult.UNREACHABLE, f"cannot be connected to: {_reason(error)}", 0.0)
    finally:
        connecting.spend(clock() - started)
    started = clock()
    data = bytearray()
    try:
        async with asyncio.timeout(limit_s):
            await _exchange(reader, writer, request_bytes(body, address, server), server, data)
    except TimeoutError:
        text = "did not end its answer" if data else "gave no answer"
        return PostReply(PostResult.LATE, f"{text} within {limit_s:g} s", clock() - started)
    except OSError as error:
        if not data:
            text = f"broke the connection off: {_reason(error)}"
            return PostReply(PostResult.UNREACHABLE, text, clock() - started)
    finally:
        writer.transport.abort()  # closing must not wait for a peer that does not read
    return read_reply(bytes(data), server, clock() - started)


async def _connect(
    address: Address, names: HostNames
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first numeric address that accepts a connection.

    Raises:
        OSError: no address accepts one.
        ValueError: the text cannot be a host name.
    """
    import asyncio

    *earlier, last = await names.of(address.host)
    for host in earlier:
        with contextlib.suppress(OSError):
            return await asyncio.open_connection(host, address.port)
    return await asyncio.open_connection(last, address.port)


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    request: bytes,
    server: Server,
    data: bytearray,
) -> None:
    """Write the request, then read until the reply is complete."""
    writer.write(request)
    await writer.drain()
    while len(data) <= MAX_REPLY_BYTES:
        chunk = await reader.read(_CHUNK)
        data += chunk
        if not chunk or (not server.reads_to_end and _is_whole(data)):
            return


def _is_whole(data: bytearray) -> bool:
    """Whether a reply is as long as its header says."""
    end = _HEADER_END.search(data)
    if end is None:
        return False
    length = _LENGTH.search(data, 0, end.end())
    return length is not None and len(data) - end.end() >= int(length[1])


def read_reply(data: bytes, server: Server, seconds: float) -> PostReply:
    """Parse a reply as the server would."""

    def malformed(text: str) -> PostReply:
        return PostReply(PostResult.MALFORMED, text, seconds)

    if not data:
        return PostReply(PostResult.UNREACHABLE, "closed the connection without an answer", seconds)
    if len(data) > MAX_REPLY_BYTES:
        return malformed(f"sent more than {MAX_REPLY_BYTES:,} bytes")
    status, end = _STATUS.match(data), _HEADER_END.search(data)
    if status is None or end is None:
        return malformed("sent no HTTP header")
    if status[1] != b"200":
        reason = (status[1] + status[2]).decode("latin-1")
        return malformed(f"answered with HTTP status {reason[:80]}")
    body = data[end.end() :]
    length = _LENGTH.search(data, 0, end.end())
    if not server.reads_to_end and length is not None:
        if len(body) < int(length[1]):
            return malformed("sent less than its Content-Length says")
        body = body[: int(length[1])]
    return PostReply(PostResult.ANSWERED, body.decode("utf-8", "replace"), seconds)


def _reason(error: Exception) -> str:
    """The bare reason of an error: asyncio puts addresses into its texts."""
    number = getattr(error, "errno", None)
    if number is not None and number > 0:
        return os.strerror(number)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


# ------------------------------------------------------------------------
# Host names: looked up once a match, within the time that is left to connect.

_POLL_S = 0.002

LookUp = tuple[str, ...] | OSError | ValueError
"""Numeric addresses in the order to try them, or the error of the lookup."""


class HostNames:
    """Numeric addresses of hosts.

    A lookup cannot be cancelled, so it runs in a thread, and callers wait only as long as they have
    time; a later result serves the next call. Failed lookups are repeated.
    """

    def __init__(self) -> None:
        self._look_ups: dict[str, LookUp] = {}
        self._threads: dict[str, threading.Thread] = {}

    async def of(self, host: str) -> tuple[str, ...]:
        """The numeric addresses of a host.

        Raises:
            OSError: the host has none.
            ValueError: the text cannot be a host name.
        """
        if not isinstance(self._look_ups.get(host), tuple):
            import asyncio

            thread = self._threads.get(host)
            if thread is None or not thread.is_alive():
                thread = threading.Thread(target=self._look_up, args=(host,), daemon=True)
                self._threads[host] = thread
                thread.start()
            while thread.is_alive():
                await asyncio.sleep(_POLL_S)
        addresses = self._look_ups[host]
        if not isinstance(addresses, tuple):
            raise addresses
        return addresses

    def _look_up(self, host: str) -> None:
        self._look_ups[host] = _look_up(host)


def _look_up(host: str) -> LookUp:
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:
        return error
    return tuple(dict.fromkeys(str(info[4][0]) for info in infos))
