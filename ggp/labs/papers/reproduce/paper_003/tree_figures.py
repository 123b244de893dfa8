"""Figures 3 to 5 of paper 003: PIMC and random play on synthetic trees, as heat maps.

Scores of trees come in from `tree_cells`; heat maps and claims go out. All three figures show the
same cells: 11 values of two parameters in each panel, with the third one fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ggp.labs.papers.reproduce.paper_003.tree_cells import TreeCell, TreeScores, measure_cells
from ggp.labs.papers.reproduce.results import (
    FEWEST_ROUNDS,
    PAPER_003,
    Claim,
    Panel,
    Point,
    Result,
    RunSettings,
    Tell,
)
from ggp.statistics import Interval, student_interval
from match_runner.workers.executor import Executor

# ------------------------------------------------------------------------
# Claims of paper 003 about its heat maps, and independently computed numbers, judged by our trees.

_Measured = Mapping[TreeCell, Sequence[TreeScores]]
_Value = Callable[[TreeScores], float]

EXPECTED: Mapping[TreeCell, float] = {
    TreeCell(0.0, 0.75, 0.5): -0.234,
    TreeCell(0.5, 0.75, 0.5): -0.129,
    TreeCell(0.9, 0.75, 0.6): -0.075,
    TreeCell(0.5, 0.75, 0.3): -0.107,
    TreeCell(0.9, 0.5, 0.6): -0.110,
}
"""Scores of PIMC against the equilibrium, computed independently."""

TOLERANCE = 0.015
NEAR_ZERO = 0.003
"""Tolerance of a score of 0, as equilibria are approximate."""

RANDOM_ALTERNATING = -0.42
"""Score of random play against an equilibrium found by alternating updates at `UPDATES`, computed
independently; -0.62 with simultaneous ones."""

UPDATES = TreeCell(0.8, 0.75, 0.6)
SKAT = TreeCell(0.9, 0.75, 0.6)
"""Cell near Skat and Hearts in Figure 6."""

EXTRA = (TreeCell(0.9, 0.5, 0.6),)

_TENTHS = tuple(step / 10 for step in range(11))


def mean_of(trees: Sequence[TreeScores], value: _Value) -> float:
    """Mean of a value over trees."""
    return sum(map(value, trees)) / len(trees)


def of_pimc(trees: _Measured) -> list[Claim]:
    """Claims about Figure 3."""
    claims = [
        _near(f"PIMC at {cell}", expected, TOLERANCE, trees[cell], _pimc)
        for cell, expected in EXPECTED.items()
    ]
    disambiguated = [cell for cell in trees if cell.disambiguation == 1]
    claims.append(_zero("PIMC where everybody knows the world (df = 1)", disambiguated, trees))
    decided = [cell for cell in trees if cell.leaf_correlation == 1 and cell.bias in (0, 1)]
    claims.append(_zero("PIMC where one side wins all leaves (lc = 1, b = 0 or 1)", decided, trees))
    by_df = [mean_of(trees[TreeCell(0.5, 0.75, df)], _pimc) for df in _TENTHS]
    worst = _TENTHS[by_df.index(min(by_df))]
    claims += [
        _judged(
            "PIMC loses most in the middle of disambiguation (lc = 0.5, b = 0.75)",
            "paper: mid-range",
            f"at df = {worst:g}: {min(by_df):.3f}",
            0.2 <= worst <= 0.8,
            trees,
        ),
        _growing(
            "PIMC loses less as leaf correlation grows (df = 0.3, mean of all biases)",
            [[TreeCell(lc, b, 0.3) for b in _TENTHS] for lc in _TENTHS[::2]],
            trees,
            _pimc,
        ),
        _order(
            "with df = 0.8, though, low correlation is good for PIMC (lc = 0.5, 0; b = 0.75)",
            [TreeCell(0.5, 0.75, 0.8), TreeCell(0.0, 0.75, 0.8)],
            trees,
            _pimc,
        ),
        _near(
            f"PIMC where Skat is ({SKAT})",
            -0.1,
            0.05,
            trees[SKAT],
            _pimc,
            "paper: about -0.1 ± 0.05",
        ),
    ]
    return claims


def of_random(trees: _Measured) -> list[Claim]:
    """Claims about Figure 4."""
    return [
        _near(f"random at {UPDATES}", RANDOM_ALTERNATING, 0.03, trees[UPDATES], _random),
        _order(
            "random play loses more as disambiguation grows (lc = 0.5, b = 0.75)",
            [TreeCell(0.5, 0.75, df) for df in (0.9, 0.6, 0.3, 0.0)],
            trees,
            _random,
        ),
        _near(
            "random with lc = 1 and b = 1 plays perfectly",
            0.0,
            NEAR_ZERO,
            trees[TreeCell(1.0, 1.0, 0.3)],
            _random,
            "paper: 0",
        ),
    ]


def of_gain(trees: _Measured) -> list[Claim]:
    """Claims about Figure 5."""
    return [
        _order(
            "PIMC gains more over random play as disambiguation grows (lc = 0.5, b = 0.75)",
            [TreeCell(0.5, 0.75, df) for df in (0.0, 0.3, 0.6, 0.9)],
            trees,
            _gain,
        ),
        _near(
            f"gain where Skat is ({SKAT})",
            0.4,
            0.05,
            trees[SKAT],
            _gain,
            "paper: 0.4",
            "An equilibrium's answers to random moves depend on the algorithm: with simultaneous "
            "updates the gain is 0.47.",
        ),
    ]


def _pimc(trees: TreeScores) -> float:
    return trees.pimc


def _random(trees: TreeScores) -> float:
    return trees.random


def _gain(trees: TreeScores) -> float:
    return trees.pimc - trees.random


def _near(
    text: str,
    expected: float,
    tolerance: float,
    trees: Sequence[TreeScores],
    value: _Value,
    expected_text: str = "",
    reason: str = "",
) -> Claim:
    """Claim that agrees if the mean is within the tolerance."""
    interval = student_interval([value(tree) for tree in trees])
    return Claim(
        text,
        expected_text or f"computed: {expected:.3f} ± {tolerance:g}",
        score_text(interval),
        abs(mean_of(trees, value) - expected) <= tolerance if len(trees) >= FEWEST_ROUNDS else None,
        reason,
    )


def _zero(text: str, cells: Sequence[TreeCell], trees: _Measured) -> Claim:
    means = [mean_of(trees[cell], _pimc) for cell in cells]
    worst = max(map(abs, means))
    return _judged(text, f"0 ± {NEAR_ZERO:g}", f"at most {worst:.4f}", worst <= NEAR_ZERO, trees)


def _order(text: str, cells: Sequence[TreeCell], trees: _Measured, value: _Value) -> Claim:
    """Claim that agrees if the value grows from cell to cell."""
    return _growing(text, [[cell] for cell in cells], trees, value)


def _growing(
    text: str, cells: Sequence[Sequence[TreeCell]], trees: _Measured, value: _Value
) -> Claim:
    """Claim that agrees if the mean value of cells grows from one list of cells to the next."""
    means = [sum(mean_of(trees[cell], value) for cell in group) / len(group) for group in cells]
    return _judged(
        text,
        "paper",
        " < ".join(f"{mean:.3f}" for mean in means),
        all(low < high for low, high in pairwise(means)),
        trees,
    )


def _judged(text: str, expected: str, ours: str, agrees: bool, trees: _Measured) -> Claim:
    enough = min(map(len, trees.values())) >= FEWEST_ROUNDS
    return Claim(text, expected, ours, agrees if enough else None)


def score_text(interval: Interval) -> str:
    """A score as `-0.234 [-0.241, -0.227]`."""
    return format(interval, ".3f")


STEPS = tuple(step / 10 for step in range(11))

METHOD = (
    "Synthetic trees of depth 8 with 8 worlds for each player, the same trees in all three "
    "figures. Scores are exact expectations, the mean of both sides; a win is 1 and a loss -1, so "
    "that the equilibrium scores 0. It is found by CFR+ with alternating updates, until both "
    "players together can gain no more than 0.005. PIMC searches all worlds, and breaks ties by "
    "lot. "
)


@dataclass(frozen=True, slots=True)
class Axes:
    """Axes of the panel in which one parameter, an index into `TreeCell`, is fixed."""

    letter: str
    fixed: int
    at: float

    @property
    def free(self) -> tuple[int, int]:
        """Indices of the parameters along x and y."""
        x, y = (index for index in range(3) if index != self.fixed)
        return x, y

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
"""Panels of the paper's Figures 3 and 4. The caption of Figure 5 has 0.5 as bias and 0.75 as
correlation, which does not fit its text; here it shows the same cells."""

NAMES = ("leaf correlation", "bias", "disambiguation")

Measured = Mapping[TreeCell, Sequence[TreeScores]]


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A row of panels: a value of a player against an opponent."""

    label: str
    player: str
    opponent: str
    value: Callable[[TreeScores], float]


