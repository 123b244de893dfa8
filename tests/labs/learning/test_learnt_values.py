"""Trees that value leaves by a critic: its values, when it is used, which files are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ggp.errors import ConfigError, NoLegalMoveError
from ggp.labs.learning import learnt_values
from ggp.labs.learning.env import make
from ggp.labs.learning.selfplay import Learner
from ggp.labs.learning.selfplay.files import AVERAGE, write_policy
from ggp.labs.learning.selfplay.nets import Weights
from ggp.machine import Machine
from ggp.machine.arrays import unpack
from ggp.machine.games import load_program
from ggp.machine.propnet.play.turns import PropnetStates
from ggp.players import make_player, mcts, parse_spec
from ggp.players.ismcts import ISMCTS
from ggp.players.mcts import Score
from ggp.search.anytime import Deadline
from tests.labs.kriegspiel.test_choose_move import Ticking
from tests.labs.learning.test_learned import learnt
from tests.support.games import machine_of_game


def written(game: str, folder: Path) -> Path:
    path = folder / "p.npz"
    write_policy(path, learnt(game))
    return path


def player(game: str, spec: str, seed: int = 1) -> ISMCTS:
    machine, rng = machine_of_game(game, "propnet"), np.random.default_rng(seed)
    made = make_player(parse_spec(spec), machine, 0, rng, program=load_program(game))
    assert isinstance(made, ISMCTS)
    return made


def made(game: str, path: Path) -> learnt_values.CriticValues:
    """The critic in a file."""
    machine, program = machine_of_game(game, "propnet"), load_program(game)
    return learnt_values.FORM.make(str(path), machine, 0, program)


@pytest.mark.parametrize("game", ["breakthrough", "krieg_tic_tac_toe", "battleships_in_fog"])
def test_values_are_those_of_the_critic(game: str, tmp_path: Path) -> None:
    machine, policy = machine_of_game(game, "propnet"), learnt(game)
    values = made(game, written(game, tmp_path))
    states = machine.initial(3)
    assert isinstance(states, PropnetStates)
    names = make(game).names
    bits = unpack(states.packed, len(names.fluents)).astype(np.float64)
    weights = Weights(policy.about.critic_shape, policy.arrays[-1][AVERAGE])
    for last, matrix, bias in zip((False, True), weights.matrices, weights.biases, strict=True):
        bits = bits @ matrix + bias
        bits = bits if last else np.maximum(bits, 0)
    players = [machine.roles.index(role) for role in names.roles]
    critic_values, _ = values.goals(states, np.random.default_rng(0))
    assert critic_values[:, players] == pytest.approx(50 * (bits + 1), abs=1e-3)
    assert (np.delete(critic_values, players, axis=1) == 50).all()


@pytest.mark.parametrize(
    ("game", "spec"), [("breakthrough", "mcts"), ("krieg_tic_tac_toe", "ismcts:sure=0")]
)
def test_the_same_seed_gives_the_same_decision(game: str, spec: str, tmp_path: Path) -> None:
    spec += f"{',' if ':' in spec else ':'}trials=500,evaluation={written(game, tmp_path)}"
    decision, repeated = player(game, spec).choose(), player(game, spec).choose()
    assert decision.fault is None
    assert decision.move == repeated.move
    assert decision.values == repeated.values
    assert sum(value.visits for value in decision.values) >= 200


def test_a_tree_finds_what_the_critic_prefers() -> None:
    """All states after one of the moves are said to be won."""
    thinker = player("breakthrough", "mcts:trials=400")
    machine = thinker.machine
    moves = machine.legal(machine.initial(1), 0).values
    best = machine.move_text(int(moves[3]))
    cell = np.flatnonzero(_fluents_after(machine, moves[3]) & ~_fluents_after(machine, moves[2]))[0]

    class Prefers:
        def goals(self, states: object, *_: object) -> tuple[np.ndarray, np.ndarray]:
            assert isinstance(states, PropnetStates)
            bits = unpack(states.packed, 64 * states.packed.shape[1])[:, cell].astype(np.float64)
            return 100 * np.stack([bits, 1 - bits], axis=1), np.zeros(len(bits), dtype=np.int64)

    thinker.evaluation = Prefers()
    assert thinker.choose().move == best


def _fluents_after(machine: Machine, move: int) -> np.ndarray:
    noop = int(machine.legal(machine.initial(1), 1).values[0])
    states = machine.step(machine.initial(1), np.array([[move, noop]])).states
    assert isinstance(states, PropnetStates)
    bits: np.ndarray = unpack(states.packed, 64 * states.packed.shape[1])[0].astype(np.bool_)
    return bits


def test_files_that_do_not_value_states_of_the_game_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="other rules"):
        made("breakthrough", written("krieg_tic_tac_toe", tmp_path))
    path = tmp_path / "q.npz"
    learner = Learner(make("number_guessing", 8, paths=False))
    write_policy(path, learner.snapshot("number_guessing", "0"))
    with pytest.raises(ConfigError, match="reads more than the state"):
        made("number_guessing", path)


@pytest.mark.parametrize(
    ("score", "is_used"), [(Score(8, 5.0), True), (Score(8, 4.5), False), (Score(3, 3.0), False)]
)
def test_learnt_values_are_used_if_they_win_duels(
    score: Score, is_used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcts, "duels", lambda *_: score)
    monkeypatch.setattr(learnt_values, "LANES", 32)
    monkeypatch.setattr(learnt_values, "MIN_UPDATES", 1)
    ready = player("tic_tac_toe", "mcts:learn=50,trials=200")
    clock = Ticking(0.01)
    ready.prepare(Deadline(20.0, clock))
    assert (ready.evaluation is not None) == is_used
    assert ready.choose().fault is None


def test_nothing_is_learnt_where_there_is_no_time_for_enough_duels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(learnt_values.PolicyFiles, "learnt", lambda *_: calls.append(True))
    for start_s in (1.0, 10.0):
        player("tic_tac_toe", "mcts:learn=50").prepare(Deadline(start_s, Ticking(0.001)))
        assert calls == [True] * (start_s > 5)


def test_no_time_is_spent_on_proofs_that_nobody_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take up to a second, in which no deadline is looked at."""
    monkeypatch.setattr(
        "ggp.labs.learning.env.environment.longest", lambda _: pytest.fail("it proves")
    )
    monkeypatch.setattr(learnt_values, "LANES", 32)
    monkeypatch.setattr(learnt_values, "MIN_UPDATES", 1)
    monkeypatch.setattr(mcts, "duels", lambda *_: Score(8, 8.0))
    ready = player("connect_four", "mcts:learn=50")
    ready.prepare(Deadline(40.0, Ticking(0.01)))
    assert ready.evaluation is not None


