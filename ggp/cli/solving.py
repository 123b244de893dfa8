"""Options of commands that solve games, or play them out: bounds on games that may never end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from ggp.cli.arguments import FiniteRange, PlayerText
from ggp.library.solved import MOST_SECONDS
from ggp.solve import MOST_STATES, TreeBounds

_F = TypeVar("_F", bound=Callable[..., Any])

MOST_TURNS, MAX_SECONDS = 1000, 600.0


def turns_option(text: str, *names: str, least: int = 1) -> Callable[[_F], _F]:
    """`--max-turns`.

    Args:
        text: what the option bounds, for the help.
        names: other names of the option.
        least: the lowest number allowed.
    """
    return click.option(
        "--max-turns",
        *names,
        "max_turns",
        type=click.IntRange(min=least),
        default=MOST_TURNS,
        show_default=True,
        help=text,
    )


def time_option(text: str) -> Callable[[_F], _F]:
    """`--max-seconds`."""
    return click.option(
        "--max-seconds",
        type=FiniteRange(min=0, min_open=True),
        default=MAX_SECONDS,
        show_default=True,
        help=text,
    )


def tree_options(*, only_with: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--states`, `--max-turns` and `--max-seconds`, which the command is given as `bounds`.

    Args:
        only_with: another option without which they say nothing.
    """

    def text(sentence: str) -> str:
        return f"With {only_with}: {sentence}" if only_with else sentence.capitalize()

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def command(
            *asked: Any, states: int, max_turns: int, max_seconds: float, **own: Any
        ) -> Any:
            return function(*asked, bounds=TreeBounds(states, max_turns, max_seconds), **own)

        time_option(text("most seconds to build the tree of the game."))(command)
        turns_option(text("refuse games that may be longer than this."))(command)
        return click.option(
            "--states",
            type=click.IntRange(min=1),
            default=MOST_STATES,
            show_default=True,
            help="Refuse trees with more states than this.",
        )(command)

    return decorate


def player_option(text: str) -> Callable[[_F], _F]:
    """`--player`: the one that is measured.

    Args:
        text: an example of one, for the help.
    """
    return click.option(
        "--player",
        type=PlayerText(),
        required=True,
        metavar="SPEC",
        help=f"For example {text}; `ggp players` lists them.",
    )


def seconds_option(text: str) -> Callable[[_F], _F]:
    """`--seconds`.

    Args:
        text: what the option bounds, for the help.
    """
    return click.option(
        "--seconds",
        type=FiniteRange(min=0, min_open=True),
        default=MOST_SECONDS,
        show_default=True,
        help=text,
    )


SOLVING_SECONDS = (
    "About how long to solve linear programs, and as long again for CFR+ where they fail."
)


def sizes_told(tell: Callable[[str], None]) -> Callable[[int, int], None]:
    """Says how large a tree has become; see `TreeBounds`."""
    return lambda turns, states: tell(f"{turns} turns, {states:,} states")
