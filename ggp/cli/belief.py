"""`ggp belief`: the possible states of a role after an incomplete path, and their quality."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ggp.belief import in_words
from ggp.cli.arguments import GameOptions, complete_role, game_command
from ggp.cli.histories import Origin, history_options
from ggp.console import spinner
from ggp.machine import role_index
from ggp.report import Report, Table

MAX_SHOWN = 60
"""Maximum number of fluents in a table; --json prints all."""

_FIELDS = ("how", "sound", "entries", "distinct", "ess", "log_size", "inexact_turns")


@game_command("ggp belief kuhn_poker --role player1", seed="the sampling")
@click.option("--role", required=True, shell_complete=complete_role, help="The role that believes.")
@history_options("Without it, the match is at its start.")
@click.option(
    "--fluent", "fluents", multiple=True, metavar="TERM", help="Show this fluent; may be repeated."
)
@click.option(
    "--attempts",
    type=click.IntRange(min=1),
    help="Joint moves to try in search of a possible state; 400,000 by default.",
)
def belief(
    options: GameOptions, role: str, origin: Origin, fluents: tuple[str, ...], attempts: int | None
) -> None:
    """Show which facts may hold for a role, and how likely.

    The role knows its moves and percepts so far. Exits with 1 if no complete path agrees with
    them.
    """
    game = options.load()
    machine = game._machine
    name = game.roles[role_index(machine, role)]
    with spinner(f"finding the possible states of {name}"):
        turns = origin.turns(machine, game.program.digest, name) or []
        bag = game.belief(name, turns, attempts=attempts, seed=options.seed)
        chances = {
            fluent: round(float(chance), 9)
            for fluent, chance in zip(bag.fluents, bag.marginals, strict=True)
        }
        if fluents:
            chances = {text: bag.probability(text) for text in fluents}

    def parts() -> Iterator[Table | str]:
        rows = sorted(chances.items(), key=lambda row: (-row[1], row[0]))
        yield Table((f"belief of {name}", ("#probability", ".4f")), rows[:MAX_SHOWN])
        if len(rows) > MAX_SHOWN:
            yield f"and {len(rows) - MAX_SHOWN:,} less likely; --json prints all"
        yield in_words(quality)

    quality = bag.quality.as_json()
    values = {field: quality[field] for field in _FIELDS} | {"fluents": chances}
    options.show(Report(values, parts()), game.backend)
