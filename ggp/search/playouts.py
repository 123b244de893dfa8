"""HyperPlay values: random playouts from particles (paper 004, Definition 7)."""

from __future__ import annotations

import numpy as np

from ggp.belief import Bags
from ggp.machine.base import FloatArray, IntArray, Machine, States
from ggp.search.anytime import Deadline, check
from ggp.search.estimates import Estimates, Policy, Tally, Trials, candidates, plan_trials
from ggp.search.moves import executed_moves, random_moves

TIMED_LANES = 128
"""Playouts between two looks at the clock, where there is one."""


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
    states = bags.sets.states.take(trials.lanes)
    after = first_step(machine, states, bags.role, trials.moves, rng)
    return playout_goals(machine, after, bags.role, rng, deadline)


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
    size = max(len(states), 1) if deadline is None else TIMED_LANES
    middle = sum(machine.goal_range) / 2
    parts = []
    for start in range(0, len(states), size):
        check(deadline)
        lanes = np.arange(start, min(start + size, len(states)))
        left_s = None if deadline is None else deadline.left_s()
        ended = machine.playout(states.take(lanes), rng, max_seconds=left_s)
        if not ended.finished.all():
            check(deadline)
        parts.append(np.where(ended.finished, ended.goals[:, role], middle))
    return np.concatenate(parts) if parts else np.zeros(0)


def hyperplay_policy(machine: Machine, playouts: int, deadline: Deadline | None = None) -> Policy:
    """A policy that takes the move with the best HyperPlay value, ties broken at random.

    Bags with one candidate cost nothing.
    """

    def choose(bags: Bags, rng: np.random.Generator) -> IntArray:
        moves = candidates(machine, bags)
        chosen = np.zeros(len(bags), dtype=np.int64)
        single = moves.counts == 1
        chosen[single] = moves.values[moves.offsets[:-1][single]]
        rest = np.flatnonzero(~single)
        if len(rest):
            search = PlayoutSearch(machine, bags.select(rest), rng, deadline)
            search.round(playouts)
            chosen[rest] = search.estimates().choose(rng)
        return chosen

    return choose
