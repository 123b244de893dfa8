"""What states are worth by a critic, which learnt it by self-play: in a file that the user names,
or in the start clock of this very match.

A critic sees the state, but it has learnt from play in which roles move by what they know. So what
it says of a state is no secret that anybody is taken to have found out.
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from ggp.env.circuit_engine import engine_of, suits
from ggp.env.engine import Engine
from ggp.env.environment import Environment
from ggp.env.names import Names, names_of
from ggp.errors import ConfigError
from ggp.learn import Learner, Settings, StoppedError
from ggp.learn.files import read_policy
from ggp.learn.policies import LearntValues
from ggp.machine.base import FloatArray, Machine, States, player_roles
from ggp.machine.definition import GameDefinition
from ggp.search.anytime import Deadline

_log = logging.getLogger(__name__)

LANES = 512
"""Matches side by side while a critic learns."""

HASTY = Settings(hidden=(64,), rate=1e-2, warm=0.1, cold=0.03)
"""How it learns in little time: with play that is sharp early, its critic says more of what states
are worth to players who search. docs/measured/learning.md has what else was tried."""

MOST_MOVES = 2048
"""Most moves of a game that is learnt in a start clock: an update, which nothing ends before its
time, takes as long as there are moves."""


class CriticValues:
    """The `StateValues` of a critic.

    Args:
        engine: of the machine whose states are valued.
    """

    def __init__(self, machine: Machine, engine: Engine, learnt: LearntValues) -> None:
        self._engine, self._learnt = engine, learnt
        self._players, self._num_roles = player_roles(machine), len(machine.roles)
        self._low, high = machine.goal_range
        self._range = max(high - self._low, 1e-9)

    def __call__(self, states: States) -> FloatArray:
        goals = self._learnt.at(self._engine.fluent_words(states))
        found = np.full((len(states), self._num_roles), 0.5)
        found[:, self._players] = np.clip((goals - self._low) / self._range, 0.0, 1.0)
        return found


def values_in(file: str, machine: Machine, program: GameDefinition | None) -> CriticValues:
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
        raise ConfigError(f"the critic in {file} reads more than the state; no leaf can be valued")
    return CriticValues(machine, engine_of(machine, names), learnt)


def new_learner(
    program: GameDefinition,
    machine: Machine,
    names: Names,
    seed: int,
    lanes: int,
    settings: Settings | None = None,
    *,
    proves: bool = False,
) -> Learner:
    """A learner of all roles, by as many threads as the machine has.

    Args:
        lanes: matches side by side.
        settings: default: the usual ones.
        proves: see `Environment`; policies read it where roles do not know the state.
    """
    threads = machine.threads if suits(machine) else 1
    env = Environment(
        program, machine, lanes, paths=False, names=names, threads=threads, proves=proves
    )
    return Learner(env, seed=seed, settings=settings, threads=threads)


def is_learnt_in_time(machine: Machine) -> bool:
    """Whether there is a circuit, and so few moves that an update takes little of a start clock."""
    if not suits(machine):
        return False
    moves = [machine.circuit_moves(role) for role in player_roles(machine)]
    return len(np.unique(np.concatenate(moves))) <= MOST_MOVES


def learnt_values(
    machine: Machine, program: GameDefinition, seed: int, until: Deadline, deadline: Deadline
) -> CriticValues | None:
    """What states are worth by a critic that learns now; None if it was stopped, or if states are
    not all that it reads.

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
