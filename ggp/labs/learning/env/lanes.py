"""The lanes of one thread: a slice of an environment.

Slices share nothing but the arrays that they fill in, each its own rows. So threads need no locks,
and a lane does not depend on the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.errors import IllegalMoveError, MachineError, NoLegalMoveError
from ggp.labs.learning.env.engine import Engine
from ggp.labs.learning.env.kernels import FINE, I32, I64, U64, Bools, choose, note, restart
from ggp.machine.arrays import unpack
from ggp.machine.base import IntArray, States


class Arrays(NamedTuple):
    """The output arrays of L lanes, see `Turn`; made anew for each turn."""

    rewards: NDArray[np.float32]
    terminated: Bools
    truncated: Bools
    turns: I32
    episodes: I64
    moves: I32
    mask_bits: U64
    percept_bits: U64

    @classmethod
    def empty(cls, lanes: int, roles: int, mask_words: int, percept_words: int) -> Arrays:
        """Arrays in which nothing has begun, and nothing is legal."""
        return cls(
            np.zeros((lanes, roles), dtype=np.float32),
            np.zeros(lanes, dtype=np.bool_),
            np.zeros(lanes, dtype=np.bool_),
            np.zeros(lanes, dtype=np.int32),
            np.zeros(lanes, dtype=np.int64),
            np.empty((lanes, roles), dtype=np.int32),
            np.zeros((lanes, roles, mask_words), dtype=np.uint64),
            np.empty((lanes, roles, percept_words), dtype=np.uint64),
        )

    def next(self) -> Arrays:
        """The arrays of the next turn, in which nothing has happened yet."""
        return Arrays._make(array.copy() for array in self)._replace(
            rewards=np.zeros_like(self.rewards)
        )

    def part(self, first: int, end: int) -> Arrays:
        """The arrays of some lanes."""
        return Arrays._make(array[first:end] for array in self)


class Plan(NamedTuple):
    """Settings common to all lanes of an environment.

    Attributes:
        played: `[Q]` the players that choose their moves.
        max_turns: number of turns after which an episode is cut off.
        restarts: whether lanes begin anew by themselves.
        paths: `[L, Q, T, K]` of all lanes, see `Turn`.
    """

    engine: Engine
    played: IntArray
    max_turns: int
    restarts: bool
    paths: I32


class Lanes:
    """Lanes `first .. end` of an environment.

    Attributes:
        states: states of the lanes.
    """

    def __init__(self, plan: Plan, first: int, end: int) -> None:
        self._plan = plan
        self._first, self._end = first, end
        engine = plan.engine
        num = end - first
        self._start = engine.look(engine.initial(1))
        self.states: States = engine.initial(num)
        self._look = np.repeat(self._start, num, axis=0)
        movers = len(engine.starts) - 2
        self._actions = np.zeros((num, movers), dtype=np.int64)
        self._keys = np.zeros(num, dtype=np.uint64)
        self._word = np.zeros(1, dtype=np.uint64)
        self._paths = plan.paths[first:end]

    def put(self, states: States) -> None:
        """Set the states of all lanes."""
        self.states, self._look = states, self._plan.engine.look(states)

    def begin(self, arrays: Arrays, lanes: IntArray) -> None:
        """Begin new episodes in some lanes, by their numbers here."""
        engine = self._plan.engine
        self._look[lanes] = self._start
        self.states = engine.merged(self.states, engine.initial(len(self._look)), lanes)
        self._told_anew(arrays.part(self._first, self._end), lanes)

    def choose(self, before: Arrays, given: I64, seeds: U64, numbers: I64) -> None:
        """Determine everybody's next action.

        Args:
            given: `[L, R]` actions of all players, -1 for those to be drawn.
            seeds, numbers: `[L]`, see `Environment.reset`.

        Raises:
            IllegalMoveError: an action is not legal.
            NoLegalMoveError: a role has no legal move.
        """
        before = before.part(self._first, self._end)
        wrong = choose(
            self._look,
            self._plan.engine.starts,
            self._live(before),
            given[self._first : self._end],
            seeds[self._first : self._end],
            numbers[self._first : self._end],
            before.episodes,
            before.turns,
            self._word,
            self._actions,
            self._keys,
        )
        if wrong != FINE:
            lane, mover = divmod(wrong, self._actions.shape[1])
            is_given = mover < given.shape[1]
            self._refuse(lane, mover, int(given[self._first + lane, mover]) if is_given else -1)

    def play(self, before: Arrays, after: Arrays) -> None:
        """Make the chosen moves, and record the results.

        Raises:
            GoalError: a goal value is not a number.
            MachineError: a player got more percepts than there is room for.
        """
        plan, engine = self._plan, self._plan.engine
        live = self._live(before.part(self._first, self._end))
        told = after.part(self._first, self._end)
        states, percepts = engine.play(self.states, self._actions, self._keys)
        look = engine.look(states)
        over = np.flatnonzero(~live)
        if len(over):
            states = engine.merged(states, self.states, over)
            look[over] = self._look[over]
        wrong = note(
            look,
            engine.starts,
            live,
            self._actions,
            percepts,
            plan.played,
            len(engine.names.moves),
            plan.max_turns,
            told.turns,
            told.terminated,
            told.truncated,
            told.moves,
            told.percept_bits,
            told.mask_bits,
            self._paths,
        )
        if wrong != FINE:
            raise MachineError(
                f"lane {self._first + wrong}: a role got more than {self._paths.shape[3] - 1} "
                "percepts in one turn, which is what max_percepts says; make it with more"
            )
        self.states, self._look = states, look
        self._reward(told, np.flatnonzero(told.terminated & live))
        if plan.restarts:
            ended = np.flatnonzero(told.terminated | told.truncated)
            if len(ended):
                self._look[ended] = self._start
                self.states = engine.merged(states, engine.initial(len(look)), ended)
                self._told_anew(told, ended)

    def _reward(self, told: Arrays, ended: IntArray) -> None:
        if len(ended):
            goals = self._plan.engine.goals(self.states.take(ended))
            told.rewards[ended] = goals[:, self._plan.played]

    def _told_anew(self, told: Arrays, lanes: IntArray) -> None:
        restart(
            lanes,
            self._start,
            self._plan.engine.starts,
            self._plan.played,
            told.turns,
            told.episodes,
            told.moves,
            told.percept_bits,
            told.mask_bits,
            self._paths,
        )

    def _live(self, told: Arrays) -> Bools:
        """`[L]` whether a lane plays on."""
        if self._plan.restarts:
            return np.ones(len(told.turns), dtype=np.bool_)
        return ~(told.terminated | told.truncated)

    def _refuse(self, lane: int, mover: int, action: int) -> None:
        engine = self._plan.engine
        names = engine.names
        is_player = mover < len(names.roles)
        role, texts = (names.roles[mover], names.moves) if is_player else ("random", names.chance)
        start, end = engine.starts[1 + mover], engine.starts[2 + mover]
        bits = unpack(self._look[lane : lane + 1, start:end], len(texts))[0]
        legal = [texts[k] for k in np.flatnonzero(bits).tolist()]
        if not legal:
            words = engine.fluent_words(self.states.take(np.array([lane])))
            held = unpack(words, len(names.fluents))[0]
            raise NoLegalMoveError(role, [names.fluents[k] for k in np.flatnonzero(held).tolist()])
        shown = texts[action] if 0 <= action < len(texts) else f"action {action}"
        raise IllegalMoveError(role, f"in lane {self._first + lane}, {shown}", sorted(legal))
