"""Rulesheets as games of OpenSpiel: what becomes of turns, chance, knowledge and goals."""

from __future__ import annotations

import copy
import gc
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest

import ggp.labs.openspiel.rulesheets  # noqa: F401
from ggp.errors import ConfigError, IllegalMoveError
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.solve import build_tree
from ggp.study.lengths import survey
from tests.labs.openspiel.rulesheets.trees import decisions, states_below
from tests.support.games import REPOSITORY

SMALL = ["kuhn_poker", "spy_vs_spy", "banker_and_thief", "exploding_bomb"]
GAMES = [*SMALL, "leduc_poker"]

TOGETHER = """
(role left) (role idle) (role right) (role random)
(init (turn 1))
(<= (legal left ?m) (move ?m) (true (turn 1)))
(<= (legal right ?m) (move ?m) (true (turn 1)))
(<= (legal left wait) (not (true (turn 1))))
(<= (legal right wait) (not (true (turn 1))))
(move heads) (move tails)
(legal idle wait)
(<= (legal random (coin ?m)) (move ?m) (true (turn 1)))
(<= (legal random wait) (not (true (turn 1))))
(<= (sees right (other ?m)) (does left ?m) (does random (coin heads)))
(<= (next (turn 2)) (true (turn 1)))
(<= (next (turn 3)) (true (turn 2)))
(<= (next (left ?m)) (does left ?m) (move ?m))
(<= (next (left ?m)) (true (left ?m)))
(<= terminal (true (turn 3)))
(<= (goal left 100) (true (left heads)))
(<= (goal left 0) (not (true (left heads))))
(goal idle 50)
(<= (goal right 0) (true (left heads)))
(<= (goal right 100) (not (true (left heads))))
(goal random 0)
"""
"""Two roles and chance choose in one turn, and nobody in the next one."""


def open_game(rules: object) -> Any:
    return pyspiel.load_game("gdl", {"rules": str(rules)})


@pytest.fixture
def together(tmp_path: Path) -> Path:
    path = tmp_path / "together.gdl"
    path.write_text(TOGETHER)
    return path


@pytest.mark.parametrize("name", GAMES)
def test_a_game_passes_the_tests_of_openspiel(name: str) -> None:
    pyspiel.random_sim_test(open_game(name), num_sims=5, serialize=True, verbose=False)


@pytest.mark.parametrize("name", GAMES)
def test_information_states_are_the_incomplete_paths_of_roles_with_a_choice(name: str) -> None:
    tree = build_tree(build_machine(load(name), "propnet"))
    paths = {
        "\n".join([role, *tree.paths.texts(path)])
        for role, sets in zip(tree.names, tree.sets, strict=True)
        for path in sets.paths.tolist()
    }
    assert {state.information_state_string() for state in decisions(open_game(name))} == paths


def test_roles_choose_in_order_then_chance_and_forced_moves_vanish(together: Path) -> None:
    state = open_game(together).new_initial_state()
    for player, action in ((0, "tails"), (2, "heads"), (pyspiel.PlayerId.CHANCE, "(coin tails)")):
        assert state.current_player() == player
        state.apply_action(state.string_to_action(action))
    assert state.is_terminal()
    assert len(state.history()) == 3


def test_a_player_does_not_see_what_was_chosen_before_it_in_the_turn(together: Path) -> None:
    state = open_game(together).new_initial_state()
    knowledge = state.information_state_string(0)
    heads, tails = (state.child(action) for action in state.legal_actions())
    assert heads.information_state_string(2) == tails.information_state_string(2) == "right"
    assert heads.information_state_string(0) == f"{knowledge}\nheads / ?"
    assert tails.information_state_string(0) == f"{knowledge}\ntails / ?"


def test_percepts_of_a_turn_are_known_when_it_is_over(together: Path) -> None:
    state = open_game(together).new_initial_state()
    for action in ("tails", "heads", "(coin heads)"):
        state.apply_action(state.string_to_action(action))
    assert state.information_state_string(2) == "right\nheads / ((other tails))\nwait / ()"


def test_goals_with_a_constant_sum_become_utilities_that_sum_up_to_zero(together: Path) -> None:
    game = open_game(together)
    assert game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
    ends = [
        state.returns() for state in states_below(game.new_initial_state()) if state.is_terminal()
    ]
    assert sorted(map(tuple, ends)) == [(-50, 0, 50)] * 4 + [(50, 0, -50)] * 4
    assert (game.min_utility(), game.max_utility(), game.utility_sum()) == (-50, 50, 0)


