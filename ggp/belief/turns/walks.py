"""Random walks from the start of a game in which a role makes the moves that it really made.

The other roles move at random. A walk is kept if the role's percepts agree in every turn, or only
in the last one, for beliefs that remember nothing else (paper 001: all-observation and
last-observation consistent). Walks are weighted so that the weights of many walks sum to the prior
of where they end.
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
"""After this many batches of walks in a row without a new end, there are taken to be no more."""


class WalkEvidence(NamedTuple):
    """What a walk has to agree with.

    Attributes:
        path: tree node of the role's incomplete path.
        last_only: only the percepts of the last turn must agree.
        legal: the moves that the role must have at the end of a walk, sorted; None for any.
    """

    role: int
    path: int
    last_only: bool
    legal: IntArray | None = None


def walk(
    setting: Setting, evidence: WalkEvidence, number: int, rng: np.random.Generator
) -> tuple[Segments, int]:
    """The ends of random walks that agree with an incomplete path, which is not the empty one.

    Where views are kept, the role's own is its real path.

    Args:
        number: of walks to begin.

    Returns:
        one set of the walks that agree, equal ends merged, and the number of lanes stepped.
    """
    machine, tree, keep_views = setting.machine, setting.tree, setting.keep_views
    role, path, last_only, legal = evidence
    steps = tree.beginnings(np.array([path]))
    states, views = _begin(machine, number)
    log_weights = np.zeros(number)
    stepped_lanes = 0
    for turn, (node,) in enumerate(steps[1:], start=1):
        last = turn == len(steps) - 1
        move, seen, refused = tree.last_turns(np.array([node]))[0].tolist()
        if last_only and not last:
            seen, refused = UNKNOWN, UNKNOWN
        told = np.tile(np.array([[move], [seen], [refused]]), len(states))
        known = views if keep_views else None
        options = open_moves(machine, role, states, Learnt(*told), setting.model, known)
        lanes = np.flatnonzero(options.counts > 0)
        joint, log_priors = options.random(lanes, rng)
        stepped = machine.step(states.take(lanes), joint)
        stepped_lanes += len(lanes)
        kept = ~machine.terminal(stepped.states)
        if seen != UNKNOWN:
            kept &= stepped.percepts[:, role] == seen
        on = np.flatnonzero(kept)
        log_weights = (log_weights[lanes] + log_priors + np.log(options.counts[lanes]))[on]
        states = stepped.states.take(on)
        if keep_views:
            views = views[lanes[on]]
            tree.extend_views(views, joint[on], stepped.percepts[on], role, node)
        if not len(on):
            break
    if legal is not None and len(states):
        on = np.flatnonzero(moves_are(machine, states, role, legal))
        states, log_weights, views = states.take(on), log_weights[on], views[on[: len(views)]]
    return set_of(machine, states, log_weights, views if keep_views else None), stepped_lanes


def walks(
    setting: Setting, evidence: WalkEvidence, wanted: int, most: int, rng: np.random.Generator
) -> Segments:
    """Walks until `wanted` ends are found, `most` lanes have been stepped, or it is stopped."""
    if setting.tree.depth(evidence.path) == 0:
        return setting.beginning(1)
    found = setting.nothing(1)
    spent = fruitless = 0
    while found.counts[0] < wanted and spent < most and fruitless < FRUITLESS:
        number = min(WALKS_AT_ONCE, max(1, setting.lanes_at_once()))
        drawn, stepped = walk(setting, evidence, number, rng)
        spent += max(stepped, 1)
        before = len(found.states)
        found = united(setting.machine, [found, drawn])
        # While nothing has been found, the next walk may find the first.
        fruitless = fruitless + 1 if 0 < before == len(found.states) else 0
        if setting.stop():
            break
    return found.thinned(wanted, rng)


def united(machine: Machine, parts: list[Segments]) -> Segments:
    """One set made of several, by their masses; equal entries are merged."""
    both = join(machine, parts)
    log_weights = both.log_weights + np.repeat(both.log_masses, both.counts)
    return set_of(machine, both.states, log_weights, both.views)


def _begin(machine: Machine, number: int) -> tuple[States, IntArray]:
    views = np.tile(np.arange(len(machine.roles), dtype=np.int64), (number, 1))
    return machine.initial(number), views


def set_of(
    machine: Machine, states: States, log_weights: FloatArray, views: IntArray | None
) -> Segments:
    """One set of weighted entries, equal ones merged; it is not exact, and its mass is the sum of
    the weights."""
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
    """`[L]` whether a role has exactly these moves, which are sorted, in a lane."""
    moves = machine.legal(states, role, allow_stuck=True)
    same = moves.counts == len(legal)
    known = np.isin(moves.values, legal)
    at = np.flatnonzero(same)
    hits = np.concatenate([[0], np.cumsum(known)])
    same[at] &= (hits[moves.offsets[at + 1]] - hits[moves.offsets[at]]) == len(legal)
    return np.asarray(same)
