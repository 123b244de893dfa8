"""Table 1 of paper 003: random play and PIMC in Kuhn's poker, computed exactly.

Nothing is played: payoffs of strategies against equilibria and best responses are fractions, and
become points and claims beside the paper's numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
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
"""Tolerated deviation: the paper seems to have sampled its equilibria."""

_BETS = Fraction(1)
_LOT = Fraction(1, 2)
_WHY = {
    (PIMC_FIRST, BEST_RESPONSE): "It is exactly -1/6, however ties are broken. A queen that "
    "called every second bet would lose the paper's 1/12.",
}


class KuhnTable:
    """Table of the payoffs of random play and PIMC in Kuhn's poker, in bets."""

    name = "003-table1"

    def size(self, settings: RunSettings) -> int:
        return 1

    def run(self, settings: RunSettings, executor: Executor, tell: Tell) -> Result:
        table = exact_table()
        points = tuple(
            Point(
                column,
                row,
                _exactly(high),
                count=1,
                rounds=1,
                player=row.split(",")[0].lower(),
                opponent=column.removeprefix("against "),
                paper=(KUHN[row, column], 0.0),
            )
            for (row, column), (_, high) in table.items()
        )
        claims = [_claim(*cell, *ends) for cell, ends in table.items()]
        claims.append(_by_lot())
        tell()
        return Result(
            self.name,
            "Table 1 (Long et al.): Kuhn's poker",
            "Computed exactly, in bets; best responses by trying all 64 pure strategies. The "
            "table covers all equilibria: they differ in how often player 1 bets a jack, from "
            "never to a third of the time. The figure shows the one that never does. PIMC solves "
            "both worlds. A king has the same value checked or bet for it: it bets, as the "
            "paper's does not take dominated actions.",
            "bets a game",
            points,
            tuple(claims),
            lines=(ReferenceLine(float(VALUE), "player 1 in equilibrium"),),
            paper=PAPER_003,
            span=(-0.55, 0.1),
        )


def exact_table() -> dict[tuple[str, str], tuple[Fraction, Fraction]]:
    """Lowest and highest value of each number of the table, over all equilibria."""
    second = nash(SECOND)
    return {
        (RANDOM_FIRST, NASH): _both_ends(payoff(uniform(), second)),
        (RANDOM_FIRST, BEST_RESPONSE): _both_ends(best_response(uniform(), FIRST)),
        (RANDOM_SECOND, NASH): _over_equilibria(uniform()),
        (RANDOM_SECOND, BEST_RESPONSE): _both_ends(best_response(uniform(), SECOND)),
        (PIMC_FIRST, NASH): _both_ends(payoff(pimc(FIRST, _BETS), second)),
        (PIMC_FIRST, BEST_RESPONSE): _both_ends(best_response(pimc(FIRST, _BETS), FIRST)),
        (PIMC_SECOND, NASH): _over_equilibria(pimc(SECOND, _BETS)),
        (PIMC_SECOND, BEST_RESPONSE): _both_ends(best_response(pimc(SECOND, _BETS), SECOND)),
    }


def _both_ends(value: Fraction) -> tuple[Fraction, Fraction]:
    return value, value


def _over_equilibria(strategy: Strategy) -> tuple[Fraction, Fraction]:
    """Lowest and highest value for player 2 over all equilibria; linear in their parameter."""
    ends = [-payoff(nash(FIRST, bluffs), strategy) for bluffs in (Fraction(0), MAX_BLUFFS)]
    return min(ends), max(ends)


def _claim(row: str, column: str, low: Fraction, high: Fraction) -> Claim:
    published = KUHN[row, column]
    near = SAMPLED if column == NASH else 0.001
    return Claim(
        f"{row}, {column}",
        f"paper: {published:.3f}",
        text_of(low, high),
        float(low) - near <= published <= float(high) + near,
        _WHY.get((row, column), ""),
    )


def _by_lot() -> Claim:
    low, high = _over_equilibria(pimc(SECOND, _LOT))
    return Claim(
        f"{PIMC_SECOND}, {NASH}, with equal moves by lot",
        "less: it then checks a king",
        text_of(low, high),
        high < -VALUE,
    )


