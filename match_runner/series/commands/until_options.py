"""Options of commands whose series may end by themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from ggp.cli.arguments import FilePath, FiniteRange
from ggp.errors import ConfigError
from ggp.run.whole_files import write_whole
from match_runner.charts import ENDINGS, check_ending
from match_runner.series.course import course_of
from match_runner.series.course_plot import draw_course
from match_runner.series.holding import Held
from match_runner.series.stopping import DEFAULT_MOST, DEFAULT_WORTH, StoppingRule
from match_runner.series.verdicts import DECIDED, SPAN

# ------------------------------------------------------------------------
# Options of commands that write the course of a series into files.


class _PlotPath(FilePath):
    """The path of a chart, whose ending says in which format it is drawn."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        path = super().convert(value, param, ctx)
        try:
            return check_ending(path)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


class CourseFiles(NamedTuple):
    """Where the course of a series is written.

    Attributes:
        csv: as a table; None for nowhere.
        plot: as a chart; None for nowhere.
    """

    csv: Path | None
    plot: Path | None

    def after(self, show: Callable[[Held], None]) -> Callable[[Held], None]:
        """What shows a series, and then writes the files."""

        def shown(held: Held) -> None:
            show(held)
            if self.csv is None and self.plot is None:
                return
            course = course_of(held)
            if self.csv is not None:
                write_whole(self.csv, course.csv())
            if self.plot is not None:
                draw_course(course).save(self.plot)

        return shown


def course_options(command: _F) -> _F:
    """Options `--csv` and `--plot`, see `read_course_files`."""
    csv = click.option(
        "--csv",
        type=FilePath(),
        metavar="FILE",
        help="Write scores by round, and goals, states and time by turn, as a table.",
    )
    plot = click.option(
        "--plot",
        type=_PlotPath(),
        metavar="FILE",
        help=f"Draw the same as a chart; FILE ends in {', '.join(ENDINGS)}.",
    )
    return csv(plot(command))


def read_course_files(asked: dict[str, Any]) -> CourseFiles:
    """Where the course is to be written; removes these options from `asked`."""
    return CourseFiles(asked.pop("csv"), asked.pop("plot"))


# ------------------------------------------------------------------------

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


def read_until(asked: dict[str, Any], matches: int | None) -> StoppingRule | None:
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
    return StoppingRule(worth or DEFAULT_WORTH, most or DEFAULT_MOST)
