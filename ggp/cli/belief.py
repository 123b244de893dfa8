"""`ggp belief`: the states a role may be in after an incomplete path, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ggp.belief import in_words
from ggp.cli.arguments import GameOptions, game_command
from ggp.cli.histories import Given, history_options
from ggp.console import spinner
from ggp.machine import role_index
from ggp.report import Report, Table

MOST_SHOWN = 60
"""Most fluents in a table; --json prints all."""

_FIELDS = ("how", "sound", "entries", "distinct", "ess", "log_size", "inexact_turns")


@game_command("ggp belief kuhn_poker --role player1", seed="what is sampled")
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
def belief(
    options: GameOptions, role: str, given: Given, fluents: tuple[str, ...], attempts: int | None
) -> None:
    """Show which fluents may hold after what a role did and saw, and with which probability.

    Exits with 1 where no complete path agrees with the history.
    """
    game = options.load()
    machine = game._machine
    name = game.roles[role_index(machine, role)]
    with spinner(f"finding out where {name} may be"):
        turns = given.turns(machine, game.program.digest, name) or []
        found = game.belief(name, turns, attempts=attempts, seed=options.seed)
        chances = {
            fluent: round(float(chance), 9)
            for fluent, chance in zip(found.fluents, found.marginals, strict=True)
        }
        if fluents:
            chances = {text: found.probability(text) for text in fluents}

    def parts() -> Iterator[Table | str]:
        rows = sorted(chances.items(), key=lambda row: (-row[1], row[0]))
        yield Table((f"what {name} may believe", ("#probability", ".4f")), rows[:MOST_SHOWN])
        if len(rows) > MOST_SHOWN:
            yield f"and {len(rows) - MOST_SHOWN:,} less likely; --json tells all"
        yield in_words(quality)

    quality = found.quality.as_json()
    values = {field: quality[field] for field in _FIELDS} | {"fluents": chances}
    options.show(Report(values, parts()), game.backend)
