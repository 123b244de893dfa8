"""The command `match-runner table`: starts the table's web server and opens its page."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import click

from ggp.cli.arguments import (
    PlayerText,
    count_option,
    folder_option,
    game_argument,
    import_option,
)
from ggp.console import announce, example, verbose_option
from ggp.errors import ConfigError
from ggp.launch import Loading

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8080

_log = logging.getLogger(__name__)


@click.command(epilog=example("match-runner table kuhn_poker --port 8080"))
@game_argument(required=False)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0 for any free port.",
)
@click.option(
    "--host",
    default=DEFAULT_HOST,
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on; by default only this machine can connect.",
)
@click.option(
    "--url",
    metavar="URL",
    help="Public address of the table behind a reverse proxy, e.g. https://table.example.",
)
@folder_option(
    "--folder",
    help="Folder for matches, and for the records and series to show.  "
    "[default: the user's data folder]",
)
@folder_option("--games", help="Also offer the rulesheets in DIR and its subfolders.")
@click.option(
    "--offer",
    "offered",
    type=PlayerText(),
    multiple=True,
    metavar="NAME=SPEC",
    help="Also offer a player that pages cannot name: from a module, with a file among its "
    "options, or at http://HOST:PORT. May be repeated.",
)
@folder_option("--logs", help="Also show the matches that `ggp serve --log DIR` played.")
@count_option(
    "--jobs",
    show_default="one for each processor",
    help="Number of matches without people to play in parallel.",
)
@click.option(
    "--open-minds",
    is_flag=True,
    help="Let everybody see everything at any time: all states, and the players' minds.",
)
@click.option(
    "--no-token",
    is_flag=True,
    help="Let in everybody who can reach the port: all users of this machine.",
)
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
@import_option
@verbose_option
def table(
    game: str | None,
    port: int,
    host: str,
    url: str | None,
    folder: Path | None,
    games: Path | None,
    offered: tuple[str, ...],
    logs: Path | None,
    jobs: int | None,
    open_minds: bool,
    no_token: bool,
    no_browser: bool,
) -> None:
    """Watch matches in a browser, look into players' minds and play against them.

    The lobby first shows GAME, the name of a game or the path of a rulesheet. The printed link lets
    in everybody who has it. Ctrl-C ends the table; its matches go on when you start it again.
    """
    with Loading():
        from ggp.machine.games import find_file
        from ggp.run.sockets import listen
        from match_runner.table.match_folder import usual_folder
        from match_runner.table.match_manager import MatchManager
        from match_runner.table.options import AllowedHosts, Offers, TableOptions, read_offers
        from match_runner.table.server import has_screen, open_link, table_server

    if game is not None:
        find_file(game)
    for path in (logs, games):
        if path is not None and not path.is_dir():
            raise ConfigError(f"there is no folder {path}")
    origin = "" if url is None else _origin(url)
    offers = Offers(game, games, read_offers(offered))
    with listen(host, port) as listening:
        address, port = listening.getsockname()[:2]
        is_local = ipaddress.ip_address(address).is_loopback
        if no_token and (not is_local or origin):
            raise ConfigError(
                "--no-token is only for this machine: leave it out, or leave out --host and --url"
            )
        host_name = _own_name(host, address)
        manager = MatchManager(
            TableOptions(
                folder=folder or usual_folder(),
                offers=offers,
                has_token=not no_token,
                names=AllowedHosts((host_name,), origin),
                jobs=jobs or os.cpu_count() or 1,
                open_minds=open_minds,
                compiles_ahead=True,
                logs=logs,
            )
        )
        link = f"{origin or f'http://{host_name}:{port}'}/"
        if manager.token is None:
            _log.warning(
                "there is no token: every user and every program of this machine can start, watch "
                "and end matches here, as if they were you"
            )
        else:
            link += f"?token={manager.token}"
        if not is_local and not origin:
            _log.warning(
                "plain HTTP: anybody who listens on the network between here and a browser can "
                "read and use the tokens; docs/use/table.md explains how to add TLS"
            )
        announce(f"the table is at {link} (end: Ctrl-C)")
        if not no_browser and has_screen():
            open_link(link, manager.private)
        table_server(manager).run(sockets=[listening])


def _own_name(host: str, address: str) -> str:
    """Host name by which browsers reach this machine at an address."""
    ip = ipaddress.ip_address(address)
    if ip.is_unspecified:
        return socket.gethostname()
    if ip.is_loopback:
        return "localhost"
    return f"[{host}]" if ":" in host else host


def _origin(url: str) -> str:
    """The origin of an address: the part before its path.

    Raises:
        ConfigError: it is not the address of a whole site.
    """
    try:
        parts = urlsplit(url.strip().lower())
    except ValueError:
        parts = urlsplit("")
    is_site = parts.scheme in ("http", "https") and parts.hostname and not parts.username
    if not is_site or parts.path.strip("/") or parts.query or parts.fragment:
        raise ConfigError(f"--url {url!r} must be like https://table.example, without a path")
    return f"{parts.scheme}://{parts.netloc}"
