"""Rollouts: whole matches played side by side, with a policy for each role.

`Rollouts` returns the goal values at the ends (`Ended`). Each role moves by its own path only, as
in a match. Lanes that are over are dropped, so that a turn costs no more than the matches that
still go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ggp.errors import NoLegalMoveError
from ggp.labs.learning.env.engine import Engine
from ggp.labs.learning.env.kernels import FINE, I32, I64, U64, Bools, choose, lane_keys
from ggp.labs.learning.selfplay.features import observe, of_paths
from ggp.labs.learning.selfplay.policies import Drawing, LearntPolicy
from ggp.labs.learning.threads import one_thread
from ggp.machine.base import FloatArray, IntArray, States

MAX_TURNS = 1000
"""Turns after which a match is broken off."""


class Ended(NamedTuple):
    """The outcome of L matches.

    Attributes:
        goals: `[L, Q]` goal values of the players, 50 in matches that were broken off.
        turns: `[L]` turns to the end.
        finished: `[L]` whether the match came to its end.
    """

    goals: FloatArray
    turns: IntArray
    finished: Bools


class Rollouts:
    """Plays matches to their ends by policies.

    Args:
        engine: the game.
        policies: the policy of each player, in the order of the engine's names.
    """

    def __init__(self, engine: Engine, policies: Sequence[LearntPolicy]) -> None:
        self._engine, self._policies = engine, policies

    def matches(self, num: int, rng: np.random.Generator) -> Ended:
        """Play `num` whole matches.

        Raises:
            NoLegalMoveError: a role has no legal move: an error in the rulesheet.
        """
        engine, states = self._engine, self._engine.initial(num)
        goals = np.full((num, len(self._policies)), 50.0)
        finished, lengths = np.zeros(num, dtype=np.bool_), np.full(num, MAX_TURNS)
        lanes = np.arange(num)
        seats = [_Seat(policy, num) for policy in self._policies]
        seed = np.uint64(rng.integers(1 << 63))
        look = engine.look(states)
        for seat, masks in zip(seats, self._masks(look).swapaxes(0, 1), strict=True):
            seat.see(masks, engine, states)
        with one_thread():
            for turn in range(MAX_TURNS):
                joint_moves, keys = self._complete(look, self._choose(seats, look, rng), seed, turn)
                states, look, percepts = engine.play(states, joint_moves, keys)
                over = (look[0] & np.uint64(1)).astype(np.bool_)
                if over.any():
                    ended, live = np.flatnonzero(over), np.flatnonzero(~over)
                    goals[lanes[ended]] = engine.goals(states.take(ended))
                    finished[lanes[ended]], lengths[lanes[ended]] = True, turn + 1
                    states, lanes = states.take(live), lanes[live]
                    look, percepts = look.take(live, axis=1), percepts.take(live, axis=1)
                    joint_moves = joint_moves.take(live, axis=1)
                    for seat in seats:
                        seat.take(live)
                if not len(lanes):
                    break
                masks = self._masks(look)
                moves = np.ascontiguousarray(joint_moves[: len(seats)].T, dtype=np.int32)
                seen = _by_player(percepts, len(seats))
                depths = np.full(len(lanes), turn + 1, dtype=np.int32)
                for index, seat in enumerate(seats):
                    seat.observe(masks, moves, seen, depths, index, engine, states)
        return Ended(goals, lengths, finished)

    def _masks(self, look: U64) -> U64:
        """`[L, Q, words]` the legal moves of the players."""
        start, end = self._engine.starts[1], self._engine.starts[1 + len(self._policies)]
        return _by_player(look[start:end], len(self._policies))

    def _choose(self, seats: Sequence[_Seat], look: U64, rng: np.random.Generator) -> I64:
        """`[L, Q]` actions of the players, -1 where there is no choice."""
        choices = np.full((look.shape[1], len(seats)), -1, dtype=np.int64)
        keys = rng.integers(1 << 63, size=len(seats), dtype=np.uint64)
        for index, seat in enumerate(seats):
            seat.act(keys[index], choices[:, index])
        return choices

    def _complete(self, look: U64, picks: I64, seed: np.uint64, turn: int) -> tuple[I64, U64]:
        """`[M, L]` actions of all movers, and `[L]` random bits."""
        num, starts = look.shape[1], self._engine.starts
        moves, keys = np.zeros((len(starts) - 2, num), dtype=np.int64), np.zeros(num, np.uint64)
        episodes, turns = np.zeros(num, dtype=np.int64), np.full(num, turn, dtype=np.int32)
        seats, live = np.arange(len(moves)), np.ones(num, dtype=np.bool_)
        seats[picks.shape[1] :] = -1
        drawing = lane_keys(np.full(num, seed), np.arange(num)), episodes, turns, 0
        fault = choose(look, starts, live, picks, seats, *drawing, moves, keys)
        if fault != FINE:
            roles = (*self._engine.names.roles, "random")
            raise NoLegalMoveError(roles[fault % len(moves)], [])
        return moves, keys


def _by_player(columns: U64, players: int) -> U64:
    """`[L, Q, words]` from the `[Q * words, L]` of an engine."""
    return np.ascontiguousarray(columns.T).reshape(columns.shape[1], players, -1)


class _Seat:
    """A role in L lanes: its knowledge, and the draws of its moves."""

    def __init__(self, policy: LearntPolicy, num: int) -> None:
        features = self._features = policy.features
        self._rows = np.zeros((num, features.num_words), dtype=np.uint64)
        if not features.reads_state:
            masks = np.zeros((num, features.mask_words), dtype=np.uint64)
            paths, turns = np.zeros((num, 0, 0), dtype=np.int32), np.zeros(num, dtype=np.int32)
            self._rows[:] = of_paths(features, masks, paths, turns)
        self._drawing = Drawing(policy.net, num)

    def take(self, lanes: IntArray) -> None:
        """Drop all lanes but these."""
        self._rows = self._rows[lanes]
        self._drawing.take(lanes)

    def see(self, masks: U64, engine: Engine, states: States) -> None:
        """Record the legal moves and, where the policy reads it, the state."""
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
        role: int,
        engine: Engine,
        states: States,
    ) -> None:
        """Record the role's view of a turn; `role` is the role's index."""
        features = self._features
        if features.reads_state:
            self.see(masks[:, role], engine, states)
        else:
            observe(masks, moves, percepts, turns, role, features.layout, self._rows)

    def act(self, key: np.uint64, actions: I64) -> None:
        """Draw a move in each lane with a choice, and fill in `actions` there."""
        self._drawing.choices.clear()
        self._drawing.act(self._rows, key, actions)
