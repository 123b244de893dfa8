"""Common parts of `ggp solve` and `ggp exploit`: limits, and progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from ggp.cli.arguments import FiniteRange
from ggp.console import console_on

_F = TypeVar("_F", bound=Callable[..., Any])

MOST_STATES, MOST_SECONDS = 1_000_000, 60.0
"""The limits of `ggp.solve`, which is slow to import."""

DIGITS = 9
"""Digits after the point; anything after them is rounding."""


def states_option(command: _F) -> _F:
    """`--states`."""
    return click.option(
        "--states",
        type=click.IntRange(min=1),
        default=MOST_STATES,
        show_default=True,
        help="Refuse trees with more states than this.",
    )(command)


def seconds_option(more: str = "") -> Callable[[_F], _F]:
    """`--seconds`.

    Args:
        more: sentences for the end of the help.
    """
    return click.option(
        "--seconds",
        type=FiniteRange(min=0, min_open=True),
        default=MOST_SECONDS,
        show_default=True,
        help="About how long to solve linear programs, and as long again for CFR+ where they fail."
        f"{more}",
    )


@contextmanager
def telling(text: str) -> Iterator[Callable[[str], None]]:
    """A spinner with a text that is extended by messages, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda now: None
        return
    with console_on(sys.stderr).status(text) as status:
        yield lambda now: status.update(f"{text}: {now}")


@contextmanager
def counting(text: str) -> Iterator[Callable[[int, int], None]]:
    """A spinner that shows the current size of the tree."""
    with telling(text) as tell:
        yield lambda turns, states: tell(f"{turns} turns, {states:,} states")
