"""Random histories for an incomplete path: walks from the start of the game.

Samplers of papers 001 and 002 pass in a path and get a set of final states back. In a walk the role
makes its real moves, and the other roles move at random. A walk counts if the role's percepts agree
in every turn, or only in the last turn (paper 001: all-observation and last-observation
consistent). Weights are such that, over many walks, the weights of a state sum to its prior.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.belief.bags import Segments, depleted_segments, join
from ggp.belief.sampler import Setting
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.machine.arrays import first_seen_columns, log_sums, offsets_of
from ggp.machine.base import UNKNOWN, BoolArray, FloatArray, IntArray, Machine, States

WALKS_AT_ONCE = 2048

FRUITLESS = 8
"""After this many batches of walks in a row without a new end, the search assumes that none is
left."""


class WalkEvidence(NamedTuple):
    """The evidence that a walk must agree with.

    Attributes:
        path: tree node of the role's incomplete path.
        last_only: whether only the percepts of the last turn must agree.
        legal: the legal moves of the role at the end of the walk, sorted; None for any.
    """

    role: int
    path: int
    last_only: bool
    legal: IntArray | None = None


def walk(
    setting: Setting, evidence: WalkEvidence, number: int, rng: np.random.Generator
) -> tuple[Segments, int]:
    """The ends of random walks that agree with an incomplete path, which must not be empty.

    If views are kept, the role's own view is its real path.

    Args:
        number: number of walks to begin.

    Returns:
        one set of ends, equal ones merged, and the number of lanes stepped.
    """
    machine, tree, keep_views = setting.machine, setting.tree, setting.keep_views
    role, path, last_only, legal = evidence
    steps = tree.beginnings(np.array([path]))
    states, views = _initial(machine, number)
    log_weights = np.zeros(number)
    stepped_lanes = 0
    for turn, (node,) in enumerate(steps[1:], start=1):
        last = turn == len(steps) - 1
        move, percepts, refused = tree.last_turns(np.array([node]))[0].tolist()
        if last_only and not last:
            percepts, refused = UNKNOWN, UNKNOWN
        rows = np.tile(np.array([[move], [percepts], [refused]]), len(states))
        views_used = views if keep_views else None
        options = open_moves(machine, role, states, Learnt(*rows), setting.model, views_used)
        lanes = np.flatnonzero(options.counts > 0)
        joint, log_priors = options.random(lanes, rng)
        stepped = machine.step(states.take(lanes), joint)
        stepped_lanes += len(lanes)
        agrees = ~machine.terminal(stepped.states)
        if percepts != UNKNOWN:
            agrees &= stepped.percepts[:, role] == percepts
        alive = np.flatnonzero(agrees)
        log_weights = (log_weights[lanes] + log_priors + np.log(options.counts[lanes]))[alive]
        states = stepped.states.take(alive)
        if keep_views:
            views = views[lanes[alive]]
            tree.extend_views(views, joint[alive], stepped.percepts[alive], role, node)
        if not len(alive):
            break
    if legal is not None and len(states):
        ends = np.flatnonzero(moves_are(machine, states, role, legal))
        states, log_weights, views = states.take(ends), log_weights[ends], views[ends[: len(views)]]
    return set_of(machine, states, log_weights, views if keep_views else None), stepped_lanes


def walks(
    setting: Setting, evidence: WalkEvidence, size: int, most: int, rng: np.random.Generator
) -> Segments:
    """Up to `size` ends of walks; it stops after `most` lanes, or when the setting says so."""
    if setting.tree.depth(evidence.path) == 0:
        return setting.beginning(1)
    ends = setting.nothing(1)
    spent = fruitless = 0
    while ends.counts[0] < size and spent < most and fruitless < FRUITLESS:
        number = min(WALKS_AT_ONCE, max(1, setting.lanes_at_once()))
        batch, stepped = walk(setting, evidence, number, rng)
        spent += max(stepped, 1)
        old_size = len(ends.states)
        ends = united(setting.machine, [ends, batch])
        # While there is no end at all, every batch may find the first.
        fruitless = fruitless + 1 if 0 < old_size == len(ends.states) else 0
        if setting.stop():
            break
    return ends.thinned(size, rng)


def united(machine: Machine, parts: list[Segments]) -> Segments:
    """The union of several sets, weighted by their masses; equal entries are merged."""
    union = join(machine, parts)
    log_weights = union.log_weights + np.repeat(union.log_masses, union.counts)
    return set_of(machine, union.states, log_weights, union.views)


def _initial(machine: Machine, number: int) -> tuple[States, IntArray]:
    views = np.tile(np.arange(len(machine.roles), dtype=np.int64), (number, 1))
    return machine.initial(number), views


def set_of(
    machine: Machine, states: States, log_weights: FloatArray, views: IntArray | None
) -> Segments:
    """One set of weighted entries, equal ones merged; not exact. Its mass is the sum of weights."""
    keys = [machine.groups(states), *([] if views is None else views.T)]
    first, group = first_seen_columns(keys)
    if not len(first):
        return depleted_segments(machine, 1, keep_views=views is not None)
    summed = log_sums(log_weights, group, len(first))
    total = log_sums(summed, np.zeros(len(first), dtype=np.int64), 1)
    count = len(first)
    return Segments(
        offsets_of(np.array([count])),
        states.take(first),
        summed - total,
        np.zeros(1, dtype=np.bool_),
        np.full(1, float(count)),
        total,
        None if views is None else views[first],
    )


def moves_are(machine: Machine, states: States, role: int, legal: IntArray) -> BoolArray:
    """`[L]` whether a role has exactly these (sorted) legal moves in each lane."""
    moves = machine.legal(states, role, allow_stuck=True)
    matches = moves.counts == len(legal)
    is_expected = np.isin(moves.values, legal)
    rows = np.flatnonzero(matches)
    hits = np.concatenate([[0], np.cumsum(is_expected)])
    matches[rows] &= (hits[moves.offsets[rows + 1]] - hits[moves.offsets[rows]]) == len(legal)
    return np.asarray(matches)
