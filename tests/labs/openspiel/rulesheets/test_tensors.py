"""What players know as tensors: the same as texts, and as in environments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import rl_environment
from open_spiel.python.observation import make_observation
from open_spiel.python.tests import games_sim_test

import ggp.labs.openspiel.rulesheets  # noqa: F401
from ggp.errors import MachineError
from ggp.labs.learning.env import Environment, Episodes
from ggp.machine.games import load_program
from tests.labs.openspiel.rulesheets.test_games_out import SMALL, open_game
from tests.labs.openspiel.rulesheets.trees import states_below
from tests.support.effort import LIKE_OTHERS, rarely
from tests.support.games import GAMES, machine_of_game

NO_BOUND = {"kriegspiel", "kriegspiel_5x5"}
"""Games whose circuits are large."""

PLAYED = [game for game in GAMES if game not in NO_BOUND]


@pytest.mark.parametrize("game", rarely(PLAYED, LIKE_OTHERS))
def test_a_game_passes_the_test_of_games_in_python(game: str) -> None:
    games_sim_test.GamesSimTest().sim_game(open_game(game), check_pickle_serialization=True)


@pytest.mark.parametrize("name", [*SMALL, "monty_hall", "strategy_fusion"])
def test_tensors_are_equal_where_texts_are(name: str) -> None:
    game = open_game(name)
    by_text: dict[str, bytes] = {}
    by_tensor: dict[bytes, str] = {}
    for state in states_below(game.new_initial_state()):
        for player in range(game.num_players()):
            text = state.information_state_string(player)
            tensor = np.array(state.information_state_tensor(player)).tobytes()
            assert by_text.setdefault(text, tensor) == tensor
            assert by_tensor.setdefault(tensor, text) == text
    assert len(by_text) == len(by_tensor) > 3


def test_parts_of_tensors_have_names() -> None:
    game = open_game("kuhn_poker")
    state = game.new_initial_state()
    state.apply_action(0)
    observer = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    observer.set_from(state, 0)
    env = Environment(load_program("kuhn_poker"), machine_of_game("kuhn_poker", "propnet"), 1)
    names = [*env.names.moves, *env.names.percepts]
    assert [names[k] for k in np.flatnonzero(observer.dict["turns"][0])] == ["noop", "(dealt jack)"]
    assert not observer.dict["turns"][1:].any()
    assert observer.dict["player"].tolist() == [1, 0]
    assert observer.tensor.shape == tuple(game.information_state_tensor_shape())
    seen = make_observation(game)
    state.apply_action(state.legal_actions()[0])
    seen.set_from(state, 1)
    assert [names[k] for k in np.flatnonzero(seen.dict["before"])] == ["noop", "(dealt king)"]
    assert [names[k] for k in np.flatnonzero(seen.dict["last"])] == ["noop", "bet"]
    assert seen.string_from(state, 1) == "player2\nbefore: (dealt king) noop\nnoop / (bet)"
    assert state.observation_tensor(1) == seen.tensor.tolist()


def test_a_move_of_the_turn_is_part_of_the_knowledge_of_its_player() -> None:
    game = open_game("cooperative_spies")
    state = game.new_initial_state()
    while state.is_chance_node() or state.current_player() != 0:
        state.apply_action(state.legal_actions()[0])
    observer = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    earlier = state.clone()
    action = state.legal_actions()[1]
    state.apply_action(action)
    if state.information_state_string(0).endswith("/ ?"):
        observer.set_from(state, 0)
        assert np.flatnonzero(observer.dict["chosen"]).tolist() == [action]
    observer.set_from(earlier, 0)
    assert not observer.dict["chosen"].any()


@pytest.mark.parametrize("name", ["krieg_tic_tac_toe", "tic_tac_toe"])
def test_rows_are_those_of_environments(name: str) -> None:
    game = open_game(name)
    machine = machine_of_game(name, "propnet")
    env = Environment(load_program(name), machine, 1, Episodes(restarts=False))
    env.reset(0)
    observer = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    state = game.new_initial_state()
    rng = np.random.default_rng(3)
    noop = env.names.move("noop")
    while not state.is_terminal():
        player, action = state.current_player(), int(rng.choice(state.legal_actions()))
        state.apply_action(action)
        actions = np.full((1, 2), noop)
        actions[0, player] = action
        turn = env.step(actions)
        for seat in range(2):
            observer.set_from(state, seat)
            row = observer.dict["turns"][int(turn.turns[0]) - 1]
            np.testing.assert_array_equal(row, turn.observations[0, seat])
    # What is forced at the end passes by itself in OpenSpiel.
    assert turn.turns[0] > 4


@pytest.mark.verify
def test_length_that_nothing_proves_can_be_given() -> None:
    unknown = open_game("phantom_ttt")
    kinds = unknown.get_type()
    assert not kinds.provides_information_state_tensor
    assert kinds.provides_observation_tensor
    bounded = pyspiel.load_game("gdl(rules=phantom_ttt,max_turns=2)")
    observer = make_observation(bounded, pyspiel.IIGObservationType(perfect_recall=True))
    turns, width = observer.dict["turns"].shape
    assert turns == 2
    assert bounded.information_state_tensor_shape()[0] == 2 + turns * width + 10
    state = bounded.new_initial_state()
    for _ in range(2):
        state.apply_action(state.legal_actions()[0])
    assert sum(state.information_state_tensor(0)) > 0
    state.apply_action(state.legal_actions()[-1])
    with pytest.raises(MachineError, match="larger max_turns"):
        bounded.make_py_observer(pyspiel.IIGObservationType(perfect_recall=True)).set_from(state, 0)


def test_public_observations_are_empty() -> None:
    game = open_game("kuhn_poker")
    private = pyspiel.PrivateInfoType
    public = game.make_py_observer(pyspiel.IIGObservationType(True, False, private.NONE))
    assert public.tensor is None
    assert public.string_from(game.new_initial_state(), 0) == ""
    with pytest.raises(ValueError, match="single players"):
        game.make_py_observer(pyspiel.IIGObservationType(True, False, private.ALL_PLAYERS))


def test_environments_of_openspiel_show_information_states() -> None:
    env: Any = rl_environment.Environment(open_game("kuhn_poker"))
    step = env.reset()
    while not step.last():
        player = step.observations["current_player"]
        tensor = step.observations["info_state"][player]
        assert len(tensor) == env.observation_spec()["info_state"][0]
        assert sum(tensor) > 1
        step = env.step([step.observations["legal_actions"][player][0]])
    assert sum(step.rewards) == 0
