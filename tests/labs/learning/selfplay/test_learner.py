"""Learners learn, and the same seed learns the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ggp.errors import ConfigError
from ggp.labs.learning.env import Turn, make
from ggp.labs.learning.env.engine import engine_of
from ggp.labs.learning.env.exact import ExactGame
from ggp.labs.learning.selfplay import Learner, LearningReport, Settings, StoppedError
from ggp.labs.learning.selfplay.rollouts import Rollouts

QUICK = Settings(turns=8, block=256, hidden=(32,), critic=(16,))


def test_self_play_comes_near_the_equilibrium_of_kuhn_poker() -> None:
    exact = ExactGame(make("kuhn_poker", 1))
    learner = Learner(make("kuhn_poker", 512, paths=False), settings=QUICK, seed=1)

    def nash_conv() -> float:
        policies = learner.policies().values()
        return exact.worth(
            *(p.at_sets(s) for p, s in zip(policies, exact.sets, strict=True))
        ).nash_conv

    assert nash_conv() > 15
    report = learner.learn(updates=150)
    assert report.updates == 150
    assert report.states == 150 * 8 * 512
    assert nash_conv() < 4


@pytest.mark.verify
def test_usual_settings_come_near_the_equilibrium_of_leduc_poker() -> None:
    exact = ExactGame(make("leduc_poker", 1))
    learner = Learner(make("leduc_poker", 1024, paths=False), seed=1)
    learner.learn(updates=750)
    shares = (
        policy.at_sets(sets)
        for policy, sets in zip(learner.policies().values(), exact.sets, strict=True)
    )
    assert exact.worth(*shares).nash_conv < 1.2


@pytest.mark.verify
def test_usual_settings_learn_which_questions_halve_what_is_open() -> None:
    env = make("number_guessing", 1024, paths=False)
    learner = Learner(env, seed=1)
    learner.learn(updates=600)
    rollouts = Rollouts(engine_of(env.machine, env.names), [*learner.policies().values()])
    assert rollouts.matches(4096, np.random.default_rng(0)).goals.mean() > 96


def test_rates_fall_below_a_tenth_and_go_on_from_a_tenth() -> None:
    settings = Settings(rate=2.0, slower=0.5)
    assert settings.rate_at(0) == 2
    assert settings.rate_at(1) == pytest.approx(0.1)
    assert settings.rate_at(0, goes_on=True) == pytest.approx(0.2)
    assert settings.rate_at(1, goes_on=True) == pytest.approx(0.1)


def test_stopping_in_a_segment_loses_only_that_segment() -> None:
    learner = Learner(make("kuhn_poker", 32, paths=False), settings=QUICK, seed=1)
    seen: list[np.ndarray] = []

    def remember(_: LearningReport) -> None:
        seen.append(learner.policies()["player1"].net.weights.flat)

    looks = iter(range(1000))
    with pytest.raises(StoppedError):
        learner.learn(updates=9, progress=remember, stop=lambda: next(looks) == 2 * QUICK.turns + 3)
    assert learner.updates == len(seen) == 2
    np.testing.assert_array_equal(seen[-1], learner.policies()["player1"].net.weights.flat)
    assert learner.learn(updates=1).updates == 3


def test_it_may_be_stopped_before_each_block_that_it_learns_from() -> None:
    """A large game is learnt from for a second, and somebody may wait."""
    learner = Learner(make("kuhn_poker", 512, paths=False), settings=QUICK, seed=1)
    looks = iter(range(1000))
    stops_at = QUICK.turns + 512 // QUICK.block - 1
    with pytest.raises(StoppedError):
        learner.learn(updates=9, stop=lambda: next(looks) == stops_at)
    assert (learner.updates, learner.curve) == (1, [])
    assert learner.learn(updates=1).updates == 2


@pytest.mark.verify
def test_a_best_response_is_learnt_against_a_fixed_opponent() -> None:
    env = make("kuhn_poker", 512)
    exact = ExactGame(make("kuhn_poker", 1))

    def opponents(turn: Turn) -> np.ndarray:
        """Player 2 makes its first legal move, whatever it knows."""
        assert turn.paths.shape[2]
        return np.asarray(turn.masks.argmax(axis=2))

    # As responders learn: nobody answers them, so they need no entropy in the end.
    settings = replace(QUICK, slower=1.0, warm=0.05, cold=0.005)
    learner = Learner(env, roles=["player1"], others=opponents, settings=settings, seed=1)
    learner.learn(updates=100)
    (policy,) = learner.policies().values()
    first = np.zeros(exact.sets[1].masks.shape)
    first[np.arange(len(first)), exact.sets[1].masks.argmax(axis=1)] = 1
    worth = exact.worth(policy.at_sets(exact.sets[0]), first)
    assert worth.values[0] > worth.best[0] - 2


@pytest.mark.verify
def test_the_same_seed_learns_the_same_with_any_number_of_threads() -> None:
    def learnt(seed: int, threads: int = 1) -> np.ndarray:
        env = make("krieg_tic_tac_toe", 64, paths=False, threads=threads)
        learner = Learner(env, settings=QUICK, seed=seed, threads=threads)
        learner.learn(updates=3)
        return learner.policies()["xplayer"].net.weights.flat

    np.testing.assert_array_equal(learnt(1), learnt(1))
    np.testing.assert_array_equal(learnt(1), learnt(1, threads=3))
    assert (learnt(1) != learnt(2)).any()


@pytest.mark.verify
def test_budgets_are_kept_and_progress_is_told() -> None:
    learner = Learner(make("connect_four", 64, paths=False), settings=QUICK)
    reports: list[LearningReport] = []
    learner.learn(states=8 * 64 * 3 - 1, progress=reports.append)
    assert [report.updates for report in reports] == [1, 2, 3]
    assert set(reports[0].entropy) == set(reports[0].rewards) == {"first", "second"}
    ticks = iter(range(1000))
    learner.learn(seconds=10, clock=lambda: float(next(ticks)))
    assert learner.updates > 4
    with pytest.raises(ConfigError, match="budget"):
        learner.learn()
    for nothing in ({"updates": 0}, {"states": -1}, {"seconds": 0.0}, {"seconds": float("nan")}):
        with pytest.raises(ConfigError, match="above 0"):
            learner.learn(**nothing)


def test_unknown_roles_are_refused() -> None:
    with pytest.raises(ConfigError, match="xplayer"):
        Learner(make("krieg_tic_tac_toe", 4, paths=False), roles=["xplayr"])


def test_lanes_that_do_not_begin_anew_are_refused() -> None:
    with pytest.raises(ConfigError, match="restarts=True"):
        Learner(make("kuhn_poker", 4, paths=False, restarts=False))


@pytest.mark.parametrize(
    "answer",
    [np.zeros((4, 1), dtype=np.int64), np.zeros((4, 2)), np.zeros(2, dtype=np.int64), None],
)
def test_others_that_answer_with_something_else_are_refused(answer: Any) -> None:
    env = make("kuhn_poker", 4, paths=False)
    learner = Learner(env, roles=["player1"], others=lambda turn: answer, settings=QUICK)
    with pytest.raises(ConfigError, match=r"whole numbers of shape \(4, 2\), lanes and roles"):
        learner.learn(updates=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"turns": 0}, "turns must be at least 1, not 0"),
        ({"block": 0}, "block must be at least 1"),
        ({"hidden": (8, 0)}, "hidden must be at least 1"),
        ({"critic": (-1,)}, "critic must be at least 1"),
        ({"rate": 0.0}, "rate must be above 0"),
        ({"warm": float("nan")}, "warm must be above 0, not nan"),
        ({"cold": -0.1}, "cold must be above 0"),
        ({"decay": 1.5}, "decay must be from 0 to 1"),
    ],
)
def test_settings_that_nothing_can_be_learnt_with_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Settings(**options)
