"""Complete paths of the last turns: replayed, and weighted by their prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ggp.belief.move_models import UNIFORM, MoveModel
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine, States


class IncompletePath(NamedTuple):
    """What a role did and saw in some turns, and how the others are believed to move.

    Attributes:
        turns: `[T, 3]` see `PathTree.last_turns`.
    """

    machine: Machine
    role: int
    turns: IntArray
    model: MoveModel = UNIFORM


@dataclass(frozen=True)
class Paths:
    """N complete paths of T turns.

    Attributes:
        starts: `[N]` number of the state in which each begins.
        moves: `[N, T, R]`.
        states: the states before each turn, and at the end: T + 1 times N states.
        log_priors: `[N, T]` log priors of the turns, as those of completions (see `completions`).
        log_counts: `[N, T]` log of the number of completions.
    """

    starts: IntArray
    moves: IntArray
    states: tuple[States, ...]
    log_priors: FloatArray
    log_counts: FloatArray

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def ends(self) -> States:
        """`[N]` final states."""
        return self.states[-1]

    def take(self, paths: IntArray) -> Paths:
        """The paths with these indices, repeats allowed."""
        return Paths(
            self.starts[paths],
            self.moves[paths],
            tuple(each.take(paths) for each in self.states),
            self.log_priors[paths],
            self.log_counts[paths],
        )


def replayed(
    path: IncompletePath,
    begun: States,
    starts: IntArray,
    moves: IntArray,
    rng: np.random.Generator,
) -> Paths:
    """The paths that some moves make, if they agree with what a role did and saw.

    Args:
        begun: N states in which they begin.
        starts: `[N]` see `Paths`.
        moves: `[N, T, R]`, `UNKNOWN` where any legal move will do: there one is drawn.
    """
    alive = np.arange(len(starts))
    moves = moves.copy()
    states = [begun]
    log_priors, log_counts = np.zeros((2, len(starts), len(path.turns)))
    for turn in range(len(path.turns)):
        tried = tried_turn(path, turn, states[-1], moves[alive, turn], rng)
        lanes = tried.lanes
        alive = alive[lanes]
        moves[alive, turn] = tried.moves
        log_priors[alive, turn], log_counts[alive, turn] = tried.log_priors, tried.log_counts
        states = [*(each.take(lanes) for each in states), tried.states]
    return Paths(starts[alive], moves[alive], tuple(states), log_priors[alive], log_counts[alive])


class Tried(NamedTuple):
    """Joint moves of lanes that agree with what a role knows of one turn; see `Paths`.

    Attributes:
        lanes: `[K]` increasing; the lanes of these moves.
        moves: `[K, R]`.
        states: `[K]` successors.
    """

    lanes: IntArray
    moves: IntArray
    states: States
    log_priors: FloatArray
    log_counts: FloatArray


def tried_turn(
    path: IncompletePath, turn: int, states: States, moves: IntArray, rng: np.random.Generator
) -> Tried:
    """Make joint moves `[N, R]` in a turn; moves that are `UNKNOWN` are drawn from the open
    ones."""
    machine, role, turns, model = path
    evidence = Learnt(*np.tile(turns[turn][:, None], len(states)))
    options = open_moves(machine, role, states, evidence, model)
    given = options.given(moves)
    lanes = np.flatnonzero(given.counts > 0)
    made, log_priors = given.random(lanes, rng)
    stepped = machine.step(states.take(lanes), made)
    agrees = ~machine.terminal(stepped.states)
    percepts = turns[turn, 1]
    if percepts != UNKNOWN:
        agrees &= stepped.percepts[:, role] == percepts
    kept = np.flatnonzero(agrees)
    return Tried(
        lanes[kept],
        made[kept],
        stepped.states.take(kept),
        log_priors[kept],
        np.log(options.counts[lanes[kept]]),
    )