@dataclass(frozen=True, slots=True)
class TreeFigure:
    """A figure of three panels for each value.

    Attributes:
        name: name by which the command knows it.
        title: one line.
        method: how it is made.
        rows: rows of panels.
        extra: further cells for claims.
        claims: makes the claims, judged by the trees.
    """

    name: str
    title: str
    method: str
    rows: tuple[PanelRow, ...]
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
            tuple(_point(row, cell, trees[cell]) for row in self.rows for cell in trees),
            tuple(self.claims(trees)),
            panels=tuple(_panel(row, axes, trees) for row in self.rows for axes in PANELS),
            paper=PAPER_003,
            span=(-1.0, 1.0),
        )

    def _cells(self) -> list[TreeCell]:
        of_panels = (cell for axes in PANELS for cell in axes.cells)
        return list(dict.fromkeys((*of_panels, *self.extra)))


def _point(row: PanelRow, cell: TreeCell, trees: Sequence[TreeScores]) -> Point:
    interval = student_interval([row.value(tree) for tree in trees])
    return Point(
        row.label,
        str(cell),
        interval,
        len(trees),
        len(trees),
        player=row.player,
        opponent=row.opponent,
    )


def _panel(row: PanelRow, axes: Axes, trees: Measured) -> Panel:
    x, y = axes.free
    return Panel(
        row.label,
        f"({axes.letter}) {NAMES[axes.fixed]} {axes.at:g}",
        NAMES[x],
        NAMES[y],
        STEPS,
        STEPS,
        tuple(
            tuple(mean_of(trees[axes.cell(at_x, at_y)], row.value) for at_x in STEPS)
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
        EXTRA,
        of_pimc,
    ),
    TreeFigure(
        "003-figure4",
        "Figure 4 (Long et al.): random play on synthetic trees",
        "An equilibrium does not determine play at nodes that it never reaches, and random play "
        "goes there: with simultaneous updates random play loses about half as much again, while "
        "PIMC's scores hardly change.",
        (PanelRow("random against an equilibrium", "random", "equilibrium", lambda t: t.random),),
        (),
        of_random,
    ),
    TreeFigure(
        "003-figure5",
        "Figure 5 (Long et al.): gain of PIMC over random play",
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
        of_gain,
    ),
)
