"""`ggp solve` and `ggp exploit`: optimal play, and how far a player is from it."""

from __future__ import annotations

from typing import Any

import click

from ggp.cli.arguments import FiniteRange, GameOptions, game_command
from ggp.cli.solving import (
    SOLVING_SECONDS,
    player_option,
    seconds_option,
    sizes_told,
    tree_options,
)
from ggp.console import spinner
from ggp.errors import ConfigError
from ggp.library.solved import ERROR, SAMPLES, Precision, exploited, solved
from ggp.solve import TreeBounds


@game_command("ggp solve kuhn_poker --strategy", seed="the search for more than one equilibrium")
@click.option("--strategy", is_flag=True, help="Show the probabilities of all moves, too.")
@tree_options()
@seconds_option(SOLVING_SECONDS)
def solve(options: GameOptions, strategy: bool, bounds: TreeBounds, seconds: float) -> None:
    """Solve a game: what optimal play is worth to each role.

    With one player this is the optimum, with two and constant sum the value of an equilibrium. In
    other games it is a profile found by CFR+, with what each role would gain by deviating from it,
    and equilibria with other values, as far as they are found.
    """
    game = options.load()
    with spinner(f"solving {options.game}") as tell:
        bounds = bounds._replace(progress=sizes_told(tell))
        found = solved(game, bounds, seed=options.seed, seconds=seconds, strategies=strategy)
    options.show(found.report(strategy=strategy), game.backend)


APPROXIMATE, APPROXIMATION = "--approximate", "respond"
"""An option, and the command of the lab of learning that it stands for."""


class _Exploit(click.Command):
    """`ggp exploit --approximate ...` is another command, `ggp respond ...`."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **more: Any,
    ) -> click.Context:
        if APPROXIMATE not in args or parent is None:
            return super().make_context(info_name, args, parent, **more)
        assert isinstance(parent.command, click.Group)
        command = parent.command.get_command(parent, APPROXIMATION)
        if command is None:
            raise ConfigError(f"{APPROXIMATE} needs the lab of learning, which is not installed")
        args = [each for each in args if each != APPROXIMATE]
        return command.make_context(APPROXIMATION, args, parent, **more)


@game_command(
    "ggp exploit kuhn_poker --player hyperplay:n=2 --samples 20",
    seed="the players and the bootstrap",
    cls=_Exploit,
)
@player_option("hyperplay2:n=4")
@click.option(
    "--error",
    type=FiniteRange(min=0, min_open=True),
    default=ERROR,
    show_default=True,
    metavar="POINTS",
    help="Ask until half of the width of each interval is no more than this, of goals up to 100.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=SAMPLES,
    show_default=True,
    metavar="K",
    help="Ask at most so many new players at each information set.",
)
@tree_options()
@seconds_option(SOLVING_SECONDS)
def exploit(
    options: GameOptions,
    player: str,
    error: float,
    samples: int,
    bounds: TreeBounds,
    seconds: float,
) -> None:
    """Measure how far a player is from optimal play.

    New players are asked at every information set, most often where it matters most; one that
    tells its policy is asked once. Shown is what it scores in each role against an equilibrium, and
    against a best response to it, with an interval for the latter.

    With --approximate it is the same as `ggp respond`, with the options of that command: nothing
    is solved, and what the player can lose is bounded, in games of any size.
    """
    game = options.load()
    with spinner(f"measuring {player}") as tell:

        def progress(num: int, left: float) -> None:
            tell(f"asked {num:,} times" + (f", error {left:.1f}" if left < 100 else ""))

        found = exploited(
            game,
            player,
            bounds._replace(progress=sizes_told(tell)),
            Precision(error, samples, progress),
            seed=options.seed,
            seconds=seconds,
        )
    options.show(found.report(), game.backend)
