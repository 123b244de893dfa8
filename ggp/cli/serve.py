"""`ggp serve` runs a player as a server that game servers can call; `ggp status` shows all servers.

`ggp serve` reads the options, opens the socket, and hands both to `ggp.server`. Its standard output
has two lines for each match; compiling is reported on standard error.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Full, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any

import click

from ggp.cli.arguments import (
    SHARED_THREADS,
    FiniteRange,
    Renamed,
    backend_option,
    count_option,
    folder_option,
    printing_options,
    seed_option,
    threads_for,
    threads_option,
)
from ggp.console import announce, example, show_report, tell, verbose_option
from ggp.launch import Loading
from ggp.report import Report, Table
from ggp.server.http.listening import DEFAULT_ADDRESS, DEFAULT_PORT, listening_on

if TYPE_CHECKING:
    from ggp.server.settings import HostOptions
    from ggp.server.workers.nursery import TemplateProcess

DEFAULT_MEMORY_MB = 4096
MAX_MEMORY_MB = 1 << 24
"""More than any machine has; system calls need the number of bytes in 64 bits."""

DEFAULT_LOG_LIMIT_GB = 10

PROGRESS_S = 2.0
"""Seconds between two lines about the progress of compiling."""

_MAX_LINES = 1000


@click.command(epilog=example("ggp serve --player hyperplay2 --port 9147"))
@click.option(
    "--player",
    default="auto",
    show_default=True,
    metavar="SPEC",
    help="The player, for example hyperplay2:n=8.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0 for any free port.",
)
@click.option(
    "--host",
    "address",
    default=DEFAULT_ADDRESS,
    show_default=True,
    help="Address to listen on; 0.0.0.0 for all networks.",
)
@click.option(
    "--allow",
    "networks",
    multiple=True,
    metavar="ADDRESS",
    help="Accept only this IP address or network (192.168.1.0/24); may be repeated.  "
    "[default: everybody]",
)
@count_option(
    "--matches",
    "--places",
    "matches",
    cls=Renamed,
    default=1,
    help="Maximum matches at once; others get `busy`.",
)
@click.option(
    "--margin",
    type=FiniteRange(min=0),
    metavar="S",
    help="Seconds of each clock reserved for the network.  [default: learned, at first 10 %]",
)
@click.option("--name", default="ggp", show_default=True, help="Name of the player.")
@folder_option("--log", "log_folder", help="Folder for logs; each match gets a file of JSON Lines.")
@click.option(
    "--log-limit",
    type=FiniteRange(min=0),
    default=DEFAULT_LOG_LIMIT_GB,
    show_default=True,
    metavar="GB",
    help="Limit for all logs in that folder; beyond it, new matches get no log.",
)
@click.option(
    "--memory",
    type=click.IntRange(min=256, max=MAX_MEMORY_MB),
    default=DEFAULT_MEMORY_MB,
    show_default=True,
    metavar="MB",
    help="Memory limit of each worker process; each role in a match has two.",
)
@count_option(
    "--spare",
    metavar="N",
    minimum=0,
    help="Worker processes to keep ready.  [default: one more than may play at once]",
)
@click.option(
    "--risk",
    type=click.Choice(["avoid", "play"]),
    help="How to treat possibly illegal moves (sets player option `risk`).  [default: avoid]",
)
@seed_option()
@backend_option
@threads_option(SHARED_THREADS)
@verbose_option
@click.pass_context
def serve(
    ctx: click.Context,
    player: str,
    port: int,
    address: str,
    networks: tuple[str, ...],
    matches: int,
    margin: float | None,
    name: str,
    log_folder: Path | None,
    log_limit: float,
    memory: int,
    spare: int | None,
    risk: str | None,
    seed: int,
    backend: str,
    threads: int | None,
) -> None:
    """Play matches on game servers until interrupted.

    Whatever happens in a match, moves are sent on time, and are legal if ggp can tell.
    Each match prints a line when it is ready and one when it ends. Only this machine can connect,
    unless --host says otherwise. An interrupt exits with 0.
    """
    verbose = ctx.find_root().meta.get("verbose", 0)
    with Loading():
        from ggp.server.settings import HostOptions, parse_network
        from ggp.server.workers.nursery import template_for

    if risk is not None:
        with Loading():
            from ggp.players.spec import with_option

        player = with_option(player, f"risk={risk}")
    options = HostOptions(
        player=player,
        name=name,
        matches=matches,
        margin_s=margin,
        backend=backend,
        threads=threads_for(threads, matches),
        seed=seed,
        memory_bytes=memory << 20,
        spares=spare,
        log_folder=log_folder,
        log_limit_bytes=log_limit * (1 << 30),
        quiet=not verbose,
        networks=tuple(map(parse_network, networks)) or None,
    )
    template = template_for(options)
    template.start()  # imports in parallel with this process
    try:
        _serve(options, template, address, port)
    finally:
        template.close()


def _serve(options: HostOptions, template: TemplateProcess, address: str, port: int) -> None:
    """Serve until interrupted."""
    with Loading():
        import asyncio
        from dataclasses import replace
        from functools import cache, partial

        from ggp.protocol.lobby import Lobby
        from ggp.run.processes import ended_by
        from ggp.server.host import Host
        from ggp.server.http.http_server import HttpServer
        from ggp.server.http.supervisor import heed_signals, stay_up
        from ggp.server.match_log import check_folder
        from ggp.server.operator import StatusFile
        from ggp.server.workers.kernels import are_cached

    player = options.player
    if options.log_folder is not None:
        check_folder(options.log_folder)
    Lobby(options.name)  # raises for a bad name now
    listening, since_s = listening_on(address, port)
    if not are_cached(player, options.backend):
        _check(player)
        template.close()
        template.waits = True
        template.start()
    with listening:
        bound = listening.getsockname()
        host_text = f"[{bound[0]}]" if ":" in bound[0] else bound[0]

        @cache
        def when_open() -> None:
            _check(player)
            announce(f"{player} listens on http://{host_text}:{bound[1]}")

        # Everything loaded so far stays: collecting garbage in it would delay answers.
        gc.collect()
        gc.freeze()
        custody = stay_up(template, when_open)
        # A server before this one may have compiled everything.
        is_compiled = are_cached(player, options.backend)
        prepare = None if is_compiled else partial(_compile, player, options.backend)
        status_file = StatusFile(bound[1], player)
        options = replace(options, tell=_teller(), show=status_file.write)
        host = Host(options, custody.connect if custody.can_connect else None, since_s, prepare)
        server = HttpServer(host, custody)
        with ended_by(lambda *_: server.stop()):
            heed_signals()
            asyncio.run(server.serve(listening))
        status_file.remove()


def _check(player: str) -> None:
    """Raise an error if a player's spec is wrong."""
    from ggp.players.spec import parse_spec  # with numpy and all that it searches with

    parse_spec(player)


