"""How far the order of moves does not matter, against plain sets of lines that two players draw."""

from __future__ import annotations

import pytest

from ggp.players.choosing import choose_player, measure_merging
from tests.support.games import machine_of_game, machine_of_rules

RULES = """
(role red) (role blue) (init (control red)) (init (left 3))
(less 3 2) (less 2 1) (less 1 0)
(<= (legal ?p (draw ?l)) (true (control ?p)) (line ?p ?l) (not (true (drawn ?l))))
(<= (legal red noop) (true (control blue)))
(<= (legal blue noop) (true (control red)))
(<= (next (drawn ?l)) (true (drawn ?l)))
(<= (next (drawn ?l)) (does ?p (draw ?l)))
(<= (next (control red)) (true (control blue)))
(<= (next (control blue)) (true (control red)))
(<= (next (left ?m)) (true (left ?n)) (less ?n ?m))
(<= terminal (true (left 0)))
(<= (goal ?p 50) (role ?p))
"""
"""Players take turns at drawing lines of theirs that are not drawn, for three turns."""


def lines(red: str, blue: str) -> str:
    """The rules, where each role may draw some lines, one letter each."""
    theirs = [f"(line {role} {line})" for role, of in (("red", red), ("blue", blue)) for line in of]
    return RULES + " ".join(theirs)


@pytest.mark.parametrize("backend", ["prolog", "propnet"])
@pytest.mark.parametrize(("red", "blue"), [("abcde", "abcde"), ("abcd", "bcde"), ("abc", "def")])
def test_two_moves_merge_if_they_lead_to_the_same_state(red: str, blue: str, backend: str) -> None:
    pairs = [(first, second) for first in red for second in blue if first != second]
    states = {frozenset(pair) for pair in pairs}
    machine = machine_of_rules(lines(red, blue), backend)
    assert measure_merging(machine, seed=0) == len(pairs) / len(states)


def test_marks_of_different_players_do_not_merge() -> None:
    assert measure_merging(machine_of_game("tic_tac_toe", "propnet"), seed=0) == 1.0


def test_simultaneous_moves_are_not_measured() -> None:
    rules = lines("abcde", "abcde").replace("(true (control ?p)) (line", "(line")
    assert measure_merging(machine_of_rules(rules, "propnet"), seed=0) is None


@pytest.mark.parametrize(("blue", "player"), [("abcde", "pimc"), ("fghij", "mcts")])
def test_layers_are_chosen_where_any_two_moves_can_be_swapped(blue: str, player: str) -> None:
    machine = machine_of_rules(lines("abcde", blue), "propnet")
    assert choose_player(machine, 0, 0, None).player == player
