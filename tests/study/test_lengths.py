"""Bounds on the lengths of matches are right: against all states, and random matches."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.machine.games import read_program
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.study.lengths import longest, most_turns, survey
from tests.support.effort import rarely
from tests.support.games import MODEST_GAMES, build_here, machine_of_game


def circuit_machine(game: str) -> PropnetMachine:
    machine = machine_of_game(game, "propnet")
    assert isinstance(machine, PropnetMachine)
    return machine


@pytest.mark.parametrize("game", rarely(MODEST_GAMES, {"breakthrough"}))
def test_no_match_is_longer_than_what_is_proved(game: str) -> None:
    machine = circuit_machine(game)
    bounds = [bound for bound in (longest(machine).turns, most_turns(machine.circuit)) if bound]
    exact = survey(machine, 20_000)
    if exact is not None:
        assert longest(machine).turns == exact.most_turns
        assert all(bound >= exact.most_turns for bound in bounds)
    playouts = machine.playout(machine.initial(2000), np.random.default_rng(0), 200)
    assert all(bound >= playouts.steps.max() for bound in bounds)


@pytest.mark.parametrize(
    ("game", "turns"), [("tic_tac_toe", 9), ("connect_four", 48), ("phantom_connect_four", 42)]
)
def test_boards_that_fill_up_end_when_they_are_full(game: str, turns: int) -> None:
    assert most_turns(circuit_machine(game).circuit) == turns


def test_a_proof_that_is_stopped_proves_nothing() -> None:
    machine, num_calls = circuit_machine("tic_tac_toe"), 0

    def stop() -> bool:
        nonlocal num_calls
        num_calls += 1
        return num_calls > 5

    assert longest(machine, stop) == (None, None)
    visited = machine.states_visited
    assert longest(machine, lambda: True) == (None, None)
    assert machine.states_visited == visited
    assert longest(machine, lambda: False).turns == 9


COUNTER = """(role a) (init (at 0)) (legal a left) (legal a right)
(<= (next (at 1)) (does a left)) (<= (next (at 0)) (does a right))
(<= terminal (true (won))) (<= (next (won)) (does a left) (true (at 1)) (true (at 0)))
(goal a 100)"""


def test_nothing_is_proved_of_a_match_that_may_go_on_forever() -> None:
    machine = build_here(read_program(COUNTER), "propnet")
    assert isinstance(machine, PropnetMachine)
    assert most_turns(machine.circuit) is None
    assert longest(machine).turns is None


CREEP = """(role a) (init (coarse 0)) (init (fine 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(legal a on)
(<= (legal a (jump ?y)) (true (coarse ?x)) (succ ?x ?y))
(<= (next (coarse ?y)) (does a (jump ?y)))
(<= (next (coarse ?x)) (true (coarse ?x)) (does a on))
(<= (next (fine 0)) (does a (jump ?y)))
(<= (next (fine ?y)) (true (fine ?x)) (succ ?x ?y) (does a on))
(<= terminal (true (coarse 3))) (<= terminal (true (fine 3))) (goal a 100)"""


def test_progress_may_start_over_where_something_coarser_moves_on() -> None:
    """Fine steps are undone by each coarse one."""
    machine = build_here(read_program(CREEP), "propnet")
    assert isinstance(machine, PropnetMachine)
    exact = survey(machine)
    assert exact is not None
    bound = most_turns(machine.circuit)
    assert bound is not None
    assert exact.most_turns == 3 * 2 + 2 + 1
    assert bound >= exact.most_turns
