"""Table 1 of paper 003: Kuhn's poker, computed exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ggp.labs.papers import kuhn
from ggp.labs.papers.reproduce.published import KUHN
from ggp.labs.papers.reproduce.results import (
    PAPER_003,
    Claim,
    Point,
    ReferenceLine,
    Result,
    RunSettings,
    Tell,
)
from ggp.statistics.intervals import Interval
from match_runner.workers.executor import Executor

NASH, BEST_RESPONSE = "against an equilibrium", "against a best response"

RANDOM_FIRST, RANDOM_SECOND = "random, player 1", "random, player 2"
PIMC_FIRST, PIMC_SECOND = "PIMC, player 1", "PIMC, player 2"

SAMPLED = 0.01
"""Deviation that does not count as a difference: the paper seems to have sampled its equilibria."""

_BETS = Fraction(1)
_LOT = Fraction(1, 2)
_WHY = {
    (PIMC_FIRST, BEST_RESPONSE): "It is exactly -1/6, however equal moves are told apart.",
}


@dataclass(frozen=True, slots=True)
class KuhnTable:
    """Table of what random play and PIMC get in Kuhn's poker, in bets."""

    name: str = "003-table1"

    def size(self, settings: RunSettings) -> int:
        return 1

    def run(self, settings: RunSettings, executor: Executor, tell: Tell) -> Result:
        found = exact_table()
        points = tuple(
            Point(
                column,
                row,
                _exactly(most),
                count=1,
                rounds=1,
                player=row.split(",")[0].lower(),
                opponent=column.removeprefix("against "),
                paper=(KUHN[row, column], 0.0),
            )
            for (row, column), (_, most) in found.items()
        )
        claims = [_claim(*place, *ends) for place, ends in found.items()]
        claims.append(_by_lot())
        tell()
        return Result(
            self.name,
            "Table 1 (Long et al.): Kuhn's poker",
            "Computed exactly, in bets; best responses by trying all 64 pure strategies. All "
            "equilibria are looked at: they differ in how often player 1 bets a jack, from never "
            "to a third of the time. The figure shows the one that never does. PIMC solves both "
            "worlds. A king is worth the same to it checked or bet: it bets, as the paper's does "
            "not take dominated actions.",
            "bets a game",
            points,
            tuple(claims),
            lines=(ReferenceLine(float(kuhn.VALUE), "player 1 in equilibrium"),),
            paper=PAPER_003,
            span=(-0.55, 0.1),
        )


def exact_table() -> dict[tuple[str, str], tuple[Fraction, Fraction]]:
    """Least and greatest value of each number of the table, as there are several equilibria."""
    second = kuhn.nash(kuhn.SECOND)
    return {
        (RANDOM_FIRST, NASH): _same(kuhn.payoff(kuhn.uniform(), second)),
        (RANDOM_FIRST, BEST_RESPONSE): _same(kuhn.best_response(kuhn.uniform(), kuhn.FIRST)),
        (RANDOM_SECOND, NASH): _over_equilibria(kuhn.uniform()),
        (RANDOM_SECOND, BEST_RESPONSE): _same(kuhn.best_response(kuhn.uniform(), kuhn.SECOND)),
        (PIMC_FIRST, NASH): _same(kuhn.payoff(kuhn.pimc(kuhn.FIRST, _BETS), second)),
        (PIMC_FIRST, BEST_RESPONSE): _same(
            kuhn.best_response(kuhn.pimc(kuhn.FIRST, _BETS), kuhn.FIRST)
        ),
        (PIMC_SECOND, NASH): _over_equilibria(kuhn.pimc(kuhn.SECOND, _BETS)),
        (PIMC_SECOND, BEST_RESPONSE): _same(
            kuhn.best_response(kuhn.pimc(kuhn.SECOND, _BETS), kuhn.SECOND)
        ),
    }


def _same(value: Fraction) -> tuple[Fraction, Fraction]:
    return value, value


def _over_equilibria(strategy: kuhn.Strategy) -> tuple[Fraction, Fraction]:
    """Least and greatest value for player 2 over all equilibria, linear in their parameter."""
    ends = [
        -kuhn.payoff(kuhn.nash(kuhn.FIRST, bluffs), strategy)
        for bluffs in (Fraction(0), kuhn.MOST_BLUFFS)
    ]
    return min(ends), max(ends)


def _claim(row: str, column: str, least: Fraction, most: Fraction) -> Claim:
    published = KUHN[row, column]
    near = SAMPLED if column == NASH else 0.001
    return Claim(
        f"{row}, {column}",
        f"paper: {published:.3f}",
        text_of(least, most),
        float(least) - near <= published <= float(most) + near,
        _WHY.get((row, column), ""),
    )


def _by_lot() -> Claim:
    least, most = _over_equilibria(kuhn.pimc(kuhn.SECOND, _LOT))
    return Claim(
        f"{PIMC_SECOND}, {NASH}, with equal moves by lot",
        "less: it then checks a king",
        text_of(least, most),
        most < -kuhn.VALUE,
    )


def text_of(least: Fraction, most: Fraction) -> str:
    """A number as `-1/6 = -0.167`, or both ends if they differ."""
    if least == most:
        return f"{least} = {float(least):.3f}"
    return f"{least} to {most} = {float(least):.3f} to {float(most):.3f}"


def _exactly(value: Fraction) -> Interval:
    exact = float(value)
    return Interval(exact, exact, exact)
