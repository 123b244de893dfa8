"""Types of the results of an experiment: points with intervals, claims, heat maps and charts.

Experiments make them from matches; `report` writes them to files, and `cli` prints them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ggp.machine import Limits
from ggp.report import Table
from ggp.run.clocks import Clock
from ggp.statistics import GOALS, Interval
from match_runner.series.verdicts import StoppingRule
from match_runner.workers.executor import Executor

BY_LOT = ",ties=random"
"""Option of the papers' players, which break ties at random."""

PAPER_004 = "Schofield & Thielscher (AAAI 2015)"
PAPER_003 = "Long, Sturtevant, Buro & Furtak (AAAI 2010)"

FEWEST_ROUNDS = 20
"""Means of fewer rounds are not judged."""

Tell = Callable[[], None]
"""Called after each counted piece of work: a match, a decision, a tree."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings that all experiments of a run share.

    Attributes:
        matches: number of matches for a point, of decisions for a row of a table, of trees for a
            cell of a heat map, and of answers at an information set.
        long: whether to add the points that take hours.
        seed: seed of everything.
        backend: backend of the machines.
        folder: the folder of results and matches.
        limits: limits on building machines.
        only: restricts a grid to its duels with these players, games or clocks; if empty, all.
        seconds: time after which no further duel of a grid begins.
        quick: whether a grid chooses the numbers of matches itself, and may skip duels.
        until: rule that ends a duel of a grid; `matches` is then the maximum.
        clock: clock of the duels of a grid.
        usual: whether `matches` is a default: a grid may have its own number for each duel.
        core_hours: a grid that can tell its cost beforehand does not begin if it is higher.
    """

    matches: int
    long: bool
    seed: int
    backend: str
    folder: Path
    limits: Limits = field(default_factory=Limits)
    only: tuple[str, ...] = ()
    seconds: float = math.inf
    quick: bool = False
    until: StoppingRule | None = None
    clock: Clock = Clock.WALL
    usual: bool = False
    core_hours: float = math.inf


@dataclass(frozen=True, slots=True)
class Point:
    """One measured number.

    Attributes:
        series: the curve, or the column of a table.
        at: the position on the curve (the paper's resource index), or the row of the table.
        value: the number with its 99 % confidence interval.
        count: number of matches, decisions or trees behind the mean.
        rounds: number of independent rounds that these belong to.
        player: spec of the player that was measured.
        opponent: spec of its opponent, empty if there is none.
        states: mean number of states that the player visited for a decision between several moves.
        opponent_states: likewise for its opponent.
        paper: the published number and its 99 % half-width, if there is one.
    """

    series: str
    at: str
    value: Interval
    count: int
    rounds: int
    player: str
    opponent: str = ""
    states: float | None = None
    opponent_states: float | None = None
    paper: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim: an expected value beside the measured one.

    Attributes:
        text: subject of the claim.
        expected: value from the paper or a computation, as text.
        ours: measured value, as text.
        agrees: whether they agree; None with too few matches to judge.
        reason: why they differ, if they do.
    """

    text: str
    expected: str
    ours: str
    agrees: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StatesRow:
    """States visited for decisions of one role at one turn, in a duel with equal budgets of states.

    Attributes:
        series, at: identify the point.
        turn: from 1.
        budget: mean number of states that the player visited when it played against itself.
        player, opponent: mean numbers in the matches of the point; None without decisions.
        decisions: number of decisions of each.
    """

    series: str
    at: str
    role: str
    turn: int
    budget: int
    player: float | None
    opponent: float | None
    decisions: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A level in a figure, for comparison."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One heat map of a figure.

    Attributes:
        row: the quantity. Panels of one quantity stand side by side and share a colour scale.
        title: title of the panel, such as a fixed parameter.
        x, y: labels of the axes.
        xs, ys: values along them.
        values: one row for each of `ys`; None where nothing was measured.
        x_names, y_names: names of the values along the axes, if they have names. Cells then show
            their values too.
        is_dense: whether dark means high, as for densities, instead of low; with names, whether
            red means high.
    """

    row: str
    title: str
    x: str
    y: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    values: tuple[tuple[float | None, ...], ...]
    x_names: tuple[str, ...] = ()
    y_names: tuple[str, ...] = ()
    is_dense: bool = False


