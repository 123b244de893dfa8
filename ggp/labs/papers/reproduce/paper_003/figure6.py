"""Figure 6 of paper 003: where Skat and Hearts lie among synthetic trees.

Deals are measured one by one (`card_walks`), in worker processes. The figure shows their density
over leaf correlation and disambiguation, above the loss of PIMC there, as in Figure 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ggp.errors import MatchError
from ggp.labs.papers.reproduce.paper_003.card_walks import (
    HEARTS,
    KINDS,
    MATCHES,
    NULL,
    WALKS,
    DealProperties,
    Deals,
    measure_deals,
)
from ggp.labs.papers.reproduce.paper_003.tree_cells import TreeCell, measure_cells
from ggp.labs.papers.reproduce.paper_003.tree_figures import (
    NAMES,
    PANELS,
    SKAT,
    STEPS,
    TREE_FIGURES,
)
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
from ggp.report import Table
from ggp.statistics import student_interval
from match_runner.workers.executor import Executor
from match_runner.workers.places import run_all

DEALS, LONG_DEALS = 3, 30
"""Number of deals of a kind for each of `--matches`, and with `--long`."""

AT_ONCE = 10
"""Number of deals in a batch of work, less than a second."""

FINE = tuple(step / 20 for step in range(21))
"""Values along both axes of a density."""

CORRELATION, PAPER_SHARE = (0.8, 1.0), 0.6
"""The paper's numbers for all four kinds: bounds of correlation, and disambiguation."""

NEAR = 0.05

_METHOD = (
    f"Random card play of OpenSpiel's `skat` and `hearts`, {WALKS} walks for each deal, and "
    f"{MATCHES} random matches for its disambiguation, seen by the soloist; in Hearts, where no "
    "cards are passed, by the first player. Skat deals are filtered by what people would bid on, "
    "as OpenSpiel's bidding is simplified. Below the densities (dark is dense) stands what PIMC "
    "scores against an equilibrium on synthetic trees with bias 0.75, as in Figure 3(b). Intervals "
    "are of the mean over deals."
)

_WHY = {
    NULL: "A lost null game ends early, so early moves, which reveal most, count more.",
    HEARTS: "Three opponents show a card each between two moves, not two: fewer worlds remain. "
    "This reading gives the paper's number for Skat; none was found that gives it for Hearts.",
}

_LOSS = PANELS[1]
"""Panel of Figure 3 that has the axes of the densities."""

Measured = Mapping[str, Sequence[DealProperties]]


@dataclass(frozen=True, slots=True)
class CardFigure:
    """Figure of the properties of deals of Skat and Hearts."""

    name: str = "003-figure6"

    def size(self, settings: RunSettings) -> int:
        cells = {*_LOSS.cells, SKAT}
        return len(KINDS) * _num_deals(settings) + len(cells) * settings.matches

    def run(self, settings: RunSettings, executor: Executor, tell: Tell) -> Result:
        deals = _measured(settings, executor, tell)
        trees = measure_cells(list(dict.fromkeys((*_LOSS.cells, SKAT))), settings, executor, tell)
        score_row = TREE_FIGURES[0].rows[0]
        loss = {cell: float(np.mean([score_row.value(t) for t in trees[cell]])) for cell in trees}
        return Result(
            self.name,
            "Figure 6 (Long et al.): Skat and Hearts",
            _METHOD,
            "share",
            tuple(_points(deals)),
            (*_claims(deals), _loss_claim(loss, settings.matches)),
            panels=(
                *(_density(kind, deals[kind]) for kind in KINDS),
                *(_loss_panel(score_row.label, loss) for _ in KINDS),
            ),
            tables=(_table(deals),),
            paper=PAPER_003,
            span=(0.0, 1.0),
        )


def _num_deals(settings: RunSettings) -> int:
    return settings.matches * (LONG_DEALS if settings.long else DEALS)


