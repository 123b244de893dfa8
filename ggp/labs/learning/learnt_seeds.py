"""Policies learnt from several seeds, here or on a cluster: the least exploitable is kept.

Runs that differ in nothing but the seed differ in what they give away, and head-to-head scores hide
that. So each is judged where it was learnt: by its exact NashConv in games whose trees can be
walked, elsewhere by what responders learn to gain (`judging`), all from the same seed and
with as many updates. In games of one role, by what it misses of the highest goal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ggp.errors import ConfigError, MachineError, MatchError, SolvingError

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
    from ggp.labs.learning.selfplay.judging import gained

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
