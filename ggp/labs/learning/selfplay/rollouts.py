"""Rollouts: matches played from given states to their ends, with a policy for each role.

`Rollouts` takes states of an engine and the knowledge of each role, and returns the goal values at
the ends (`Ended`). Each role moves by its own path only, as in a match. Lanes that are over are
dropped, so that a turn costs no more than the matches that still go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ggp.errors import NoLegalMoveError
from ggp.labs.learning.env.engine import Engine
from ggp.labs.learning.env.kernels import FINE, I32, I64, U64, Bools, choose, lane_keys
from ggp.labs.learning.selfplay.features import observe, of_paths
from ggp.labs.learning.selfplay.policies import Drawing, LearntPolicy
from ggp.labs.learning.selfplay.threads import one_thread
from ggp.machine.base import FloatArray, IntArray, States

MAX_TURNS = 1000
"""Turns after which a match is broken off."""


class Ended(NamedTuple):
    """The outcome of L matches.

    Attributes:
        goals: `[L, Q]` goal values of the players, `middle` in matches that were broken off.
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
        policies: the policy of each player, in the order of the engine's names; a player without
            one moves uniformly at random.
        middle: the goal value of matches that are broken off.
    """

    def __init__(
        self, engine: Engine, policies: Sequence[LearntPolicy | None], middle: float = 50.0
    ) -> None:
        self._engine, self._policies, self._middle = engine, policies, middle

    def matches(self, num: int, rng: np.random.Generator) -> Ended:
        """Play `num` whole matches."""
        rows = [
            np.zeros((num, 0 if policy is None else policy.features.num_words), dtype=np.uint64)
            for policy in self._policies
        ]
        for policy, role_rows in zip(self._policies, rows, strict=True):
            if policy is not None and not policy.features.reads_state:
                masks = np.zeros((num, policy.features.mask_words), dtype=np.uint64)
                paths = np.zeros((num, 0, 0), dtype=np.int32)
                turns = np.zeros(num, dtype=np.int32)
                role_rows[:] = of_paths(policy.features, masks, paths, turns)
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
        """Play one match from each of L states, none of which is terminal.

        Args:
            rows: for each player `[L, W]`, its knowledge as bits (`features`); the bits of legal
                moves may be anything. Overwritten.
            turns: number of turns before these states.
            role: the role whose first action is given; -1 for none.
            actions: `[L]` its first actions; a random legal action replaces an illegal one.
            stop: asked once a turn; when true, all matches that go on are broken off.

        Raises:
            NoLegalMoveError: a role has no legal move: an error in the rulesheet.
        """
        engine, num = self._engine, len(states)
        goals = np.full((num, len(self._policies)), self._middle)
        finished, lengths = np.zeros(num, dtype=np.bool_), np.zeros(num, dtype=np.int64)
        lanes = np.arange(num)
        seats = [
            None if policy is None else _Seat(policy, role_rows)
            for policy, role_rows in zip(self._policies, rows, strict=True)
        ]
        seed = np.uint64(rng.integers(1 << 63))
        look = engine.look(states)
        for seat, masks in zip(seats, self._masks(look).swapaxes(0, 1), strict=True):
            if seat is not None:
                seat.see(masks, engine, states)
        with one_thread():
            for turn in range(MAX_TURNS):
                if stop():
                    lengths[lanes] = turn
                    break
                choices = self._choose(seats, look, role if turn == 0 else -1, actions, rng)
                joint_moves, keys = self._complete(look, choices, seed, turns + turn)
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
                        if seat is not None:
                            seat.take(live)
                if not len(lanes):
                    break
                masks = self._masks(look)
                moves = np.ascontiguousarray(joint_moves[: len(seats)].T, dtype=np.int32)
                seen = _by_player(percepts, len(seats))
                depths = np.full(len(lanes), turns + turn + 1, dtype=np.int32)
                for index, seat in enumerate(seats):
                    if seat is not None:
                        seat.observe(masks, moves, seen, depths, index, engine, states)
            else:
                lengths[lanes] = MAX_TURNS
        return Ended(goals, lengths, finished)

    def _masks(self, look: U64) -> U64:
        """`[L, Q, words]` the legal moves of the players."""
        start, end = self._engine.starts[1], self._engine.starts[1 + len(self._policies)]
        return _by_player(look[start:end], len(self._policies))

    def _choose(
        self,
        seats: Sequence[_Seat | None],
        look: U64,
        role: int,
        actions: I64,
        rng: np.random.Generator,
    ) -> I64:
        """`[L, Q]` actions of the players, -1 for actions to be drawn."""
        choices = np.full((look.shape[1], len(seats)), -1, dtype=np.int64)
        keys = rng.integers(1 << 63, size=len(seats), dtype=np.uint64)
        for index, seat in enumerate(seats):
            if index == role:
                start = self._engine.starts[1 + index]
                words = look[start + (actions >> 6), np.arange(len(actions))]
                legal = (words >> (actions & 63).astype(np.uint64)) & np.uint64(1)
                choices[:, index] = np.where(legal, actions, -1)
            elif seat is not None:
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

    def __init__(self, policy: LearntPolicy, rows: U64) -> None:
        self._features, self._rows = policy.features, rows
        self._drawing = Drawing(policy.net, len(rows))

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