@pytest.mark.parametrize(("most", "learns"), [(160, False), (161, True)])
def test_nothing_is_learnt_of_very_many_moves(
    most: int, learns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it found out how long a match is: there are games in which that takes a second."""
    calls: list[bool] = []

    def decisions(*_: object) -> float:
        calls.append(True)
        return 1e9

    monkeypatch.setattr(learnt_values, "MAX_MOVES", most)
    monkeypatch.setattr(mcts, "decisions_of_a_match", decisions)
    player("breakthrough", "mcts:learn=50").prepare(Deadline(10.0, Ticking(0.01)))
    assert bool(calls) == learns


def test_a_match_that_begins_ends_what_is_learnt_before_it() -> None:
    ready = player("tic_tac_toe", "mcts:learn=50")
    now_s = iter([*[0.0] * 12, *[1e9] * 99])
    ready.prepare(Deadline(10.0, lambda: next(now_s)))
    assert ready.evaluation is None


@pytest.mark.parametrize(("updates", "is_used"), [(1, True), (10**6, False)])
def test_where_roles_know_different_things_enough_updates_will_do(
    updates: int, is_used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learnt_values, "MIN_UPDATES", updates)
    monkeypatch.setattr(learnt_values, "LANES", 32)
    monkeypatch.setattr(mcts, "duels", lambda *_: pytest.fail("it plays duels"))
    for spec in ("mcts:learn=50,trials=200", "ismcts:learn=50,trials=200,sure=0"):
        ready = player("krieg_tic_tac_toe", spec)
        ready.prepare(Deadline(20.0, Ticking(0.01)))
        assert (ready.evaluation is not None) == is_used
        assert ready.choose().fault is None


def test_there_is_one_source_of_values(tmp_path: Path) -> None:
    file = written("krieg_tic_tac_toe", tmp_path)
    with pytest.raises(ConfigError, match="leave out learn="):
        parse_spec(f"ismcts:learn=50,evaluation={file}")
    with pytest.raises(ConfigError, match="kriegspiel"):
        parse_spec("ismcts:evaluation=kriegspiel")


@pytest.mark.parametrize("spec", ["mcts:learn=50", "ismcts:learn=50"])
def test_a_player_that_cannot_learn_plays_on(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In open games `ismcts` learns nothing; `mcts` asks first how long matches are, which fails
    where a role has no move."""

    def fails(*_: object) -> float:
        raise NoLegalMoveError("xplayer", [])

    monkeypatch.setattr(mcts, "decisions_of_a_match", fails)
    ready = player("tic_tac_toe", f"{spec},trials=100")
    ready.prepare(Deadline(10.0, Ticking(0.01)))
    assert ready.evaluation is None
    assert ready.choose().fault is None


def test_learning_ends_early_where_few_updates_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learnt_values, "LANES", 32)
    ready, clock = player("krieg_tic_tac_toe", "ismcts:learn=95,sure=0"), Ticking(0.05)
    ready.prepare(Deadline(100.0, clock))
    assert ready.evaluation is None
    assert clock() < 50
