"""Learns policies from several seeds, here or on a cluster, and ranks them by exploitability.

`learn_seeds` takes a `Task` for each seed, and returns the policy files, the least exploitable
first. Runs that differ only in the seed differ in exploitability, and head-to-head scores hide
that. So each worker judges the policies that it learnt: by their exact NashConv in games with small
trees, elsewhere by the gains of learnt responses (`gained`), with the same seed and number of
updates for all. In games of one role, it counts how far the goal stays below the highest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ggp.errors import ConfigError, MachineError, SolvingError
from ggp.labs.learning.env.engine import engine_of
from ggp.labs.learning.env.environment import Environment, Turn
from ggp.labs.learning.env.kernels import I64
from ggp.labs.learning.selfplay.features import Reader
from ggp.labs.learning.selfplay.learner import Learner, Settings
from ggp.labs.learning.selfplay.policies import Drawing, LearntPolicy
from ggp.labs.learning.selfplay.rollouts import Rollouts

if TYPE_CHECKING:
    from ggp.machine.definition import GameDefinition


MAX_STATES = 50_000
"""Largest tree, in states, that is built to judge policies."""


class Task(NamedTuple):
    """The task of one worker.

    Attributes:
        name, text: name and rules of the game.
        backend, lanes: see `make`.
        updates, seconds: see `Learner.learn`.
        seed: seed of the learner.
        version: version of the package, for the record in the file.
    """

    name: str
    text: str
    backend: str
    lanes: int
    updates: int | None
    seconds: float | None
    seed: int
    version: str


class LearntSeed(NamedTuple):
    """The policies learnt from one seed, and their exploitability.

    Attributes:
        seed: the seed.
        file: the bytes of a policy file.
        given_away: sum over all roles of the gain of a response, in goals; less is better.
        is_exact: whether this is the NashConv, not the gain of learnt responses.
        updates, decisions, seconds: see `LearningReport`.
    """

    seed: int
    file: bytes
    given_away: float
    is_exact: bool
    updates: int
    decisions: int
    seconds: float


def learn_seeds(
    tasks: Sequence[Task],
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[LearntSeed], None] = lambda learnt: None,
) -> list[LearntSeed]:
    """Learn from several seeds, and return the least exploitable policies first.

    Args:
        tasks: one for each seed.
        jobs, scheduler: see `match_runner.series.holding.open_executor`.
        progress: called with the outcome of each seed as it arrives.

    Raises:
        ConfigError: the workers cannot be reached.
        MatchError: a worker failed.
    """
    from match_runner.series.holding import open_executor
    from match_runner.workers.executor import results_of

    with open_executor(jobs, scheduler, 0) as executor:
        pairs = ((task.seed, task) for task in tasks)
        learnt = results_of(executor, learn_seed, pairs, lambda seed: f"seed {seed}", progress)
    return sorted(learnt.values(), key=lambda learnt: (learnt.given_away, learnt.seed))


def learn_seed(task: Task) -> LearntSeed:
    """Learn from one seed, and judge the policies."""
    from ggp.labs.learning.env import make
    from ggp.labs.learning.selfplay.files import bytes_of
    from ggp.machine.games import read_program

    program = read_program(task.text, task.name, files=True)
    env = make(program, task.lanes, paths=False, backend=task.backend)
    learner = Learner(env, seed=task.seed)
    report = learner.learn(updates=task.updates, seconds=task.seconds)
    file = bytes_of(learner.snapshot(Path(task.name).stem, task.version))
    given_away, is_exact = _given_away(program, env, learner)
    return LearntSeed(
        task.seed, file, given_away, is_exact, report.updates, report.decisions, report.seconds
    )


def _given_away(program: GameDefinition, env: Environment, learner: Learner) -> tuple[float, bool]:
    """`given_away` and `is_exact` of `LearntSeed`."""
    from ggp.labs.learning.env import make
    from ggp.labs.learning.env.exact import ExactGame

    try:
        exact = ExactGame(make(program, 1, backend=env.machine.backend), MAX_STATES)
    except (ConfigError, MachineError, SolvingError):
        if len(env.roles) == 1:
            return _missed(learner), False
        return sum(gained(env, learner.policies()).values()), False
    policies = learner.policies()
    tables = (
        policies[role].at_sets(sets) for role, sets in zip(env.roles, exact.sets, strict=True)
    )
    return exact.worth(*tables).nash_conv, True


def _missed(learner: Learner) -> float:
    """The highest goal less the mean goal of the only role in the last segment."""
    (reward,) = learner.curve[-1]["rewards"].values()
    highest = learner.env.machine.goal_range[1]
    return highest if reward is None else highest - reward


# ------------------------------------------------------------------------
# Approximate exploitability: each role in turn learns to respond to the policies of the others.
#
# Learning is the same, but one role learns, at a lower temperature, since the others never change.
# The responder's mean goal in fresh matches, less the mean goal of the role's own policy in as many
# matches, is in expectation no more than the gain of a best response. So the sum over roles is,
# except for noise, a lower bound on NashConv. With equal budgets it compares policies of one game.
# `ggp respond` measures any player, and has intervals.

UPDATES, MATCHES = 100, 4096
"""Updates of each responder, and number of fresh matches after them."""

RESPONDING = Settings(slower=1.0, warm=0.05, cold=0.005)
"""The settings of responders."""


class ByPolicies:
    """Moves roles by policies in the lanes of an environment: an `Others` of the learner."""

    def __init__(self, env: Environment, policies: Mapping[str, LearntPolicy], seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._seats = [
            (
                index,
                Reader(policies[role].features, env.num_lanes, index),
                Drawing(policies[role].net, env.num_lanes),
            )
            for index, role in enumerate(env.roles)
            if role in policies
        ]

    def __call__(self, turn: Turn) -> I64:
        """`[L, Q]` actions, -1 where there is no choice, or no policy."""
        actions = np.full(turn.moves.shape, -1, dtype=np.int64)
        keys = self._rng.integers(1 << 63, size=len(self._seats), dtype=np.uint64)
        for key, (index, reader, drawing) in zip(keys, self._seats, strict=True):
            drawing.choices.begin()  # sums updated for ever would drift by rounding
            drawing.act(reader.read(turn), key, actions[:, index])
        return actions


def gained(
    env: Environment,
    policies: Mapping[str, LearntPolicy],
    updates: int = UPDATES,
    matches: int = MATCHES,
    seed: int = 0,
) -> dict[str, float]:
    """The gain of each role by a learnt response, in goals; below 0 if it learnt too little.

    Args:
        env: an environment of all players; it is reset.
        policies: policies of all players.
        matches: number of matches for each mean.
        seed: seed of all random draws.
    """
    engine = engine_of(env.machine, env.names)

    def means(profile: Mapping[str, LearntPolicy]) -> np.ndarray:
        rollouts = Rollouts(engine, [profile[role] for role in env.roles])
        rng = np.random.default_rng(seed)
        return np.asarray(rollouts.matches(matches, rng).goals.mean(axis=0))

    usual, gains = means(policies), {}
    for index, role in enumerate(env.roles):
        opponents = {name: policy for name, policy in policies.items() if name != role}
        learner = Learner(
            env,
            roles=[role],
            others=ByPolicies(env, opponents, seed),
            settings=RESPONDING,
            seed=seed,
        )
        learner.learn(updates=updates)
        best = means({**policies, **learner.policies()})
        gains[role] = float(best[index] - usual[index])
    return gains
