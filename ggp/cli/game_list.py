"""`ggp games`: the games that come with the package, in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import click

from ggp.cli.arguments import game_argument, json_option
from ggp.console import example, show_report, verbose_option
from ggp.gdl.games import find_game, list_games
from ggp.gdl.normalize import load
from ggp.gdl.source import printable
from ggp.report import Report, Table

_WIDTH = 79


@click.command(epilog=example("ggp games kuhn_poker"))
@game_argument(required=False)
@json_option
@verbose_option
def games(game: str | None, as_json: bool) -> None:
    """List the games that come with ggp, or describe GAME in words.

    GAME may also be the path of a rulesheet. The description is its first comment.
    """
    if game is not None:
        values = _in_words(game)
        show_report(Report(values, _lines(values)), as_json=as_json)
        return
    fields = ("name", "title", "roles")
    every = [{key: entry[key] for key in fields} for entry in map(_in_words, list_games())]
    rows = [(entry["name"], entry["title"], ", ".join(entry["roles"])) for entry in every]
    table = Table(("name", "game", "roles"), rows)
    end = ["", "`ggp games NAME` describes a game in words."]
    show_report(Report(every, [table, *end]), as_json=as_json)


def _in_words(game: str) -> dict[str, Any]:
    """A game in words, as JSON values."""
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


def _lines(values: dict[str, Any]) -> Iterator[str]:
    yield values["title"] or f"{values['name']} does not begin with a comment that describes it."
    for paragraph in filter(None, values["description"].split("\n")):
        yield ""
        yield from textwrap.wrap(printable(paragraph), _WIDTH)
    yield ""
    rows = {"Roles": [", ".join(values["roles"])], **values["sections"], "Rules": [values["path"]]}
    for name, lines in rows.items():
        for index, line in enumerate(lines):
            yield f"{'' if index else printable(name):<10}{line}"
