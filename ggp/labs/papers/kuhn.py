"""Analyses Kuhn's poker exactly: Table 1 of paper 003.

Payoffs are player 1's, in bets, so that antes are 1. Everything is a rational number, and best
responses are found by trying all 64 pure strategies.

A strategy is the probability of putting a chip in (betting, or calling a bet) for each card and
each of the two situations of a player: `[card][facing a bet]`. Cards are 0, 1, 2. Player 1 has
nothing to face at first; it faces a bet after it checked and player 2 bet.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product

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
