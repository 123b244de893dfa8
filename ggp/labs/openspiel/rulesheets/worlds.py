"""Draws whole histories that a player cannot tell from the true one.

OpenSpiel's information-set search asks for them (`resample_from_infostate`). They are drawn turn by
turn from the player's incomplete path, like particles (`ggp.belief`), but with the turns before:
K histories side by side, all of them if they are few, otherwise a weighted sample. The others'
moves are taken to be uniformly random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ggp.belief import never
from ggp.belief.turns.completions import draw_completions, list_completions
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.belief.turns.resample import choose_entries
from ggp.errors import BeliefDepletedError
from ggp.machine.arrays import log_sums
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine

MOST_WORLDS = 1_000
"""Number of histories of a sample."""

LISTED = 1 << 16
"""Number of joint moves of one turn up to which all are tried; of more, some are drawn."""

DRAWS = 4_096
"""Greatest number of joint moves drawn to continue one history."""

TRIES = 5
"""Number of samples made before a player's path counts as one that nothing agrees with."""


KnownTurn = tuple[int, int]
"""A role's knowledge of a turn: its move and its percepts; either may be `UNKNOWN`."""


@dataclass(frozen=True, slots=True)
class DrawnWorlds:
    """K histories of T turns that agree with an incomplete path.

    Attributes:
        joint_moves: `[K, T, R]` their joint moves.
        weights: `[K]` their weights, which sum to 1.
    """

    joint_moves: IntArray
    weights: FloatArray

    def draw(self, rng: np.random.Generator) -> list[tuple[int, ...]]:
        """One of the histories, drawn by weight."""
        world = rng.choice(len(self.weights), p=self.weights)
        return [tuple(moves) for moves in self.joint_moves[world].tolist()]


def worlds_of(
    machine: Machine, role: int, turns: Sequence[KnownTurn], rng: np.random.Generator
) -> DrawnWorlds:
    """Histories that agree with what a role did and saw in these turns.

    Raises:
        BeliefDepletedError: none was found.
    """
    for _ in range(TRIES):
        found = _sample(machine, role, turns, rng)
        if found is not None:
            return found
    texts = [machine.move_text(move) for move, _ in turns if move != UNKNOWN]
    raise BeliefDepletedError(texts, TRIES * MOST_WORLDS, exhausted=False)


def _sample(
    machine: Machine, role: int, turns: Sequence[KnownTurn], rng: np.random.Generator
) -> DrawnWorlds | None:
    states, log_weights = machine.initial(1), np.zeros(1)
    made = np.zeros((1, 0, len(machine.roles)), dtype=np.int64)
    for move, percepts in turns:
        lanes = len(log_weights)
        seen, own = np.full(lanes, percepts), np.full(lanes, move)
        options = open_moves(machine, role, states, Learnt(own, seen, np.full(lanes, UNKNOWN)))
        open_ = np.flatnonzero(options.counts > 0)
        if options.counts.sum() <= LISTED:
            found, _ = list_completions(machine, role, states, options, open_, seen, never)
        else:
            shares = np.full(len(open_), -(-MOST_WORLDS // len(open_)))
            limits = np.full(len(open_), DRAWS)
            found, _ = draw_completions(
                machine, role, states, options, open_, seen, shares, limits, rng, never
            )
        if not len(found.lanes):
            return None
        logs = log_weights[found.lanes] + found.log_factors
        logs = logs - log_sums(logs, np.zeros(len(logs), dtype=np.int64), 1)
        every = np.array([0, len(logs)], dtype=np.int64)
        kept, log_weights, _ = choose_entries(logs, every, np.array([MOST_WORLDS]), rng)
        states = found.states.take(kept)
        moves = found.joint_moves[kept][:, None]
        made = np.concatenate([made[found.lanes[kept]], moves], axis=1)
    weights = np.exp(log_weights)
    return DrawnWorlds(made, weights / weights.sum())
