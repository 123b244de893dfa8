"""Options of commands whose series may end by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ggp.cli.arguments import FiniteRange
from ggp.errors import ConfigError
from match_runner.series.stopping import DEFAULT_MOST, DEFAULT_WORTH, Until
from match_runner.series.verdicts import DECIDED, SPAN

_F = TypeVar("_F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--until",
        type=click.Choice([DECIDED]),
        help="Instead of --matches: play rounds until one player is better for certain (99 %), or "
        "the difference is surely smaller than --worth.",
    ),
    click.option(
        "--worth",
        type=FiniteRange(min=0, min_open=True, max=SPAN),
        metavar="POINTS",
        show_default=f"{DEFAULT_WORTH:g}",
        help="With --until: a smaller difference in score does not matter.",
    ),
    click.option(
        "--most",
        type=click.IntRange(min=2),
        metavar="MATCHES",
        show_default=str(DEFAULT_MOST),
        help="With --until: play so many matches at most.",
    ),
)


def until_options(command: _F) -> _F:
    """Options `--until`, `--worth` and `--most`, see `read_until`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_until(asked: dict[str, Any], matches: int | None) -> Until | None:
    """When a series ends by itself, if it does; removes these options from `asked`.

    Raises:
        ConfigError: options that do not go together.
    """
    until, worth, most = (asked.pop(name) for name in ("until", "worth", "most"))
    if until is None:
        if worth is not None or most is not None:
            raise ConfigError("--worth and --most say when --until decided ends; add it")
        return None
    if matches is not None:
        raise ConfigError(
            f"--matches {matches} and --until decided exclude each other: leave out --matches, or "
            f"say --most {matches} for at most so many"
        )
    return Until(worth or DEFAULT_WORTH, most or DEFAULT_MOST)