def test_nothing_is_claimed_of_games_with_too_many_states() -> None:
    game = pyspiel.load_game("gdl(rules=kuhn_poker,verify_states=20)")
    assert game.get_type().utility == pyspiel.GameType.Utility.GENERAL_SUM
    assert (game.min_utility(), game.max_utility()) == (0, 100)
    whole = survey(build_machine(load("kuhn_poker"), "propnet"))
    assert whole is not None
    assert (whole.sum_of_goals, whole.most_decisions, whole.most_chances) == (100, 3, 1)


def test_perfect_information_is_claimed_where_roles_that_see_all_take_turns() -> None:
    kinds = pyspiel.GameType.Information
    assert open_game("tic_tac_toe").get_type().information == kinds.PERFECT_INFORMATION
    assert open_game("kuhn_poker").get_type().information == kinds.IMPERFECT_INFORMATION


def test_a_common_goal_is_declared() -> None:
    utility = open_game("cooperative_spies").get_type().utility
    assert utility == pyspiel.GameType.Utility.IDENTICAL


@pytest.mark.verify
def test_states_outlive_their_game_and_copies_share_their_position() -> None:
    state = open_game("kuhn_poker").new_initial_state()
    gc.collect()
    state.apply_action(0)
    copies = [state.clone(), copy.deepcopy(state)]
    assert all(copied.position == state.position for copied in copies)
    copies[0].apply_action(copies[0].legal_actions()[0])
    assert state.history() == [0]
    assert copies[0].history()[:1] == [0]


def test_states_and_games_come_back_from_text_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.gdl").write_text((REPOSITORY / "games" / "kuhn_poker.gdl").read_text())
    monkeypatch.chdir(tmp_path)
    game = open_game("own.gdl")
    state = game.new_initial_state()
    for action in (1, 2):
        state.apply_action(action)
    text = pyspiel.serialize_game_and_state(game, state)
    pickled = pickle.dumps(game)
    os.chdir("/")
    same_game, restored_game = pyspiel.deserialize_game_and_state(text)
    assert str(same_game) == str(game) == str(pickle.loads(pickled))
    assert str(restored_game) == str(state)
    assert restored_game.history() == state.history()
    assert restored_game.information_state_string() == state.information_state_string()
    restored_game.apply_action(restored_game.legal_actions()[0])


def test_a_state_is_drawn_among_those_that_the_player_cannot_tell_apart() -> None:
    rng = np.random.default_rng(3)
    for state in decisions(open_game("leduc_poker")):
        if state.move_number() != 5:
            continue
        redrawn = state.resample_from_infostate(state.current_player(), rng.random)
        assert redrawn.information_state_string() == state.information_state_string()
        assert redrawn.move_number() == state.move_number()
        break


def test_states_are_drawn_by_their_probability() -> None:
    state = open_game("kuhn_poker").new_initial_state()
    state.apply_action(state.string_to_action("(deal jack queen)"))
    state.apply_action(state.string_to_action("check"))
    rng = np.random.default_rng(0)
    actions = [state.resample_from_infostate(1, rng.random).history()[0] for _ in range(200)]
    names = {
        state.get_game().new_initial_state().action_to_string(-1, action) for action in actions
    }
    assert names == {"(deal jack queen)", "(deal king queen)"}
    assert 70 < actions.count(actions[0]) < 130


def test_an_illegal_action_is_refused_with_the_legal_ones() -> None:
    state = open_game("kuhn_poker").new_initial_state()
    state.apply_action(0)
    with pytest.raises(
        IllegalMoveError, match="call is not legal for player1; legal moves: bet, check"
    ):
        state.apply_action(state.get_game().sheet.actions.texts.index("call"))


def test_rules_that_do_not_exist_are_named() -> None:
    with pytest.raises(ConfigError, match="'kuhn_pocker'"):
        open_game("kuhn_pocker")


def test_a_path_that_openspiel_cannot_read_again_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a,b.gdl"
    path.write_text(TOGETHER)
    with pytest.raises(ConfigError, match="copy the rulesheet"):
        open_game(path)


def test_a_rulesheet_that_was_changed_is_read_again(together: Path) -> None:
    original = open_game(together)
    together.write_text(TOGETHER.replace("idle", "lazy"))
    os.utime(together, ns=(1, 1))
    assert original.sheet.names == ["left", "idle", "right"]
    assert open_game(together).sheet.names == ["left", "lazy", "right"]
