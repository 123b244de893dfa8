"""State values from a critic that learnt by self-play, and policies learnt during a match.

A critic is trained during the match's start clock, for trees, or read from a policy file that the
user names with `evaluation=FILE` (`Evaluation`).
`MatchLearner` learns policies for the player `learned` within the clocks of a match.

A critic sees the state, but it learnt from matches in which roles move by their own knowledge. So
its values do not assume that a role knows the hidden part of a state.
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
"""Matches played side by side while a critic learns."""

HASTY = Settings(hidden=(64,), rate=1e-2, warm=0.1, cold=0.03)
"""Settings for when time is short: the temperatures are low, so that policies soon prefer the best
moves, and the critic's values suit players that search. docs/measured/learning.md lists the
alternatives tried."""

MIN_UPDATES = 50
"""Updates before a critic may value leaves: in dark_chess 32 were not enough, 63 were."""

TRIAL_UPDATES = 4
"""Updates after which learning ends if only half of `MIN_UPDATES` would fit."""

MAX_MOVES = 2048
"""Greatest number of moves that a game may have to be learnt during a start clock: the time of an
update, which cannot be interrupted, is proportional to the number of moves."""

MANY_LANES, FEW_LANES, SLOW_LANES = 1024, 128, 32
"""Matches played side by side (lanes) while policies are learnt. `MANY_LANES` is for circuits,
`FEW_LANES` for circuits when time is short, so that an update ends soon. `SLOW_LANES` is for slower
machines, where a segment, the turns between two updates, must fit into a start clock; with only 4
lanes, each lane would cost four times as much."""

ROOMY_S, ROOMY_BUILDS = 2.0, 10
"""A second learner, on a circuit with `MANY_LANES`, is built, and a proof that bounds the length of
matches is attempted (up to a second), only if at least `ROOMY_S` seconds remain, and at least
`ROOMY_BUILDS` times the time that the small learner took to build."""

PROOF_SHARE = 0.5
"""Largest share of the time that this proof may take: see `stop` of `Environment`."""

SLOW_STEP = 8
"""A turn with `SLOW_LANES` lanes takes at most as long as this many turns with a single lane."""


class CriticValues:
    """A critic as an `Evaluation`, also for all roles at once (`JointEvaluation`).

    Args:
        machine: the machine whose states are valued.
        engine: an engine of this machine.
        learnt: the critic.
    """

    def __init__(self, machine: Machine, engine: Engine, learnt: LearntValues) -> None:
        self._machine, self._engine, self._learnt = machine, engine, learnt
        self._players = player_roles(machine)

    certain = True

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """See `Evaluation`."""
        goals, turns = self.goals(states, rng, deadline)
        return goals[:, role], turns

    def goals(
        self, states: States, rng: np.random.Generator, deadline: Deadline | None = None
    ) -> tuple[FloatArray, IntArray]:
        """See `JointEvaluation`."""
        check(deadline)
        goals = np.full((len(states), len(self._machine.roles)), 50.0)
        goals[:, self._players] = self._learnt.at(self._engine.fluent_words(states))
        return goals, np.zeros(len(states), dtype=np.int64)


class PolicyFiles:
    """Evaluations by policy files: see `ggp.players.options.evaluations.EvaluationForm`."""

    def check(self, file: str) -> None:
        read_policy(Path(file))

    def make(
        self, file: str, machine: Machine, role: int, program: GameDefinition | None
    ) -> CriticValues:
        """The values of the critic in a file of `ggp learn`.

        Raises:
            ConfigError: there is no such file, or it is for another game; its critic reads more
                than the state; or the rules are not known.
        """
        if program is None:
            raise ConfigError(f"evaluation={file} needs the rules of the game, and was given none")
        names, policy_file = names_of(program, machine), read_policy(Path(file))
        policy_file.check_game(names, file)
        learnt = policy_file.values()
        if learnt is None:
            raise ConfigError(
                f"the critic in {file} reads more than the state, so it cannot value leaves"
            )
        return CriticValues(machine, engine_of(machine, names), learnt)

    def is_learnt_in_time(self, machine: Machine) -> bool:
        """Whether an update fits into a start clock: if the machine is a circuit with at most
        `MAX_MOVES` moves."""
        if not suits(machine):
            return False
        moves = [machine.circuit_moves(role) for role in player_roles(machine)]
        return len(np.unique(np.concatenate(moves))) <= MAX_MOVES

    def learnt(
        self,
        machine: Machine,
        program: GameDefinition,
        seed: int,
        until: Deadline,
        deadline: Deadline,
    ) -> CriticValues | None:
        """The values of a critic that learns now; None if learning was stopped or ended with fewer
        than `MIN_UPDATES`, or if the critic reads more than the state.

        Args:
            machine: a machine for which `is_learnt_in_time` is true.
            until: when learning should end.
            deadline: when learning must end; the clock may be past it already when it is read.
        """
        names = names_of(program, machine)
        learner = new_learner(program, machine, names, seed, LANES, HASTY)
        left_s = max(until.left_s(), 1e-9)

        def stop() -> bool:
            """Whether the match begins, or so few updates will fit that they are for nothing."""
            updates, spent_s = learner.updates, left_s - until.left_s()
            slow = updates >= TRIAL_UPDATES and updates * left_s < MIN_UPDATES * spent_s / 2
            return slow or deadline.passed()

        try:
            learner.learn(seconds=left_s, clock=until.clock, stop=stop)
        except StoppedError:
            _log.info("learning what states are worth ended after %d updates", learner.updates)
            return None
        if learner.updates < MIN_UPDATES:
            _log.info("%d updates are too few to know what states are worth", learner.updates)
            return None
        learnt = learner.values()
        _log.info("learnt what states are worth from %d decisions", learner.decisions)
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
    """A learner of all roles, with as many threads as the game machine may use.

    Args:
        lanes: number of matches played side by side.
        settings: default: `usual_settings`.
        stop: see `Environment`. The proof matters where roles do not know the state: there the
            features of policies depend on the bound on the length of matches.
    """
    threads = machine.threads if suits(machine) else 1
    env = Environment(
        program, machine, lanes, Episodes(paths=False), threads=threads, names=names, stop=stop
    )
    return Learner(env, seed=seed, settings=settings, threads=threads)


class MatchLearner:
    """Learns policies of all roles during a match, in the time that the clock leaves.

    Work that cannot be interrupted is done before the clock runs: machine code is loaded, and a
    learner with few lanes is built. When time is short, this small learner is the one that learns,
    during several decisions if necessary. Learning stops before the deadline, by a margin equal to
    the longest time so far between two readings of the clock.

    Args:
        clock: the clock of the match.
    """

    def __init__(
        self,
        program: GameDefinition,
        machine: Machine,
        names: Names,
        seed: int,
        clock: Callable[[], float],
    ) -> None:
        self._learner_args = program, machine, names, seed
        self._stop = None if names.is_plain else never  # None: no proof is needed
        self._small_learner: Learner | None = None
        try:
            trial = new_learner(*self._learner_args, 1, Settings(turns=1))
            trial.learn(updates=1)  # loads machine code
            lanes = FEW_LANES if suits(machine) else SLOW_LANES
            began_s = clock()
            trial.learn(updates=1)
            self._step_s = (clock() - began_s) * (1 if suits(machine) else SLOW_STEP)
            began_s = clock()
            self._small_learner = new_learner(*self._learner_args, lanes)
            self._build_s = clock() - began_s
        except GGPError as error:
            self._error = error

    def learn(self, updates: int) -> dict[str, LearntPolicy]:
        """Learn without a clock.

        Raises:
            GGPError: the game cannot be learnt.
        """
        learner = new_learner(*self._learner_args, self._lanes, stop=self._stop)
        learner.learn(updates=updates)
        return learner.policies()

    def learn_until(self, until: Deadline, deadline: Deadline) -> dict[str, LearntPolicy]:
        """Learn while there is time; returns no policies if it was too short for an update.

        Args:
            until: when learning should end.
            deadline: when learning must end; the clock may be past it already when it is read.

        Raises:
            GGPError: the game cannot be learnt.
        """
        if self._small_learner is None:
            raise self._error
        learner, left_s = self._small_learner, until.left_s()
        if left_s >= max(ROOMY_S, ROOMY_BUILDS * self._build_s):
            stop = self._stop and until.part(PROOF_SHARE).passed
            learner = new_learner(*self._learner_args, self._lanes, stop=stop)
        stops = StopsEarly(deadline, self._step_s)
        try:
            left_s = max(until.left_s(), 1e-9)
            learner.learn(seconds=left_s, clock=until.clock, stop=stops.is_late)
        except StoppedError:
            pass
        if not learner.curve:
            return {}
        _log.info("learnt from %d decisions", learner.decisions)
        return learner.policies()

    @property
    def _lanes(self) -> int:
        return MANY_LANES if suits(self._learner_args[1]) else SLOW_LANES


class StopsEarly:
    """Stops when the next step might end after the deadline, judged by the longest step so far.

    Args:
        step_s: duration of the longest step so far.
    """

    def __init__(self, deadline: Deadline, step_s: float) -> None:
        self._deadline, self._longest_s = deadline, step_s
        self._before_s = deadline.clock()

    def is_late(self) -> bool:
        """Whether to stop; called before each step."""
        now_s = self._deadline.clock()
        self._longest_s = max(self._longest_s, now_s - self._before_s)
        self._before_s = now_s
        return now_s + self._longest_s >= self._deadline.at_s
