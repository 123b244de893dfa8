"""Bounds of commands on games that may never end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ggp.cli.arguments import FiniteRange
from ggp.errors import SolvingError

if TYPE_CHECKING:
    from ggp.machine.definition import GameDefinition

_F = TypeVar("_F", bound=Callable[..., Any])

MOST_TURNS, MOST_SECONDS = 1000, 600.0
"""The bounds of `ggp.solve` and `ggp.study`, which are slow to import."""


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
        default=MOST_SECONDS,
        show_default=True,
        help=text,
    )


def with_growth(text: str, program: GameDefinition) -> str:
    """A message that something does not end, and what grows in the game, if anything does."""
    from ggp.gdl.analysis.what_grows import told_growth

    return "; ".join(filter(None, (text, told_growth(program.as_program()))))


@contextmanager
def growth_told(program: GameDefinition) -> Iterator[None]:
    """Says of a game that cannot be solved what grows in it."""
    try:
        yield
    except SolvingError as error:
        raise SolvingError(with_growth(str(error), program)) from error
