"""Faults in the middle of matches of `ggp serve`, and what became of its moves.

A relay stands between the referee and the server. While a move is thought about it kills or
stops workers, takes their memory away, cuts connections, sends messages twice or late, or kills
the server, then or just before the move is asked for. It never tries again: what is refused or
broken off is lost, as with real game controllers. docs/measured/robustness.md sums up its table.
Linux only.

    python scripts/inject_faults.py --out runs/faults --matches 3
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import shutil
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click

from ggp.cli.arguments import FolderPath
from ggp.console import guarded
from ggp.gdl.normalize import load
from match_runner.match.conditions import Conditions
from match_runner.match.referee import play_match
from match_runner.match.seats import build_machines, set_up
from match_runner.match.server_log import read_log
from match_runner.remote.remote_players import RemoteConditions
from tests.controllers.season import Served, served
from tests.support.process_tree import entry_of, started_by

GAMES = ("krieg_tic_tac_toe", "blind_breakthrough", "tic_tac_toe")
WORKERS = ("thinker", "understudy")
PATIENCE_S = 30.0
SHARE_OF_TURNS = 0.5

_PLAY = re.compile(r"\s*\(\s*PLAY\s", re.IGNORECASE)
_DATA_BYTES = 40 << 20


class Server:
    """`ggp serve` in processes of its own, reached over plain sockets."""

    def __init__(self, processes: Served, logs: Path) -> None:
        self._processes, self.logs = processes, logs

    def post(self, body: str) -> str:
        """The reply to a message, which is sent once; empty if there is none."""
        data = b""
        try:
            with self.sent(body) as connection:
                while chunk := connection.recv(1 << 16):
                    data += chunk
        except OSError as error:
            print(f"no reply to {body[:40]!r}: {error}", file=sys.stderr)
        return data.partition(b"\r\n\r\n")[2].decode()

    def sent(self, body: str) -> socket.socket:
        """A connection on which a message was sent."""
        connection = socket.create_connection(
            ("127.0.0.1", self._processes.port), timeout=PATIENCE_S
        )
        head = f"POST / HTTP/1.0\r\nContent-length: {len(body)}\r\n\r\n"
        connection.sendall((head + body).encode())
        return connection

    def signal_worker(self, worker: str, number: int) -> None:
        """Send a signal to a worker of the present match, if it has one."""
        pid = self.pid_of(worker)
        with contextlib.suppress(ProcessLookupError):
            if pid:
                os.kill(pid, number)

    def pid_of(self, worker: str) -> int:
        """Process id of a worker of the latest match, 0 if there is none."""
        path = max(self.logs.glob("*.jsonl"), key=lambda each: each.stat().st_mtime)
        events = [e for e in read_log(path) if e["event"] == "worker" and e["worker"] == worker]
        last = events[-1] if events else {"what": "none"}
        return int(last["pid"] or 0) if last["what"] in ("started", "runs", "built") else 0

    def kill(self) -> None:
        """Kill the process that serves; the one that keeps the socket starts another."""
        for pid in started_by(self._processes.pid):
            if not entry_of(pid):  # else it is what workers are forked from
                os.kill(pid, signal.SIGKILL)


Fault = Callable[[Server, str, list[str]], str | None]
"""Does something about a message, given those before it; returns the reply if it asked for it."""


def kill(number: int, *workers: str) -> Fault:
    """A signal to workers while they think."""

    def inject(server: Server, body: str, before: list[str]) -> None:
        for worker in workers:
            server.signal_worker(worker, number)

    return inject


def take_memory(server: Server, body: str, before: list[str]) -> None:
    """The thinker can allocate nothing any more."""
    pid = server.pid_of("thinker")
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if pid:
            resource.prlimit(pid, resource.RLIMIT_DATA, (_DATA_BYTES, _DATA_BYTES))


def kill_server(server: Server, body: str, before: list[str]) -> None:
    """The server is killed; it comes back with the same logs."""
    server.kill()


def cut(server: Server, body: str, before: list[str]) -> str:
    """Another connection asks the same and is cut; then it is asked again."""
    with server.sent(body) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    return server.post(body)


def twice(server: Server, body: str, before: list[str]) -> str:
    """The same message comes on two more connections."""
    with ThreadPoolExecutor() as pool:
        replies = {*pool.map(server.post, [body, body])}
    return replies.pop() if len(replies) == 1 else f"different: {sorted(replies)}"


def reorder(server: Server, body: str, before: list[str]) -> None:
    """Old messages come again while the new one is thought about."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(server.post, before[-3:]))


