"""`ggp properties`: the properties that decide whether clairvoyant worlds suffice in a game."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ggp.cli.arguments import (
    backend_option,
    json_option,
    limits_option,
    open_game,
    seed_option,
    verbose_option,
)
from ggp.console import example, print_json, print_rich, spinner, table_of

if TYPE_CHECKING:
    from ggp.machine import Limits, Machine
    from ggp.study.properties import Properties

DEFAULT_WALKS, PROLOG_WALKS = 2000, 50
"""Default numbers of walks; with 2,000 shares are known within about 0.03."""


@click.command(epilog=example("ggp properties exploding_bomb"))
@click.argument("game")
@click.option(
    "--walks",
    type=click.IntRange(min=1),
    show_default=f"{DEFAULT_WALKS}; {PROLOG_WALKS} on Prolog, which is slow",
    help="Random walks to nodes at which every move ends the game. All other work is in "
    "proportion.",
)
@seed_option()
@backend_option
@limits_option
@json_option
@verbose_option
def properties(
    game: str, walks: int | None, seed: int, backend: str, limits: Limits, as_json: bool
) -> None:
    """Measure leaf correlation, bias, disambiguation and more of a game.

    These tell how well perfect information Monte Carlo search, which solves worlds as if
    everybody knew them, can be expected to play.
    """
    opened = open_game(game, backend, limits=limits)
    from ggp.study.properties import measure_properties

    with spinner(f"walking through {game}"):
        found = measure_properties(opened.machine, walks or walks_for(opened.machine), seed)
    if as_json:
        print_json(found.to_json() | opened.seeded_json(seed))
    else:
        _show(found)
        opened.show_seed(seed)


def walks_for(machine: Machine) -> int:
    """Default number of random walks."""
    return PROLOG_WALKS if machine.backend == "prolog" else DEFAULT_WALKS


def _show(found: Properties) -> None:
    rows = [
        (
            name,
            _text(each.leaf_correlation),
            _text(each.leaf_correlation_goals),
            _text(each.bias),
            _text(each.disambiguation),
            _text(each.clairvoyance_gap, ".1f"),
            _text(each.ties),
            _text(each.information_sets.mean, ".1f"),
        )
        for name, each in found.roles.items()
    ]
    titles = (
        *("role", "#leaf correlation", "#of goals", "#bias", "#disambiguation"),
        *("#clairvoyance gap", "#ties", "#set size"),
    )
    print_rich(table_of(titles, rows))
    click.echo(f"{found.walks:,} walks")
    for note in found.notes:
        click.echo(f"note: {note}")


def _text(value: float | None, layout: str = ".2f") -> str:
    return "-" if value is None else format(value, layout)
