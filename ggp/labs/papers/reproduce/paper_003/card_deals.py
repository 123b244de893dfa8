"""Deals of Skat and Hearts as OpenSpiel plays them, at the beginning of card play.

The paper takes deals that people bid on. OpenSpiel's Skat has no real auction (the first player who
does not pass plays), so deals are filtered: a seat is drawn, and cards are dealt until its hand is
one with which people would play that game:

- suit: six or more trumps (jacks and the longest suit); seven or more with aces of other suits;
- grand: two or more jacks, and five or more jacks and aces;
- null: at most one card that is too high. The lowest of each suit should be a 7, the next at most a
  9, then at most a jack, then at most a king, in the order 7 8 9 10 jack queen king ace.

The soloist picks up the two cards of the skat and puts two away. In suit and grand games these are
not trumps or aces as long as there are others, from the shortest suit first, and the most valuable
of it first; in null games the two highest. In Hearts every deal counts, and no cards are passed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from ggp.labs.openspiel.machine.games import pyspiel

SUIT, GRAND, NULL, HEARTS = "Skat: suit", "Skat: grand", "Skat: null", "Hearts"

KINDS = (SUIT, GRAND, NULL, HEARTS)

_SKAT_CARDS, _HEARTS_CARDS = 32, 52
_TRUMPS = 4
"""Index of the suit to which jacks belong, and in a suit game the cards of that suit too."""

_PASS, _FIRST_SUIT, _GRAND_BID, _NULL_BID = 32, 33, 37, 38
_ACE, _JACK = 6, 7
_POINTS = (0, 0, 0, 3, 4, 10, 11, 2)
"""Points of 7, 8, 9, queen, king, 10, ace and jack, in the order of OpenSpiel's numbers."""

_NULL_RANKS = (0, 1, 2, 5, 6, 3, 7, 4)


def _place(number: int) -> int:
    """Player who gets the n-th card dealt, 3 for the skat: 3 3 3, skat, 4 4 4, 3 3 3."""
    if number < 9:
        return number // 3
    if number < 11:
        return 3
    return (number - 11) // 4 if number < 23 else (number - 23) // 3


_SEATS = tuple(map(_place, range(_SKAT_CARDS)))


@dataclass(frozen=True)
class Deal:
    """A deal at the beginning of card play, and the player whose view of it is measured.

    Attributes:
        state: the `pyspiel.State`; it must not be changed.
        player: the soloist, or in Hearts the first player.
        hand: cards of that player.
        unseen: number of cards that every other player has.
        known: cards that nobody has any more, as that player knows.
        suit_of: gives the suit of a card.
        num_cards: number of cards in the pack.
    """

    state: Any
    player: int
    hand: frozenset[int]
    unseen: Mapping[int, int]
    known: frozenset[int]
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
        if _is_played(kind, hand):
            break
    suit = _longest(hand)
    suit_of = _suits(kind, suit)
    with_skat = [*hand, *(c for c, owner in zip(cards, _SEATS, strict=True) if owner == 3)]
    away = _put_away(kind, with_skat, suit_of)
    bid = {SUIT: _FIRST_SUIT + suit, GRAND: _GRAND_BID, NULL: _NULL_BID}[kind]
    state = pyspiel().load_game("skat").new_initial_state()
    for action in (*cards, *[_PASS] * seat, bid, *away):
        state.apply_action_with_legality_check(action)
    others = {player: 10 for player in range(3) if player != seat}
    kept = frozenset(with_skat) - frozenset(away)
    return Deal(state, seat, kept, others, frozenset(away), suit_of, _SKAT_CARDS)


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
    others = dict.fromkeys((1, 2, 3), 13)
    return Deal(state, 0, frozenset(hand), others, frozenset(), _hearts_suit, _HEARTS_CARDS)


def _hearts_suit(card: int) -> int:
    return card % 4


def _suits(kind: str, trump: int) -> Callable[[int], int]:
    if kind == NULL:
        return lambda card: card // 8
    if kind == GRAND:
        return lambda card: _TRUMPS if card % 8 == _JACK else card // 8
    return lambda card: _TRUMPS if card % 8 == _JACK or card // 8 == trump else card // 8


def _is_played(kind: str, hand: Sequence[int]) -> bool:
    """Whether people would play this game with these ten cards; see the module's docstring."""
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
    """Number of cards that are too high for their places in their suits, for a null game."""
    found = 0
    for suit in range(4):
        ranks = sorted(_NULL_RANKS[card % 8] for card in hand if card // 8 == suit)
        found += sum(rank > 2 * place for place, rank in enumerate(ranks))
    return found


def _put_away(kind: str, cards: Sequence[int], suit_of: Callable[[int], int]) -> list[int]:
    """The two cards of twelve that the soloist puts away."""
    if kind == NULL:
        return sorted(cards, key=lambda card: -_NULL_RANKS[card % 8])[:2]
    lengths = [sum(suit_of(card) == suit for card in cards) for suit in range(_TRUMPS + 1)]

    def late(card: int) -> tuple[bool, bool, int, int]:
        suit = suit_of(card)
        return suit == _TRUMPS, card % 8 == _ACE, lengths[suit], -_POINTS[card % 8]

    return sorted(cards, key=late)[:2]