FAULTS: dict[str, Fault | None] = {
    "nothing": None,
    "thinker killed (SIGKILL)": kill(signal.SIGKILL, "thinker"),
    "understudy killed (SIGKILL)": kill(signal.SIGKILL, "understudy"),
    "both workers killed (SIGKILL)": kill(signal.SIGKILL, *WORKERS),
    "thinker crashed (SIGSEGV)": kill(signal.SIGSEGV, "thinker"),
    "thinker stopped (SIGSTOP)": kill(signal.SIGSTOP, "thinker"),
    "both workers stopped (SIGSTOP)": kill(signal.SIGSTOP, *WORKERS),
    "thinker out of memory (limit lowered)": take_memory,
    "connection cut, asked again": cut,
    "message three times at once": twice,
    "older messages in between": reorder,
    "server killed while a move is asked for": kill_server,
    "server killed before a move is asked for": kill_server,
}
EARLY = {"server killed before a move is asked for"}
"""Faults that come just before the message and not after it."""


class Relay:
    """Between the referee and the server: passes messages on, and injects faults.

    Attributes:
        asked: moves the referee asked for.
        injected: faults.
    """

    def __init__(
        self, server: Server, fault: Fault | None, rng: random.Random, *, is_early: bool = False
    ) -> None:
        self._server, self._fault, self._rng, self._is_early = server, fault, rng, is_early
        self._before: list[str] = []
        self.asked = self.injected = 0

    def pass_on(self, body: str) -> str:
        """The reply for the referee."""
        if not _PLAY.match(body):
            self._before.append(body)
            return self._server.post(body)
        self.asked += 1
        fault = self._fault if self._rng.random() < SHARE_OF_TURNS else None
        reply = self._server.post(body) if fault is None else self._disturbed(fault, body)
        self._before.append(body)
        return reply

    def _disturbed(self, fault: Fault, body: str) -> str:
        self.injected += 1
        if self._is_early:
            fault(self._server, body, self._before)
            return self._server.post(body)
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(self._server.post, body)
            time.sleep(self._rng.uniform(0.05, 1.2))
            other = fault(self._server, body, self._before)
            reply = asked.result()
        return reply if other in (None, reply) else f"{reply} or {other}"


@contextmanager
def relaying(relay: Relay) -> Iterator[str]:
    """The relay as an HTTP server; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            reply = relay.pass_on(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            """The server has a log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}"
        http.shutdown()


@click.command()
@click.option("--out", type=FolderPath(), required=True)
@click.option("--matches", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--player", default="hyperplay2", show_default=True)
@click.option("--play-clock", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--only", help="Only faults with this in their name.")
def main(out: Path, matches: int, player: str, play_clock: int, only: str | None) -> None:
    """Inject every fault in some matches, and print what happened."""
    print("| injected | times | moves asked | legal and in time | lost | who chose them |")
    print("|---|---|---|---|---|---|")
    all_well = True
    for name, fault in FAULTS.items():
        if only is None or only in name:
            all_well &= examine(
                out / re.sub(r"\W+", "-", name), name, fault, matches, player, play_clock
            )
    sys.exit(0 if all_well else 1)


def examine(
    out: Path, name: str, fault: Fault | None, matches: int, player: str, play_clock_s: int
) -> bool:
    """Hold matches with one fault and print a row of the table; whether no move was lost."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    asked = injected = 0
    lost: Counter[str] = Counter()
    logs = (out / "logs").resolve()
    options = ("--player", player, "--log", str(logs), "--matches", "2")
    conditions = Conditions(
        play_clock_s=float(play_clock_s), remote=RemoteConditions(start_clock_s=10)
    )
    with served(*options, log=out / "server.txt") as processes:
        server = Server(processes, logs)
        for number in range(matches):
            game = GAMES[number % len(GAMES)]
            program = load(game)
            roles = [role for role in program.roles if role != "random"]
            relay = Relay(server, fault, random.Random(number), is_early=name in EARLY)
            with relaying(relay) as address:
                players = dict.fromkeys(roles, "random") | {roles[0]: address}
                record = play_match(
                    set_up(game, program, players, build_machines(program, "propnet")),
                    number,
                    conditions,
                )
            asked += relay.asked
            injected += relay.injected
            faults = [f for turn in record.turns for f in turn.faults if f.role == roles[0]]
            lost.update(f.kind for f in faults)
            for each in faults:
                print(f"{name}: {game}: {each}", file=sys.stderr)
    sources: Counter[str] = Counter()
    for path in logs.glob("*.jsonl"):
        sources.update(str(e["source"]) for e in read_log(path) if e["event"] == "decision")
    shown = ", ".join(f"{source} {count}" for source, count in sources.most_common())
    kinds = ", ".join(f"{count} {kind}" for kind, count in lost.items()) or "0"
    good = asked - sum(lost.values())
    print(f"| {name} | {injected} | {asked} | {good} | {kinds} | {shown} |", flush=True)
    return not lost


if __name__ == "__main__":
    guarded(main)()
