"""Asks the remote players of a match for moves, over HTTP, all at the same time, on their own
clocks.

The referee calls it in every turn, and gets moves and faults. The event loop here only waits for
sockets; it calls no reasoner. An error of a player costs it its move, and costs the others only the
time on its clock.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import re
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from ggp.errors import ConfigError
from ggp.gdl.source import printable
from ggp.machine.definition import GameDefinition
from ggp.protocol.messages import BUSY, Dialect
from match_runner.remote.wire import (
    DRESDEN,
    GGP_BASE,
    ConnectingTime,
    LastTurn,
    NotAMoveError,
    RemoteSide,
    Server,
    Wire,
)

DEFAULT_START_CLOCK_S = 30

MAX_SHOWN = 200
"""Most characters of a player's message that we show."""

_ABORT_S = 1.0
_BUSY_S = 1.0
_MAX_OF_NAME = 40
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RemoteConditions:
    """How to address remote players.

    Attributes:
        server: the server to imitate.
        dialect: dialect of the messages; None for the newest that suits the rules.
        start_clock_s: time before the first turn.
        scramble: whether to change names, by the match's seed.
        patience_s: seconds for which we repeat the start message to a busy player; servers in the
            field do not repeat it.
    """

    server: Server = DRESDEN
    dialect: Dialect | None = None
    start_clock_s: int = DEFAULT_START_CLOCK_S
    scramble: bool = False
    patience_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RemoteFault:
    """Something that a remote player did wrong.

    Attributes:
        kind: one of `match_runner.match.records.FAULTS`.
        text: the details, on one line.
    """

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class RemoteAnswer:
    """Answer of a remote player to a request for a move.

    Attributes:
        submitted: a move in canonical KIF, or a text that is no move; None if nothing came in time.
        seconds: time that the answer took.
        trouble: why there is no move; None if there is one.
    """

    submitted: str | None
    seconds: float
    trouble: RemoteFault | None = None


def new_match_id(game: str, conditions: RemoteConditions) -> str:
    """A new, unique match id: players take a known id for a repeated message.

    If names are scrambled, the id does not give away the game.
    """
    game_name = "" if conditions.scramble else Path(game).stem[:_MAX_OF_NAME]
    letters = "".join(c if c.isascii() and c.isalnum() else "_" for c in game_name)
    return f"{letters or 'match'}.{uuid.uuid4().hex[:12]}"


def check_clocks(play_clock_s: float | None) -> int:
    """The play clock for messages to remote players, in whole seconds.

    Raises:
        ConfigError: there is no play clock, or it is not a whole number.
    """
    if play_clock_s is None:
        raise ConfigError("remote players need a clock; give --play-clock SECONDS")
    if play_clock_s != math.floor(play_clock_s) or play_clock_s < 1:
        raise ConfigError(
            f"remote players need whole seconds, so --play-clock cannot be {play_clock_s:g}"
        )
    return int(play_clock_s)


