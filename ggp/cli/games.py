"""`ggp new` and `ggp games`: writes a small game to start from, and describes games in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ggp.cli.arguments import FilePath, game_argument, is_given, printing_options
from ggp.console import example, show_report, verbose_option
from ggp.errors import ConfigError
from ggp.gdl.games import find_game, list_games
from ggp.gdl.normalize import load
from ggp.gdl.random_rules import RandomRules
from ggp.gdl.source import printable
from ggp.report import Report, Table
from ggp.run.whole_files import write_new

_SUFFIXES = (".gdl", ".kif")

SKELETON = """\
; {title}
;
; Chance hides a coin under one of three cups, and the keeper sees where. The keeper names a cup,
; truly or not. The guesser, who hears it, lifts a cup.
;
; Moves     random (hide CUP) in turn 1, keeper (name CUP) in turn 2, guesser (lift CUP) in turn 3;
;           everybody else noop
; Percepts  the keeper sees (coin CUP) after turn 1, the guesser hears (named CUP) after turn 2
; Scores    100 for the guesser if it finds the coin, else 100 for the keeper

; `ggp games FILE` shows the block above. The rules below are playable as they are: change them step
; by step, and check them with `ggp validate FILE` and `ggp trace --watch FILE`.

; --- Who plays. `random` is chance: it plays one of its legal moves, all equally likely.
(role keeper)
(role guesser)
(role random)

; --- Your own facts, which never change. Numbers are only names: say which follows which.
(cup left)
(cup middle)
(cup right)
(succ 1 2)
(succ 2 3)
(succ 3 4)

; --- The first state: what is true at the start.
(init (turn 1))

; --- Legal moves. In every state that is not terminal each role needs at least one, and must be
; --- able to tell which they are. A rule is (<= conclusion condition condition ...).
(<= (legal random (hide ?cup)) (true (turn 1)) (cup ?cup))
(<= (legal keeper (name ?cup)) (true (turn 2)) (cup ?cup))
(<= (legal guesser (lift ?cup)) (true (turn 3)) (cup ?cup))
(<= (legal random noop) (not (true (turn 1))))
(<= (legal keeper noop) (not (true (turn 2))))
(<= (legal guesser noop) (not (true (turn 3))))

; --- The next state. A fluent that no rule makes true is false, so one that stays needs a rule.
(<= (next (turn ?n)) (true (turn ?m)) (succ ?m ?n))
(<= (next (coin ?cup)) (does random (hide ?cup)))
(<= (next (coin ?cup)) (true (coin ?cup)))
(<= (next (lifted ?cup)) (does guesser (lift ?cup)))

; --- Percepts: all that a role learns after a turn, besides its own move. These rules look at the
; --- state before the moves, and at the moves. Without any `sees` rule and without `random`, all
; --- moves are open.
(<= (sees keeper (coin ?cup)) (does random (hide ?cup)))
(<= (sees guesser (named ?cup)) (does keeper (name ?cup)))

; --- The end, and the scores: one whole number from 0 to 100 for each role but random.
(<= terminal (true (turn 4)))
(<= found (true (coin ?cup)) (true (lifted ?cup)))
(<= (goal guesser 100) found)
(<= (goal guesser 0) (not found))
(<= (goal keeper 100) (not found))
(<= (goal keeper 0) found)
"""


@click.command(epilog=example("ggp new my_game.gdl"))
@click.argument("file", type=FilePath())
@click.option("--random", "is_random", is_flag=True, help="Write a random game instead.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random game."
)
@click.option(
    "--roles", type=click.IntRange(2, 4), default=2, show_default=True, help="Its players."
)
@click.option(
    "--turns", type=click.IntRange(1, 12), default=4, show_default=True, help="Its joint moves."
)
@click.option(
    "--hidden",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Share of the turns after which a player is not told where the moves lead.",
)
@click.option(
    "--chance",
    type=click.FloatRange(0, 1),
    default=0.3,
    show_default=True,
    help="Share of the turns in which chance moves.",
)
@verbose_option
def new(
    file: Path, is_random: bool, seed: int, roles: int, turns: int, hidden: float, chance: float
) -> None:
    """Write a small commented game to FILE to start your own from.

    The game has chance, hidden information and two players, and is playable as it is. An existing
    file is not overwritten. With --random it is a random game with hidden information, in which the
    scores of all players together are 100: the same game for the same seed and settings.
    """
    if file.suffix not in _SUFFIXES:
        raise ConfigError(f"{file} must end in {' or '.join(_SUFFIXES)}, as rulesheets do")
    for name in ("seed", "roles", "turns", "hidden", "chance"):
        if is_given(name) and not is_random:
            raise ConfigError(f"--{name} is about random games: add --random")
    title = printable(file.stem.replace("_", " ").strip().capitalize()) or "A new game"
    text = (
        RandomRules(seed, roles, turns, hidden, chance).text()
        if is_random
        else SKELETON.format(title=title)
    )
    write_new(file, text)
    name = printable(str(file))
    player = "player1" if is_random else "guesser"
    click.echo(f"{name} is a playable game. Try next:")
    for command in (
        f"ggp validate {name} --strict --play 100",
        f"ggp trace --watch {name}",
        f"match-runner play {name} --player {player}=human",
    ):
        click.echo(f"  {command}")


# ------------------------------------------------------------------------
# `ggp games`: the games that come with the package, in words.

_WIDTH = 79


@click.command(epilog=example("ggp games kuhn_poker"))
@game_argument(required=False)
@printing_options
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
