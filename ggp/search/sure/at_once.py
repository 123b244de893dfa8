"""What moves are worth at least and at most, as far as they end the match at once.

A move that wins at once in most worlds is worth as much, whatever a tree says of it that tried it a
few times: the others may not be in the way, but a search may have begun in worlds where they were.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.base import FloatArray, IntArray, Machine, States
from ggp.search.joint_moves import joint_moves

MOST_JOINT = 20_000
"""Most joint moves that are tried: more would take long."""


def worth_at_once(
    machine: Machine, states: States, weights: FloatArray, role: int, moves: IntArray
) -> tuple[FloatArray, FloatArray]:
    """`[C]` the least and the most that moves of a role are worth, judging by what ends at once.

    They are means over the states of the lowest and the highest goal that the others may bring
    about. Where a match may go on, or the move is not legal, any goal may come of it.

    Args:
        states: N of them.
        weights: `[N]` they sum to 1.
        moves: `[C]`.

    Raises:
        GoalError, ReasonerLimitError: raised by the machine.
    """
    low, high = machine.goal_range
    least, most = np.full(len(moves), low), np.full(len(moves), high)
    joint = joint_moves(machine, states, role)
    if not 0 < joint.number <= MOST_JOINT:
        return least, most
    state, made = joint.some(0, int(joint.offsets[-1]))
    after = machine.step(states.take(state), made).states
    ended = np.flatnonzero(machine.terminal(after))
    if not len(ended):
        return least, most
    goals = np.clip(machine.goals(after.take(ended))[:, role], low, high)
    worst, best = np.full(len(state), low), np.full(len(state), high)
    worst[ended] = best[ended] = goals
    # A role's own move is the first choice: those that begin with it are neighbours.
    own = made[:, role]
    starts = np.flatnonzero(np.diff(state, prepend=-1) | np.diff(own, prepend=-1))
    worst, best = np.minimum.reduceat(worst, starts), np.maximum.reduceat(best, starts)
    for k, move in enumerate(moves.tolist()):
        mine = starts[own[starts] == move]
        share = weights[state[mine]]
        least[k] += share @ (worst[own[starts] == move] - low)
        most[k] -= share @ (high - best[own[starts] == move])
    return least, most
