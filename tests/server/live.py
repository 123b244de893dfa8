"""A server of players in a thread of this process, and clients that talk to it by sockets."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ggp.run.sockets import listen
from ggp.server.host import Host
from ggp.server.http.http_server import HttpServer
from ggp.server.settings import HostOptions
from ggp.server.workers.nursery import Nursery, Taken, TemplateProcess
from ggp.server.workers.pool import WorkerProcess, connected

PATIENCE_S = 120.0
"""How long anything may take before a test fails: machines may be busy."""

GUESSING = """
(role guesser) (role random) (bit 0) (bit 1) (init (turn 0))
(succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal guesser (guess ?b)) (bit ?b))
(<= (legal guesser pass) (true (turn 1)))
(<= (legal random (hide ?b)) (bit ?b))
(<= (sees guesser (hint ?b)) (does random (hide ?b)))
(<= (next (turn ?y)) (true (turn ?x)) (succ ?x ?y))
(<= (next (hidden ?b)) (does random (hide ?b)))
(<= (next right) (does guesser (guess ?b)) (true (hidden ?b)))
(<= terminal (true (turn 3)))
(<= (goal guesser 100) (true right))
(<= (goal guesser 0) (not (true right)))
(goal random 0)
"""
"""A game of three turns in which moves matter, and a new legal move is there in the second."""


class LiveServer:
    """A server that listens.

    Attributes:
        host: its matches. Belongs to the thread of the server.
        port: where it listens.
    """

    def __init__(
        self, host: Host, http: HttpServer, port: int, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.host, self.http, self.port, self._loop = host, http, port, loop

    def post(self, body: str) -> str:
        """The text of the reply to a message, sent as the Dresden GameController sends it."""
        status, text = self.exchange(request(body))
        assert status == 200, text
        return text

    def exchange(self, message: bytes, timeout_s: float = PATIENCE_S) -> tuple[int, str]:
        """Status and text of the reply to these bytes; (0, "") if there is none."""
        with self.connect(timeout_s) as connection:
            connection.sendall(message)
            return read_reply(connection)

    def connect(self, timeout_s: float = PATIENCE_S) -> socket.socket:
        """A new connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout_s)

    def call(self, function: Callable[[], Any]) -> Any:
        """The value of a function that is called in the server's thread."""

        async def run() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(PATIENCE_S)


@cache
def template(memory_bytes: int | None, quiet: bool = True) -> TemplateProcess:
    """The process that workers are forked from in these tests; starting it takes a second.

    Args:
        memory_bytes, quiet: see `TemplateProcess`.
    """
    return TemplateProcess(memory_bytes, quiet=quiet)


@asynccontextmanager
async def worker(memory_bytes: int, confined: bool = True) -> AsyncIterator[WorkerProcess]:
    """A worker without a server."""
    nursery = Nursery(template(memory_bytes if confined else None).connect)
    process = await connected(await nursery.take(light=False))
    try:
        yield process
    finally:
        await process.close()
        nursery.close()


async def handed_over(*command: str, environment: Mapping[str, str] | None = None) -> Taken:
    """A worker that runs a command, as a nursery hands it over."""
    (orders_in, orders), (answers, answers_out) = os.pipe(), os.pipe()
    child = await asyncio.create_subprocess_exec(
        *command, stdin=orders_in, stdout=answers_out, env=environment, start_new_session=True
    )
    os.close(orders_in)
    os.close(answers_out)
    return Taken(child.pid, orders, answers, asyncio.ensure_future(child.wait()))


@contextmanager
def live_server(
    options: HostOptions, prepare: Callable[[], Awaitable[None]] | None = None
) -> Iterator[LiveServer]:
    """A server that is shut down in the end, as by Ctrl-C.

    Args:
        options, prepare: see `Host`.
    """
    listening = listen("127.0.0.1", 0)
    workers = template(options.memory_bytes if options.confined else None, options.quiet)
    workers.start()  # here: it ends with the thread that starts it
    host = Host(options, workers.connect, prepare=prepare)
    server = HttpServer(host)
    loop = asyncio.new_event_loop()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(server.serve(listening))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        eventually(lambda: server.is_open)
        yield LiveServer(host, server, listening.getsockname()[1], loop)
    finally:
        server.stop()
        thread.join(PATIENCE_S)
        listening.close()
        assert not thread.is_alive()
        loop.close()


def request(body: str, *, length: int | None = None) -> bytes:
    """A message as the Dresden GameController sends it: no Host, characters counted."""
    length = len(body) if length is None else length
    head = (
        "POST / HTTP/1.0\r\nAccept: text/delim\r\nSender: Gamecontroller\r\n"
        f"Receiver: 127.0.0.1\r\nContent-type: text/acl\r\nContent-length: {length}\r\n\r\n"
    )
    return (head + body).encode()


def read_reply(connection: socket.socket) -> tuple[int, str]:
    """Status and text of a reply, read to the end of the stream; its length must be right."""
    reply = b""
    while chunk := connection.recv(1 << 16):
        reply += chunk
    if not reply:
        return 0, ""
    head, _, body = reply.partition(b"\r\n\r\n")
    first, *fields = head.decode("ascii").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (f.partition(":") for f in fields)}
    assert int(headers["content-length"]) == len(body)
    assert "transfer-encoding" not in headers
    return int(first.split()[1]), body.decode()


def start(match: str, rules: str = GUESSING, role: str = "guesser", clocks: str = "30 10") -> str:
    """A start message."""
    return f"(START {match} {role} ({' '.join(rules.split())}) {clocks})"


def events(folder: Path, match: str) -> list[dict[str, Any]]:
    """The lines of the log of a match."""
    (path,) = folder.glob(f"{match}.*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def pid_of(folder: Path, match: str, worker: str) -> int:
    """Process id of the worker that a match has now."""
    started = [
        e for e in events(folder, match) if e["event"] == "worker" and e["what"] == "started"
    ]
    return int([e["pid"] for e in started if e["worker"] == worker][-1])


def is_asked(folder: Path, match: str) -> bool:
    """Whether the latest message of a match asks for a move that is not known yet."""
    latest = [e for e in events(folder, match) if e["event"] in ("received", "sent")][-1]
    return latest["event"] == "received" and "PLAY" in latest["text"].upper()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def eventually(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    """Wait until a condition holds."""
    end_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end_s, "it never came true"
        time.sleep(0.02)
