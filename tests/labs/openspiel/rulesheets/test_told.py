"""What players are told in our rulesheets and in OpenSpiel's twins, turn by turn, as was seen."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pyspiel
import pytest

from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import Machine, build_machine
from tests.support.games import REPOSITORY, machine_of_game

SEEN = tomllib.loads(
    (REPOSITORY / "tests" / "engines" / "twins" / "matches.toml").read_text(encoding="utf-8")
)


def machine_of(match: dict[str, Any], backend: str) -> Machine:
    if "game" in match:
        return machine_of_game(match["game"], backend)
    return build_machine(normalize(parse(match["rules"])), backend)


def strings_of(state: Any) -> list[str]:
    return [state.information_state_string(player) for player in range(state.num_players())]


@pytest.mark.parametrize("backend", ["prolog", "propnet"])
@pytest.mark.parametrize("match", SEEN["match"], ids=lambda match: match["openspiel"])
def test_roles_get_their_percepts_with_the_turn(match: dict[str, Any], backend: str) -> None:
    machine = machine_of(match, backend)
    assert list(machine.roles) == match["roles"]
    state = machine.initial(1)
    for turn in match["turn"]:
        joint = [machine.move_id(move) for move in turn["moves"]]
        for role, move in enumerate(joint):
            assert move in machine.legal(state, role)[0].tolist()
        state, percepts = machine.step(state, np.array([joint]))
        texts = [machine.percept_texts(percept) for percept in percepts[0].tolist()]
        assert [" ".join(text) for text in texts] == turn["percepts"]
    assert machine.terminal(state)[0] == ("goals" in match)
    if "goals" in match:
        assert machine.goals(state)[0].tolist() == match["goals"]


@pytest.mark.parametrize("match", SEEN["match"], ids=lambda match: match["openspiel"])
def test_openspiel_tells_its_players_after_each_action(match: dict[str, Any]) -> None:
    state = pyspiel.load_game(match["openspiel"]).new_initial_state()
    assert strings_of(state) == match["before"]
    for turn in match["turn"]:
        for action, told in zip(turn["actions"], turn["told"], strict=True):
            assert action in state.legal_actions()
            assert not any(state.returns())
            state.apply_action(action)
            assert strings_of(state) == told
    assert state.is_terminal() == ("returns" in match)
    if "returns" in match:
        assert state.returns() == match["returns"]


@pytest.mark.parametrize("case", SEEN["illegal"], ids=lambda case: case["openspiel"])
def test_openspiel_takes_some_illegal_actions_unless_it_is_to_look(case: dict[str, Any]) -> None:
    state = pyspiel.load_game(case["openspiel"]).new_initial_state()
    for action in case["actions"]:
        state.apply_action(action)
    assert case["illegal"] not in state.legal_actions()
    with pytest.raises(pyspiel.SpielError, match="illegal action"):
        state.clone().apply_action_with_legality_check(case["illegal"])
    try:
        state.apply_action(case["illegal"])
        taken = True
    except pyspiel.SpielError:
        taken = False
    assert taken == case["taken"]
