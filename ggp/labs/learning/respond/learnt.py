"""The responder that learns by policy gradient on its own paths, in lanes of an environment.

It is self-play with one role that learns; the others move as the measured player does. Where the
tree of `response_tree` knows single paths, a net knows what they have in common: it is
for games whose paths are too many to be met again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ggp.errors import ConfigError
from ggp.labs.learning.env.environment import Environment, Episodes
from ggp.labs.learning.env.kernels import U64
from ggp.labs.learning.env.turn import Turn
from ggp.labs.learning.respond.movers import Mover, PathPolicy
from ggp.labs.learning.respond.responders import Budget, Rival
from ggp.labs.learning.selfplay import Learner, LearntPolicy, Settings
from ggp.labs.learning.selfplay.policies import NetPaths
from ggp.machine.arrays import take_segments, unpack
from ggp.machine.base import IntArray, Machine, Ragged, is_open
from ggp.run.clocks import cpu_seconds
from ggp.study.names import Names

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


class LearntResponder:
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
        self._env = Environment(rival.program, rival.machine, lanes, Episodes(paths=False))
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


def learnt(rival: Rival, role: int, rng: np.random.Generator) -> LearntResponder | None:
    """A learner, or None for games that it cannot learn."""
    if is_open(rival.machine):
        return None
    try:
        return LearntResponder(rival, role, rng)
    except ConfigError as error:
        _log.info("nobody learns to respond by gradients: %s", error)
        return None


class _Follower(PathPolicy):
    """Moves drawn by a policy that was learnt, worked out once for each path."""

    def __init__(
        self, rival: Rival, role: int, names: Names, policy: LearntPolicy, rng: np.random.Generator
    ) -> None:
        super().__init__(rival.machine, rival.paths, role, rng)
        self._policy, self._rows = policy, NetPaths(rival.machine, rival.paths, names)

    def _ask(self, paths: IntArray, legal: Ragged) -> None:
        for start in range(0, len(paths), _MOST_AT_ONCE):
            some = np.arange(start, min(start + _MOST_AT_ONCE, len(paths)))
            offsets, at = take_segments(legal.offsets, some)
            part = Ragged(offsets, legal.values[at])
            shares = self._rows.shares(self._policy, paths[some], part, TEMPERATURE)
            self._note_all(paths[some], part, shares + _LEAST)


# ------------------------------------------------------------------------
# The measured player in the lanes of an environment, where the responder learns.


class Numbers:
    """Moves and percepts of a machine, by their indices in an environment."""

    def __init__(self, machine: Machine, names: Names) -> None:
        self._machine, self._names = machine, names
        found = [machine.move_id(text) for text in names.moves]
        self.moves = np.array([-1 if each is None else each for each in found], dtype=np.int64)
        self._percepts: dict[bytes, int] = {}

    def percepts(self, bits: U64) -> IntArray:
        """`[L]` percept ids of `[L, words]` bits."""
        texts, found = self._names.percepts, np.empty(len(bits), dtype=np.int64)
        for lane, row in enumerate(bits):
            key = row.tobytes()
            if key not in self._percepts:
                some = np.flatnonzero(unpack(row[None], len(texts))[0]).tolist()
                said = self._machine.percept_id([texts[each] for each in some])
                assert said is not None
                self._percepts[key] = said
            found[lane] = self._percepts[key]
        return found

    def actions(self, moves: IntArray) -> IntArray:
        """`[K]` indices of moves."""
        order = np.argsort(self.moves)
        return np.asarray(order[np.searchsorted(self.moves, moves, sorter=order)])


class Sides:
    """The others in the lanes of an environment: `learner.Others`.

    Attributes:
        matches: that have begun.
    """

    def __init__(self, rival: Rival, env: Environment, others: Mapping[int, Mover]) -> None:
        self.matches = 0
        self._rival, self._env = rival, env
        self._numbers = Numbers(rival.machine, env.names)
        roles = rival.machine.roles
        self._others = {env.roles.index(roles[role]): each for role, each in others.items()}
        self._index = {env.roles.index(roles[role]): role for role in others}
        self._paths = np.zeros((env.num_lanes, len(env.roles)), dtype=np.int64)

    def __call__(self, turn: Turn) -> IntArray:
        actions = np.full(turn.moves.shape, -1, dtype=np.int64)
        new, old = np.flatnonzero(turn.turns == 0), np.flatnonzero(turn.turns > 0)
        self.matches += len(new)
        every, legal = np.arange(len(actions)), turn.legal
        for number, mover in self._others.items():
            if mover.is_loose(every).all():
                continue
            if len(new):
                mover.begin(new)
                self._paths[new, number] = self._index[number]
            self._tell(turn, number, mover, old)
            offsets, at = take_segments(legal.offsets, every * len(self._env.roles) + number)
            options = Ragged(offsets, self._numbers.moves[legal.values[at]])
            moves = mover.moves(every, self._paths[:, number], options)
            actions[:, number] = self._numbers.actions(moves)
        return actions

    def _tell(self, turn: Turn, number: int, mover: Mover, lanes: IntArray) -> None:
        if not len(lanes):
            return
        moves = self._numbers.moves[turn.moves[lanes, number]]
        percepts = self._numbers.percepts(turn.percept_bits[lanes, number])
        if mover.needs_paths:
            before = self._paths[lanes, number]
            self._paths[lanes, number] = self._rival.paths.extend(before, moves, percepts)
        mover.observe(lanes, moves, percepts)
