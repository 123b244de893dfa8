"""`ggp solve`, `ggp exploit` and `ggp properties`: optimal play, a player's distance from it, and
what decides whether clairvoyant search suffices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from ggp.cli.arguments import (
    GameOptions,
    amount_option,
    clock_option,
    count_option,
    game_command,
    is_given,
)
from ggp.cli.solving import (
    SOLVING_SECONDS,
    play_clock_option,
    player_option,
    seconds_option,
    tree_options,
    tree_progress,
)
from ggp.console import spinner
from ggp.errors import ConfigError
from ggp.library.solved import ERROR, SAMPLES, Precision, Thinking, exploited, solved
from ggp.machine import Machine
from ggp.run.clocks import Clock
from ggp.solve import TreeBounds
from ggp.study.properties import measure_properties


@game_command("ggp solve kuhn_poker --strategy", seed="the search for more than one equilibrium")
@click.option("--strategy", is_flag=True, help="Also show the probabilities of all moves.")
@tree_options()
@seconds_option(SOLVING_SECONDS)
def solve(options: GameOptions, strategy: bool, bounds: TreeBounds, seconds: float) -> None:
    """Solve a game: the value of optimal play for each role.

    For one player this is the optimum; for two players with constant sum, the value of an
    equilibrium. In other games it is the value of a profile found by CFR+, with the gain of each
    role from deviating, and other equilibria, if any are found.
    """
    game = options.load()
    with spinner(f"solving {options.game}") as tell:
        bounds = bounds._replace(progress=tree_progress(tell))
        solution = solved(game, bounds, seed=options.seed, seconds=seconds, strategies=strategy)
    options.show(solution.report(strategy=strategy), game.backend)


APPROXIMATE, APPROXIMATION = "--approximate", "respond"
"""An option, and the command of the learning lab that it stands for."""


class _Exploit(click.Command):
    """`ggp exploit --approximate ...` is another command, `ggp respond ...`."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if APPROXIMATE not in args or parent is None:
            return super().make_context(info_name, args, parent, **extra)
        assert isinstance(parent.command, click.Group)
        command = parent.command.get_command(parent, APPROXIMATION)
        if command is None:
            raise ConfigError(f"{APPROXIMATE} needs the lab of learning, which is not installed")
        args = [arg for arg in args if arg != APPROXIMATE]
        return command.make_context(APPROXIMATION, args, parent, **extra)


def _precision_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--error`, `--samples` and `--answers`, passed to the command as `precision`."""

    @functools.wraps(function)
    def command(*args: Any, error: float, samples: int, answers: int | None, **others: Any) -> Any:
        if answers is not None and (is_given("error") or is_given("samples")):
            raise ConfigError("give either --answers, or --error and --samples")
        return function(*args, precision=Precision(error, samples, answers), **others)

    count_option(
        "--answers",
        metavar="K",
        help="New players to ask at each information set, instead of --error and --samples.",
    )(command)
    count_option(
        "--samples",
        default=SAMPLES,
        metavar="K",
        help="Most new players to ask at each information set.",
    )(command)
    return amount_option(
        "--error",
        default=ERROR,
        metavar="POINTS",
        help="Ask until half the width of each interval is at most this; goals go up to 100.",
    )(command)


@game_command(
    "ggp exploit kuhn_poker --player hyperplay:n=2 --samples 20",
    seed="the players and the bootstrap",
    cls=_Exploit,
)
@player_option("hyperplay2:n=4")
@_precision_options
@play_clock_option
@clock_option("the player")
@tree_options()
@seconds_option(SOLVING_SECONDS)
def exploit(
    options: GameOptions,
    player: str,
    precision: Precision,
    play_clock: float | None,
    clock: Clock,
    bounds: TreeBounds,
    seconds: float,
) -> None:
    """Measure a player's distance from optimal play.

    New players are asked at every information set, most often where it matters most, or with
    --answers equally often; a player that states its policy is asked once. Prints the score of the
    player in each role against an equilibrium, and against a best response, with an interval for
    the latter.

    With --approximate, the command is `ggp respond` and takes its options: it solves nothing, and
    bounds the player's loss, in games of any size.
    """
    if play_clock is None and is_given("clock"):
        raise ConfigError("--clock says nothing without --play-clock")
    game = options.load()
    with spinner(f"measuring {player}") as tell:

        def progress(num: int, half_width: float) -> None:
            tell(f"asked {num:,} times" + (f", error {half_width:.1f}" if half_width < 100 else ""))

        exploitation = exploited(
            game,
            player,
            bounds._replace(progress=tree_progress(tell)),
            precision._replace(progress=progress),
            Thinking(play_clock, clock),
            seed=options.seed,
            seconds=seconds,
        )
    options.show(exploitation.report(), game.backend)


# ------------------------------------------------------------------------
# `ggp properties`: the properties of a game that decide whether clairvoyant search suffices.

DEFAULT_WALKS, PROLOG_WALKS = 2000, 50
"""Default numbers of walks; 2,000 give shares within about 0.03."""


@game_command("ggp properties exploding_bomb")
@count_option(
    "--walks",
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
