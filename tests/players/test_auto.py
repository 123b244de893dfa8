"""`auto` plays the part of a solved game, and else lets the player search that suits the game."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.machine import Machine
from ggp.players import make_player, parse_spec
from ggp.players.auto import Auto, Solved
from ggp.players.hyperplay2 import HyperPlay2
from ggp.solve import build_tree, exploit, sample_policy, solve_tree
from match_runner.match.referee import play_match
from tests.match_runner.support import arena_of
from tests.support.games import backend_for_search, machine_of_game


def made(machine: Machine, role: int = 0, spec: str = "auto", seed: int = 0) -> Auto:
    player = make_player(parse_spec(spec), machine, role, np.random.default_rng(seed))
    assert isinstance(player, Auto)
    return player


def chosen(game: str, spec: str = "auto") -> type:
    return type(made(machine_of_game(game, backend_for_search(game)), spec=spec)._player)


@pytest.mark.parametrize("game", ["kuhn_poker", "monty_hall", "number_guessing", "exploding_bomb"])
def test_small_games_of_one_player_or_constant_sum_are_solved(game: str) -> None:
    assert chosen(game) is Solved


@pytest.mark.parametrize("game", ["spy_vs_spy", "cooperative_spies", "krieg_tic_tac_toe"])
def test_other_games_are_searched(game: str) -> None:
    assert chosen(game) is HyperPlay2


def test_nothing_is_solved_where_that_is_not_wanted() -> None:
    assert chosen("kuhn_poker", "auto:solve=0") is HyperPlay2
    assert chosen("kuhn_poker", "auto:solve=20") is HyperPlay2


def test_nobody_can_exploit_it_in_a_solved_game() -> None:
    machine = machine_of_game("kuhn_poker")
    tree = build_tree(machine)
    samples = [
        sample_policy(tree, player, lambda role, rng: made(machine, role), 1, seed=0)
        for player in range(2)
    ]
    found = exploit(tree, solve_tree(tree).profile.strategies, samples, seed=0)
    assert found.nash_conv == pytest.approx(0, abs=1e-6)


def test_mixed_moves_are_drawn_by_lot_as_often_as_is_said() -> None:
    machine = machine_of_game("kuhn_poker")
    moves: list[str] = []
    for seed in range(300):
        player = made(machine, role=1, seed=seed)  # the second player, with a jack, after a check
        player.observe("noop", ["(dealt jack)"])
        player.observe("noop", ["check"])
        decision = player.choose()
        assert decision.fault is None
        assert decision.probabilities == pytest.approx({"bet": 1 / 3, "check": 2 / 3})
        moves.append(decision.move)
    assert moves.count("bet") == pytest.approx(100, abs=30)


def test_every_number_is_guessed_as_well_as_possible() -> None:
    arena = arena_of("number_guessing", "agent=auto")
    for seed in range(8):
        record = play_match(arena, seed)
        assert not record.errors
        assert record.goals["agent"] == 100


def test_a_turn_that_was_not_told_ends_the_part_but_not_the_match() -> None:
    player = made(machine_of_game("number_guessing", "propnet"))
    player.observe("noop", [])
    player.observe("(lessthan 9)", None)
    decision = player.choose()
    assert decision.fault is None
    assert decision.probabilities is None
    assert any(value.value is not None for value in decision.values)
