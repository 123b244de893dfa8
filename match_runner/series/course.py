"""The course of a series, as a table and a chart: scores by round; goals, states, time by turn.

A snapshot of a series comes in; `--csv` and `--plot` write what comes out. A row is one measure of
one player in one game, at a round or a turn. Other rows sum up all roles, and all games where there
are several. `MEASURES` lists the measures:

    game      player          role       measure   at   value   low    high   num
    meier     hyperplay2:n=4  all roles  score      3   52.5    10.1   91.7       3
    meier     hyperplay2:n=4  player1    states     2  118.0                      3
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ggp.players import Decision
from ggp.report import Table
from ggp.statistics import Interval, mean_interval
from match_runner.charts import Plot, new_figure
from match_runner.series.holding import Snapshot
from match_runner.series.outcomes import Played, decisions_of, effort_of, rounds_of, scores_of
from match_runner.series.plan import resampling_seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ALL_GAMES, ALL_ROLES = "all games", "all roles"

SCORE, GOAL, EXPECTED, STATES, SECONDS = "score", "goal", "expected", "states", "seconds"

MEASURES: Mapping[str, str] = {
    SCORE: "mean goal value of the rounds so far, with its 99 % interval; `at` counts rounds",
    GOAL: "mean goal value of the matches that ended after so many turns",
    EXPECTED: "mean value that players gave to the moves they chose, at this turn, from 1",
    STATES: "mean number of states visited for a decision at this turn",
    SECONDS: "mean time of a decision at this turn, by the clock of its match",
}
"""The measures, and their meanings. Forced moves do not count as decisions."""

MAX_POINTS = 100
"""Most rounds for which there is a score, evenly spread, the last one included."""


class Row(NamedTuple):
    """One number of a series.

    Attributes:
        game, player, role: the title of a game, and names; `ALL_GAMES` and `ALL_ROLES` for several
            together.
        measure: one of `MEASURES`.
        at: the number of rounds, or the turn, from 1.
        value: the mean.
        low, high: ends of its 99 % interval; None without an interval.
        num: number of rounds, matches or decisions.
    """

    game: str
    player: str
    role: str
    measure: str
    at: int
    value: float
    low: float | None
    high: float | None
    num: int


@dataclass(frozen=True)
class Course:
    """The course of a series.

    Attributes:
        rows: by game, player, role and measure, then by round or turn.
        players: their names, in order.
        scopes: the games, then `ALL_GAMES` if there are several.
    """

    rows: tuple[Row, ...]
    players: tuple[str, ...]
    scopes: tuple[str, ...]

    @property
    def table(self) -> Table:
        """The rows as a table, for CSV or a data frame."""
        return Table(Row._fields, self.rows)

    def of(self, scope: str, player: str, role: str, measure: str) -> list[Row]:
        """The rows of one measure, by round or turn."""
        key = (scope, player, role, measure)
        return [row for row in self.rows if row[:4] == key]


def course_of(snapshot: Snapshot) -> Course:
    """The course of a series so far."""
    series = snapshot.series
    games = [game.name for game in series.games]
    scopes = (*games, *((ALL_GAMES,) if len(games) > 1 else ()))
    rows: list[Row] = []
    for scope in scopes:
        matches = [m for m in snapshot.matches if scope in (m.planned.game, ALL_GAMES)]
        bounds = series.goal_bounds if scope == ALL_GAMES else series.game(scope).goal_bounds
        title = scope if scope == ALL_GAMES else series.title(scope)
        roles = dict.fromkeys(role for match in matches for role in match.planned.seating)
        for index, player in enumerate(series.names):
            rows += _scores(snapshot, matches, index, (title, player), bounds)
            if scope != ALL_GAMES:  # other games have other roles
                for role in roles:
                    rows += _by_turn(matches, index, role, (title, player))
            rows += _by_turn(matches, index, None, (title, player))
    titles = (*map(series.title, games), *scopes[len(games) :])
    return Course(tuple(rows), series.names, titles)


def _scores(
    snapshot: Snapshot,
    matches: Sequence[Played],
    player: int,
    names: tuple[str, str],
    bounds: tuple[float, float] | None,
) -> Iterator[Row]:
    values = [s[player] for s in map(scores_of, rounds_of(matches)) if player in s]
    seed = resampling_seed(snapshot.series)
    for num in _points(len(values)):
        # Only the end was planned: a mean at an earlier round needs the stricter interval.
        fixed = snapshot.fixed and num == len(values)
        mean = mean_interval(values[:num], seed, bounds, fixed=fixed)
        if mean.value is not None:
            yield Row(*names, ALL_ROLES, SCORE, num, mean.value, mean.low, mean.high, num)


def _points(num: int) -> list[int]:
    """Numbers of rounds after which there is a score."""
    num_points = min(num, MAX_POINTS)
    return [round(num * (point + 1) / num_points) for point in range(num_points)]


def _by_turn(
    matches: Sequence[Played], player: int, role: str | None, names: tuple[str, str]
) -> Iterator[Row]:
    """Yield the measures by turn of a player in one role, or in all."""
    goals: dict[int, list[float]] = defaultdict(list)
    for match in matches:
        for seat, goal in match.scored.items():
            if match.planned.seating.get(seat) == player and role in (None, seat):
                goals[len(match.record.turns)].append(goal)
    decisions_at: dict[int, list[tuple[int, str, Decision]]] = defaultdict(list)
    for decision in decisions_of(matches, player, role):
        decisions_at[decision[0] + 1].append(decision)
    names_with_role = (*names, ALL_ROLES if role is None else role)
    for turn, goal_values in sorted(goals.items()):
        yield _mean(names_with_role, GOAL, turn, goal_values)
    turns = sorted(decisions_at.items())
    for turn, decisions in turns:
        values = [
            value.value
            for _, _, decision in decisions
            for value in decision.values
            if value.move == decision.move and value.value is not None
        ]
        if values:
            yield _mean(names_with_role, EXPECTED, turn, values)
    efforts = [(turn, effort_of(decisions)) for turn, decisions in turns]
    for measure in (STATES, SECONDS):
        for turn, effort in efforts:
            value = effort.states if measure == STATES else effort.seconds
            if value is not None:
                yield Row(*names_with_role, measure, turn, value, None, None, effort.decisions)


def _mean(names: tuple[str, str, str], measure: str, turn: int, values: Sequence[float]) -> Row:
    return Row(*names, measure, turn, fsum(values) / len(values), None, None, len(values))


# ------------------------------------------------------------------------
# The course of a series as a chart: the score with its interval, and the measures by turn.

_ROW_INCHES = 3.4
_WIDTH_INCHES = 13.0
_TITLES = {
    SCORE: ("mean score, with 99 % interval", "rounds"),
    EXPECTED: ("expected (lines), goals at the end (marks)", "turn"),
    STATES: ("states per decision", "turn"),
    SECONDS: ("seconds a decision", "turn"),
}
"""Titles of the parts of a row, and labels of their x-axes."""

_MARKERS = "osD^vPX*"
_GOALS = (-3.0, 103.0)
_FEW = 20
"""Most points of a line that get markers."""


class WithCourse:
    """Mixin for the results of a series: they show its course as a table or a chart.

    Attributes:
        snapshot: the matches.
    """

    snapshot: Snapshot

    def __repr__(self) -> str:
        series = self.snapshot.series
        games = ", ".join(series.title(game.name) for game in series.games)
        progress = f"{len(self.snapshot.matches)} of {self.snapshot.planned} matches"
        return f"<{type(self).__name__} of {games}: {progress}>"

    def _repr_html_(self) -> str:
        course = course_of(self.snapshot)
        rows = []
        for scope in course.scopes:
            for player in course.players:
                for row in course.of(scope, player, ALL_ROLES, SCORE)[-1:]:
                    rows.append((scope, player, Interval(row.value, row.low, row.high), row.num))
        head = ("game", "player", "#mean score [99 %]", "#rounds")
        return Table(head, rows, repr(self).strip("<>")).html()

    def frame(self) -> Any:
        """Scores by round, and goals, states and time by turn, with the columns of `--csv`.

        Returns:
            a `pandas.DataFrame` where pandas is installed, else a dict of arrays by column; see
            `match_runner.series.course`.
        """
        return course_of(self.snapshot).table.frame()

    def plot(self, path: Path | str | None = None) -> Plot:
        """The same as a chart, as `--plot` draws it.

        Args:
            path: path of a file for the chart; its ending names the format.

        Raises:
            ConfigError: no chart can be written to a file of this name.
        """
        chart = draw_course(course_of(self.snapshot))
        if path is not None:
            chart.save(path)
        return chart


def draw_course(course: Course) -> Plot:
    """Draw a course: a row of four parts for all games together, or for the only game; with several
    games, a row for each of them below."""
    scopes = course.scopes[-1:] + course.scopes[:-1]
    figure = new_figure(_WIDTH_INCHES, _ROW_INCHES * len(scopes))
    grid = figure.subplots(len(scopes), len(_TITLES), squeeze=False)
    for scope, row_axes in zip(scopes, grid, strict=True):
        for axes, (measure, (title, x_label)) in zip(row_axes, _TITLES.items(), strict=True):
            for index, player in enumerate(course.players):
                _draw(axes, course, (scope, player, measure), index)
            axes.set_title(title, fontsize="small")
            axes.set_xlabel(x_label)
            axes.xaxis.get_major_locator().set_params(integer=True)
            if measure in (SCORE, EXPECTED):
                axes.set_ylim(*_GOALS)
            else:
                axes.set_ylim(bottom=0)
        row_axes[0].set_ylabel(scope)
    first = grid[0][0]
    if first.get_legend_handles_labels()[0]:  # an empty legend would warn
        first.legend(fontsize="small", framealpha=0.8)
    return Plot(figure)


def _draw(axes: Axes, course: Course, line: tuple[str, str, str], index: int) -> None:
    scope, player, measure = line
    colour, marker = f"C{index % 10}", _MARKERS[index % len(_MARKERS)]
    rows = course.of(scope, player, ALL_ROLES, measure)
    if rows:
        point_marker = marker if len(rows) <= _FEW else ""
        at = [row.at for row in rows]
        axes.plot(at, [row.value for row in rows], color=colour, marker=point_marker, label=player)
    bounded = [row for row in rows if row.low is not None and row.high is not None]
    if bounded:
        lows, highs = ([getattr(row, end) for row in bounded] for end in ("low", "high"))
        bounded_at = [row.at for row in bounded]
        axes.fill_between(bounded_at, lows, highs, color=colour, alpha=0.15, linewidth=0)
    if measure == EXPECTED:
        goals = course.of(scope, player, ALL_ROLES, GOAL)
        axes.scatter(
            [row.at for row in goals],
            [row.value for row in goals],
            marker=marker,
            edgecolors=colour,
            facecolors="none",
        )
