"""Leaf correlation, bias and disambiguation of single deals of card games (paper 003, Figure 6).

A walk goes down the tree by random moves that do not end the game, and stops where every move ends
it; forced moves do not count. There the moves are *correlated* if the player gets the same from all
of them: in Skat whether the soloist wins, in Hearts the player's points.

Disambiguation is 1 - the mean share of the possible worlds that is left from one of the player's
moves to the next. Worlds are the ways in which the cards that it has not seen can be held by the
others, who have no card of a suit that they did not follow:

    worlds = product of (cards of a suit)! * sum over how many of each suit each of them holds of
             1 / product of (these numbers)!

That needs only numbers of cards, so it is exact even if there are billions of worlds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

import numpy as np

from ggp.labs.papers.reproduce.paper_003.card_deals import HEARTS, Deal, draw_deal
from ggp.machine.base import FloatArray

WALKS = 100
"""Number of walks for each deal."""

MATCHES = 10
"""Number of random matches for the disambiguation of a deal, as in the paper."""

_FAIR_HEARTS = 26 - 6.5
"""Return that OpenSpiel gives each of four players who take the same number of points."""

_STREAM = 8


class DealProperties(NamedTuple):
    """Measured properties of a deal.

    Attributes:
        leaf_correlation: share of walks that end where moves are correlated.
        bias: share of these that the player wins, in Hearts with less than a fourth of all
            points; 0.5 if there are none.
        disambiguation: 1 - the mean share of the possible worlds that is left.
    """

    leaf_correlation: float
    bias: float
    disambiguation: float


@dataclass(frozen=True, slots=True)
class Deals:
    """A batch of work: deals `first` to `first + count - 1` of a kind."""

    kind: str
    first: int
    count: int
    seed: int


def measure_deals(deals: Deals) -> list[DealProperties]:
    """Measure the properties of deals, in order.

    Raises:
        BackendUnavailableError: OpenSpiel is not installed.
    """
    return [
        measure_deal(deals.kind, Random(f"{_STREAM} {deals.kind} {deals.seed} {number}"))
        for number in range(deals.first, deals.first + deals.count)
    ]


def measure_deal(kind: str, rng: Random) -> DealProperties:
    """Measure the properties of one deal."""
    deal = draw_deal(kind, rng)
    value, wins = _VALUES[kind == HEARTS]
    correlated = won = 0
    for _ in range(WALKS):
        ends = {value(end.returns()[deal.player]) for end in pre_terminal_ends(deal.state, rng)}
        if len(ends) == 1:
            correlated += 1
            won += wins(ends.pop())
    left = [share for _ in range(MATCHES) for share in shares_left(deal, rng)]
    return DealProperties(
        correlated / WALKS, won / correlated if correlated else 0.5, 1 - float(np.mean(left))
    )


_VALUES: tuple[tuple[Callable[[float], float], Callable[[float], bool]], ...] = (
    (lambda gained: gained > 0, lambda won: won > 0),
    (lambda points: points, lambda points: points > _FAIR_HEARTS),
)
"""The value of a return, and whether that is a win: first for Skat, then for Hearts."""


def pre_terminal_ends(state: Any, rng: Random) -> list[Any]:
    """Terminal states after each move at the end of a random walk."""
    state = _collapsed(state.clone())
    while True:
        actions = state.legal_actions()
        rng.shuffle(actions)
        ends = []
        for action in actions:
            after = _collapsed(state.child(action))
            if not after.is_terminal():
                state = after
                break
            ends.append(after)
        else:
            return ends


def _collapsed(state: Any) -> Any:
    """State after all forced moves."""
    while not state.is_terminal():
        actions = state.legal_actions()
        if len(actions) > 1:
            break
        state.apply_action(actions[0])
    return state


def shares_left(deal: Deal, rng: Random) -> Iterator[float]:
    """Yield the share of the player's worlds left from each of its moves to the next, at random."""
    state = deal.state.clone()
    held = dict(deal.unseen)
    others = tuple(held)
    hidden = Counter(
        deal.suit_of(card)
        for card in range(deal.num_cards)
        if card not in deal.hand and card not in deal.known
    )
    voids: set[tuple[int, int]] = set()
    led, played, before = 0, 0, 0.0
    while not state.is_terminal():
        player = state.current_player()
        if player == deal.player:
            worlds = num_worlds(
                tuple(held[other] for other in others),
                tuple(
                    (number, tuple((other, suit) not in voids for other in others))
                    for suit, number in sorted(hidden.items())
                ),
            )
            if before:
                yield worlds / before
            before = worlds
        card = rng.choice(state.legal_actions())
        suit = deal.suit_of(card)
        if played % (1 + len(others)) == 0:
            led = suit
        if player != deal.player:
            hidden[suit] -= 1
            held[player] -= 1
            if suit != led:
                voids.add((player, led))
        played += 1
        state.apply_action(card)


def num_worlds(held: tuple[int, ...], suits: tuple[tuple[int, tuple[bool, ...]], ...]) -> float:
    """Number of ways in which two or three players can hold cards.

    Args:
        held: number of cards that each of them holds.
        suits: number of cards of each suit that they hold together, and who may have some.
    """
    first, second = held[:2]
    ways = np.zeros((1 + first, 1 + second))
    ways[0, 0] = 1.0
    total = 1.0
    for number, may in suits:
        if number:
            total *= math.factorial(number)
            ways = _product(ways, _shared(number, (*may, False)[:3], first, second))
    return total * float(ways[first, second])


@lru_cache(maxsize=4096)
def _shared(number: int, may: tuple[bool, ...], first: int, second: int) -> FloatArray:
    """`[i, j]` 1 / (i! j! k!), where i + j + k = `number`: the first has i cards, the second j."""
    found = np.zeros((1 + first, 1 + second))
    for i in range(min(number, first) + 1 if may[0] else 1):
        for j in range(min(number - i, second) + 1 if may[1] else 1):
            rest = number - i - j
            if rest == 0 or may[2]:
                found[i, j] = 1 / math.prod(map(math.factorial, (i, j, rest)))
    return found


def _product(one: FloatArray, other: FloatArray) -> FloatArray:
    """Product of two polynomials, without the powers that do not matter."""
    found = np.zeros_like(one)
    for i, j in zip(*np.nonzero(other), strict=True):
        found[i:, j:] += other[i, j] * one[: len(one) - i, : one.shape[1] - j]
    return found
