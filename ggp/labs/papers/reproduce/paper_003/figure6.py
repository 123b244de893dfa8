"""Figure 6 of paper 003: where Skat and Hearts lie among synthetic trees.

Single deals are measured, in worker processes (`measure_deals`). The figure shows their density
over leaf correlation and disambiguation, above the loss of PIMC there, as in Figure 3.

A walk goes down the tree by random moves that do not end the game, and stops where every move ends
it; forced moves do not count. There the moves are *correlated* if the player gets the same from all
of them: in Skat whether the soloist wins, in Hearts the player's points.

Disambiguation is 1 - the mean share of the possible worlds that remain from one of the player's
moves to the next. Worlds are the ways to distribute the unseen cards among the opponents, where an
opponent that did not follow a suit has no card of it:

    worlds = product of (cards of a suit)! * sum over the numbers of cards of each suit that each
             opponent holds, of 1 / product of (these numbers)!

This needs only numbers of cards, so it is exact even for billions of worlds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

import numpy as np

from ggp.labs.openspiel.machine.games import pyspiel
from ggp.labs.papers.reproduce.paper_003.trees import (
    NAMES,
    PANELS,
    SKAT,
    STEPS,
    TREE_FIGURES,
    TreeCell,
    measure_cells,
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
from ggp.machine.base import FloatArray
from ggp.report import Table
from ggp.statistics import student_interval
from match_runner.workers.executor import Executor, results_of

WALKS = 100
"""Number of walks for each deal."""

MATCHES = 10
"""Number of random matches for the disambiguation of a deal, as in the paper."""

_FAIR_HEARTS = 26 - 6.5
"""Return in OpenSpiel of four players who take the same number of points."""

_STREAM = 8


class DealProperties(NamedTuple):
    """Measured properties of a deal.

    Attributes:
        leaf_correlation: share of walks that end where moves are correlated.
        bias: share of these that the player wins, in Hearts with less than a fourth of all
            points; 0.5 if there are none.
        disambiguation: 1 - the mean share of the possible worlds that remain.
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
        measure_deal(deals.kind, Random(f"{_STREAM} {deals.kind} {deals.seed} {k}"))
        for k in range(deals.first, deals.first + deals.count)
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
    shares = [share for _ in range(MATCHES) for share in shares_left(deal, rng)]
    return DealProperties(
        correlated / WALKS, won / correlated if correlated else 0.5, 1 - float(np.mean(shares))
    )


_VALUES: tuple[tuple[Callable[[float], float], Callable[[float], bool]], ...] = (
    (lambda gained: gained > 0, lambda won: won > 0),
    (lambda points: points, lambda points: points > _FAIR_HEARTS),
)
"""Value of a return, and whether it is a win: for Skat, and for Hearts."""


def pre_terminal_ends(state: Any, rng: Random) -> list[Any]:
    """Terminal states after each move at the end of a random walk."""
    state = _collapsed(state.clone())
    while True:
        actions = state.legal_actions()
        rng.shuffle(actions)
        ends = []
        for action in actions:
            child = _collapsed(state.child(action))
            if not child.is_terminal():
                state = child
                break
            ends.append(child)
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
    """Play a random match; yield the share of the player's worlds that remain at each next move."""
    state = deal.state.clone()
    hand_sizes = dict(deal.hand_sizes)
    opponents = tuple(hand_sizes)
    hidden = Counter(
        deal.suit_of(card)
        for card in range(deal.num_cards)
        if card not in deal.hand and card not in deal.discards
    )
    voids: set[tuple[int, int]] = set()
    led, num_played, last_worlds = 0, 0, 0.0
    while not state.is_terminal():
        player = state.current_player()
        if player == deal.player:
            worlds = num_worlds(
                tuple(hand_sizes[opponent] for opponent in opponents),
                tuple(
                    (count, tuple((opponent, suit) not in voids for opponent in opponents))
                    for suit, count in sorted(hidden.items())
                ),
            )
            if last_worlds:
                yield worlds / last_worlds
            last_worlds = worlds
        card = rng.choice(state.legal_actions())
        suit = deal.suit_of(card)
        if num_played % (1 + len(opponents)) == 0:
            led = suit
        if player != deal.player:
            hidden[suit] -= 1
            hand_sizes[player] -= 1
            if suit != led:
                voids.add((player, led))
        num_played += 1
        state.apply_action(card)


def num_worlds(sizes: tuple[int, ...], suits: tuple[tuple[int, tuple[bool, ...]], ...]) -> float:
    """Number of ways to distribute cards among two or three players.

    Suits are independent except for the sizes of hands: one polynomial a suit, in powers of the
    first two hands' sizes, and the coefficient of the product at these sizes counts the ways.

    Args:
        sizes: number of cards of each player.
        suits: number of cards of each suit, and whether each player may have some.
    """
    first, second = sizes[:2]
    ways = np.zeros((1 + first, 1 + second))
    ways[0, 0] = 1.0
    total = 1.0
    for count, may_hold in suits:
        if count:
            total *= math.factorial(count)
            ways = _product(ways, _shared(count, (*may_hold, False)[:3], first, second))
    return total * float(ways[first, second])


