"""Leduc poker again, in plain Python: every history, with legal moves, percepts and scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np
import pytest

from ggp.solve import solve
from tests.support.comparing.walks import joint_move
from tests.support.games import machine_of_game
from tests.support.matches import Match

RANKS = ("jack", "queen", "king")
DECK = [f"{rank}_{suit}" for rank, suit in product(RANKS, ("hearts", "spades"))]
RAISE = (2, 4)
EQUILIBRIUM = -0.0856064
"""Chips that the first player wins in equilibrium, as the literature has it."""


@dataclass(frozen=True)
class Hand:
    """A history, by the rules in words.

    Attributes:
        cards: of the players and, in the second round, the public one.
        chips: put in by each player.
        betting: moves of either round so far.
    """

    cards: tuple[str, ...] = ()
    chips: tuple[int, int] = (1, 1)
    betting: tuple[tuple[str, ...], ...] = ()

    @property
    def folded(self) -> bool:
        return bool(self.betting) and "fold" in self.betting[-1]

    @property
    def round_is_over(self) -> bool:
        moves = self.betting[-1]
        return moves[-1:] == ("call",) or moves == ("check", "check") or self.folded

    @property
    def is_over(self) -> bool:
        return self.folded or (len(self.betting) == 2 and self.round_is_over)

    @property
    def on_turn(self) -> str:
        if not self.betting or self.round_is_over:
            return "random"
        return f"player{1 + len(self.betting[-1]) % 2}"

    def legal(self) -> set[str]:
        if not self.betting:
            return {f"(deal {a} {b})" for a, b in permutations(DECK, 2)}
        if self.round_is_over:
            return {f"(turn {card})" for card in DECK if card not in self.cards}
        raises = self.betting[-1].count("raise")
        moves = {"fold", "call"} if raises else {"check"}
        return moves | ({"raise"} if raises < 2 else set())

    def play(self, move: str) -> tuple[Hand, dict[str, set[str]]]:
        """The history after a move, and the percepts of the players."""
        kind, *cards = move.strip("()").split()
        if kind == "deal":
            seen = {f"player{1 + p}": {f"(dealt {rank(cards[p])})"} for p in range(2)}
            return replace(self, cards=tuple(cards), betting=((),)), seen
        if kind == "turn":
            seen = {player: {f"(turned {rank(cards[0])})"} for player in ("player1", "player2")}
            return replace(self, cards=(*self.cards, *cards), betting=(*self.betting, ())), seen
        seat = int(self.on_turn[-1]) - 1
        chips = list(self.chips)
        if kind in ("call", "raise"):
            chips[seat] = chips[1 - seat]
        if kind == "raise":
            chips[seat] += RAISE[len(self.betting) - 1]
        betting = (*self.betting[:-1], (*self.betting[-1], kind))
        successor = replace(self, chips=(chips[0], chips[1]), betting=betting)
        seen = {"player1": set(), "player2": set()}
        seen[f"player{2 - seat}"].add(kind)
        if successor.is_over and not successor.folded:
            for p in range(2):
                seen[f"player{1 + p}"].add(f"(shown {rank(self.cards[1 - p])})")
        return successor, seen

    def won(self) -> int:
        """Chips that player 1 has won when it is over."""
        if self.folded:
            winner = len(self.betting[-1]) % 2  # who did not make the last move
        else:
            strength = [
                (rank(card) == rank(self.cards[2]), RANKS.index(rank(card)))
                for card in self.cards[:2]
            ]
            if strength[0] == strength[1]:
                return 0
            winner = int(strength[1] > strength[0])
        return self.chips[1] if winner == 0 else -self.chips[0]


def rank(card: str) -> str:
    return card.partition("_")[0]


def levels() -> Iterator[list[Hand]]:
    """All histories, by how many moves were made."""
    hands = [Hand()]
    while hands:
        yield hands
        open_ = [hand for hand in hands if not hand.is_over]
        hands = [hand.play(move)[0] for hand in open_ for move in sorted(hand.legal())]


@pytest.mark.verify
def test_rules_agree_with_a_plain_model_in_every_history() -> None:
    machine = machine_of_game("leduc_poker", "propnet")
    roles = machine.roles
    states = machine.initial(1)
    ends = Counter[int]()
    for hands in levels():
        over = machine.terminal(states)
        assert over.tolist() == [hand.is_over for hand in hands]
        goals = machine.goals(states)
        for hand, scores in zip(hands, goals.tolist(), strict=True):
            if hand.is_over:
                assert scores == [50 + 3 * hand.won(), 50 - 3 * hand.won(), 0]
                ends[hand.won()] += 1
        on = np.flatnonzero(~over)
        if not len(on):
            break
        states, hands = states.take(on), [hand for hand in hands if not hand.is_over]
        for r, role in enumerate(roles):
            legal = machine.legal(states, r)
            for lane, hand in enumerate(hands):
                expected = hand.legal() if role == hand.on_turn else {"noop"}
                assert set(map(machine.move_text, legal[lane].tolist())) == expected
        rows = [(lane, move) for lane, hand in enumerate(hands) for move in sorted(hand.legal())]
        joint = [
            joint_move(machine, dict.fromkeys(roles, "noop") | {hands[lane].on_turn: move})
            for lane, move in rows
        ]
        stepped = machine.step(
            states.take(np.array([lane for lane, _ in rows])), np.concatenate(joint)
        )
        for (lane, move), percept_ids in zip(rows, stepped.percepts.tolist(), strict=True):
            _, seen = hands[lane].play(move)
            for r, role in enumerate(roles):
                assert set(machine.percept_texts(percept_ids[r])) == seen.get(role, set())
        states = stepped.states
    assert sum(ends.values()) == 5520
    assert (min(ends), max(ends)) == (-13, 13)


def test_equilibrium_is_worth_what_the_literature_says() -> None:
    values = solve(machine_of_game("leduc_poker", "propnet")).profile.values
    assert values["player1"] == pytest.approx(50 + 3 * EQUILIBRIUM, abs=1e-6)


def test_whoever_folds_to_a_second_raise_loses_what_it_had_put_in() -> None:
    match = Match("leduc_poker")
    match.play(random="(deal jack_hearts king_spades)")
    assert match.legal("player1") == {"check", "raise"}
    match.play(player1="raise")
    assert match.legal("player2") == {"fold", "call", "raise"}
    assert match.play(player2="raise") == {"player1": ("raise",)}
    assert match.legal("player1") == {"fold", "call"}
    assert match.play(player1="fold") == {"player2": ("fold",)}
    assert match.goals == {"player1": 41, "player2": 59}