async def _compile(player: str, backend: str) -> None:
    """Compile the kernels of a player, and report the progress."""
    from ggp.server.workers.kernels import fill_cache

    tell("compiling machine code, only once; until then busy, playing any legal move")
    progress = _Progress()
    await fill_cache(player, backend, progress)
    tell(f"compiled in {progress.seconds:.0f} s: ready")


def _teller() -> Callable[[str], None]:
    """A function that prints lines on standard output in a thread, so that a slow reader cannot
    delay moves; none if too many wait to be read."""
    lines: Queue[str] = Queue(_MAX_LINES)

    def print_lines() -> None:
        # Not by `sys.stdout`: at exit, Python would need its lock, which this thread may hold.
        with suppress(OSError, ValueError):
            while True:
                os.write(sys.stdout.fileno(), f"{lines.get()}\n".encode(errors="replace"))

    def queue_line(text: str) -> None:
        with suppress(Full):
            lines.put_nowait(text)

    Thread(target=print_lines, name="ggp-operator", daemon=True).start()
    return queue_line


class _Progress:
    """Reports the progress of compiling on standard error, every few seconds."""

    def __init__(self) -> None:
        self._began_s = self._said_s = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began_s

    def __call__(self, num: int, parts: int) -> None:
        now = time.monotonic()
        if now - self._said_s >= PROGRESS_S:
            self._said_s = now
            tell(f"compiled {num} of {parts} parts in {now - self._began_s:.0f} s")


# ------------------------------------------------------------------------
# `ggp status`: the matches that servers of this user play now.

_HEAD = (
    "match",
    "game",
    "role",
    ("#turns", ",d"),
    "backend",
    ("#moves", ",d"),
    ("#with particles", ",d"),
    ("#slowest", ".2f"),
    ("#kills", ",d"),
)


@click.command(epilog=example("ggp status"))
@printing_options
def status(as_json: bool) -> None:
    """Show the running servers of this user, `ggp serve`, and the matches that they play.

    A match has a line: the moves that were sent, how many of them were decided on particles that
    agree with all percepts, the seconds of the slowest, and how many workers died.
    """
    from ggp.server.operator import running_servers  # slow: no server waits for it

    servers = running_servers()
    show_report(Report({"servers": servers}, _parts(servers)), as_json=as_json)


def _parts(servers: list[dict[str, Any]]) -> Iterator[Table | str]:
    if not servers:
        yield "no server of yours is running; `ggp serve` starts one"
    for server in servers:
        title = f"port {server['port']}: {server['player']}, process {server['pid']}"
        if server["matches"]:
            yield Table(_HEAD, [_row(match) for match in server["matches"]], title)
        else:
            yield f"{title}, no match"


def _row(match: dict[str, Any]) -> tuple[object, ...]:
    moves = sum(match["sources"].values())
    names = (match["match"], match["game"] or "other rules", match["role"])
    counts = (moves, match["with_particles"], match["slowest_s"], match["kills"])
    return (*names, match["turns"], match["backend"] or "none yet", *counts)