@lru_cache(maxsize=4096)
def _shared(count: int, may_hold: tuple[bool, ...], first: int, second: int) -> FloatArray:
    """`[i, j]` 1 / (i! j! k!), with i + j + k = `count`: the first has i cards, the second j."""
    weights = np.zeros((1 + first, 1 + second))
    for i in range(min(count, first) + 1 if may_hold[0] else 1):
        for j in range(min(count - i, second) + 1 if may_hold[1] else 1):
            rest = count - i - j
            if rest == 0 or may_hold[2]:
                weights[i, j] = 1 / math.prod(map(math.factorial, (i, j, rest)))
    return weights


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Product of two polynomials, without powers beyond the array."""
    product = np.zeros_like(a)
    for i, j in zip(*np.nonzero(b), strict=True):
        product[i:, j:] += b[i, j] * a[: len(a) - i, : a.shape[1] - j]
    return product


# ------------------------------------------------------------------------
# Deals of Skat and Hearts as OpenSpiel plays them, at the beginning of card play.
#
# The paper takes deals that people bid on. OpenSpiel's Skat has no real auction (the first player
# who does not pass plays), so deals are filtered: a seat is drawn, and cards are dealt until its
# hand is one with which people would play that game:
#
# - suit: six or more trumps (jacks and the longest suit), and seven or more with aces of other
#   suits;
# - grand: two or more jacks, and five or more jacks and aces;
# - null: at most one card that is too high. The lowest of each suit should be a 7, the next at most
#   a 9, then at most a jack, then at most a king, in the order 7 8 9 10 jack queen king ace.
#
# The soloist picks up the two cards of the skat and discards two. In suit and grand games these are
# not trumps or aces if there are others; they come from the shortest suit first, the most valuable
# cards first. In null games they are the two highest. In Hearts every deal counts, and no cards are
# passed.

SUIT, GRAND, NULL, HEARTS = "Skat: suit", "Skat: grand", "Skat: null", "Hearts"

KINDS = (SUIT, GRAND, NULL, HEARTS)

_SKAT_CARDS, _HEARTS_CARDS = 32, 52
_TRUMPS = 4
"""Index of the suit to which jacks belong, and in a suit game the cards of that suit too."""

_PASS, _FIRST_SUIT, _GRAND_BID, _NULL_BID = 32, 33, 37, 38
_ACE, _JACK = 6, 7
_POINTS = (0, 0, 0, 3, 4, 10, 11, 2)
"""Points of 7, 8, 9, queen, king, 10, ace and jack, in OpenSpiel's order."""

_NULL_RANKS = (0, 1, 2, 5, 6, 3, 7, 4)


def _seat_of(n: int) -> int:
    """Player who gets the n-th card dealt, 3 for the skat: 3 3 3, skat, 4 4 4, 3 3 3."""
    if n < 9:
        return n // 3
    if n < 11:
        return 3
    return (n - 11) // 4 if n < 23 else (n - 23) // 3


_SEATS = tuple(map(_seat_of, range(_SKAT_CARDS)))


@dataclass(frozen=True)
class Deal:
    """A deal at the beginning of card play, and the player whose view of it is measured.

    Attributes:
        state: the `pyspiel.State`; it must not be changed.
        player: the soloist, or in Hearts the first player.
        hand: cards of that player.
        hand_sizes: number of cards of every other player.
        discards: cards that the player knows to be in nobody's hand.
        suit_of: gives the suit of a card.
        num_cards: number of cards in the pack.
    """

    state: Any
    player: int
    hand: frozenset[int]
    hand_sizes: Mapping[int, int]
    discards: frozenset[int]
    suit_of: Callable[[int], int]
    num_cards: int


def draw_deal(kind: str, rng: Random) -> Deal:
    """Draw a deal of one of `KINDS`.

    Raises:
        BackendUnavailableError: OpenSpiel is not installed.
    """
    return _hearts(rng) if kind == HEARTS else _skat(kind, rng)


def _skat(kind: str, rng: Random) -> Deal:
    seat = rng.randrange(3)
    cards = list(range(_SKAT_CARDS))
    while True:
        rng.shuffle(cards)
        hand = [card for card, owner in zip(cards, _SEATS, strict=True) if owner == seat]
        if _is_playable(kind, hand):
            break
    suit = _longest(hand)
    suit_of = _suits(kind, suit)
    with_skat = [*hand, *(c for c, owner in zip(cards, _SEATS, strict=True) if owner == 3)]
    away = _put_away(kind, with_skat, suit_of)
    bid = {SUIT: _FIRST_SUIT + suit, GRAND: _GRAND_BID, NULL: _NULL_BID}[kind]
    state = pyspiel().load_game("skat").new_initial_state()
    for action in (*cards, *[_PASS] * seat, bid, *away):
        state.apply_action_with_legality_check(action)
    hand_sizes = {player: 10 for player in range(3) if player != seat}
    rest = frozenset(with_skat) - frozenset(away)
    return Deal(state, seat, rest, hand_sizes, frozenset(away), suit_of, _SKAT_CARDS)


