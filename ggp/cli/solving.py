"""Common parts of `ggp solve` and `ggp exploit`: limits, and progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from ggp.cli.arguments import FiniteRange, PlayerText
from ggp.console import console_on
from ggp.errors import SolvingError

if TYPE_CHECKING:
    from ggp.machine.definition import GameDefinition


# ------------------------------------------------------------------------
# Bounds of commands on games that may never end.

MOST_TURNS, MAX_SECONDS = 1000, 600.0
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
        default=MAX_SECONDS,
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


def player_option(command: _F) -> _F:
    """`--player`: the one that is measured."""
    return click.option(
        "--player",
        type=PlayerText(),
        required=True,
        metavar="SPEC",
        help="For example hyperplay2:n=4; `ggp players` lists them.",
    )(command)


def seconds_option(command: _F) -> _F:
    """`--seconds`."""
    return click.option(
        "--seconds",
        type=FiniteRange(min=0, min_open=True),
        default=MOST_SECONDS,
        show_default=True,
        help="About how long to solve linear programs, and as long again for CFR+ where they fail.",
    )(command)


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


# ------------------------------------------------------------------------
# A progress bar on standard error for long work.


class Advance(Protocol):
    """A callback with the number of parts done, and the progress of the next one, if known."""

    def __call__(self, parts: int = 1, /, *, now: str = "") -> None: ...


@contextmanager
def bar_of(total: int | None, text: str) -> Iterator[Advance]:
    """A bar, shown only if standard error is a terminal; yields the callback for finished parts.

    Args:
        total: the number of parts; None if it is not known.
        text: what is done.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    screen = console_on(sys.stderr)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(text, total=total)

        def advance(parts: int = 1, /, *, now: str = "") -> None:
            bar.update(task, advance=parts, description=f"{text}, {now}" if now else text)

        yield advance
