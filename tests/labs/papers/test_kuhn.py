"""Kuhn's poker: the exact table, and an independent look at it by the rules of the game."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from ggp.labs.papers.reproduce.paper_003 import kuhn_table as kuhn
from ggp.labs.papers.reproduce.paper_003.kuhn_table import (
    CARDS,
    FIRST,
    MAX_BLUFFS,
    SECOND,
    VALUE,
    Strategy,
)
from tests.support.games import machine_of_game

NAMES = ("jack", "queen", "king")
BLUFFS = (Fraction(0), Fraction(1, 5), MAX_BLUFFS)
TIES = (Fraction(0), Fraction(1, 3), Fraction(1))


def by_the_rules(first: Strategy, second: Strategy) -> float:
    """The payoff of player 1 in `games/kuhn_poker.gdl`, where 25 points are a bet."""
    machine = machine_of_game("kuhn_poker")
    move = {text: machine.move_id(text) for text in ("noop", "check", "bet", "fold", "call")}
    total = 0.0
    for first_card, second_card in permutations(CARDS, 2):
        deal = machine.move_id(f"(deal {NAMES[first_card]} {NAMES[second_card]})")
        state = machine.step(
            machine.initial(), np.array([[move["noop"], move["noop"], deal]])
        ).states
        todo = [(state, 1.0)]
        while todo:
            state, weight = todo.pop()
            if machine.terminal(state)[0]:
                total += weight * (machine.goals(state)[0, 0] - 50) / 25 / 6
                continue
            facing = move["call"] in machine.legal(state, 0)[0].tolist() or (
                move["call"] in machine.legal(state, 1)[0].tolist()
            )
            acting = int(len(machine.legal(state, 1)[0]) > 1)
            chip = float((first[first_card], second[second_card])[acting][facing])
            for name, p in (
                (("fold", "check")[not facing], 1 - chip),
                (("bet", "call")[facing], chip),
            ):
                joint = np.full((1, 3), move["noop"])
                joint[0, acting] = move[name]
                if p:
                    todo.append((machine.step(state, joint).states, weight * p))
    return total


def mixed(seed: int) -> Strategy:
    rng = np.random.default_rng(seed)
    return tuple(
        (Fraction(int(rng.integers(5)), 4), Fraction(int(rng.integers(5)), 4)) for _ in CARDS
    )


@pytest.mark.parametrize("seed", range(3))
def test_payoffs_are_those_of_the_rulesheet(seed: int) -> None:
    first, second = mixed(seed), mixed(seed + 50)
    assert float(kuhn.payoff(first, second)) == pytest.approx(by_the_rules(first, second))


@pytest.mark.parametrize("bluffs", BLUFFS)
def test_equilibria_cannot_be_exploited(bluffs: Fraction) -> None:
    first, second = kuhn.nash(FIRST, bluffs), kuhn.nash(SECOND)
    assert kuhn.payoff(first, second) == VALUE == Fraction(-1, 18)
    assert kuhn.best_response(first, FIRST) == VALUE
    assert kuhn.best_response(second, SECOND) == -VALUE


def test_random_play() -> None:
    random = kuhn.uniform()
    assert kuhn.payoff(random, kuhn.nash(SECOND)) == Fraction(-1, 6)
    for bluffs in BLUFFS:
        lost = -kuhn.payoff(kuhn.nash(FIRST, bluffs), random)
        assert lost == -(Fraction(1, 18) + bluffs / 3)
    assert kuhn.best_response(random, FIRST) == Fraction(-5, 12)
    assert kuhn.best_response(random, SECOND) == Fraction(-1, 2)


@pytest.mark.parametrize("ties", TIES)
def test_pimc_loses_a_sixth_to_a_best_response_in_either_role(ties: Fraction) -> None:
    assert kuhn.payoff(kuhn.pimc(FIRST, ties), kuhn.nash(SECOND)) == Fraction(-1, 18)
    assert kuhn.best_response(kuhn.pimc(FIRST, ties), FIRST) == Fraction(-1, 6)
    assert kuhn.best_response(kuhn.pimc(SECOND, ties), SECOND) == Fraction(-1, 6)


def test_the_paper_has_the_number_of_a_queen_that_calls_every_second_bet() -> None:
    """As player 1 it then loses 1/12, as in the paper; as player 2 too, unlike in the paper."""
    never, always = Fraction(0), Fraction(1)
    half = Fraction(1, 2)

    def with_queen(player: int, calls: Fraction, king: Fraction) -> Fraction:
        return kuhn.best_response(((never, never), (never, calls), (king, always)), player)

    for king in (never, half):  # how often it bets
        assert with_queen(FIRST, half, king) == Fraction(-1, 12)
        assert with_queen(FIRST, always, king) == Fraction(-1, 6)
    assert with_queen(SECOND, half, always) == Fraction(-1, 12)
    assert with_queen(SECOND, always, always) == Fraction(-1, 6)


def test_deals_against_a_best_response_add_up_to_a_sixth() -> None:
    never, always = Fraction(0), Fraction(1)
    # Player 2 never bluffs, bets a king, and calls with a king only.
    response = (never, never), (never, never), (always, always)
    deals = {
        (a, b): kuhn._of_deal(kuhn.pimc(FIRST, always)[a], response[b], 1 if a > b else -1)
        for a, b in permutations(CARDS, 2)
    }
    jack, queen, king = CARDS
    assert deals == {
        **{(jack, queen): -1, (jack, king): -1, (queen, jack): 1},
        **{(queen, king): -2, (king, jack): 1, (king, queen): 1},
    }
    assert sum(deals.values()) / 6 == kuhn.best_response(kuhn.pimc(FIRST, always), FIRST)


@pytest.mark.parametrize("bluffs", BLUFFS)
def test_pimc_that_bets_its_king_gets_the_value_as_player_2(bluffs: Fraction) -> None:
    pimc = kuhn.pimc(SECOND, Fraction(1))
    assert -kuhn.payoff(kuhn.nash(FIRST, bluffs), pimc) == Fraction(1, 18)


def test_pimc_ties_with_a_king_only() -> None:
    never, always = Fraction(0), Fraction(1)
    for player in (FIRST, SECOND):
        jack, queen, king = kuhn.pimc(player)
        assert jack == (never, never)
        assert queen == (never, always)
        assert king == (Fraction(1, 2), always)
