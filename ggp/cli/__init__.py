"""The command `ggp`: look at rulesheets, play them by hand or at random, ask players.

Installed packages, and our labs, may add commands (`ggp.registry`). One module per group of
commands, which is imported when one of them runs: importing numpy and SWI-Prolog takes longer than
showing help. Commands are thin: parse options, call, print.
"""

from __future__ import annotations

import click

from ggp.console import CommandGroup, LaterCommand, example, installed_version, verbose_option

__all__ = ["main"]

COMMANDS = {
    "belief": LaterCommand(
        "ggp.cli.belief",
        "Show which fluents may hold after what a role did and saw, and with which probability.",
    ),
    "bench": LaterCommand(
        "ggp.cli.bench", "Measure random playouts from the initial state, at full speed."
    ),
    "convert": LaterCommand("ggp.cli.rulesheets", "Print a rulesheet in another form."),
    "evaluate": LaterCommand(
        "ggp.cli.evaluate", "Show what a player thinks of each of a role's moves."
    ),
    "exploit": LaterCommand("ggp.cli.solve", "Measure how far a player is from optimal play."),
    "games": LaterCommand(
        "ggp.cli.game_list",
        "List the games that come with ggp; with GAME, show its rules in words.",
    ),
    "info": LaterCommand(
        "ggp.cli.rulesheets", "Show the roles of a game, its size and what runs it."
    ),
    "new": LaterCommand(
        "ggp.cli.new", "Write a small game with comments to FILE, to begin one's own with."
    ),
    "players": LaterCommand(
        "ggp.cli.players", "List players with their options: all known players, or those named."
    ),
    "properties": LaterCommand(
        "ggp.cli.properties", "Measure leaf correlation, bias, disambiguation and more of a game."
    ),
    "serve": LaterCommand("ggp.cli.serve", "Play matches on game servers until interrupted."),
    "solve": LaterCommand(
        "ggp.cli.solve", "Solve a game: what optimal play is worth to each role."
    ),
    "status": LaterCommand(
        "ggp.cli.status", "Show the running servers of this user and their matches."
    ),
    "trace": LaterCommand(
        "ggp.cli.tracing",
        "Play given or random joint moves and show every step; random ones as they are played.",
    ),
    "validate": LaterCommand(
        "ggp.cli.rulesheets",
        "Say everything that is wrong with rulesheets, or with files of Gambit's.",
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