def text_of(low: Fraction, high: Fraction) -> str:
    """A number as `-1/6 = -0.167`, or both ends if they differ."""
    if low == high:
        return f"{low} = {float(low):.3f}"
    return f"{low} to {high} = {float(low):.3f} to {float(high):.3f}"


def _exactly(value: Fraction) -> Interval:
    exact = float(value)
    return Interval(exact, exact, exact)


# ------------------------------------------------------------------------
# Exact analysis of Kuhn's poker.
#
# Payoffs are player 1's, in bets; antes are 1. All numbers are rational, and best responses are the
# best of all 64 pure strategies.
#
# A strategy is the probability of putting a chip in (betting, or calling a bet) for each card and
# each of the two situations of a player: `[card][facing a bet]`. Cards are 0, 1, 2. Player 1 faces
# no bet at first; it faces one after it checked and player 2 bet.

Strategy = tuple[tuple[Fraction, Fraction], ...]

CARDS = (JACK, QUEEN, KING) = range(3)
FIRST, SECOND = 0, 1
VALUE = Fraction(-1, 18)
"""Value of the game for player 1."""

MAX_BLUFFS = Fraction(1, 3)
"""Highest probability with which player 1 bets a jack: the only parameter of the equilibria."""

_HALF = Fraction(1, 2)


def payoff(first: Strategy, second: Strategy) -> Fraction:
    """Expected payoff of player 1."""
    deals = list(permutations(CARDS, 2))
    return sum(
        (_of_deal(first[a], second[b], 1 if a > b else -1) for a, b in deals), Fraction(0)
    ) / len(deals)


def _of_deal(
    first: tuple[Fraction, Fraction], second: tuple[Fraction, Fraction], showdown: int
) -> Fraction:
    bet, call_late = first
    bet_after_check, call = second
    if_bet = call * 2 * showdown + (1 - call)
    if_raised = call_late * 2 * showdown - (1 - call_late)
    if_checked = bet_after_check * if_raised + (1 - bet_after_check) * showdown
    return bet * if_bet + (1 - bet) * if_checked


def best_response(strategy: Strategy, player: int) -> Fraction:
    """Payoff of a strategy for its player, against a best response."""
    if player == FIRST:
        return min(payoff(strategy, opponent) for opponent in _pure())
    return -max(payoff(opponent, strategy) for opponent in _pure())


def _pure() -> Iterator[Strategy]:
    sure = Fraction(0), Fraction(1)
    return product([(early, late) for early in sure for late in sure], repeat=3)


def uniform() -> Strategy:
    """The strategy that plays every move by lot."""
    return ((_HALF, _HALF),) * 3


def nash(player: int, bluffs: Fraction = Fraction(0)) -> Strategy:
    """Kuhn's equilibria.

    Args:
        bluffs: probability that player 1 bets a jack, up to `MAX_BLUFFS`; player 2 has no choice.
    """
    never, always, third = Fraction(0), Fraction(1), Fraction(1, 3)
    if player == FIRST:
        return (bluffs, never), (never, bluffs + third), (3 * bluffs, always)
    return (third, never), (never, third), (always, always)


def pimc(player: int, ties: Fraction = _HALF) -> Strategy:
    """The strategy of perfect information Monte Carlo search on both possible worlds.

    Args:
        ties: probability of putting a chip in if both moves look equally good.
    """
    return tuple(
        (_vote(player, card, False, ties), _vote(player, card, True, ties)) for card in CARDS
    )


def _vote(player: int, card: int, facing: bool, ties: Fraction) -> Fraction:
    gain = sum(
        _clairvoyant(player, card, hidden, facing, True)
        - _clairvoyant(player, card, hidden, facing, False)
        for hidden in CARDS
        if hidden != card
    )
    return ties if gain == 0 else Fraction(int(gain > 0))


def _clairvoyant(player: int, card: int, hidden: int, facing: bool, chip: bool) -> int:
    """Value for a player of putting a chip in, or not, if both know the cards."""
    showdown = 1 if card > hidden else -1
    if facing:
        return 2 * showdown if chip else -1
    if chip:
        return min(2 * showdown, 1)  # the opponent calls or folds
    if player == SECOND:
        return showdown
    # Player 2 checks too, or bets, which player 1 calls or not.
    return min(showdown, max(2 * showdown, -1))
