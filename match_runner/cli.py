"""`match-runner`: play matches, and show recorded ones.

A command is imported when it runs: importing what it needs takes longer than showing help.
"""

from __future__ import annotations

import click

from ggp.cli.arguments import verbose_option
from ggp.console import CommandGroup, LaterCommand, example, installed_version

COMMANDS = {
    "compare": LaterCommand(
        "match_runner.series.commands.compare",
        "Play many matches of GAME between players, in worker processes.",
    ),
    "export": LaterCommand(
        "match_runner.record_commands",
        "Write a recorded match in the format of another program.",
    ),
    "import": LaterCommand(
        "match_runner.archives.cli",
        "Turn matches that other programs recorded into records.",
        "import_matches",
    ),
    "picture": LaterCommand(
        "match_runner.picture_command",
        "Draw the board of a recorded match after a turn, with its moves in words.",
    ),
    "play": LaterCommand(
        "match_runner.series.commands.play",
        "Play matches of GAME, the name of a game or the path of a rulesheet.",
    ),
    "replay": LaterCommand(
        "match_runner.record_commands",
        "Show recorded matches, and check them against the rules of their games.",
    ),
    "show": LaterCommand(
        "match_runner.show",
        "Show the results of a stored series again, and draw or export them.",
    ),
    "table": LaterCommand(
        "match_runner.table.cli",
        "Watch matches, look into players' minds and play against them, in a browser.",
    ),
    "tournament": LaterCommand(
        "match_runner.tournament.cli",
        "Play the tournament that FILE describes in TOML, and say who is best.",
    ),
}


@click.group(
    cls=CommandGroup,
    later=COMMANDS,
    offered="match_runner.commands",
    invoke_without_command=True,
    epilog=example("match-runner play kuhn_poker --matches 5"),
)
@click.version_option(installed_version(), message="%(prog)s %(version)s")
@verbose_option
@click.pass_context
def main(ctx: click.Context) -> None:
    """Play matches between players, and show recorded matches."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
