"""Options of commands that solve games or play them out, such as bounds on endless games."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from ggp.cli.arguments import PlayerText, amount_option, count_option
from ggp.library.solved import MAX_SOLVING_SECONDS
from ggp.solve import MAX_STATES, TreeBounds

_F = TypeVar("_F", bound=Callable[..., Any])

MAX_TURNS, MAX_SECONDS = 1000, 600.0


def turns_option(text: str, *names: str, minimum: int = 1) -> Callable[[_F], _F]:
    """`--max-turns`.

    Args:
        text: what the option bounds, for the help.
        names: other names of the option.
        minimum: the lowest number allowed.
    """
    return count_option(
        "--max-turns", *names, "max_turns", default=MAX_TURNS, minimum=minimum, help=text
    )


def time_option(text: str) -> Callable[[_F], _F]:
    """`--max-seconds`."""
    return amount_option("--max-seconds", default=MAX_SECONDS, help=text)


def tree_options(*, only_with: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--states`, `--max-turns` and `--max-seconds`, passed to the command as `bounds`.

    Args:
        only_with: another option without which they have no effect.
    """

    def text(sentence: str) -> str:
        return f"With {only_with}: {sentence}" if only_with else sentence.capitalize()

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def command(
            *args: Any, states: int, max_turns: int, max_seconds: float, **others: Any
        ) -> Any:
            return function(*args, bounds=TreeBounds(states, max_turns, max_seconds), **others)

        time_option(text("most seconds to build the tree of the game."))(command)
        turns_option(text("refuse games that may be longer than this."))(command)
        return count_option(
            "--states", default=MAX_STATES, help="Refuse trees with more states than this."
        )(command)

    return decorate


def player_option(text: str) -> Callable[[_F], _F]:
    """`--player`: the player to measure.

    Args:
        text: an example, for the help.
    """
    return click.option(
        "--player",
        type=PlayerText(),
        required=True,
        metavar="SPEC",
        help=f"The player, for example {text}; `ggp players` lists all.",
    )


play_clock_option = amount_option(
    "--play-clock", help="Seconds to think; without it, the player's own limits apply."
)


def seconds_option(text: str) -> Callable[[_F], _F]:
    """`--seconds`.

    Args:
        text: what the option bounds, for the help.
    """
    return amount_option("--seconds", default=MAX_SOLVING_SECONDS, help=text)


SOLVING_SECONDS = "Approximate time for linear programs, and again for CFR+ if they fail."


def tree_progress(tell: Callable[[str], None]) -> Callable[[int, int], None]:
    """A callback that reports the size of a growing tree; see `TreeBounds`."""
    return lambda turns, states: tell(f"{turns} turns, {states:,} states")
