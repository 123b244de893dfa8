"""`ggp belief`: the states a role may be in after an incomplete path, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ggp.cli.arguments import (
    backend_option,
    json_option,
    limits_option,
    open_game,
    seed_option,
    verbose_option,
)
from ggp.cli.histories import Given, history_options
from ggp.console import example, print_json, print_rich, spinner, table_of
from ggp.gdl.source import printable
from ggp.launch import Loading

if TYPE_CHECKING:
    from ggp.belief import Quality
    from ggp.machine import Limits

MOST_SHOWN = 60
"""Most fluents in a table; --json prints all."""


@click.command(epilog=example("ggp belief kuhn_poker --role player1"))
@click.argument("game")
@click.option("--role", required=True, help="Whose belief.")
@history_options("Without it the match is at its start.")
@click.option(
    "--fluent", "fluents", multiple=True, metavar="TERM", help="Only these; may be repeated."
)
@click.option(
    "--attempts",
    type=click.IntRange(min=1),
    help="Joint moves tried in search of states where there are none; 400,000 by default.",
)
@seed_option("what is sampled")
@backend_option
@limits_option
@json_option
@verbose_option
def belief(
    game: str,
    role: str,
    history: Path | None,
    record: Path | None,
    turn: int | None,
    fluents: tuple[str, ...],
    attempts: int | None,
    seed: int,
    backend: str,
    limits: Limits,
    as_json: bool,
) -> None:
    """Show which fluents may hold after what a role did and saw, and with which probability.

    Exits with 1 where no complete path agrees with the history.
    """
    with Loading():
        from ggp.belief import in_words
        from ggp.library import Game
        from ggp.machine import role_index

    given = Given.by(history, record, turn)
    opened = open_game(game, backend, limits=limits)
    name = opened.machine.roles[role_index(opened.machine, role)]
    with spinner(f"finding out where {name} may be"):
        turns = given.turns(opened.machine, opened.program.digest, name) or []
        found = Game(game, opened.program, opened.machine).belief(
            name, turns, attempts=attempts, seed=seed
        )
        chances = {
            fluent: round(float(chance), 9)
            for fluent, chance in zip(found.fluents, found.marginals, strict=True)
        }
        if fluents:
            chances = {text: found.probability(text) for text in fluents}
    if as_json:
        print_json(_described(found.quality, chances) | opened.seeded_json(seed))
        return
    rows = sorted(chances.items(), key=lambda row: (-row[1], row[0]))
    shown = [(printable(fluent), f"{chance:.4f}") for fluent, chance in rows[:MOST_SHOWN]]
    print_rich(table_of([f"what {name} may believe", "#probability"], shown))
    if len(rows) > MOST_SHOWN:
        click.echo(f"and {len(rows) - MOST_SHOWN:,} less likely; --json tells all")
    click.echo(in_words(found.quality.as_json()))
    opened.show_seed(seed)


def _described(quality: Quality, chances: dict[str, float]) -> dict[str, Any]:
    told = quality.as_json()
    fields = ("how", "sound", "entries", "distinct", "ess", "log_size", "inexact_turns")
    return {name: told[name] for name in fields} | {"fluents": chances}
