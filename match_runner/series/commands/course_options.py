"""Options of commands that write the course of a series into files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from ggp.cli.arguments import FilePath
from ggp.errors import ConfigError
from ggp.whole_files import write_whole
from match_runner.charts import ENDINGS, check_ending
from match_runner.series.course import course_of
from match_runner.series.course_plot import draw_course
from match_runner.series.holding import Held

_F = TypeVar("_F", bound=Callable[..., Any])


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
