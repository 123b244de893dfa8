"""The course of a series as a chart: the score with its interval, and what happens by turn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ggp.html_tables import html_table
from ggp.statistics.intervals import Interval, interval_text
from match_runner.charts import Plot, new_figure
from match_runner.series.course import (
    ALL_ROLES,
    EXPECTED,
    GOAL,
    SCORE,
    SECONDS,
    STATES,
    Course,
    course_of,
)
from match_runner.series.holding import Held

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW_INCHES = 3.4
_WIDTH_INCHES = 13.0
_TITLES = {
    SCORE: ("mean score, with 99 % interval", "rounds"),
    EXPECTED: ("expected (lines), goals at the end (marks)", "turn"),
    STATES: ("states a decision", "turn"),
    SECONDS: ("seconds a decision", "turn"),
}
"""What the parts of a row show, and along what."""

_MARKERS = "osD^vPX*"
_GOALS = (-3.0, 103.0)
_FEW = 20
"""Most points of a line that are marked."""


class WithCourse:
    """Results of a series that have its course.

    Attributes:
        held: what was played.
    """

    held: Held

    def __repr__(self) -> str:
        games = ", ".join(game.name for game in self.held.series.games)
        played = f"{len(self.held.matches)} of {self.held.planned} matches"
        return f"<{type(self).__name__} of {games}: {played}>"

    def _repr_html_(self) -> str:
        course = course_of(self.held)
        rows = []
        for scope in course.scopes:
            for player in course.players:
                for row in course.of(scope, player, ALL_ROLES, SCORE)[-1:]:
                    score = Interval(row.value, row.low, row.high)
                    rows.append((scope, player, interval_text(score), str(row.num)))
        columns = ("game", "player", "#mean score [99 %]", "#rounds")
        return html_table(columns, rows, repr(self).strip("<>"))

    def frame(self) -> Any:
        """Scores by round, and goals, states and time by turn, as `--csv` writes them.

        Returns:
            a `pandas.DataFrame` where pandas is installed, else a dict of arrays by column; see
            `match_runner.series.course`.
        """
        return course_of(self.held).frame()

    def plot(self, path: Path | str | None = None) -> Plot:
        """The same as a chart, as `--plot` draws it.

        Args:
            path: of a file to write it to; its ending says in which format.

        Raises:
            ConfigError: no chart can be written to a file of this name.
        """
        drawn = draw_course(course_of(self.held))
        if path is not None:
            drawn.save(path)
        return drawn


def draw_course(course: Course) -> Plot:
    """Draw a course: a row of four parts for all games together, or for the only one, and where
    there are several a row for each game below it."""
    scopes = course.scopes[-1:] + course.scopes[:-1]
    figure = new_figure(_WIDTH_INCHES, _ROW_INCHES * len(scopes))
    grid = figure.subplots(len(scopes), len(_TITLES), squeeze=False)
    for scope, places in zip(scopes, grid, strict=True):
        for axes, (measure, (title, along)) in zip(places, _TITLES.items(), strict=True):
            for number, player in enumerate(course.players):
                _draw(axes, course, (scope, player, measure), number)
            axes.set_title(title, fontsize="small")
            axes.set_xlabel(along)
            axes.xaxis.get_major_locator().set_params(integer=True)
            if measure in (SCORE, EXPECTED):
                axes.set_ylim(*_GOALS)
            else:
                axes.set_ylim(bottom=0)
        places[0].set_ylabel(scope)
    first = grid[0][0]
    if first.get_legend_handles_labels()[0]:  # else nothing was played, and a legend would warn
        first.legend(fontsize="small", framealpha=0.8)
    return Plot(figure)


def _draw(axes: Axes, course: Course, what: tuple[str, str, str], number: int) -> None:
    scope, player, measure = what
    colour, marker = f"C{number % 10}", _MARKERS[number % len(_MARKERS)]
    rows = course.of(scope, player, ALL_ROLES, measure)
    if rows:
        few = marker if len(rows) <= _FEW else ""
        at = [row.at for row in rows]
        axes.plot(at, [row.value for row in rows], color=colour, marker=few, label=player)
    sure = [row for row in rows if row.low is not None and row.high is not None]
    if sure:
        lows, highs = ([getattr(row, end) for row in sure] for end in ("low", "high"))
        where = [row.at for row in sure]
        axes.fill_between(where, lows, highs, color=colour, alpha=0.15, linewidth=0)
    if measure == EXPECTED:
        ended = course.of(scope, player, ALL_ROLES, GOAL)
        axes.scatter(
            [row.at for row in ended],
            [row.value for row in ended],
            marker=marker,
            edgecolors=colour,
            facecolors="none",
        )
