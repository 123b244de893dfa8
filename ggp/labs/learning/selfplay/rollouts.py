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
from ggp.labs.learning.env.environment import Turn
from ggp.labs.learning.env.kernels import FINE, I32, I64, U64, Bools, choose, lane_keys
from ggp.labs.learning.selfplay.features import Reader
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
        players = len(self._policies)
        goals = np.full((num, players), 50.0)
        finished, lengths = np.zeros(num, dtype=np.bool_), np.full(num, MAX_TURNS)
        lanes = np.arange(num)
        seats = [
            (Reader(policy.features, num, role), Drawing(policy.net, num))
            for role, policy in enumerate(self._policies)
        ]
        seed = np.uint64(rng.integers(1 << 63))
        look = engine.look(states)
        moves = np.full((num, players), -1, dtype=np.int32)
        seen = np.zeros((num, players, 0), dtype=np.uint64)
        with one_thread():
            for turn in range(MAX_TURNS):
                view = self._view(states, look, moves, seen, turn)
                picks = np.full((len(lanes), players), -1, dtype=np.int64)
                draws = rng.integers(1 << 63, size=players, dtype=np.uint64)
                for role, (reader, drawing) in enumerate(seats):
                    drawing.choices.clear()
                    drawing.act(reader.read(view), draws[role], picks[:, role])
                joint_moves, keys = self._complete(look, picks, seed, turn)
                states, look, percepts = engine.play(states, joint_moves, keys)
                over = (look[0] & np.uint64(1)).astype(np.bool_)
                if over.any():
                    ended, live = np.flatnonzero(over), np.flatnonzero(~over)
                    goals[lanes[ended]] = engine.goals(states.take(ended))
                    finished[lanes[ended]], lengths[lanes[ended]] = True, turn + 1
                    states, lanes = states.take(live), lanes[live]
                    look, percepts = look.take(live, axis=1), percepts.take(live, axis=1)
                    joint_moves = joint_moves.take(live, axis=1)
                    for reader, drawing in seats:
                        reader.take(live)
                        drawing.take(live)
                if not len(lanes):
                    break
                moves = np.ascontiguousarray(joint_moves[:players].T, dtype=np.int32)
                seen = _by_player(percepts, players)
        return Ended(goals, lengths, finished)

    def _view(self, states: States, look: U64, moves: I32, seen: U64, turn: int) -> Turn:
        """What readers read of a turn."""
        engine, names, num = self._engine, self._engine.names, len(moves)
        start, end = engine.starts[1], engine.starts[1 + len(self._policies)]
        none = np.zeros(num, dtype=np.bool_)
        return Turn(
            np.zeros(moves.shape, dtype=np.float32),
            none,
            none,
            np.full(num, turn, dtype=np.int32),
            np.zeros(num, dtype=np.int64),
            moves,
            _by_player(look[start:end], len(self._policies)),
            seen,
            np.zeros((*moves.shape, 0, 0), dtype=np.int32),
            len(names.moves),
            len(names.percepts),
            len(names.fluents),
            lambda: engine.fluent_words(states),
        )

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
