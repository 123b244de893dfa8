"""Rollouts: matches that are played to their ends from given states, all roles by their policies.

Each role knows only its own path, as in a match. Lanes that are over are dropped, so that a turn
costs as much as there are matches going on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ggp.errors import NoLegalMoveError
from ggp.labs.learning.env.engine import Engine
from ggp.labs.learning.env.kernels import FINE, I32, I64, U64, Bools, choose
from ggp.labs.learning.selfplay.features import observe, of_paths
from ggp.labs.learning.selfplay.policies import Drawing, LearntPolicy
from ggp.labs.learning.selfplay.threads import one_thread
from ggp.machine.base import FloatArray, IntArray, States

MOST_TURNS = 1000
"""Turns after which a match is broken off."""


class Ended(NamedTuple):
    """What came of L matches.

    Attributes:
        goals: `[L, Q]` goal values of the players; the value of broken ones where one was.
        turns: `[L]` to the end.
        finished: `[L]` whether the match came to its end.
    """

    goals: FloatArray
    turns: IntArray
    finished: Bools


class Rollouts:
    """Plays matches on by policies.

    Args:
        engine: of the game.
        policies: of each player, in the order of the engine's names; a role without one draws any
            legal move.
        middle: the goal value of matches that are broken off.
    """

    def __init__(
        self, engine: Engine, policies: Sequence[LearntPolicy | None], middle: float = 50.0
    ) -> None:
        self._engine, self._policies, self._middle = engine, policies, middle
        self._mask_words = int(engine.starts[2] - engine.starts[1])

    def matches(self, num: int, rng: np.random.Generator) -> Ended:
        """Whole matches."""
        rows = [
            np.zeros((num, 0 if policy is None else policy.features.num_words), dtype=np.uint64)
            for policy in self._policies
        ]
        for policy, each in zip(self._policies, rows, strict=True):
            if policy is not None and not policy.features.reads_state:
                masks = np.zeros((num, policy.features.mask_words), dtype=np.uint64)
                nothing = np.zeros((num, 0, 0), dtype=np.int32)
                turns = np.zeros(num, dtype=np.int32)
                each[:] = of_paths(policy.features, masks, nothing, turns)
        return self.run(self._engine.initial(num), rows, 0, -1, np.zeros(0, dtype=np.int64), rng)

    def run(
        self,
        states: States,
        rows: Sequence[U64],
        turns: int,
        role: int,
        actions: I64,
        rng: np.random.Generator,
        stop: Callable[[], bool] = lambda: False,
    ) -> Ended:
        """One match from each of L states, none of which is over.

        Args:
            rows: `[L, W]` of each player, what it knows (`features`), whatever they say
                is legal; they are used up.
            turns: that were made before.
            role: whose first action is given; -1 for nobody's.
            actions: `[L]` it; one that is not legal becomes a random legal one.
            stop: asked once a turn; when true, all matches that go on are broken off.

        Raises:
            NoLegalMoveError: a role has no legal move, which is a mistake of the rulesheet.
        """
        engine, num = self._engine, len(states)
        goals = np.full((num, len(self._policies)), self._middle)
        finished, lasted = np.zeros(num, dtype=np.bool_), np.zeros(num, dtype=np.int64)
        lanes = np.arange(num)
        seats = [
            None if policy is None else _Seat(policy, each)
            for policy, each in zip(self._policies, rows, strict=True)
        ]
        seed = np.uint64(rng.integers(1 << 63))
        look = engine.look(states)
        for seat, masks in zip(seats, self._masks(look).swapaxes(0, 1), strict=True):
            if seat is not None:
                seat.see(masks, engine, states)
        given = actions
        with one_thread():
            for turn in range(MOST_TURNS):
                if stop():
                    lasted[lanes] = turn
                    break
                chosen = self._chosen(seats, look, role if turn == 0 else -1, given, rng)
                made, keys = self._made(look, chosen, seed, turns + turn)
                states, percepts = engine.play(states, made, keys)
                look = engine.look(states)
                over = (look[:, 0] & np.uint64(1)).astype(np.bool_)
                if over.any():
                    ended, on = np.flatnonzero(over), np.flatnonzero(~over)
                    goals[lanes[ended]] = engine.goals(states.take(ended))
                    finished[lanes[ended]], lasted[lanes[ended]] = True, turn + 1
                    states, look, lanes = states.take(on), look[on], lanes[on]
                    made, percepts = made[on], percepts[on]
                    for seat in seats:
                        if seat is not None:
                            seat.take(on)
                if not len(lanes):
                    break
                masks = self._masks(look)
                told = made[:, : len(seats)].astype(np.int32)
                now = np.full(len(lanes), turns + turn + 1, dtype=np.int32)
                for number, seat in enumerate(seats):
                    if seat is not None:
                        seat.observe(masks, told, percepts, now, number, engine, states)
            else:
                lasted[lanes] = MOST_TURNS
        return Ended(goals, lasted, finished)

    def _masks(self, look: U64) -> U64:
        """`[L, Q, words]` what is legal for the players."""
        start, end = self._engine.starts[1], self._engine.starts[1 + len(self._policies)]
        return np.ascontiguousarray(look[:, start:end]).reshape(len(look), -1, self._mask_words)

    def _chosen(
        self,
        seats: Sequence[_Seat | None],
        look: U64,
        role: int,
        given: I64,
        rng: np.random.Generator,
    ) -> I64:
        """`[L, Q]` actions of the players, -1 for those to be drawn."""
        chosen = np.full((len(look), len(seats)), -1, dtype=np.int64)
        keys = rng.integers(1 << 63, size=len(seats), dtype=np.uint64)
        for number, seat in enumerate(seats):
            if number == role:
                start = self._engine.starts[1 + number]
                words = look[np.arange(len(look)), start + (given >> 6)]
                legal = (words >> (given & 63).astype(np.uint64)) & np.uint64(1)
                chosen[:, number] = np.where(legal, given, -1)
            elif seat is not None:
                seat.act(keys[number], chosen[:, number])
        return chosen

    def _made(self, look: U64, chosen: I64, seed: np.uint64, turn: int) -> tuple[I64, U64]:
        """`[L, M]` actions of all movers, and `[L]` random bits."""
        num, starts = len(look), self._engine.starts
        made, keys = np.zeros((num, len(starts) - 2), dtype=np.int64), np.zeros(num, np.uint64)
        live, episodes = np.ones(num, dtype=np.bool_), np.zeros(num, dtype=np.int64)
        now, word = np.full(num, turn, dtype=np.int32), np.zeros(1, dtype=np.uint64)
        seeds, numbers = np.full(num, seed), np.arange(num)
        wrong = choose(look, starts, live, chosen, seeds, numbers, episodes, now, word, made, keys)
        if wrong != FINE:
            roles = (*self._engine.names.roles, "random")
            raise NoLegalMoveError(roles[wrong % made.shape[1]], [])
        return made, keys


class _Seat:
    """A role in L lanes: what it knows, and its moves."""

    def __init__(self, policy: LearntPolicy, rows: U64) -> None:
        self._features, self._rows = policy.features, rows
        self._drawing = Drawing(policy.net, len(rows))

    def take(self, lanes: IntArray) -> None:
        """Go on in these lanes only."""
        self._rows = self._rows[lanes]
        self._drawing.take(lanes)

    def see(self, masks: U64, engine: Engine, states: States) -> None:
        """Take down what is legal in the first states."""
        words = self._features.mask_words
        self._rows[:, :words] = masks
        if self._features.reads_state:
            self._rows[:, words:] = engine.fluent_words(states)

    def observe(
        self,
        masks: U64,
        moves: I32,
        percepts: U64,
        turns: I32,
        number: int,
        engine: Engine,
        states: States,
    ) -> None:
        """Take down what a turn tells the role, whose number this is."""
        features = self._features
        if features.reads_state:
            self.see(masks[:, number], engine, states)
        else:
            observe(masks, moves, percepts, turns, number, features.layout, self._rows)

    def act(self, key: np.uint64, chosen: I64) -> None:
        """Draw a move in each lane in which there is a choice; `chosen` is filled in there."""
        self._drawing.choices.clear()
        self._drawing.act(self._rows, key, chosen)
