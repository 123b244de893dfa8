"""Figure 3 of paper 004 by exact enumeration: why useful questions are worth the same.

The rules of number guessing with three or four numbers give every state. Values of random playouts,
HyperPlay's choices (Definition 7) and incomplete-information simulations (Definitions 8 and 9) are
worked out over them, without a player.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from ggp.labs.papers.reproduce.published import at_random, useful_questions
from ggp.machine import Machine
from ggp.machine.base import States
from tests.support.games import REPOSITORY, machine_of_rules

RULES = (REPOSITORY / "games" / "number_guessing.gdl").read_text()


def worst_best(numbers: int) -> Sequence[int]:
    """The question whose worst particle is worth most, 1 / max(a, k - a): it halves the numbers."""
    return (numbers // 2,)


def lowest(numbers: int) -> Sequence[int]:
    """The lowest threshold."""
    return (1,)


class Game:
    """Number guessing with few numbers: sets of possible numbers at a turn, and their values."""

    def __init__(self, numbers: int) -> None:
        rules = re.sub(
            r"^\(number (\d+)\)$",
            lambda fact: fact[0] if int(fact[1]) <= numbers else "",
            RULES,
            flags=re.MULTILINE,
        )
        self.machine: Machine = machine_of_rules(rules)
        self.begun = {
            number: self.after(self.machine.initial(1), "noop", f"(pick {number})")[0]
            for number in range(1, numbers + 1)
        }

    def after(self, state: States, move: str, chance: str = "noop") -> tuple[States, str]:
        """The next state, and the agent's percept."""
        ids = [self.machine.move_id(move), self.machine.move_id(chance)]
        stepped = self.machine.step(state, np.array([ids]))
        return stepped.states, "".join(self.machine.percept_texts(int(stepped.percepts[0, 0])))

    def moves(self, state: States) -> list[str]:
        legal = self.machine.legal(state, 0)[0].tolist()
        return sorted(self.machine.move_text(move) for move in legal)

    def playout(self, state: States) -> Fraction:
        """Mean goal of random play to the end."""
        return self._playout(self.machine.fluents(state)[0], state)

    def _playout(self, fluents: tuple[str, ...], state: States) -> Fraction:
        known = self.__dict__.setdefault("_known", {})
        if fluents not in known:
            if self.machine.terminal(state)[0]:
                known[fluents] = Fraction(int(self.machine.goals(state)[0, 0]))
            else:
                moves = self.moves(state)
                values = [self.playout(self.after(state, move)[0]) for move in moves]
                known[fluents] = sum(values, Fraction(0)) / len(moves)
        value: Fraction = known[fluents]
        return value

    def hyperplay(self, states: list[States]) -> list[str]:
        """Definition 7: all moves with the best sum of playouts over an information set."""
        values = {
            move: sum(self.playout(self.after(state, move)[0]) for state in states)
            for move in self.moves(states[0])
        }
        return [move for move, value in values.items() if value == max(values.values())]

    def simulation(self, state: States, seen: list[States]) -> Fraction:
        """Definition 8: mean goal from a state if the agent plays on as HyperPlay with its set."""
        if self.machine.terminal(state)[0]:
            return Fraction(int(self.machine.goals(state)[0, 0]))
        best = self.hyperplay(seen)
        return sum((self.simulated(state, seen, move) for move in best), Fraction(0)) / len(best)

    def simulated(self, state: States, seen: list[States], move: str) -> Fraction:
        """The same, after a move."""
        successor, percept = self.after(state, move)
        steps = [self.after(other, move) for other in seen]
        return self.simulation(successor, [other for other, told in steps if told == percept])

    def values(self, numbers: tuple[int, ...]) -> dict[str, list[Fraction]]:
        """Definition 9: what each move is worth in each state of the set, at turn 1."""
        seen = [self.begun[number] for number in numbers]
        return {
            move: [self.simulated(state, seen, move) for state in seen]
            for move in self.moves(seen[0])
        }


@cache
def game(numbers: int) -> Game:
    return Game(numbers)


@pytest.mark.parametrize("numbers", [3, 4])
def test_all_useful_questions_have_the_same_value(numbers: int) -> None:
    values = game(numbers).values(tuple(range(1, numbers + 1)))
    means = {move: sum(each) / numbers for move, each in values.items()}
    assert means.pop("ready") == Fraction(100, numbers)
    # Thresholds from 2: every question is useful.
    assert list(means) == [f"(lessthan {n})" for n in range(2, numbers + 1)]
    assert set(means.values()) == {Fraction(200, numbers)}


def test_the_worst_particle_of_a_question_is_worth_most_if_it_halves_the_numbers() -> None:
    values = game(4).values((1, 2, 3, 4))
    worst = {move: min(each) for move, each in values.items()}
    third = Fraction(100, 3)
    assert [worst[f"(lessthan {n})"] for n in (2, 3, 4)] == [third, 50, third]
    values = game(3).values((1, 2, 3))
    assert {min(values[f"(lessthan {n})"]) for n in (2, 3)} == {50}


def test_a_player_with_one_number_left_need_not_hurry() -> None:
    values = game(4).values((3,))
    assert values["ready"] == [100]
    assert max(each[0] for each in values.values()) == 100


def test_scores_of_three_rules_for_ties() -> None:
    assert useful_questions(at_random) == pytest.approx(89.552, abs=0.001)
    assert useful_questions(worst_best) == 100
    assert useful_questions(lowest) == 850 / 16
    assert {useful_questions(rule, 1) for rule in (at_random, worst_best, lowest)} == {100}


def test_questions_that_the_rules_need() -> None:
    @cache
    def mean(numbers: int, rule: str) -> Fraction:
        if numbers == 1:
            return Fraction(0)
        parts = {"lot": range(1, numbers), "half": (numbers // 2,)}[rule]
        terms = [
            1 + (a * mean(a, rule) + (numbers - a) * mean(numbers - a, rule)) / numbers
            for a in parts
        ]
        return sum(terms, Fraction(0)) / len(terms)

    assert mean(3, "lot") == mean(3, "half") == Fraction(5, 3)
    assert (mean(4, "lot"), mean(4, "half")) == (Fraction(13, 6), Fraction(2))
    assert mean(16, "half") == 4
    harmonic = sum(Fraction(1, n) for n in range(1, 17))
    assert mean(16, "lot") == 2 * (harmonic - 1)
    assert round(float(mean(16, "lot")), 2) == 4.76
