"""`ggp status`: the matches that servers of this user play now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ggp.cli.arguments import printing_options
from ggp.console import example, show_report
from ggp.report import Report, Table
from ggp.server.operator import running_servers

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
