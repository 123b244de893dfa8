"""What an experiment gives: points with intervals, and claims of the paper that they bear on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ggp.clocks import Clock
from ggp.machine import Limits
from match_runner.series.statistics.intervals import GOALS, Interval
from match_runner.series.stopping import Until
from match_runner.workers.executor import Executor

BY_LOT = ",ties=random"
"""The papers do not tell equal moves apart, so their players must not."""

PAPER_004 = "Schofield & Thielscher (AAAI 2015)"
PAPER_003 = "Long, Sturtevant, Buro & Furtak (AAAI 2010)"

FEWEST_ROUNDS = 20
"""Rounds from which on means are judged."""

Tell = Callable[[], None]
"""Is called whenever one of the counted pieces of work (a match, a decision) is done."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What all experiments of a run share.

    Attributes:
        matches: a point, decisions a row of a table, and trees a cell of a heat map.
        long: whether the points that take hours are made too.
        seed: of everything.
        backend: of the machines.
        folder: where results are kept.
        limits: on building machines.
        only: players and games whose duels of a grid are played; all without any.
        seconds: after which no other duel of a grid is begun.
        quick: whether a grid chooses what to leave out, and how many matches to play.
        until: when a duel of a grid ends by itself; `matches` are the most then.
        clock: of the duels of a grid.
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
    until: Until | None = None
    clock: Clock = Clock.WALL


@dataclass(frozen=True, slots=True)
class Point:
    """One number that was measured.

    Attributes:
        series: which curve, or which column of a table.
        at: which point of the curve (the resource index), or which row of the table.
        value: with its 99 % confidence interval.
        count: matches, decisions or trees that it is the mean of.
        rounds: how many of them are independent.
        player: spec of the player that was measured.
        opponent: spec of the other one, empty if there is none.
        states: visited by the player for a decision between several moves.
        opponent_states: likewise by its opponent.
        paper: the published number and its 99 % half-width, where there is one.
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
    """Something to be expected, and what came of it.

    Attributes:
        text: what is looked at.
        expected: by the paper, or by computation, as text.
        ours: what was measured, as text.
        agrees: whether they agree; None where too little was played to tell.
        reason: why they differ, if they do.
    """

    text: str
    expected: str
    ours: str
    agrees: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StatesRow:
    """States visited for decisions of one role at one turn, where they should be equal.

    Attributes:
        series, at: the point.
        turn: from 1.
        budget: what the player visited when it played itself.
        player, opponent: what they visited in the matches of the point; None of no decisions.
        decisions: how many there were of either.
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
class Line:
    """A level that a figure is compared with."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One heat map of a figure.

    Attributes:
        row: what is shown, the same for all panels side by side; they share their colours.
        title: what is the same for all of the panel.
        x, y: labels of the axes.
        xs, ys: values along them.
        values: one row for each of `ys`; None where nothing was measured.
        x_names, y_names: of the values along the axes, where they have names. Cells then show
            their numbers too.
        is_dense: whether dark is high, as for densities, instead of low.
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


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a chart: `ys` over `xs`."""

    label: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of its own with lines.

    Attributes:
        name: of its file, behind that of the experiment.
        title: one line.
        x, y: labels of the axes.
        curves: lines by part of the picture; parts are drawn side by side.
        log: whether the upright axis is logarithmic.
    """

    name: str
    title: str
    x: str
    y: str
    curves: Mapping[str, tuple[Curve, ...]]
    log: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers as text, to be read.

    Attributes:
        title: one line.
        head: names of the columns; `#` before those that hold numbers.
        rows: of as many texts.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Result:
    """All of one experiment.

    Attributes:
        name: of its files.
        title: one line.
        method: how it was made, a paragraph.
        measure: what the values are, e.g. `mean score`.
        points: in the order to show.
        claims: likewise.
        lines: levels to show in the figure.
        states: of all points with equal states.
        failures: matches that could not be played, one line each.
        panels: heat maps; where there are any, they are the figure, and the points are as many
            as their cells.
        tables: shown besides the claims.
        charts: further pictures.
        paper: whose experiment it is; empty if it is in none.
        span: what values may be at least and at most.
        clock: that players were on; None where counts decide.
        backends: of the machines, by game; empty where there are none.
    """

    name: str
    title: str
    method: str
    measure: str
    points: tuple[Point, ...]
    claims: tuple[Claim, ...]
    lines: tuple[Line, ...] = ()
    states: tuple[StatesRow, ...] = ()
    failures: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    paper: str = PAPER_004
    span: tuple[float, float] = GOALS
    clock: Clock | None = None
    backends: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


class Experiment(Protocol):
    """A table or figure that can be made again."""

    @property
    def name(self) -> str:
        """As the command knows it."""
        ...

    def size(self, settings: Settings) -> int:
        """How many pieces of work it is made of."""
        ...

    def run(self, settings: Settings, executor: Executor, tell: Tell) -> Result:
        """Make it; what is stored of it already is not made again.

        Raises:
            ConfigError: the folder holds something else.
            MatchError: workers fail.
        """
        ...


def point_at(points: Sequence[Point], series: str, at: str) -> Point | None:
    """The point of a series with that name, if it was made."""
    return next((p for p in points if (p.series, p.at) == (series, at)), None)


def agrees_with(point: Point, value: float) -> bool | None:
    """Whether a value is within the interval of a point; None if that says too little.

    Intervals of fewer than `FEWEST_ROUNDS` rounds are so wide that nearly everything is in them.
    """
    interval = point.value
    if interval.low is None or interval.high is None or point.rounds < FEWEST_ROUNDS:
        return None
    return interval.low <= value <= interval.high


def reaches(value: float | None, least: float, rounds: int) -> bool | None:
    """Whether a mean is at least that; None if there are too few rounds to tell."""
    return None if value is None or rounds < FEWEST_ROUNDS else value >= least


def happens(count: int, of: int, share: float = 1.0) -> bool | None:
    """Whether something happened in at least this share of all; None of nothing."""
    return None if not of else count >= share * of
