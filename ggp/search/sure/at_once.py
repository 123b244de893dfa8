"""What moves are worth that end the match at once.

A move that wins at once in most worlds is worth as much, whatever a tree says of it that tried it a
few times: the others may not be in the way, but a search may have begun in worlds where they were.
And a move that ends the match in all of them is worth a mean of goals that can be counted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ggp.belief import UNIFORM, Bags, MoveModel, log_likelihoods
from ggp.machine.abilities import InParts
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged, States
from ggp.search.anytime import Deadline, Pace
from ggp.search.joint_moves import LANES_AT_ONCE, TIMED_LANES, JointMoves, joint_moves

MOST_JOINT = 20_000
"""Most joint moves that are tried: more would take long."""


def worth_at_once(
    machine: Machine,
    states: States,
    weights: FloatArray,
    role: int,
    moves: IntArray,
    deadline: Deadline | None = None,
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
        OutOfTime: the deadline passed before they were known.
    """
    low, high = machine.goal_range
    least, most = np.full(len(moves), low), np.full(len(moves), high)
    joint = joint_moves(machine, states, role, deadline)
    if not 0 < joint.number <= MOST_JOINT:
        return least, most
    state, made = joint.some(0, int(joint.offsets[-1]))
    worst, best = np.full(len(state), low), np.full(len(state), high)
    for start, end in Pace(deadline, TIMED_LANES, LANES_AT_ONCE).batches(len(state)):
        after = machine.step(states.take(state[start:end]), made[start:end]).states
        ended = np.flatnonzero(machine.terminal(after))
        if len(ended):
            goals = np.clip(machine.goals(after.take(ended))[:, role], low, high)
            worst[start + ended] = best[start + ended] = goals
    if (worst == low).all() and (best == high).all():
        return least, most
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


def mean_at_once(
    machine: Machine,
    bag: Bags,
    moves: IntArray,
    model: MoveModel = UNIFORM,
    deadline: Deadline | None = None,
) -> FloatArray:
    """`[C]` the mean goal of moves that end the match at once in every entry of a bag, whatever the
    others do; NaN for all others.

    This is their HyperPlay value, and their HyperPlay-II value: the others make their first moves
    by `model`.

    Args:
        bag: one bag with entries, which need views if the model goes by paths.
        moves: `[C]`, different ones.

    Raises:
        GoalError, ReasonerLimitError: raised by the machine.
        OutOfTime: the deadline passed before they were known.
    """
    means = np.zeros(len(moves))
    weights, lanes = bag.weights_of(0), bag.lanes_of(0)
    likeliest = np.array([np.argmax(weights)])
    # Most moves end no match: one entry is enough to see that.
    for some in (likeliest, np.arange(len(lanes))):
        left = np.flatnonzero(~np.isnan(means))
        if len(left):
            shares = weights[some] / weights[some].sum()
            ends = _means_of_ends(machine, bag, lanes[some], shares, moves[left], model, deadline)
            means[left] = ends
    return means


def _means_of_ends(
    machine: Machine,
    bag: Bags,
    lanes: IntArray,
    weights: FloatArray,
    moves: IntArray,
    model: MoveModel,
    deadline: Deadline | None,
) -> FloatArray:
    """`mean_at_once` in some entries, whose weights sum to 1."""
    unknown = np.full(len(moves), np.nan)
    states, views = bag.sets.states.take(lanes), bag.sets.views
    if isinstance(machine, InParts) and machine.count_chance(states).max() > MOST_JOINT:
        return unknown
    joint = _only(joint_moves(machine, states, bag.role, deadline), bag.role, moves)
    if not 0 < joint.number <= MOST_JOINT:
        return unknown
    state, places = joint.places(0, int(joint.offsets[-1]))
    shares = weights[state]
    for role, lists in enumerate(joint.lists):
        if role == machine.random_role:
            shares *= joint.probabilities[places[:, role]]
        elif role != bag.role:
            paths = None if views is None else views[lanes, role]
            logs = log_likelihoods(model, machine, states, role, lists, paths)
            shares *= np.exp(logs[places[:, role]])
    goals = np.full(len(state), np.nan)
    made = joint.at(places)
    for start, end in Pace(deadline, TIMED_LANES, LANES_AT_ONCE).batches(len(state)):
        after = machine.step(states.take(state[start:end]), made[start:end]).states
        ended = np.flatnonzero(machine.terminal(after))
        if len(ended):
            goals[start + ended] = machine.goals(after.take(ended))[:, bag.role]
    order = np.argsort(moves)
    owner = order[np.searchsorted(moves, made[:, bag.role], sorter=order)]
    # Less than 1 where a move is illegal in some entries.
    total = np.bincount(owner, shares, minlength=len(moves))
    sums = np.bincount(owner, shares * goals, minlength=len(moves))
    return np.where(np.isclose(total, 1), sums / np.where(total > 0, total, 1.0), unknown)


def _only(joint: JointMoves, role: int, moves: IntArray) -> JointMoves:
    """The joint moves in which a role makes one of some moves."""
    own = joint.lists[role]
    kept = np.isin(own.values, moves)
    ends = np.concatenate([[0], np.cumsum(kept)])
    lists = list(joint.lists)
    lists[role] = Ragged(ends[own.offsets], own.values[kept])
    return replace(joint, lists=tuple(lists))
