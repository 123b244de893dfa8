"""The command `match-runner`: plays matches, and shows recorded ones.

A command is imported only when it runs, because its imports take longer than showing help. `play`
plays one match or several, `series` compares players and plays tournaments, and shows stored ones.
`records` has the commands for recorded matches, `table` starts the web page. `options` has the
options that several commands share.
"""

from __future__ import annotations

import click

from ggp.console import CommandGroup, LaterCommand, example, installed_version, verbose_option

COMMANDS = {
    "compare": LaterCommand(
        "match_runner.cli.series",
        "Compare players in many matches of GAME, played in worker processes.",
    ),
    "export": LaterCommand(
        "match_runner.cli.records",
        "Write a recorded match in another program's format.",
    ),
    "import": LaterCommand(
        "match_runner.cli.records",
        "Convert match files from other programs into records.",
        "import_matches",
    ),
    "picture": LaterCommand(
        "match_runner.cli.records",
        "Draw the board of a recorded match after a turn, with the moves in words.",
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
        "match_runner.cli.series",
        "Show the results of a stored series again, and draw or export them.",
    ),
    "table": LaterCommand(
        "match_runner.cli.table",
        "Watch matches in a browser, look into players' minds and play against them.",
    ),
    "tournament": LaterCommand(
        "match_runner.cli.series",
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
