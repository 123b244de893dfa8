"""`match-runner table`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ggp.cli.arguments import FolderPath, verbose_option
from ggp.console import announce
from ggp.errors import ConfigError
from ggp.launch import preload

DEFAULT_PORT = 8080


@click.command()
@click.argument("game", required=False)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0 for any that is free.",
)
@click.option(
    "--folder",
    type=FolderPath(),
    metavar="DIR",
    help="Where matches are kept, and where records and series are looked for.  "
    "[default: the user's folder for data]",
)
@click.option(
    "--logs",
    type=FolderPath(),
    metavar="DIR",
    help="Also show the matches that `ggp serve --log DIR` played.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    show_default="one for each processor",
    help="Matches without people that are played at once.",
)
@click.option(
    "--open-minds",
    is_flag=True,
    help="Let everybody see everything at any time: all states, and what players think.",
)
@verbose_option
def table(
    game: str | None,
    port: int,
    folder: Path | None,
    logs: Path | None,
    jobs: int | None,
    open_minds: bool,
) -> None:
    """Watch matches, look into players' minds and play against them, in a browser.

    GAME, the name of a game or the path of a rulesheet, is what the lobby begins with. Only this
    machine can connect. Ends with Ctrl-C; matches go on when the command is given again.
    """
    preload("ggp.players", "uvicorn", "starlette.applications", "match_runner.table.server")
    from ggp.gdl.games import find_game
    from ggp.machine.spiel.games import is_spiel
    from ggp.server.http_server import listen
    from match_runner.table.hall import TableOptions
    from match_runner.table.match_folder import usual_folder
    from match_runner.table.server import serve_table

    if game is not None and not is_spiel(game):
        find_game(game)
    if logs is not None and not logs.is_dir():
        raise ConfigError(f"there is no folder {logs}")
    options = TableOptions(
        folder=folder or usual_folder(),
        game=game,
        jobs=jobs or os.cpu_count() or 1,
        open_minds=open_minds,
        logs=logs,
    )
    with listen("127.0.0.1", port) as listening:
        announce(f"the table is at http://localhost:{listening.getsockname()[1]}/ (end: Ctrl-C)")
        serve_table(options, listening)
