"""`ggp properties`: the properties of a game that decide whether clairvoyant search suffices."""

from __future__ import annotations

import click

from ggp.cli.arguments import GameOptions, game_command
from ggp.console import spinner
from ggp.machine import Machine
from ggp.study.properties import measure_properties

DEFAULT_WALKS, PROLOG_WALKS = 2000, 50
"""Default numbers of walks; 2,000 give shares within about 0.03."""


@game_command("ggp properties exploding_bomb")
@click.option(
    "--walks",
    type=click.IntRange(min=1),
    show_default=f"{DEFAULT_WALKS}; {PROLOG_WALKS} on Prolog, which is slow",
    help="Random walks to nodes where every move ends the game; all other work is in proportion.",
)
def properties(options: GameOptions, walks: int | None) -> None:
    """Measure leaf correlation, bias, disambiguation and more.

    They predict how well perfect information Monte Carlo search plays, which solves worlds as if
    everybody knew them.
    """
    machine = options.open().machine
    with spinner(f"walking through {options.game}"):
        measured = measure_properties(machine, walks or walks_for(machine), options.seed)
    options.show(measured.report(), machine.backend)


def walks_for(machine: Machine) -> int:
    """Default number of random walks."""
    return PROLOG_WALKS if machine.backend == "prolog" else DEFAULT_WALKS
