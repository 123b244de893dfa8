"""What states are worth by a critic, which learnt it by self-play: in a file that the user names,
or in the start clock of this very match. And `MatchLearner`, which learns policies in a match.

A critic sees the state, but it has learnt from play in which roles move by what they know. So what
it says of a state is no secret that anybody is taken to have found out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ggp.belief import never
from ggp.errors import ConfigError, GGPError
from ggp.labs.learning.env.engine import Engine, engine_of, suits
from ggp.labs.learning.env.environment import Environment, Episodes
from ggp.labs.learning.selfplay import Learner, Settings, StoppedError
from ggp.labs.learning.selfplay.files import read_policy
from ggp.labs.learning.selfplay.policies import LearntPolicy, LearntValues
from ggp.machine.base import FloatArray, IntArray, Machine, States, player_roles
from ggp.machine.definition import GameDefinition
from ggp.search.anytime import Deadline, check
from ggp.study.names import Names, names_of

_log = logging.getLogger(__name__)

LANES = 512
"""Matches side by side while a critic learns."""

HASTY = Settings(hidden=(64,), rate=1e-2, warm=0.1, cold=0.03)
"""How it learns in little time: with play that is sharp early, its critic says more of what states
are worth to players who search. docs/measured/learning.md has what else was tried."""

MOST_MOVES = 2048
"""Most moves of a game that is learnt in a start clock: an update, which nothing ends before its
time, takes as long as there are moves."""

MANY_LANES, FEW_LANES, SLOW_LANES = 1024, 128, 32
"""Matches side by side while policies are learnt: with a circuit; the same where there is little
time, and an update must end soon; and on slower machines, where a lane costs four times as much if
there are only 4, and where all of a segment must fit into a start clock."""

ROOMY_S, ROOMY_BUILDS = 2.0, 10
"""Seconds from which on a learner with many lanes is built, and a proof is tried, which takes up to
a second; and how many times as long as the one with few lanes took to build there must be."""

PROOF_SHARE = 0.5
"""Most of the time that a proof may take: see `Environment`."""

SLOW_STEP = 8
"""A turn of `SLOW_LANES` takes no longer than so many of a single lane."""


class CriticValues:
    """The `StateValues` of a critic, which is an `Evaluation` too.

    Args:
        engine: of the machine whose states are valued.
    """

    def __init__(self, machine: Machine, engine: Engine, learnt: LearntValues) -> None:
        self._engine, self._learnt = engine, learnt
        self._players, self._num_roles = player_roles(machine), len(machine.roles)
        self._low, high = machine.goal_range
        self._range = max(high - self._low, 1e-9)

    certain = True

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """See `Evaluation`."""
        check(deadline)
        goals = self._low + self._range * self(states)[:, role]
        return goals, np.zeros(len(states), dtype=np.int64)

    def __call__(self, states: States) -> FloatArray:
        goals = self._learnt.at(self._engine.fluent_words(states))
        found = np.full((len(states), self._num_roles), 0.5)
        found[:, self._players] = np.clip((goals - self._low) / self._range, 0.0, 1.0)
        return found


class PolicyFiles:
    """Files that `ggp learn` wrote: see `ggp.players.options.evaluations.EvaluationForm`."""

    def check(self, file: str) -> None:
        read_policy(Path(file))

    def make(
        self, file: str, machine: Machine, role: int, program: GameDefinition | None
    ) -> CriticValues:
        """What states are worth by the critic in a file of `ggp learn`.

        Raises:
            ConfigError: there is no such file, or it is of another game; its critic reads more than
                the state; or the rules are not known.
        """
        if program is None:
            raise ConfigError(f"values={file} needs the rules of the game, and was given none")
        names, kept = names_of(program, machine), read_policy(Path(file))
        kept.check_game(names, file)
        learnt = kept.values()
        if learnt is None:
            raise ConfigError(
                f"the critic in {file} reads more than the state; no leaf can be valued"
            )
        return CriticValues(machine, engine_of(machine, names), learnt)

    def is_learnt_in_time(self, machine: Machine) -> bool:
        """Whether there is a circuit, and so few moves that an update takes little of a start
        clock."""
        if not suits(machine):
            return False
        moves = [machine.circuit_moves(role) for role in player_roles(machine)]
        return len(np.unique(np.concatenate(moves))) <= MOST_MOVES

    def learnt(
        self,
        machine: Machine,
        program: GameDefinition,
        seed: int,
        until: Deadline,
        deadline: Deadline,
    ) -> CriticValues | None:
        """What states are worth by a critic that learns now; None if it was stopped, or if states
        are not all that it reads.

        Args:
            machine: one that `is_learnt_in_time`.
            until: when it is to end.
            deadline: when it must: the clock may jump beyond it.
        """
        names = names_of(program, machine)
        learner = new_learner(program, machine, names, seed, LANES, HASTY)
        try:
            left_s = max(until.left_s(), 1e-9)
            learner.learn(seconds=left_s, clock=until.clock, stop=deadline.passed)
        except StoppedError:
            return None
        learnt = learner.values()
        _log.info("learned what states are worth from %d decisions", learner.decisions)
        return None if learnt is None else CriticValues(machine, engine_of(machine, names), learnt)


FORM = PolicyFiles()


def new_learner(
    program: GameDefinition,
    machine: Machine,
    names: Names,
    seed: int,
    lanes: int,
    settings: Settings | None = None,
    stop: Callable[[], bool] | None = None,
) -> Learner:
    """A learner of all roles, by as many threads as the machine has.

    Args:
        lanes: matches side by side.
        settings: default: the usual ones.
        stop: see `Environment`; policies read what is proved where roles do not know the state.
    """
    threads = machine.threads if suits(machine) else 1
    env = Environment(
        program, machine, lanes, Episodes(paths=False), threads=threads, names=names, stop=stop
    )
    return Learner(env, seed=seed, settings=settings, threads=threads)


class MatchLearner:
    """Learns policies of all roles in a match, within what time there is.

    What cannot be interrupted is done before the clock runs: machine code is loaded, and a learner
    with few lanes is built. Where there is little time, that one learns, in several decisions if
    need be. Learning stops early by the longest time that it has taken between two looks at the
    clock.

    Args:
        clock: of the match.
    """

    def __init__(
        self,
        program: GameDefinition,
        machine: Machine,
        names: Names,
        seed: int,
        clock: Callable[[], float],
    ) -> None:
        self._about = program, machine, names, seed
        self._stop = None if names.is_plain else never
        self._few: Learner | None = None
        try:
            first = new_learner(*self._about, 1, Settings(turns=1))
            first.learn(updates=1)  # loads machine code
            began_s = clock()
            first.learn(updates=1)
            self._step_s = (clock() - began_s) * (1 if suits(machine) else SLOW_STEP)
            began_s = clock()
            self._few = new_learner(*self._about, FEW_LANES if suits(machine) else SLOW_LANES)
            self._build_s = clock() - began_s
        except GGPError as error:
            self._error = error

    def learn(self, updates: int) -> dict[str, LearntPolicy]:
        """Learn without a clock.

        Raises:
            GGPError: the game cannot be learnt.
        """
        learner = new_learner(*self._about, self._lanes, stop=self._stop)
        learner.learn(updates=updates)
        return learner.policies()

    def learn_until(self, until: Deadline, deadline: Deadline) -> dict[str, LearntPolicy]:
        """Learn while there is time; returns none if there was not enough for an update.

        Args:
            until: when it is to end.
            deadline: when it must: the clock may jump beyond it.

        Raises:
            GGPError: the game cannot be learnt.
        """
        if self._few is None:
            raise self._error
        learner, left_s = self._few, until.left_s()
        if left_s >= max(ROOMY_S, ROOMY_BUILDS * self._build_s):
            stop = self._stop and until.part(PROOF_SHARE).passed
            learner = new_learner(*self._about, self._lanes, stop=stop)
        stops = StopsEarly(deadline, self._step_s)
        try:
            left_s = max(until.left_s(), 1e-9)
            learner.learn(seconds=left_s, clock=until.clock, stop=stops.asked)
        except StoppedError:
            pass
        if not learner.curve:
            return {}
        _log.info("learned from %d decisions", learner.decisions)
        return learner.policies()

    @property
    def _lanes(self) -> int:
        return MANY_LANES if suits(self._about[1]) else SLOW_LANES


class StopsEarly:
    """Stops where the next step might end after the deadline, judging by the longest so far.

    Args:
        step_s: seconds that a step takes at least, by earlier ones.
    """

    def __init__(self, deadline: Deadline, step_s: float) -> None:
        self._deadline, self._longest_s = deadline, step_s
        self._before_s = deadline.clock()

    def asked(self) -> bool:
        """Whether to stop; to be asked before each step."""
        now_s = self._deadline.clock()
        self._longest_s = max(self._longest_s, now_s - self._before_s)
        self._before_s = now_s
        return now_s + self._longest_s >= self._deadline.at_s
