"""The command `ggp`: look at rulesheets, play them by hand or at random, ask players.

Installed packages, and our labs, may add commands (`ggp.registry`). One module per group of
commands. They are thin: parse options, call, print. Everything slow to import (numpy, SWI-Prolog)
is imported when a command runs.
"""

from __future__ import annotations

import click

from ggp.cli.arguments import verbose_option
from ggp.cli.belief import belief
from ggp.cli.bench import bench
from ggp.cli.evaluate import evaluate
from ggp.cli.exploit import exploit
from ggp.cli.game_list import games
from ggp.cli.new import new
from ggp.cli.players import players
from ggp.cli.properties import properties
from ggp.cli.rulesheets import convert, info, validate
from ggp.cli.serve import serve
from ggp.cli.solve import solve
from ggp.cli.tracing import trace
from ggp.console import CommandGroup, example, installed_version

__all__ = ["main"]


@click.group(
    cls=CommandGroup,
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


_COMMANDS = (
    games, players, new, validate, info, properties, convert, trace, evaluate, belief,
    solve, exploit, bench, serve,
)  # fmt: skip

for _command in _COMMANDS:
    main.add_command(_command)
