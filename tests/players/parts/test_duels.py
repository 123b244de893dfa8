"""Duels say who plays better: both have the same time on both sides, and the clock may jump."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ggp.machine import Machine
from ggp.players import Decision, make_player, parse_spec
from ggp.players.mcts import Maker, decisions_of_a_match, duels
from ggp.players.player import Player
from ggp.search.anytime import Deadline
from tests.labs.kriegspiel.test_choose_move import Ticking
from tests.support.games import machine_of_game, machine_of_rules

AT_ONCE = """
(role left) (role right) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3) (number 1) (number 2)
(<= (legal ?r (say ?n)) (role ?r) (number ?n))
(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
(<= (next (said ?r ?n)) (does ?r (say ?n)))
(<= terminal (true (step 3)))
"""
"""Two roles who move at the same time, three times."""

LEFT_WINS = f"{AT_ONCE} (goal left 100) (goal right 0)"

OWN_GOALS = f"{AT_ONCE} (<= (goal ?r 100) (true (said ?r 2))) (<= (goal ?r 90) (true (said ?r 1)))"
"""A role's goal depends on its own moves alone."""


def maker(spec: str) -> Maker:
    def make(machine: Machine, role: int, rng: np.random.Generator) -> Player:
        return make_player(parse_spec(spec), machine, role, rng)

    return make


@pytest.mark.parametrize("game", ["tic_tac_toe", "blind_breakthrough"])
def test_the_better_player_wins_duels(game: str) -> None:
    machine, rng = machine_of_game(game, "propnet"), np.random.default_rng(1)
    makers = maker("ismcts:sure=0"), maker("random")
    visited = machine.states_visited
    score = duels(machine, makers, 6, rng, Deadline(15.0, Ticking(1e-3)))
    assert score.matches == 6
    assert score.points >= 5
    assert duels(machine, makers[::-1], 6, rng, Deadline(15.0, Ticking(1e-3))).points <= 1
    assert machine.states_visited == visited


def test_duels_end_in_time() -> None:
    machine, clock = machine_of_game("breakthrough", "propnet"), Ticking(0.01)
    makers = maker("mcts"), maker("mcts")
    score = duels(machine, makers, 1000, np.random.default_rng(1), Deadline(10.0, clock))
    assert score.matches < 1000
    assert clock.now_s < 11


@dataclass
class Uses:
    """A player that uses all of its time, and records how much it had."""

    had_s: list[float]
    move: str = "(say 1)"
    states_visited = 0

    def observe(self, *_: Any, deadline: Deadline | None = None, **__: Any) -> None:
        """Nothing needs to be known."""

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        self._use(deadline)
        return Decision(self.move, (), 0, False, 0, 0.0)

    def _use(self, deadline: Deadline | None) -> None:
        assert deadline is not None
        self.had_s.append(deadline.left_s())
        for _ in range(10_000):
            if deadline.passed():
                return
        pytest.fail("this deadline never passes")


def test_both_players_have_time_if_roles_move_simultaneously() -> None:
    machine = machine_of_rules(AT_ONCE + "(goal left 50) (goal right 50)", "propnet")
    had_s: list[list[float]] = [[], []]
    makers: tuple[Maker, Maker] = (lambda *_: Uses(had_s[0])), (lambda *_: Uses(had_s[1]))
    score = duels(machine, makers, 4, np.random.default_rng(1), far(10.0))
    assert score.matches >= 2
    assert score.points == score.matches / 2
    for had in had_s:
        assert had[:6] == pytest.approx([10.0 / 24] * 6, abs=0.01)


def far(seconds: float) -> Deadline:
    return Ticking(0.001).deadline(seconds)


@pytest.mark.parametrize("seconds", [1.5, 2.0, 2.5, 3.0, 3.5])
def test_the_better_side_is_not_taken_for_the_better_player(seconds: float) -> None:
    """Where time ends before a match is repeated with the sides swapped."""
    machine = machine_of_rules(LEFT_WINS, "propnet")
    makers: tuple[Maker, Maker] = (lambda *_: Slow(), lambda *_: Slow())
    score = duels(machine, makers, 8, np.random.default_rng(1), far(seconds))
    assert 0 < score.matches < 8
    assert score.points == score.matches / 2


class Slow(Uses):
    """A player whose decisions always take the same time."""

    def __init__(self) -> None:
        super().__init__([])

    def _use(self, deadline: Deadline | None) -> None:
        assert deadline is not None
        until_s = deadline.clock() + 0.1
        while deadline.clock() < until_s:
            pass


@pytest.mark.parametrize("turned", [False, True])
def test_goals_are_compared_with_those_of_others_in_the_same_place(turned: bool) -> None:
    """Not with the goals of the other role, where both may win or lose."""
    machine = machine_of_rules(OWN_GOALS, "propnet")
    good, bad = (lambda *_: Uses([], "(say 2)")), (lambda *_: Uses([], "(say 1)"))
    makers: Sequence[Maker] = (bad, good) if turned else (good, bad)
    score = duels(machine, (makers[0], makers[1]), 2, np.random.default_rng(1), far(10.0))
    assert (score.matches, score.points) == (2, 0.0 if turned else 2.0)


def test_a_clock_that_jumps_ends_a_duel() -> None:
    """It may jump between any two looks at it, and then stands still."""
    for jumps_at in range(5, 60):
        looks = iter([*[0.0] * jumps_at, *[1e15] * 100_000])
        deadline = Deadline(10.0, looks.__next__)
        makers: tuple[Maker, Maker] = (lambda *_: Patient(), lambda *_: Patient())
        machine = machine_of_rules(LEFT_WINS, "propnet")
        assert duels(machine, makers, 8, np.random.default_rng(1), deadline).matches < 8


class Patient(Uses):
    """A player that uses its time only once a match begins."""

    def __init__(self) -> None:
        super().__init__([])

    def _use(self, deadline: Deadline | None) -> None:
        assert deadline is not None
        if deadline.clock() >= 1e15:
            super()._use(deadline)

    def observe(self, *_: Any, deadline: Deadline | None = None, **__: Any) -> None:
        self._use(deadline)


def test_decisions_are_counted_for_all_who_have_a_choice() -> None:
    rng = np.random.default_rng(1)
    assert decisions_of_a_match(machine_of_rules(LEFT_WINS, "propnet"), rng) == 6
    assert decisions_of_a_match(machine_of_game("connect_four", "propnet"), rng) < 30
