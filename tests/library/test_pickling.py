"""Games, states, beliefs and records come out of a pickle as they went in, here and elsewhere."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import pickle
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import pytest

import ggp
from ggp import pickled
from ggp.errors import BeliefDepletedError, ConfigError, GGPError, IllegalMoveError, MachineError
from ggp.gdl.games import find_game
from tests.support.games import machine_of_game

KINDS = [
    ("kuhn_poker", "propnet"),
    ("kuhn_poker", "prolog"),
    ("tic_tac_toe", "prolog"),
    ("openspiel:kuhn_poker", "openspiel"),
    ("openspiel:tic_tac_toe", "openspiel"),
]
"""Facts that hold in every state are part of a state too; a position of OpenSpiel is its
history."""


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in another process: no machine of a pickled game is known."""
    monkeypatch.setattr(pickled, "_machines", WeakValueDictionary())
    monkeypatch.setattr(pickled, "_programs", WeakKeyDictionary())


def some_step(game: ggp.Game) -> ggp.Step:
    """What comes of the first legal moves, twice."""
    step = ggp.Step(game.initial(), {})
    for _ in range(2):
        step = step.state.play({role: step.state.legal(role)[0] for role in game.roles})
    return step


def repickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize(("name", "backend"), KINDS)
def test_states_are_equal_to_what_comes_out_of_their_pickles(name: str, backend: str) -> None:
    game = ggp.load(name, backend=backend)
    step = some_step(game)
    restored = repickled(step)
    assert restored == step
    assert hash(restored.state) == hash(step.state)
    assert repickled(game).initial() == game.initial() == copy.deepcopy(game).initial()
    for copied in (restored.state, copy.copy(step.state), copy.deepcopy(step).state):
        assert copied.legal(game.roles[0]) == step.state.legal(game.roles[0])
        assert copied.playout(seed=1) == step.state.playout(seed=1)


@pytest.mark.parametrize(("name", "backend"), KINDS)
def test_beliefs_keep_their_states_and_weights(name: str, backend: str) -> None:
    game = ggp.load(name, backend=backend)
    belief = game.belief(game.roles[0], [(None, None)])
    for restored in (repickled(belief), copy.copy(belief), copy.deepcopy(belief)):
        assert repr(restored) == repr(belief)
        assert restored.particles == belief.particles
        assert (restored.weights == belief.weights).all()
        assert (restored.marginals == belief.marginals).all()


@pytest.mark.verify
def test_a_game_is_built_anew_where_nobody_has_it(tmp_path: Path, elsewhere: None) -> None:
    path = tmp_path / "mine.kif"
    path.write_text(find_game("monty_hall").read_text())
    for rules in (str(path), path.read_text()):
        game = ggp.load(rules, backend="prolog")
        state = some_step(game).state
        name, stored = game.name, pickle.dumps(state)
        path.unlink(missing_ok=True)
        fluents, legal = state.fluents, state.legal("candidate")
        del game, state
        gc.collect()
        assert not pickled._machines
        restored = pickle.loads(stored)
        assert (restored.fluents, restored.legal("candidate")) == (fluents, legal)
        assert name in repr(restored)
        assert restored == pickle.loads(stored)
        del restored
        gc.collect()


def test_games_with_the_same_rules_have_equal_states() -> None:
    game, prolog_game = ggp.load("monty_hall"), ggp.load("monty_hall", backend="prolog")
    assert game.initial() == prolog_game.initial() == repickled(prolog_game.initial())
    assert game.initial() != ggp.load("kuhn_poker").initial()
    assert game.initial() != "a state"


def test_pickled_states_that_the_rules_cannot_reach_are_refused() -> None:
    for backend in ("propnet", "prolog"):
        machine = machine_of_game("monty_hall", backend)
        for text in ("(car 77)", "(no such thing)", "("):
            with pytest.raises(MachineError, match="can never hold by these rules"):
                pickled.read_states(machine, [(text,)])
    game = ggp.load("monty_hall")
    _, *rest = pickled.rules_of(game.program, machine_of_game("monty_hall", game.backend))
    with pytest.raises(ConfigError, match="reads its rules differently"):
        pickled.restore_game(("another digest", *rest))  # type: ignore[arg-type]


def test_records_and_what_is_compared_come_back() -> None:
    record = ggp.play_match("monty_hall", {"candidate": "hyperplay:n=2"}, seed=1)
    assert repickled(record) == copy.deepcopy(record) == copy.copy(record) == record
    summary = ggp.compare("monty_hall", ["hyperplay:n=2", "random"], rounds=1)
    assert repickled(summary) == summary


def test_errors_come_back_with_what_they_are_about() -> None:
    raised: list[GGPError] = []
    game = ggp.load("kuhn_poker")
    for fail in (
        lambda: game.initial().play({"random": "(deal ace ace)"}),
        lambda: game.belief("player1", [("noop", ["(dealt queen)", "(dealt king)"])]),
        lambda: ggp.load("(role me)"),
    ):
        with pytest.raises(GGPError) as caught:
            fail()
        raised.append(caught.value)
    assert {IllegalMoveError, BeliefDepletedError} < set(map(type, raised))
    for error in raised:
        restored = repickled(error)
        assert (type(restored), str(restored), vars(restored)) == (
            type(error),
            str(error),
            vars(error),
        )


@pytest.mark.verify
def test_other_processes_go_on_with_states_and_beliefs() -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for name, backend in KINDS:
            game = ggp.load(name, backend=backend)
            states = [some_step(game).state, game.initial()]
            assert pool.map(_fluents_of, states) == [*map(_fluents_of, states)]
            assert pool.map(_repickled_state, states) == states
            belief = game.belief(game.roles[0], [(None, None)])
            assert pool.apply(_marginals, (belief,)) == _marginals(belief)


def _fluents_of(state: ggp.State) -> object:
    return state.fluents, state.terminal, state.playout(seed=3)


def _repickled_state(state: ggp.State) -> ggp.State:
    return state


def _marginals(belief: ggp.Belief) -> dict[str, float]:
    marginals: list[float] = belief.marginals.tolist()
    return dict(zip(belief.fluents, marginals, strict=True))
