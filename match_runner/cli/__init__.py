"""`match-runner`: play matches, and show recorded ones.

A command is imported when it runs: importing what it needs takes longer than showing help. `play`
and `compare` play series, `tournament` those of a file and shows any again, `records` is about
recorded matches, and `table` is the page; `options` has what several of them are asked.
"""

from __future__ import annotations

import click

from ggp.console import CommandGroup, LaterCommand, example, installed_version, verbose_option

COMMANDS = {
    "compare": LaterCommand(
        "match_runner.cli.compare",
        "Play many matches of GAME between players, in worker processes.",
    ),
    "export": LaterCommand(
        "match_runner.cli.records",
        "Write a recorded match in the format of another program.",
    ),
    "import": LaterCommand(
        "match_runner.cli.records",
        "Turn matches that other programs recorded into records.",
        "import_matches",
    ),
    "picture": LaterCommand(
        "match_runner.cli.records",
        "Draw the board of a recorded match after a turn, with its moves in words.",
    ),
    "play": LaterCommand(
        "match_runner.cli.play",
        "Play matches of GAME, the name of a game or the path of a rulesheet.",
    ),
    "replay": LaterCommand(
        "match_runner.cli.records",
        "Show recorded matches, and check them against the rules of their games.",
    ),
    "show": LaterCommand(
        "match_runner.cli.tournament",
        "Show the results of a stored series again, and draw or export them.",
    ),
    "table": LaterCommand(
        "match_runner.cli.table",
        "Watch matches, look into players' minds and play against them, in a browser.",
    ),
    "tournament": LaterCommand(
        "match_runner.cli.tournament",
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
