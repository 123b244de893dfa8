"""`ggp games`: the games that come with the package, in words."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from ggp.cli.arguments import json_option, verbose_option
from ggp.console import example, print_json, print_rich, table_of
from ggp.gdl.source import printable

_WIDTH = 79


@click.command(epilog=example("ggp games kuhn_poker"))
@click.argument("game", required=False)
@json_option
@verbose_option
def games(game: str | None, as_json: bool) -> None:
    """List the games that come with ggp; with GAME, show its rules in words.

    GAME may also be the path of a rulesheet. The words are those of its first comment.
    """
    from ggp.gdl.games import list_games

    if game is not None:
        found = _told(game)
        if as_json:
            print_json(found)
        else:
            _show(found)
        return
    every = [_told(name) for name in list_games()]
    if as_json:
        print_json([{key: each[key] for key in ("name", "title", "roles")} for each in every])
        return
    rows = [(each["name"], each["title"], ", ".join(each["roles"])) for each in every]
    print_rich(table_of(("name", "game", "roles"), rows))
    click.echo("\n`ggp games NAME` tells the rules of a game in words.")


def _told(game: str) -> dict[str, Any]:
    """A game in words, as JSON values."""
    from ggp.gdl.games import find_game
    from ggp.gdl.normalize import load

    program = load(game)
    description = program.describe()
    return {
        "name": game,
        "title": description.title,
        "roles": list(program.roles),
        "description": description.text,
        "sections": {name: list(lines) for name, lines in description.sections.items()},
        "path": str(find_game(game)),
    }


def _show(told: dict[str, Any]) -> None:
    if not told["title"]:
        click.echo(f"{printable(told['name'])} does not begin with a comment that describes it.")
    else:
        click.echo(printable(told["title"]))
    for paragraph in filter(None, told["description"].split("\n")):
        click.echo()
        click.echo(textwrap.fill(printable(paragraph), _WIDTH))
    click.echo()
    rows = {"Roles": [", ".join(told["roles"])], **told["sections"], "Rules": [told["path"]]}
    for name, lines in rows.items():
        for number, line in enumerate(lines):
            click.echo(f"{'' if number else printable(name):<10}{printable(line)}")