def named_panel(
    row: str,
    columns: Sequence[str],
    lines: Mapping[str, Sequence[float | None]],
    *,
    title: str = "",
    x: str = "",
    is_dense: bool = False,
) -> Panel:
    """A heat map with names along both axes.

    Args:
        lines: by name, a value for each column; the first is at the top.
        title, x: see `Panel`.
    """
    upwards = tuple(lines)[::-1]
    return Panel(
        row=row,
        title=title,
        x=x,
        y="",
        xs=tuple(map(float, range(len(columns)))),
        ys=tuple(map(float, range(len(upwards)))),
        values=tuple(tuple(lines[name]) for name in upwards),
        x_names=tuple(columns),
        y_names=upwards,
        is_dense=is_dense,
    )


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a chart: `ys` over `xs`."""

    label: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A line chart, in a file of its own.

    Attributes:
        name: name of its file, after that of the experiment.
        title: one line.
        x, y: labels of the axes.
        curves: the curves of each subplot; subplots are drawn side by side.
        log: whether the vertical axis is logarithmic.
    """

    name: str
    title: str
    x: str
    y: str
    curves: Mapping[str, tuple[Curve, ...]]
    log: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """Results of one experiment.

    Attributes:
        name: name of its files.
        title: one line.
        method: how the results were made, a paragraph.
        measure: name of the values, e.g. `mean score`.
        points: in the order of the report.
        claims: likewise.
        lines: levels in the figure.
        states: states visited, for all points with equal budgets of states.
        failures: matches that could not be played, one line each.
        panels: heat maps; if there are any, they form the figure, with a point for each cell.
        tables: tables besides the claims.
        charts: further charts.
        sheet: a table in a CSV file of its own.
        paper: the paper that the experiment is from; empty if it is from none.
        span: lowest and highest possible value.
        clock: the players' clock; None if the players are limited by counts.
        backends: backends of the machines, by game; empty if there are none.
    """

    name: str
    title: str
    method: str
    measure: str
    points: tuple[Point, ...]
    claims: tuple[Claim, ...]
    lines: tuple[ReferenceLine, ...] = ()
    states: tuple[StatesRow, ...] = ()
    failures: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    sheet: Table | None = None
    paper: str = PAPER_004
    span: tuple[float, float] = GOALS
    clock: Clock | None = None
    backends: Mapping[str, str] = field(default_factory=dict)


class Experiment(Protocol):
    """A table or figure that can be reproduced."""

    @property
    def name(self) -> str:
        """Name by which the command knows it."""
        ...

    def size(self, settings: RunSettings) -> int:
        """Number of pieces of work."""
        ...

    def run(self, settings: RunSettings, executor: Executor, tell: Tell) -> Result:
        """Run the experiment; stored work is not repeated.

        Raises:
            ConfigError: the folder holds something else.
            MatchError: workers fail.
        """
        ...


class GridExperiment(Experiment, Protocol):
    """An experiment of which any part may be run.

    Attributes:
        matches, quick_matches: default of `RunSettings.matches`, without and with `--quick`.
        clock: clock of the players, if the command names none.
    """

    @property
    def matches(self) -> int: ...

    @property
    def quick_matches(self) -> int: ...

    @property
    def clock(self) -> Clock: ...

    def forecast(self, settings: RunSettings, executor: Executor) -> Iterable[str]:
        """Lines with the cost of the missing part, if there is a forecast.

        Raises:
            ConfigError: it costs more than the settings allow.
        """
        ...


def point_at(points: Sequence[Point], series: str, at: str) -> Point | None:
    """The point of a series at a position or row, if there is one."""
    return next((p for p in points if (p.series, p.at) == (series, at)), None)


def agrees_with(point: Point, value: float) -> bool | None:
    """Whether a value is within the interval of a point; None if there are too few rounds.

    Intervals of fewer than `FEWEST_ROUNDS` rounds are so wide that they contain nearly everything.
    """
    interval = point.value
    if interval.low is None or interval.high is None or point.rounds < FEWEST_ROUNDS:
        return None
    return interval.low <= value <= interval.high


def reaches(value: float | None, bound: float, rounds: int) -> bool | None:
    """Whether a mean reaches a bound; None with too few rounds to judge."""
    return None if value is None or rounds < FEWEST_ROUNDS else value >= bound


def happens(count: int, of: int, share: float = 1.0) -> bool | None:
    """Whether an event happened in at least this share of all cases; None if there are none."""
    return None if not of else count >= share * of
