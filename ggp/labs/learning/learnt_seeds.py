"""Policies learnt from several seeds, here or on a cluster: the least exploitable is kept.

Runs that differ in nothing but the seed differ in what they give away, and head-to-head scores hide
that. So each is judged where it was learnt: by its exact NashConv in games whose trees can be
walked, elsewhere by what responders learn to gain (`gained`), all from the same seed and
with as many updates. In games of one role, by what it misses of the highest goal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ggp.errors import ConfigError, MachineError, MatchError, SolvingError
from ggp.labs.learning.env.engine import engine_of
from ggp.labs.learning.env.environment import Environment
from ggp.labs.learning.env.kernels import I64
from ggp.labs.learning.env.turn import Turn
from ggp.labs.learning.selfplay.features import Reader
from ggp.labs.learning.selfplay.learner import Learner, Settings
from ggp.labs.learning.selfplay.policies import Drawing, LearntPolicy
from ggp.labs.learning.selfplay.rollouts import Rollouts

if TYPE_CHECKING:
    from ggp.labs.learning.env.environment import Environment
    from ggp.labs.learning.selfplay import Learner
    from ggp.machine.definition import GameDefinition


MOST_STATES = 50_000
"""Trees up to this size are walked to judge policies."""


class Task(NamedTuple):
    """What one worker does.

    Attributes:
        name, text: of the game.
        backend, lanes: see `make`.
        updates, seconds: see `Learner.learn`.
        seed: of the learner.
        version: of the package, for the record in the file.
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
    """What was learnt from a seed.

    Attributes:
        seed: it.
        file: the bytes of a file of policies.
        given_away: what others gain by responding, in goals, all roles together; less is better.
        is_exact: whether that is the NashConv, and not what responders learnt to get.
        updates, decisions, seconds: see `Told`.
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
    progress: Callable[[LearntSeed], None] = lambda found: None,
) -> list[LearntSeed]:
    """Learn from several seeds, the least exploitable first.

    Args:
        tasks: one a seed.
        jobs, scheduler: where, see `match_runner.workers.places.open_executor`.
        progress: called with each as it comes.

    Raises:
        ConfigError: the place cannot be used.
        MatchError: a worker failed.
    """
    from match_runner.workers.places import open_executor, run_all

    found: list[LearntSeed] = []

    def keep(seed: int, learnt: LearntSeed) -> None:
        found.append(learnt)
        progress(learnt)

    with open_executor(jobs, scheduler, 0) as executor:
        pairs = ((task.seed, task) for task in tasks)
        failures = run_all(executor, learn_seed, pairs, keep, lambda seed: f"seed {seed}")
    if failures:
        raise MatchError("\n".join(failures))
    return sorted(found, key=lambda learnt: (learnt.given_away, learnt.seed))


def learn_seed(task: Task) -> LearntSeed:
    """Learn from one seed, and judge what was learnt."""
    from ggp.labs.learning.env import make
    from ggp.labs.learning.selfplay import Learner
    from ggp.labs.learning.selfplay.files import bytes_of
    from ggp.machine.games import read_program

    program = read_program(task.text, task.name, files=True)
    env = make(program, task.lanes, paths=False, backend=task.backend)
    learner = Learner(env, seed=task.seed)
    told = learner.learn(updates=task.updates, seconds=task.seconds)
    data = bytes_of(learner.kept(Path(task.name).stem, task.version))
    given_away, is_exact = _given_away(program, env, learner)
    return LearntSeed(
        task.seed, data, given_away, is_exact, told.updates, told.decisions, told.seconds
    )


def _given_away(program: GameDefinition, env: Environment, learner: Learner) -> tuple[float, bool]:
    """See `LearntSeed`."""
    from ggp.labs.learning.env import make
    from ggp.labs.learning.env.exact import ExactGame

    pass

    try:
        exact = ExactGame(make(program, 1, backend=env.machine.backend), MOST_STATES)
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
    """What the only role misses of the highest goal, in the last segment."""
    (reward,) = learner.curve[-1]["rewards"].values()
    highest = learner.env.machine.goal_range[1]
    return highest if reward is None else highest - reward


# ------------------------------------------------------------------------
# What policies give away, about: each role in turn learns to respond to those of the others.
#
# It is the same learning with one role that learns, cooler, since the others never change. What the
# responder gets in fresh matches, less what the role's own policy gets in as many, is in
# expectation no more than what a best response gains: the sum over roles is, but for noise, a lower
# bound on NashConv. Equal budgets make it a measure to choose among policies of one game. `ggp
# exploit --approximate` measures any player, and has intervals.

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
