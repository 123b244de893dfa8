"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ggp.cli.options import FiniteRange
from ggp.protocol.messages import MAX_CLOCK_S, Dialect
from match_runner.clocks import DRESDEN, DRESDEN_PAUSE_S, SERVERS, Replacement
from match_runner.referee import Conditions
from match_runner.remote import DEFAULT_START_CLOCK_S, RemoteConditions

MAX_PAUSE_S = 60
"""Longest pause before a turn: players forget matches that stay silent."""

_F = TypeVar("_F", bound=Callable[..., Any])


def out_option(usual: str | None = None) -> Callable[[_F], _F]:
    """`--out`, as `folder`: where a command that can be continued keeps its results.

    Args:
        usual: what it is by default, for the help; without it the option must be given.
    """
    return click.option(
        "--out",
        "folder",
        type=click.Path(file_okay=False, path_type=Path),
        required=usual is None,
        show_default=usual or False,
        metavar="DIR",
        help="Where results are kept; the same command continues there.",
    )


def record_option(command: _F) -> _F:
    """`--record`, as `records`."""
    return click.option(
        "--record",
        "records",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Write a JSON file for every match.",
    )(command)


def conditions_options(command: _F) -> _F:
    """Everything that `conditions_of` takes, clocks first in the help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def conditions_of(
    *,
    has_remote: bool,
    play_clock_s: float | None,
    start_clock_s: int,
    dialect: str | None,
    server: str,
    scramble: bool,
    replacement: str | None,
    pause_s: float,
) -> Conditions:
    """The conditions that the options of a command ask for.

    Args:
        has_remote: whether a remote player takes part: then bad moves are replaced as the
            server does that is acted like, unless `replacement` says otherwise.
    """
    acted = SERVERS[server]
    usual = acted.replacement if has_remote else Replacement.RANDOM
    return Conditions(
        play_clock_s=play_clock_s,
        replacement=Replacement(replacement) if replacement else usual,
        pause_s=pause_s,
        remote=RemoteConditions(
            server=acted,
            dialect=Dialect(dialect) if dialect else None,
            start_clock_s=start_clock_s,
            scramble=scramble,
        ),
    )


_OPTIONS = (
    click.option(
        "--play-clock",
        "play_clock_s",
        type=FiniteRange(min=0, min_open=True, max=MAX_CLOCK_S),
        metavar="SECONDS",
        help="Time for each decision. Without it the players' counts decide.",
    ),
    click.option(
        "--start-clock",
        "start_clock_s",
        type=click.IntRange(min=0, max=MAX_CLOCK_S),
        default=DEFAULT_START_CLOCK_S,
        show_default=True,
        metavar="SECONDS",
        help="Time of remote players before the first turn.",
    ),
    click.option(
        "--dialect",
        type=click.Choice([dialect.value for dialect in Dialect]),
        show_default="gdl2 where moves are hidden, else gdl",
        help="What remote players are told: moves, percepts, or percepts with turn and move.",
    ),
    click.option(
        "--server",
        type=click.Choice(list(SERVERS)),
        default=DRESDEN.name,
        show_default=True,
        help="Whose requests and grace remote players meet.",
    ),
    click.option(
        "--scramble", is_flag=True, help="Send remote players words that mean nothing, by the seed."
    ),
    click.option(
        "--replacement",
        type=click.Choice([each.value for each in Replacement]),
        show_default="the server's with remote players, else random",
        help="Which legal move is played instead of a late or illegal one.",
    ),
    click.option(
        "--pause",
        "pause_s",
        type=FiniteRange(min=0, max=MAX_PAUSE_S),
        default=0.0,
        show_default=True,
        metavar="SECONDS",
        help=f"Wait before each turn; the Dresden controller waits {DRESDEN_PAUSE_S:g}.",
    ),
)
