"""Figures 3 to 5 of paper 003: PIMC and random play on synthetic trees, as heat maps.

All three show the same cells: 11 values of two parameters in each panel, the third one fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ggp.labs.papers.reproduce.paper_003 import tree_claims
from ggp.labs.papers.reproduce.paper_003.tree_cells import TreeCell, TreeScores, measure_cells
from ggp.labs.papers.reproduce.results import (
    PAPER_003,
    Claim,
    Panel,
    Point,
    Result,
    RunSettings,
    Tell,
)
from ggp.statistics.intervals import student_interval
from match_runner.workers.executor import Executor

STEPS = tuple(step / 10 for step in range(11))

METHOD = (
    "Synthetic trees of depth 8 with 8 worlds for each player, the same trees in all three "
    "figures. Scores are exact expectations, the mean of both sides; a win is 1 and a loss -1, so "
    "that the equilibrium scores 0. It is found by CFR+ with alternating updates, until both "
    "players together can gain no more than 0.005. PIMC looks at all worlds, and tells equal moves "
    "apart by lot. "
)


@dataclass(frozen=True, slots=True)
class Axes:
    """Axes of the panel in which one parameter, an index into `TreeCell`, is fixed."""

    letter: str
    fixed: int
    at: float

    @property
    def free(self) -> tuple[int, int]:
        """The parameters along x and y."""
        one, two = (index for index in range(3) if index != self.fixed)
        return one, two

    def cell(self, x: float, y: float) -> TreeCell:
        """The cell at a place."""
        values = [self.at] * 3
        values[self.free[0]], values[self.free[1]] = x, y
        return TreeCell(*values)

    @property
    def cells(self) -> list[TreeCell]:
        """All cells, row by row."""
        return [self.cell(x, y) for y in STEPS for x in STEPS]


PANELS = (Axes("a", 2, 0.3), Axes("b", 1, 0.75), Axes("c", 0, 0.5))
"""Panels as fixed in the paper's Figures 3 and 4. The caption of Figure 5 has 0.5 as bias and 0.75
as correlation, which do not fit its text; here it shows the same cells."""

NAMES = ("leaf correlation", "bias", "disambiguation")

Measured = Mapping[TreeCell, Sequence[TreeScores]]


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A row of panels: the value shown, of which player, against which opponent."""

    row: str
    player: str
    opponent: str
    value: Callable[[TreeScores], float]


@dataclass(frozen=True, slots=True)
class TreeFigure:
    """A figure of three panels for each value shown.

    Attributes:
        name: name by which the command knows it.
        title: one line.
        method: what is shown.
        shown: rows of panels.
        extra: cells that claims need besides those of the panels.
        claims: makes the claims, judged by the trees.
    """

    name: str
    title: str
    method: str
    shown: tuple[PanelRow, ...]
    extra: tuple[TreeCell, ...]
    claims: Callable[[Measured], list[Claim]]

    def size(self, settings: RunSettings) -> int:
        return len(self._cells()) * settings.matches

    def run(self, settings: RunSettings, executor: Executor, tell: Tell) -> Result:
        trees = measure_cells(self._cells(), settings, executor, tell)
        return Result(
            self.name,
            self.title,
            METHOD + self.method,
            "score",
            tuple(_point(shown, cell, trees[cell]) for shown in self.shown for cell in trees),
            tuple(self.claims(trees)),
            panels=tuple(_panel(shown, axes, trees) for shown in self.shown for axes in PANELS),
            paper=PAPER_003,
            span=(-1.0, 1.0),
        )

    def _cells(self) -> list[TreeCell]:
        shown = (cell for axes in PANELS for cell in axes.cells)
        return list(dict.fromkeys((*shown, *self.extra)))


def _point(shown: PanelRow, cell: TreeCell, trees: Sequence[TreeScores]) -> Point:
    interval = student_interval([shown.value(each) for each in trees])
    return Point(
        shown.row,
        str(cell),
        interval,
        len(trees),
        len(trees),
        player=shown.player,
        opponent=shown.opponent,
    )


def _panel(shown: PanelRow, axes: Axes, trees: Measured) -> Panel:
    x, y = axes.free
    return Panel(
        shown.row,
        f"({axes.letter}) {NAMES[axes.fixed]} {axes.at:g}",
        NAMES[x],
        NAMES[y],
        STEPS,
        STEPS,
        tuple(
            tuple(tree_claims.mean_of(trees[axes.cell(at_x, at_y)], shown.value) for at_x in STEPS)
            for at_y in STEPS
        ),
    )


TREE_FIGURES = (
    TreeFigure(
        "003-figure3",
        "Figure 3 (Long et al.): PIMC on synthetic trees",
        "Against the equilibrium, as in the paper; and against a best response to PIMC, which the "
        "paper leaves open.",
        (
            PanelRow("PIMC against an equilibrium", "PIMC", "equilibrium", lambda t: t.pimc),
            PanelRow(
                "PIMC against a best response",
                "PIMC",
                "best response",
                lambda t: t.pimc_best_response,
            ),
        ),
        tree_claims.EXTRA,
        tree_claims.of_pimc,
    ),
    TreeFigure(
        "003-figure4",
        "Figure 4 (Long et al.): random play on synthetic trees",
        "An equilibrium does not determine play where it never lets the game go, and random play "
        "goes there: with simultaneous updates random play loses about half as much again, while "
        "PIMC's scores hardly change.",
        (PanelRow("random against an equilibrium", "random", "equilibrium", lambda t: t.random),),
        (),
        tree_claims.of_random,
    ),
    TreeFigure(
        "003-figure5",
        "Figure 5 (Long et al.): what PIMC gains over random play",
        "Both against the equilibrium. The panels are those of the other two figures; the "
        "caption in the paper exchanges bias and correlation.",
        (
            PanelRow(
                "PIMC less random",
                "PIMC",
                "equilibrium",
                lambda t: t.pimc - t.random,
            ),
        ),
        (),
        tree_claims.of_gain,
    ),
)
