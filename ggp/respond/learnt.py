"""The responder that learns by policy gradient on its own paths, in lanes of an environment.

It is `ggp.learn` with one role that learns; the others move as the measured player does. Where the
tree of `ggp.respond.response_tree` knows single paths, a net knows what they have in common: it is
for games whose paths are too many to be met again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ggp.clocks import cpu_seconds
from ggp.env.environment import Environment
from ggp.env.names import Names
from ggp.errors import ConfigError
from ggp.learn import Learner, LearntPolicy, Settings
from ggp.learn.path_rows import PathRows
from ggp.machine.arrays import take_segments
from ggp.machine.base import IntArray, Ragged, is_open
from ggp.respond.lanes import Sides
from ggp.respond.movers import Mover, PathPolicy
from ggp.respond.responders import Budget, Rival

_log = logging.getLogger(__name__)

CHEAP_LANES, ASKED_LANES = 512, 16
"""Lanes where all moves are made by tables, and where players are asked."""

BLOCKS = 4
"""Steps of learning in an update, each from as many lanes."""

SETTINGS = Settings(slower=1.0, warm=0.05, cold=0.005)
"""Cooler than in self-play: the others never change, so nothing has to come to rest."""

TEMPERATURE = 0.2
"""The policy that is judged is colder than the one that learnt: a best response needs no chance."""

_MOST_AT_ONCE = 4096
"""Paths at which a policy is worked out together."""

_LEAST = 1e-9
"""Added to each probability, so that they are above 0."""


class Learnt:
    """The responder with a net, for games in which not all is known to all.

    Raises:
        ConfigError: the game cannot be learnt, as where its moves have no names that can be listed.
    """

    name = "learnt"

    def __init__(self, rival: Rival, role: int, rng: np.random.Generator) -> None:
        if rival.program is None:
            raise ConfigError("to learn, the rules of the game are needed")
        self._rival, self._role, self._rng = rival, role, rng
        lanes = CHEAP_LANES if rival.is_cheap else ASKED_LANES
        settings = replace(SETTINGS, block=lanes // BLOCKS)
        self._env = Environment(rival.program, rival.machine, lanes, paths=False)
        self._sides = Sides(rival, self._env, rival.movers(role, rng))
        self._learner = Learner(
            self._env,
            roles=[rival.machine.roles[role]],
            others=self._sides,
            settings=settings,
            seed=int(rng.integers(1 << 31)),
        )

    def learn(self, budget: Budget, after: Callable[[int], None]) -> None:
        self._learner.learn(
            updates=budget.updates,
            seconds=budget.seconds,
            progress=lambda told: after(self._sides.matches),
            clock=cpu_seconds,
        )

    def mover(self) -> Mover:
        return _Follower(self._rival, self._role, self._env.names, self._policy, self._rng)

    @property
    def _policy(self) -> LearntPolicy:
        return self._learner.policies()[self._rival.machine.roles[self._role]]


def learnt(rival: Rival, role: int, rng: np.random.Generator) -> Learnt | None:
    """A learner, or None for games that it cannot learn."""
    if is_open(rival.machine):
        return None
    try:
        return Learnt(rival, role, rng)
    except ConfigError as error:
        _log.info("nobody learns to respond by gradients: %s", error)
        return None


class _Follower(PathPolicy):
    """Moves drawn by a policy that was learnt, worked out once for each path."""

    def __init__(
        self, rival: Rival, role: int, names: Names, policy: LearntPolicy, rng: np.random.Generator
    ) -> None:
        super().__init__(rival.machine, rival.paths, role, rng)
        self._policy, self._rows = policy, PathRows(rival.machine, rival.paths, names)

    def _ask(self, paths: IntArray, legal: Ragged) -> None:
        for start in range(0, len(paths), _MOST_AT_ONCE):
            some = np.arange(start, min(start + _MOST_AT_ONCE, len(paths)))
            offsets, at = take_segments(legal.offsets, some)
            part = Ragged(offsets, legal.values[at])
            shares = self._rows.shares(self._policy, paths[some], part, TEMPERATURE)
            self._note_all(paths[some], part, shares + _LEAST)
