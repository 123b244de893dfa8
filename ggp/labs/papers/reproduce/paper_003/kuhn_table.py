"""Table 1 of paper 003: Kuhn's poker, computed exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product

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
from ggp.statistics import Interval
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
            lines=(ReferenceLine(float(VALUE), "player 1 in equilibrium"),),
            paper=PAPER_003,
            span=(-0.55, 0.1),
        )


def exact_table() -> dict[tuple[str, str], tuple[Fraction, Fraction]]:
    """Least and greatest value of each number of the table, as there are several equilibria."""
    second = nash(SECOND)
    return {
        (RANDOM_FIRST, NASH): _same(payoff(uniform(), second)),
        (RANDOM_FIRST, BEST_RESPONSE): _same(best_response(uniform(), FIRST)),
        (RANDOM_SECOND, NASH): _over_equilibria(uniform()),
        (RANDOM_SECOND, BEST_RESPONSE): _same(best_response(uniform(), SECOND)),
        (PIMC_FIRST, NASH): _same(payoff(pimc(FIRST, _BETS), second)),
        (PIMC_FIRST, BEST_RESPONSE): _same(best_response(pimc(FIRST, _BETS), FIRST)),
        (PIMC_SECOND, NASH): _over_equilibria(pimc(SECOND, _BETS)),
        (PIMC_SECOND, BEST_RESPONSE): _same(best_response(pimc(SECOND, _BETS), SECOND)),
    }


def _same(value: Fraction) -> tuple[Fraction, Fraction]:
    return value, value


def _over_equilibria(strategy: Strategy) -> tuple[Fraction, Fraction]:
    """Least and greatest value for player 2 over all equilibria, linear in their parameter."""
    ends = [-payoff(nash(FIRST, bluffs), strategy) for bluffs in (Fraction(0), MOST_BLUFFS)]
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
    least, most = _over_equilibria(pimc(SECOND, _LOT))
    return Claim(
        f"{PIMC_SECOND}, {NASH}, with equal moves by lot",
        "less: it then checks a king",
        text_of(least, most),
        most < -VALUE,
    )


def text_of(least: Fraction, most: Fraction) -> str:
    """A number as `-1/6 = -0.167`, or both ends if they differ."""
    if least == most:
        return f"{least} = {float(least):.3f}"
    return f"{least} to {most} = {float(least):.3f} to {float(most):.3f}"


def _exactly(value: Fraction) -> Interval:
    exact = float(value)
    return Interval(exact, exact, exact)


# ------------------------------------------------------------------------
# Analyses Kuhn's poker exactly: Table 1 of paper 003.
#
# Payoffs are player 1's, in bets, so that antes are 1. Everything is a rational number, and best
# responses are found by trying all 64 pure strategies.
#
# A strategy is the probability of putting a chip in (betting, or calling a bet) for each card and
# each of the two situations of a player: `[card][facing a bet]`. Cards are 0, 1, 2. Player 1 has
# nothing to face at first; it faces a bet after it checked and player 2 bet.

Strategy = tuple[tuple[Fraction, Fraction], ...]

CARDS = (JACK, QUEEN, KING) = range(3)
FIRST, SECOND = 0, 1
VALUE = Fraction(-1, 18)
"""The value of the game to player 1."""

MOST_BLUFFS = Fraction(1, 3)
"""Greatest value of the equilibria's one parameter: the probability that player 1 bets a jack."""

_HALF = Fraction(1, 2)


def payoff(first: Strategy, second: Strategy) -> Fraction:
    """The expected payoff of player 1."""
    deals = list(permutations(CARDS, 2))
    return sum(
        (_of_deal(first[a], second[b], 1 if a > b else -1) for a, b in deals), Fraction(0)
    ) / len(deals)


def _of_deal(
    first: tuple[Fraction, Fraction], second: tuple[Fraction, Fraction], shown: int
) -> Fraction:
    bet, call_late = first
    bet_after_check, call = second
    if_bet = call * 2 * shown + (1 - call)
    if_raised = call_late * 2 * shown - (1 - call_late)
    if_checked = bet_after_check * if_raised + (1 - bet_after_check) * shown
    return bet * if_bet + (1 - bet) * if_checked


def best_response(strategy: Strategy, player: int) -> Fraction:
    """The payoff of a strategy's player if the other one knows the strategy."""
    if player == FIRST:
        return min(payoff(strategy, other) for other in _pure())
    return -max(payoff(other, strategy) for other in _pure())


def _pure() -> Iterator[Strategy]:
    sure = Fraction(0), Fraction(1)
    return product([(early, late) for early in sure for late in sure], repeat=3)


def uniform() -> Strategy:
    """The strategy that makes every move by lot."""
    return ((_HALF, _HALF),) * 3


def nash(player: int, bluffs: Fraction = Fraction(0)) -> Strategy:
    """Kuhn's equilibria.

    Args:
        bluffs: probability that player 1 bets a jack, up to `MOST_BLUFFS`; player 2 has no choice.
    """
    zero, one, third = Fraction(0), Fraction(1), Fraction(1, 3)
    if player == FIRST:
        return (bluffs, zero), (zero, bluffs + third), (3 * bluffs, one)
    return (third, zero), (zero, third), (one, one)


def pimc(player: int, ties: Fraction = _HALF) -> Strategy:
    """The strategy of perfect information Monte Carlo search that looks at both worlds.

    Args:
        ties: probability of putting a chip in where both moves look equally good.
    """
    return tuple(
        (_vote(player, card, False, ties), _vote(player, card, True, ties)) for card in CARDS
    )


def _vote(player: int, card: int, facing: bool, ties: Fraction) -> Fraction:
    gain = sum(
        _clairvoyant(player, card, other, facing, True)
        - _clairvoyant(player, card, other, facing, False)
        for other in CARDS
        if other != card
    )
    return ties if gain == 0 else Fraction(int(gain > 0))


def _clairvoyant(player: int, card: int, other: int, facing: bool, chip: bool) -> int:
    """The value to a player of putting a chip in, or not, if both know the cards."""
    shown = 1 if card > other else -1
    if facing:
        return 2 * shown if chip else -1
    if chip:
        return min(2 * shown, 1)  # the other one calls or folds
    if player == SECOND:
        return shown
    # Player 2 checks too, or bets, which player 1 calls or not.
    return min(shown, max(2 * shown, -1))