def _measured(settings: RunSettings, executor: Executor, tell: Tell) -> Measured:
    """Properties of the deals of each kind, in order.

    Raises:
        BackendUnavailableError, MatchError: OpenSpiel is not installed, or workers fail.
    """
    num = _num_deals(settings)
    work = [
        Deals(kind, first, min(AT_ONCE, num - first), settings.seed)
        for kind in KINDS
        for first in range(0, num, AT_ONCE)
    ]
    properties: dict[Deals, list[DealProperties]] = {}

    def store(deals: Deals, measured: list[DealProperties]) -> None:
        properties[deals] = measured
        for _ in measured:
            tell()

    failures = run_all(
        executor,
        measure_deals,
        ((deals, deals) for deals in work),
        store,
        lambda deals: f"deals {deals.first} and on of {deals.kind}",
    )
    if failures:
        raise MatchError(failures[0])
    return {
        kind: [p for deals in work if deals.kind == kind for p in properties[deals]]
        for kind in KINDS
    }


def _points(deals: Measured) -> list[Point]:
    return [
        Point(
            kind,
            name,
            student_interval([p[index] for p in properties]),
            len(properties),
            len(properties),
            player="random",
        )
        for kind, properties in deals.items()
        for index, name in enumerate(NAMES)
    ]


def _table(deals: Measured) -> Table:
    rows = []
    for kind, properties in deals.items():
        means = [student_interval([p[index] for p in properties]) for index in range(len(NAMES))]
        rows.append((kind, str(len(properties)), *(format(mean, ".3f") for mean in means)))
    head = ("", "#deals", *(f"#{name}" for name in NAMES))
    return Table(head, rows, "Means over deals, with 99 % intervals")


def _claims(deals: Measured) -> list[Claim]:
    claims = []
    for kind in KINDS:
        interval = student_interval([deal.leaf_correlation for deal in deals[kind]])
        mean, low = interval.value or 0.0, CORRELATION[0]
        claims.append(
            Claim(
                f"{kind}: leaf correlation",
                f"paper: from {low:g} to nearly 1",
                format(interval, ".3f"),
                low <= mean <= CORRELATION[1] if len(deals[kind]) >= FEWEST_ROUNDS else None,
            )
        )
    for kind in KINDS:
        interval = student_interval([deal.disambiguation for deal in deals[kind]])
        mean = interval.value or 0.0
        claims.append(
            Claim(
                f"{kind}: disambiguation",
                f"paper: very close to {PAPER_SHARE:g}",
                format(interval, ".3f"),
                abs(mean - PAPER_SHARE) <= NEAR if len(deals[kind]) >= FEWEST_ROUNDS else None,
                _WHY.get(kind, ""),
            )
        )
    return claims


def _loss_claim(loss: Mapping[TreeCell, float], trees: int) -> Claim:
    mean = loss[SKAT]
    return Claim(
        f"what PIMC scores against an equilibrium there ({SKAT})",
        "paper: about -0.1 ± 0.05",
        f"{mean:.3f}",
        abs(mean + 0.1) <= 0.05 if trees >= FEWEST_ROUNDS else None,
    )


def _density(kind: str, deals: Sequence[DealProperties]) -> Panel:
    """Panel with the share of deals in each cell; None in empty cells."""
    half = (FINE[1] - FINE[0]) / 2
    edges = [*(at - half for at in FINE), FINE[-1] + half]
    counts, _, _ = np.histogram2d(
        [deal.disambiguation for deal in deals],
        [deal.leaf_correlation for deal in deals],
        bins=(edges, edges),
    )
    values = tuple(
        tuple(float(count) / len(deals) if count else None for count in line) for line in counts
    )
    return Panel("share of deals", kind, NAMES[0], NAMES[2], FINE, FINE, values, is_dense=True)


def _loss_panel(row: str, loss: Mapping[TreeCell, float]) -> Panel:
    values = tuple(tuple(loss[_LOSS.cell(x, y)] for x in STEPS) for y in STEPS)
    return Panel(row, f"bias {_LOSS.at:g}", NAMES[0], NAMES[2], STEPS, STEPS, values)
