"""The player `learned` plays the policy of its file, and learns where it has none."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ggp.errors import ConfigError
from ggp.labs.learning.env import make
from ggp.labs.learning.learned import SOLE_TEMPERATURE, Learned
from ggp.labs.learning.learnt_values import StopsEarly
from ggp.labs.learning.selfplay import Learner, Settings
from ggp.labs.learning.selfplay.features import Reader
from ggp.labs.learning.selfplay.files import PolicyFile, write_policy
from ggp.machine import Machine
from ggp.machine.base import Ragged, is_open
from ggp.machine.games import load_program
from ggp.players import make_player, parse_spec
from ggp.search.anytime import Deadline
from tests.support.games import machine_of_game

QUICK = Settings(turns=8, block=64, hidden=(16,), critic=(8,))


@cache
def learnt(game: str) -> PolicyFile:
    learner = Learner(make(game, 32, paths=False), settings=QUICK, seed=2)
    learner.learn(updates=3)
    return learner.snapshot(game, "0")


def player(game: str, spec: str, role: int = 0, seed: int = 1) -> Learned:
    machine: Machine = machine_of_game(game, "propnet")
    learned = make_player(
        parse_spec(spec),
        machine,
        role,
        np.random.default_rng(seed),
        program=load_program(game),
    )
    assert isinstance(learned, Learned)
    return learned


@pytest.mark.parametrize(
    "game", ["krieg_tic_tac_toe", "battleships_in_fog", "breakthrough", "number_guessing"]
)
def test_moves_are_drawn_from_the_policy(game: str, tmp_path: Path) -> None:
    """Its probabilities equal those of the policy in an environment, all through a match."""
    path = tmp_path / "p.npz"
    write_policy(path, learnt(game))
    env = make(game, 1, paths=False)
    roles = [env.machine.roles.index(role) for role in env.roles]
    players = [player(game, f"learned:policy={path}", role) for role in roles]
    policies = [learnt(game).policies()[role] for role in env.roles]
    readers = [Reader(policy.features, 1, k) for k, policy in enumerate(policies)]
    temperature = SOLE_TEMPERATURE if len(roles) == 1 else 1.0
    turn, compared = env.reset(3), 0
    while not turn.ended[0] and compared < 20:
        actions = np.full((1, len(roles)), -1)
        for role, (policy, reader) in enumerate(zip(policies, readers, strict=True)):
            shares = policy.at(reader.read(turn), temperature)[0]
            decision = players[role].choose()
            assert decision.fault is None
            actions[0, role] = env.names.move(decision.move)
            if turn.masks[0, role].sum() > 1:
                assert decision.probabilities is not None
                for move, share in decision.probabilities.items():
                    assert share == pytest.approx(shares[env.names.move(move)], abs=1e-4)
                compared += 1
                assert_told_at_once(players[role], decision.probabilities)
        turn = env.step(actions)
        for role in range(len(roles)):
            seen = np.flatnonzero(turn.observations[0, role, len(env.names.moves) :])
            percepts = [env.names.percepts[k] for k in seen.tolist()]
            players[role].observe(env.names.moves[actions[0, role]], percepts)
    assert compared >= 3


def assert_told_at_once(player: Learned, policy: Mapping[str, float]) -> None:
    """It gives the same probabilities for many paths at once, here for one twice; none where
    states are read."""
    machine, tracker = player.machine, player.tracker
    moves = [machine.move_id(move) for move in policy] * 2
    legal = Ragged(np.array([0, len(policy), 2 * len(policy)]), np.array(moves, dtype=np.int64))
    shares = player.shares_at(tracker.tree, np.repeat(tracker.bag.paths[:1], 2), legal)
    assert (shares is None) == is_open(machine)
    if shares is not None:
        np.testing.assert_allclose(shares.reshape(2, -1), [[*policy.values()]] * 2, atol=1e-6)


@pytest.mark.verify
def test_without_a_file_it_learns_with_or_without_a_clock() -> None:
    learner = player("krieg_tic_tac_toe", "learned:updates=1")
    assert not learner.tells_policy
    decision = learner.choose()
    repeated = player("krieg_tic_tac_toe", "learned:updates=1").choose()
    assert decision.fault is None
    assert repeated.move == decision.move
    assert repeated.probabilities == decision.probabilities
    ready = player("krieg_tic_tac_toe", "learned")
    ready.prepare(Deadline.after(0.2))
    assert ready.choose(Deadline.after(5)).fault is None


def test_a_match_that_begins_ends_what_is_learnt_before_it_at_once() -> None:
    ready = player("krieg_tic_tac_toe", "learned:updates=1")
    now_s = iter([*[0.0] * 9, *[1e9] * 99])
    ready.prepare(Deadline(10.0, lambda: next(now_s)))  # in the first segment
    decision = ready.choose(Deadline(1.0, Counted(0.05)))
    assert set((decision.probabilities or {}).values()) == {1 / 9}  # nothing was learnt
    decision = ready.choose()
    assert decision.fault is None
    assert len(set((decision.probabilities or {}).values())) > 1


class Counted:
    """A clock that goes on by some seconds whenever it is looked at."""

    def __init__(self, look_s: float) -> None:
        self.now_s, self.look_s = 0.0, look_s

    def __call__(self) -> float:
        self.now_s += self.look_s
        return self.now_s


def test_without_time_for_an_update_it_moves_at_random_and_in_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    hasty = player("krieg_tic_tac_toe", "learned")
    hasty.choose(Deadline(0.04, Counted(0.01)))  # as in a rehearsal, of which nothing is told
    assert "no time to learn yet" not in caplog.text
    for _ in range(2):
        clock = Counted(0.05)  # a segment alone takes more looks than there is time for
        decision = hasty.choose(Deadline(1.0, clock))
        assert decision.fault is None
        assert clock.now_s < 1.0
        assert decision.probabilities is not None
        assert set(decision.probabilities.values()) == {1 / 9}
    assert caplog.text.count("no time to learn yet") == 1
    decision = hasty.choose(Deadline(1.0, Counted(1e-3)))
    assert decision.probabilities is not None
    assert len(set(decision.probabilities.values())) > 1


@pytest.mark.parametrize("start_s", [0.2, 5.0])
def test_a_short_start_clock_is_kept(start_s: float) -> None:
    ready, clock = player("krieg_tic_tac_toe", "learned"), Counted(start_s / 20)
    ready.prepare(Deadline(start_s, clock))
    assert clock.now_s < start_s
    decision = ready.choose(Deadline(1.0, Counted(0.05)))
    assert decision.fault is None
    assert set((decision.probabilities or {}).values()) == {1 / 9}  # nothing was learnt


def test_learning_stops_before_a_step_that_may_take_too_long() -> None:
    steps_s = iter([0.0, 1.0, 2.0, 5.0, 6.0, 6.9, 7.1])
    stops = StopsEarly(Deadline(10.0, lambda: next(steps_s)), 0.5)
    # The longest step takes 3 seconds from the third look on.
    assert [stops.is_late() for _ in range(6)] == [False] * 5 + [True]


def test_files_of_other_games_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    write_policy(path, learnt("krieg_tic_tac_toe"))
    with pytest.raises(ConfigError, match="other rules"):
        player("breakthrough", f"learned:policy={path}")
    with pytest.raises(ConfigError, match="cannot read"):
        player("breakthrough", "learned:policy=nothing.npz")
