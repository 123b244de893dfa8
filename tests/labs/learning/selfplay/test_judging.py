"""What policies give away, by responders that learn, is near what exact best responses gain."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.labs.learning.env import make
from ggp.labs.learning.env.engine import engine_of
from ggp.labs.learning.env.exact import ExactGame
from ggp.labs.learning.learnt_seeds import gained
from ggp.labs.learning.selfplay import Learner, Settings
from ggp.labs.learning.selfplay.rollouts import Rollouts

QUICK = Settings(turns=8, block=64, hidden=(16,), critic=(8,))


def test_whole_matches_by_policies_have_their_exact_values() -> None:
    env, exact = make("kuhn_poker", 64, paths=False), ExactGame(make("kuhn_poker", 1))
    learner = Learner(env, settings=QUICK, seed=1)
    learner.learn(updates=4)
    policies = list(learner.policies().values())
    rollouts = Rollouts(engine_of(env.machine, env.names), policies)
    ended = rollouts.matches(20_000, np.random.default_rng(1))
    assert ended.finished.all()
    assert ended.turns.max() <= env.max_turns
    tables = (p.at_sets(s) for p, s in zip(policies, exact.sets, strict=True))
    errors = ended.goals.std(axis=0) / 20_000**0.5
    assert (np.abs(ended.goals.mean(axis=0) - exact.worth(*tables).values) < 4 * errors).all()


@pytest.mark.verify
def test_responders_gain_nearly_as_much_as_best_responses() -> None:
    env, exact = make("kuhn_poker", 256, paths=False), ExactGame(make("kuhn_poker", 1))
    learner = Learner(env, settings=QUICK, seed=1)
    learner.learn(updates=2)
    policies = learner.policies()
    tables = (policies[r].at_sets(s) for r, s in zip(env.roles, exact.sets, strict=True))
    gains_of = gained(env, policies, updates=40, seed=1)
    assert sorted(gains_of) == sorted(env.roles)
    nash_conv = exact.worth(*tables).nash_conv
    assert 0.7 * nash_conv < sum(gains_of.values()) < 1.1 * nash_conv
    assert gains_of == gained(env, policies, updates=40, seed=1)
