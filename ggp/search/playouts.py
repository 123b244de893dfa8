"""HyperPlay values: random playouts from particles (paper 004, Definition 7)."""

from __future__ import annotations

import numpy as np

from ggp.belief import Bags
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine, States
from ggp.search.anytime import Deadline, check
from ggp.search.estimates import Estimates, Policy, Tally, Trials, candidates, plan_trials
from ggp.search.moves import executed_moves, random_moves

TIMED_LANES = 128
"""Playouts between two looks at the clock, where there is one."""

LANES_AT_ONCE = 8192
"""Playouts side by side: bounds memory."""

BAGS_AT_ONCE = 32
"""Bags that decide side by side: bounds memory, and looks at the clock between."""


class PlayoutSearch:
    """HyperPlay values of every candidate of every bag, improved round by round.

    The value of a move is the weighted mean, over the particles, of random playouts after
    that move and random moves of the others. Where the move is illegal in a particle it counts
    as a random legal one.

    Args:
        bags: B bags of one role, none depleted.
        deadline: looked at during rounds.
    """

    def __init__(
        self,
        machine: Machine,
        bags: Bags,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> None:
        self._machine, self._bags, self._rng, self._deadline = machine, bags, rng, deadline
        self.moves = candidates(machine, bags)
        self._tally = Tally(len(self.moves.values))

    def round(self, count: int) -> None:
        """Make `count` more playouts of every candidate."""
        trials = plan_trials(self._bags, self.moves, count, self._rng)
        goals = play_trials(self._machine, self._bags, trials, self._rng, self._deadline)
        self._tally.add(trials, goals, count, exact=bool(self._bags.exact.all()))

    def estimates(self) -> Estimates:
        """The values so far."""
        return self._tally.estimates(self.moves)


def play_trials(
    machine: Machine,
    bags: Bags,
    trials: Trials,
    rng: np.random.Generator,
    deadline: Deadline | None = None,
) -> FloatArray:
    """`[T]` goal values of random playouts of planned trials."""
    size = LANES_AT_ONCE if deadline is None else TIMED_LANES
    goals = np.zeros(len(trials.lanes))
    for start in range(0, len(goals), size):
        check(deadline)
        part = slice(start, start + size)
        states = bags.sets.states.take(trials.lanes[part])
        after = first_step(machine, states, bags.role, trials.moves[part], rng)
        goals[part] = playout_goals(machine, after, bags.role, rng, deadline)
    return goals


def first_step(
    machine: Machine, states: States, role: int, moves: IntArray, rng: np.random.Generator
) -> States:
    """The states after our moves (or what becomes of them) and random moves of the others."""
    columns = [
        executed_moves(machine, states, role, moves, rng)[0]
        if j == role
        else random_moves(machine, states, j, rng)
        for j in range(len(machine.roles))
    ]
    return machine.step(states, np.column_stack(columns)).states


def playout_goals(
    machine: Machine,
    states: States,
    role: int,
    rng: np.random.Generator,
    deadline: Deadline | None = None,
) -> FloatArray:
    """`[L]` goal values of one random playout from each lane.

    A playout that does not end counts as the middle of the goal range.
    """
    left_s = None if deadline is None else deadline.left_s()
    ended = machine.playout(states, rng, max_seconds=left_s)
    if not ended.finished.all():
        check(deadline)
    return np.where(ended.finished, ended.goals[:, role], sum(machine.goal_range) / 2)


def hyperplay_policy(machine: Machine, playouts: int, deadline: Deadline | None = None) -> Policy:
    """A policy that takes the move with the best HyperPlay value, ties broken at random.

    Bags with one candidate cost nothing; those with none get `UNKNOWN`.
    """

    def choose(bags: Bags, rng: np.random.Generator) -> IntArray:
        moves = candidates(machine, bags)
        chosen = np.full(len(bags), UNKNOWN, dtype=np.int64)
        single = moves.counts == 1
        chosen[single] = moves.values[moves.offsets[:-1][single]]
        rest = np.flatnonzero(moves.counts > 1)
        for start in range(0, len(rest), BAGS_AT_ONCE):
            some = rest[start : start + BAGS_AT_ONCE]
            search = PlayoutSearch(machine, bags.select(some), rng, deadline)
            search.round(playouts)
            chosen[some] = search.estimates().choose(rng)
        return chosen

    return choose
