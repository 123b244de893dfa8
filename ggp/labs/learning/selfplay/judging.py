"""What policies give away, about: each role in turn learns to respond to those of the others.

It is the same learning with one role that learns, cooler, since the others never change. What the
responder gets in fresh matches, less what the role's own policy gets in as many, is in expectation
no more than what a best response gains: the sum over roles is, but for noise, a lower bound on
NashConv. Equal budgets make it a measure to choose among policies of one game.
`ggp exploit --approximate` measures any player, and has intervals.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ggp.labs.learning.env.circuit_engine import engine_of
from ggp.labs.learning.env.environment import Environment
from ggp.labs.learning.env.kernels import I64
from ggp.labs.learning.env.turn import Turn
from ggp.labs.learning.selfplay.features import Reader
from ggp.labs.learning.selfplay.learner import Learner
from ggp.labs.learning.selfplay.policies import Drawing, LearntPolicy
from ggp.labs.learning.selfplay.rollouts import Rollouts
from ggp.labs.learning.selfplay.settings import Settings

UPDATES, MATCHES = 100, 4096
"""Of each responder, and fresh matches after it."""

RESPONDING = Settings(slower=1.0, warm=0.05, cold=0.005)
"""How responders learn."""


class ByPolicies:
    """Moves roles by policies in the lanes of an environment: an `Others` of the learner."""

    def __init__(self, env: Environment, policies: Mapping[str, LearntPolicy], seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._seats = [
            (
                number,
                Reader(policies[role].features, env.num_lanes, number),
                Drawing(policies[role].net, env.num_lanes),
            )
            for number, role in enumerate(env.roles)
            if role in policies
        ]

    def __call__(self, turn: Turn) -> I64:
        """`[L, Q]` actions, -1 where there is no choice, or no policy."""
        actions = np.full(turn.moves.shape, -1, dtype=np.int64)
        keys = self._rng.integers(1 << 63, size=len(self._seats), dtype=np.uint64)
        for key, (number, reader, drawing) in zip(keys, self._seats, strict=True):
            drawing.choices.begin()  # sums that are kept for ever would drift
            drawing.act(reader.read(turn), key, actions[:, number])
        return actions


def gained(
    env: Environment,
    policies: Mapping[str, LearntPolicy],
    updates: int = UPDATES,
    matches: int = MATCHES,
    seed: int = 0,
) -> dict[str, float]:
    """What each role gained by a response that it learnt, in goals; below 0 if it learnt too
    little.

    Args:
        env: of all players; it is reset.
        policies: of all players.
        matches: from which each mean is taken.
        seed: of everything random.
    """
    engine = engine_of(env.machine, env.names)

    def means(played: Mapping[str, LearntPolicy]) -> np.ndarray:
        rollouts = Rollouts(engine, [played[role] for role in env.roles])
        rng = np.random.default_rng(seed)
        return np.asarray(rollouts.matches(matches, rng).goals.mean(axis=0))

    usual, found = means(policies), {}
    for number, role in enumerate(env.roles):
        others = {each: policy for each, policy in policies.items() if each != role}
        learner = Learner(
            env,
            roles=[role],
            others=ByPolicies(env, others, seed),
            settings=RESPONDING,
            seed=seed,
        )
        learner.learn(updates=updates)
        best = means({**policies, **learner.policies()})
        found[role] = float(best[number] - usual[number])
    return found