def _hearts(rng: Random) -> Deal:
    state = pyspiel().load_game("hearts", {"pass_cards": False}).new_initial_state()
    while state.is_chance_node():
        state.apply_action(rng.choice(state.legal_actions()))
    hand = set()
    rest = state.clone()
    while not rest.is_terminal():
        actions = rest.legal_actions()
        if rest.current_player() == 0:
            hand.add(actions[0])
        rest.apply_action(actions[0])
    hand_sizes = dict.fromkeys((1, 2, 3), 13)
    return Deal(state, 0, frozenset(hand), hand_sizes, frozenset(), _hearts_suit, _HEARTS_CARDS)


def _hearts_suit(card: int) -> int:
    return card % 4


def _suits(kind: str, trump: int) -> Callable[[int], int]:
    if kind == NULL:
        return lambda card: card // 8
    if kind == GRAND:
        return lambda card: _TRUMPS if card % 8 == _JACK else card // 8
    return lambda card: _TRUMPS if card % 8 == _JACK or card // 8 == trump else card // 8


def _is_playable(kind: str, hand: Sequence[int]) -> bool:
    """Whether people would play this game with these ten cards, by the rules above."""
    jacks = sum(card % 8 == _JACK for card in hand)
    aces = sum(card % 8 == _ACE for card in hand)
    if kind == GRAND:
        return jacks >= 2 and jacks + aces >= 5
    if kind == NULL:
        return _too_high(hand) <= 1
    trump = _longest(hand)
    trumps = sum(card % 8 == _JACK or card // 8 == trump for card in hand)
    side = sum(card % 8 == _ACE and card // 8 != trump for card in hand)
    return trumps >= 6 and trumps + side >= 7


def _longest(hand: Sequence[int]) -> int:
    """The suit with the most cards that are not jacks."""
    return max(range(4), key=lambda suit: sum(c // 8 == suit and c % 8 != _JACK for c in hand))


def _too_high(hand: Sequence[int]) -> int:
    """Number of cards that are too high for their positions in their suits, for a null game."""
    count = 0
    for suit in range(4):
        ranks = sorted(_NULL_RANKS[card % 8] for card in hand if card // 8 == suit)
        count += sum(rank > 2 * index for index, rank in enumerate(ranks))
    return count


def _put_away(kind: str, cards: Sequence[int], suit_of: Callable[[int], int]) -> list[int]:
    """The two cards of twelve that the soloist discards."""
    if kind == NULL:
        return sorted(cards, key=lambda card: -_NULL_RANKS[card % 8])[:2]
    lengths = [sum(suit_of(card) == suit for card in cards) for suit in range(_TRUMPS + 1)]

    def late(card: int) -> tuple[bool, bool, int, int]:
        suit = suit_of(card)
        return suit == _TRUMPS, card % 8 == _ACE, lengths[suit], -_POINTS[card % 8]

    return sorted(cards, key=late)[:2]


# ------------------------------------------------------------------------
# The figure.

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


class CardFigure:
    """Figure of the properties of deals of Skat and Hearts."""

    name = "003-figure6"

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

    def watch(measured: list[DealProperties]) -> None:
        for _ in measured:
            tell()

    properties = results_of(
        executor,
        measure_deals,
        ((deals, deals) for deals in work),
        lambda deals: f"deals {deals.first} and on of {deals.kind}",
        watch,
    )
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


def _claims(deals: Measured) -> Iterator[Claim]:
    low, high = CORRELATION
    correlated = f"paper: from {low:g} to nearly 1"
    left = f"paper: very close to {PAPER_SHARE:g}"
    for kind in KINDS:
        yield _claim(kind, deals, 0, correlated, (low, high))
    for kind in KINDS:
        bounds = PAPER_SHARE - NEAR, PAPER_SHARE + NEAR
        yield _claim(kind, deals, 2, left, bounds, _WHY.get(kind, ""))


def _claim(
    kind: str,
    deals: Measured,
    index: int,
    expected: str,
    bounds: tuple[float, float],
    reason: str = "",
) -> Claim:
    """Claim that agrees if the mean of a property, an index into `NAMES`, is within bounds."""
    interval = student_interval([deal[index] for deal in deals[kind]])
    agrees = bounds[0] <= (interval.value or 0.0) <= bounds[1]
    enough = len(deals[kind]) >= FEWEST_ROUNDS
    text = f"{kind}: {NAMES[index]}"
    return Claim(text, expected, format(interval, ".3f"), agrees if enough else None, reason)


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
