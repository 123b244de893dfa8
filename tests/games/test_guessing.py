"""Number guessing and mastermind: questions, answers, and what an answer is worth."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from tests.support.games import machine_of_game
from tests.support.matches import Match

NUMBERS = range(1, 17)
CODES = list(product(("red", "green", "blue"), repeat=4))


def ask(match: Match, limit: int) -> bool:
    """Whether the number is less; nobody else may hear the answer."""
    seen = match.play(agent=f"(lessthan {limit})")
    assert seen in ({"agent": ("yes",)}, {"agent": ("no",)})
    return seen["agent"] == ("yes",)


def picked(number: int) -> Match:
    match = Match("number_guessing")
    assert match.play(random=f"(pick {number})") == {}
    return match


class TestNumberGuessing:
    def test_moves_of_each_phase(self) -> None:
        match = Match("number_guessing")
        assert match.legal("agent") == {"noop"}
        assert match.legal("random") == {f"(pick {n})" for n in NUMBERS}
        match.play(random="(pick 7)")
        questions = {f"(lessthan {n})" for n in range(2, 17)}
        assert match.legal("agent") == questions | {"ready"}
        assert match.legal("random") == {"noop"}
        match.play(agent="(lessthan 9)")
        assert match.legal("agent") == questions | {"ready"}
        assert match.play(agent="ready") == {}
        assert match.legal("agent") == {f"(guess {n})" for n in NUMBERS}
        assert match.play(agent="(guess 7)") == {}
        assert match.terminal

    @pytest.mark.parametrize("number", NUMBERS)
    def test_answers_are_true(self, number: int) -> None:
        match = picked(number)
        for limit in range(2, 17):
            assert ask(match, limit) == (number < limit)

    @pytest.mark.parametrize("number", NUMBERS)
    def test_binary_search_always_scores_100(self, number: int) -> None:
        match = picked(number)
        low, high = 1, 16
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (low, middle - 1) if ask(match, middle) else (middle, high)
        match.play(agent="ready")
        match.play(agent=f"(guess {low})")
        assert match.goals == {"agent": 100}

    def test_guessing_at_once_is_worth_one_in_sixteen(self) -> None:
        scores = []
        for number in NUMBERS:
            match = picked(number)
            match.play(agent="ready")
            match.play(agent="(guess 11)")
            assert match.terminal
            scores.append(match.goals["agent"])
        assert sum(scores) / 16 == 6.25

    @pytest.mark.parametrize("questions", range(18))
    def test_right_guess_loses_ten_for_each_question_after_the_fourth(self, questions: int) -> None:
        match = picked(3)
        for _ in range(questions):
            ask(match, 2)
        match.play(agent="ready")
        match.play(agent="(guess 3)")
        assert match.terminal
        assert match.goals == {"agent": max(0, 100 - 10 * max(0, questions - 4))}

    @pytest.mark.parametrize("ready", [False, True])
    def test_game_ends_without_a_guess_after_nineteen_turns(self, ready: bool) -> None:
        match = picked(3)
        for _ in range(18):
            ask(match, 2)
        assert not match.terminal
        match.play(agent="ready" if ready else "(lessthan 2)")
        assert match.terminal
        assert match.goals == {"agent": 0}


class TestMastermind:
    def test_answers_to_all_guesses_at_all_codes(self) -> None:
        machine = machine_of_game("mastermind", "propnet")
        noop = machine.move_id("noop")
        hidden = [[noop, machine.move_id(f"(hide {' '.join(code)})")] for code in CODES]
        guesses = [[machine.move_id(f"(guess {' '.join(code)})"), noop] for code in CODES]
        states = machine.step(machine.initial(81), np.array(hidden)).states
        pairs = list(product(range(81), repeat=2))
        lanes, guess_ids = np.array(pairs).T
        stepped = machine.step(states.take(lanes), np.array(guesses)[guess_ids])
        for (code, guess), percept_ids in zip(pairs, stepped.percepts.tolist(), strict=True):
            places = sum(a == b for a, b in zip(CODES[code], CODES[guess], strict=True))
            colours = (Counter(CODES[code]) & Counter(CODES[guess])).total()
            seen = (f"(colours {colours})", f"(places {places})")
            assert machine.percept_texts(percept_ids[0]) == seen
            assert machine.percept_texts(percept_ids[1]) == ()
        assert machine.terminal(stepped.states).tolist() == [a == b for a, b in pairs]

    def test_code_is_hidden_from_the_breaker(self) -> None:
        match = Match("mastermind")
        assert match.legal("breaker") == {"noop"}
        assert len(match.legal("random")) == 81
        assert match.play(random="(hide red blue blue green)") == {}
        assert match.legal("random") == {"noop"}
        assert len(match.legal("breaker")) == 81

    @pytest.mark.parametrize(("wrong", "score"), [(0, 100), (1, 80), (2, 60), (3, 40), (4, 20)])
    def test_score_falls_with_each_wrong_guess(self, wrong: int, score: int) -> None:
        match = Match("mastermind")
        match.play(random="(hide red red blue green)")
        for _ in range(wrong):
            seen = match.play(breaker="(guess red blue red red)")
            assert seen == {"breaker": ("(colours 3)", "(places 1)")}
        assert not match.terminal
        match.play(breaker="(guess red red blue green)")
        assert match.terminal
        assert match.goals == {"breaker": score}

    def test_fifth_wrong_guess_is_the_last(self) -> None:
        match = Match("mastermind")
        match.play(random="(hide red red blue green)")
        for _ in range(5):
            assert not match.terminal
            match.play(breaker="(guess blue blue blue blue)")
        assert match.terminal
        assert match.goals == {"breaker": 0}
