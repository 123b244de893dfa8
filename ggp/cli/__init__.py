"""The command `ggp`: check rulesheets, play them by hand or at random, ask players, serve matches.

Each module here holds a group of commands and is imported when one of them runs: importing numpy
and SWI-Prolog takes longer than showing help. Commands are thin: they parse options, call the
library, and print its report. Installed packages and our labs may add commands (`ggp.registry`).
"""

from __future__ import annotations

import click

from ggp.console import CommandGroup, LaterCommand, example, installed_version, verbose_option

__all__ = ["main"]

COMMANDS = {
    "belief": LaterCommand(
        "ggp.cli.histories",
        "Show which facts may hold for a role, and how likely.",
    ),
    "bench": LaterCommand(
        "ggp.cli.bench", "Measure random playouts from the initial state, at full speed."
    ),
    "convert": LaterCommand("ggp.cli.rulesheets", "Print a rulesheet in another form."),
    "evaluate": LaterCommand(
        "ggp.cli.histories", "Show the value that a player gives to each move of a role."
    ),
    "exploit": LaterCommand("ggp.cli.solve", "Measure a player's distance from optimal play."),
    "games": LaterCommand(
        "ggp.cli.games",
        "List the games that come with ggp, or describe GAME in words.",
    ),
    "info": LaterCommand(
        "ggp.cli.rulesheets", "Show the roles of a game, its size and its backend."
    ),
    "new": LaterCommand(
        "ggp.cli.games", "Write a small commented game to FILE to start your own from."
    ),
    "players": LaterCommand(
        "ggp.cli.players", "List all players, or the named ones, with their options."
    ),
    "properties": LaterCommand(
        "ggp.cli.solve", "Measure leaf correlation, bias, disambiguation and more."
    ),
    "serve": LaterCommand("ggp.cli.serve", "Play matches on game servers until interrupted."),
    "solve": LaterCommand(
        "ggp.cli.solve", "Solve a game: the value of optimal play for each role."
    ),
    "status": LaterCommand(
        "ggp.cli.serve", "Show the running servers of this user and their matches."
    ),
    "trace": LaterCommand(
        "ggp.cli.tracing",
        "Show every step of a match, played from a file or at random.",
    ),
    "validate": LaterCommand(
        "ggp.cli.rulesheets",
        "Check rulesheets or Gambit files, and report every problem.",
    ),
}


@click.group(
    cls=CommandGroup,
    later=COMMANDS,
    offered="ggp.commands",
    invoke_without_command=True,
    epilog=example("ggp info kuhn_poker"),
)
@click.version_option(installed_version(), prog_name="ggp", message="%(prog)s %(version)s")
@verbose_option
@click.pass_context
def main(ctx: click.Context) -> None:
    """A general game player for GDL and GDL-II.

    GAME is the path of a rulesheet, or the name of a game that comes with ggp.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