class RemotePlayers:
    """All remote players of one match.

    Args:
        program: the rules to send them.
        addresses: of the players, by role index.
        conditions: how to address the players.
        play_clock_s: see `check_clocks`.
        match_id: a new id, see `new_match_id`.
        rng: draws the scrambled names.

    Raises:
        ConfigError: the dialect does not suit the rules or the server.
    """

    def __init__(
        self,
        program: GameDefinition,
        addresses: Mapping[int, Address],
        conditions: RemoteConditions,
        play_clock_s: int,
        match_id: str,
        rng: np.random.Generator,
    ) -> None:
        self._conditions, self._server = conditions, conditions.server
        self._addresses = addresses
        self._roles = program.roles
        self._play_clock_s = play_clock_s
        self._wire = Wire(
            program,
            conditions.server,
            conditions.dialect,
            rng if conditions.scramble else None,
        )
        self._match_id = match_id
        shared = Counter(addresses.values())
        # One address may play several roles: then its player sees several matches.
        self._ids = {
            role: match_id if shared[address] == 1 else f"{match_id}.{role}"
            for role, address in addresses.items()
        }
        self._names = HostNames()
        self._connecting = {role: ConnectingTime(self._server) for role in addresses}

    @property
    def side(self) -> RemoteSide:
        """How these players were addressed, for the record of the match."""
        return RemoteSide(
            self._match_id,
            str(self._wire.dialect),
            self._conditions.start_clock_s,
            self._conditions.scramble,
        )

    def start(self) -> dict[int, RemoteFault]:
        """Send all players the start message, and wait until all are ready or time is up.

        Their answers do not matter; the match goes on in any case. But for up to `patience_s`, send
        the message to all again while a player is busy with another match.
        """
        start_s = self._conditions.start_clock_s
        bodies = {
            role: self._wire.start(self._ids[role], self._roles[role], start_s, self._play_clock_s)
            for role in self._addresses
        }
        until_s = time.monotonic() + self._conditions.patience_s
        while True:
            replies = self._send(bodies, start_s + self._server.start_grace_s)
            is_busy = any(reply.text.strip().lower() == BUSY for _, reply in replies)
            if not is_busy or time.monotonic() >= until_s:
                break
            _log.info("a player is busy: the match waits")
            time.sleep(_BUSY_S)
        return {
            role: _trouble(reply, "when told of the match")
            for role, reply in replies
            if reply.outcome in (PostResult.LATE, PostResult.UNREACHABLE)
        }

    def ask(self, turn: int, last_turns: Mapping[int, LastTurn]) -> dict[int, RemoteAnswer]:
        """Ask all players for their moves; the answers are in role order.

        Args:
            turn: from 0.
            last_turns: the last turn as each role sees it; empty in the first turn.
        """
        bodies = {
            role: self._wire.play(id_, turn, last_turns.get(role))
            for role, id_ in self._ids.items()
        }
        replies = self._send(bodies, self._play_clock_s + self._server.play_grace_s)
        return {role: self._answer(reply) for role, reply in replies}

    def stop(self, turns: int, last_turns: Mapping[int, LastTurn]) -> None:
        """Send all players the message that the match is over, after `turns` turns."""
        ids = self._ids.items()
        bodies = {role: self._wire.stop(name, turns, last_turns.get(role)) for role, name in ids}
        self._tell(bodies, self._play_clock_s + self._server.play_grace_s)

    def abort(self, turns: int, last_turns: Mapping[int, LastTurn]) -> None:
        """Send all players the message that the match ends early, if the dialect has one."""
        ids = self._ids.items()
        bodies = {
            role: self._wire.abort(name) or self._wire.stop(name, turns, last_turns.get(role))
            for role, name in ids
        }
        self._tell(bodies, _ABORT_S)

    def _tell(self, bodies: Mapping[int, str], limit_s: float) -> None:
        for role, reply in self._send(bodies, limit_s):
            if reply.outcome is not PostResult.ANSWERED:
                _log.info("%s %s at the end", self._roles[role], reply.text)

    def _send(self, bodies: Mapping[int, str], limit_s: float) -> list[tuple[int, PostReply]]:
        """Send all messages at the same time; return the replies in role order."""
        import asyncio

        async def send_all() -> list[PostReply]:
            return await asyncio.gather(
                *(
                    post(
                        bodies[role],
                        self._addresses[role],
                        self._server,
                        self._connecting[role],
                        limit_s,
                        self._names,
                    )
                    for role in roles
                )
            )

        roles = sorted(bodies)
        for role in roles:
            _log.debug("to %s: %s", self._addresses[role], bodies[role])
        replies = asyncio.run(send_all())
        for role, reply in zip(roles, replies, strict=True):
            _log.debug("from %s: %s %s", self._addresses[role], reply.outcome, _cut(reply.text))
        return list(zip(roles, replies, strict=True))

    def _answer(self, reply: PostReply) -> RemoteAnswer:
        if reply.outcome is not PostResult.ANSWERED:
            return RemoteAnswer(None, reply.seconds, _trouble(reply, "when asked to move"))
        try:
            move = self._wire.read_move(reply.text)
        except NotAMoveError as error:
            text = _cut(str(error))
            trouble = RemoteFault("illegal", f"answered {text or 'nothing'}, which is not a move")
            return RemoteAnswer(text, reply.seconds, trouble)
        return RemoteAnswer(move, reply.seconds)


def _trouble(reply: PostReply, when: str) -> RemoteFault:
    return RemoteFault(str(reply.outcome), f"{_cut(reply.text)} {when}")


def _cut(text: str) -> str:
    """A text from outside on one line of bounded length."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= MAX_SHOWN else line[:MAX_SHOWN] + "..."


# ------------------------------------------------------------------------
# Sends one message to a player over HTTP, byte for byte like servers in the field.
#
# A message and an address come in; a `PostReply` comes back, or says what went wrong. It uses no
# HTTP library, because libraries prevent exactly the habits of these servers: lengths counted in
# characters, requests without Host, and replies that end with the stream.
#
# Few matches have remote players, so asyncio is imported only for them.

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
    """Outcome of sending a message: an answer, or a kind of fault, see `RemoteFault`."""

    ANSWERED = "answered"
    UNREACHABLE = "unreachable"
    LATE = "late"
    MALFORMED = "illegal"


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
