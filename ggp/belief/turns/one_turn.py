"""One turn of belief: sets of particles in, their successors that agree with our percepts out.

Samplers call `advance` for many sets side by side. Every entry is completed by moves of the other
roles that give our percepts; the successors are the entry's children. Equal children are merged,
and sets with too many are thinned:

    entries (weight)     completions that match (prior)     children (weight)
    s1 (1/2)             a (1/3), b (1/3)                   t1 (1/6 + 1/4), t2 (1/6)
    s2 (1/2)             c (1/2)

where a and c lead to the same state t1. The weights sum to 7/12, the probability of our percepts;
normalised they are 5/7 and 2/7. (With views, t1 becomes two entries if a and c give another role
different percepts.)

Two rules hold. A set stays exact as long as nothing is drawn or thinned: its weights are then the
exact probabilities. And no set's successors depend on its neighbours, so batches do not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ggp.belief.bags import Segments, depleted_segments, join
from ggp.belief.sampler import Setting
from ggp.belief.turns.completions import (
    Completions,
    OpenTurn,
    Polling,
    draw_completions,
    list_completions,
    sample_completions,
    share_completions,
)
from ggp.belief.turns.open_moves import MAX_COMPLETIONS, Learnt, OpenMoves, open_moves
from ggp.machine.arrays import (
    chunks,
    first_seen_columns,
    log_sums,
    offsets_of,
    segment_ids,
    sums_by,
)
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine

LIST_LIMIT = 256
"""Up to this many joint completions of one particle are listed; more are drawn."""

LIST_TOTAL = 1 << 16
"""In a set with more completions than this, and more than `LISTED_PER_ENTRY` times its capacity,
the completions of a particle are drawn if there are more than `LISTED_PER_ENTRY`."""

LISTED_PER_ENTRY = 32

SPARED = 4
"""Even where drawing is preferred, the completions of a set are listed if there are at most this
many times its capacity."""

DRAW_LIMIT = 4096
"""Most completions drawn for one entry in one turn, in a set of moderate size."""

DRAWN_PER_SET = 4 * DRAW_LIMIT
"""Most completions drawn for all entries of a set together, in a set of moderate size."""

MAX_CHILDREN = 1 << 20
"""Most children of a set before equal ones are merged: bounds memory."""

COMPLETIONS_AT_ONCE = 1 << 19
"""Completions that are stepped side by side: bounds memory."""


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits of S sets in a turn.

    Attributes:
        capacity: `[S]` most entries of a set.
        expansions: `[S]` if given, sets are only enumerated: a set with more completions than
            this, or more children than `capacity`, comes back empty and not exact.
        draws: whether to draw the completions of sets with many more than `capacity`, although they
            could be listed: as many as find enough entries.
        stop: replaces the `stop` of the setting.
    """

    capacity: IntArray | int
    expansions: IntArray | int | None = None
    draws: bool = False
    stop: Callable[[], bool] | None = None

    def of(self, sets: slice, number: int) -> TurnLimits:
        """The limits of a slice of `number` sets."""
        capacity = np.broadcast_to(self.capacity, number)[sets]
        expansions = self.expansions
        if expansions is not None:
            expansions = np.broadcast_to(expansions, number)[sets]
        return replace(self, capacity=capacity, expansions=expansions)


class AdvancedSets(NamedTuple):
    """Sets one turn later, and `[S]` the number of lanes stepped for each."""

    sets: Segments
    stepped: IntArray


def advance(
    setting: Setting,
    role: int,
    sets: Segments,
    paths: IntArray,
    limits: TurnLimits,
    rng: np.random.Generator,
) -> AdvancedSets:
    """Advance sets by one turn: complete each entry by moves of the others that give our percepts.

    The completions of an entry are its children. A child's weight is its parent's weight times
    the prior probability of the completion. If there are too many completions to list, weights
    are estimated without bias from a draw. Children equal in state (and in views, where these are
    kept) are merged. A set of more children than `capacity` is thinned so that the expectation
    of every weighted sum stays the same.

    An exact set stays exact if nothing is drawn or thinned. A set without children comes back
    without entries: it is depleted.

    When stopped, it leaves out the rest: of a single set a random part, of several sets the last
    ones.

    Args:
        sets: S sets.
        paths: `[S]` incomplete paths of the role (tree nodes) that end with this turn.
    """
    machine = setting.machine
    capacity = np.broadcast_to(np.asarray(limits.capacity, dtype=np.int64), len(sets))
    set_of = segment_ids(sets.offsets)
    evidence = Learnt(*np.ascontiguousarray(setting.tree.last_turns(paths).T[:, set_of]))
    options = open_moves(machine, role, sets.states, evidence, setting.model, sets.views)
    if limits.expansions is None:
        listed = _listing(options, set_of, capacity, draws=limits.draws)
        exact = sets.exact & (np.bincount(set_of[~listed], minlength=len(sets)) == 0)
        work = np.where(listed, options.counts, LISTED_PER_ENTRY)
        effort = np.bincount(set_of, weights=work, minlength=len(sets))
    else:
        num_open = np.bincount(set_of, weights=options.counts, minlength=len(sets))
        exact = sets.exact & (num_open <= limits.expansions)
        # A set with too many completions is not stepped at all.
        effort = np.where(exact, num_open, 0.0)
        if not exact.all():
            options.counts[~exact[set_of]] = 0.0
        listed = np.ones(len(set_of), dtype=np.bool_)
    parts = list(chunks(effort, COMPLETIONS_AT_ONCE))
    if len(parts) > 1:
        return _advance_parts(setting, role, sets, paths, parts, limits, rng)
    turn = OpenTurn(machine, role, sets.states, options, evidence.percepts)
    polling = Polling(limits.stop or setting.stop, setting.lanes_at_once)
    can_sample = limits.draws and len(sets) == 1 and not listed.any()
    if can_sample and 0 < options.counts.max(initial=0) <= LIST_LIMIT:
        few = np.flatnonzero(options.counts)
        weights, number = np.exp(sets.log_weights[few]), int(capacity[0])
        children, num_tried, is_whole = sample_completions(turn, few, weights, number, rng, polling)
        stepped, cut = num_tried.sum(keepdims=True), np.array([not is_whole])
        exact = sets.exact
    else:
        children, stepped, cut = _complete(turn, sets, set_of, listed, capacity, rng, polling)
    views = _views(setting, role, sets, paths[set_of], children)
    successors = _gather(machine, sets, set_of, children, views, exact & ~cut, capacity)
    sizes = capacity if limits.expansions is None else np.where(successors.exact, capacity, 0)
    return AdvancedSets(successors.thinned(sizes, rng), stepped)


def _advance_parts(
    setting: Setting,
    role: int,
    sets: Segments,
    paths: IntArray,
    parts: list[tuple[int, int]],
    limits: TurnLimits,
    rng: np.random.Generator,
) -> AdvancedSets:
    """`advance` for one slice of the sets after another."""
    advanced: list[AdvancedSets] = []
    for start, end in parts:
        if advanced and (limits.stop or setting.stop)():
            num_left = len(sets) - start
            empty = depleted_segments(setting.machine, num_left, keep_views=sets.views is not None)
            advanced.append(AdvancedSets(empty, np.zeros(num_left, dtype=np.int64)))
            break
        part, indices = sets.take(np.arange(start, end)), slice(start, end)
        bounds = limits.of(indices, len(sets))
        advanced.append(advance(setting, role, part, paths[indices], bounds, rng))
    return AdvancedSets(
        join(setting.machine, [part.sets for part in advanced]),
        np.concatenate([part.stepped for part in advanced]),
    )


def _listing(options: OpenMoves, set_of: IntArray, capacity: IntArray, *, draws: bool) -> BoolArray:
    """`[N]` whether all completions of each entry are listed."""
    if draws:
        totals = np.bincount(set_of, options.counts, minlength=len(capacity))
        return np.asarray((totals <= SPARED * capacity)[set_of] & (options.counts <= LIST_LIMIT))
    listed = options.counts <= LIST_LIMIT
    total = np.bincount(set_of[listed], options.counts[listed], minlength=len(capacity))
    is_crowded = total > np.maximum(LIST_TOTAL, LISTED_PER_ENTRY * capacity)
    if is_crowded.any():
        listed &= ~is_crowded[set_of] | (options.counts <= LISTED_PER_ENTRY)
    return listed


def _complete(
    turn: OpenTurn,
    sets: Segments,
    set_of: IntArray,
    listed: BoolArray,
    capacity: IntArray,
    rng: np.random.Generator,
    polling: Polling,
) -> tuple[Completions, IntArray, BoolArray]:
    """Matching completions; `[S]` lanes stepped for each set; `[S]` whether `stop` cut it short."""
    counts = turn.options.counts
    lanes = (listed & (counts > 0)).nonzero()[0]
    # The order matters only if `stop` cuts the list short, and only within a set.
    is_single = len(sets) == 1
    children, num_tried = list_completions(
        turn, lanes, polling, rng if is_single else None, most=MAX_CHILDREN
    )
    stepped = np.bincount(set_of[lanes], num_tried, minlength=len(sets)).astype(np.int64)
    totals = np.bincount(set_of[lanes], counts[lanes], minlength=len(sets))
    cut = stepped < totals
    if is_single and cut[0] and stepped[0]:
        children = children.standing_for(totals[0] / stepped[0])
    if not listed.all() and len(drawn_lanes := np.flatnonzero(~listed & (counts > 0))):
        owners = set_of[drawn_lanes]
        # Number of children of an entry that fills its share of the set.
        full = np.ceil(np.exp(sets.log_weights[drawn_lanes]) * capacity[owners])
        shares = np.maximum(1, full).astype(np.int64)
        total = np.bincount(owners, shares, minlength=len(sets))[owners]
        budget = np.maximum(DRAWN_PER_SET, 64 * capacity)[owners]
        caps = np.maximum(DRAW_LIMIT, 16 * capacity)[owners]
        limits = np.clip(budget * (shares / total), LISTED_PER_ENTRY, caps).astype(np.int64)
        drawn_children, num_drawn = draw_completions(
            turn, drawn_lanes, shares, limits, rng, polling, shuffle=is_single
        )
        num_tried = num_drawn
        if is_single and 2 * len(drawn_children.lanes) < np.count_nonzero(num_drawn):
            # Most entries that drew found nothing. They may share what few find, all drawn afresh.
            shared, num_shared = share_completions(turn, drawn_lanes, 2 * limits, rng, polling)
            num_tried = num_drawn + num_shared
            if len(shared.lanes) > len(drawn_children.lanes):
                drawn_children, num_drawn = shared, num_shared
        if is_single and 0 < (num_reached := np.count_nonzero(num_drawn)) < len(drawn_lanes):
            drawn_children = drawn_children.standing_for(len(drawn_lanes) / num_reached)
        children = Completions.joined(turn.machine, [children, drawn_children])
        stepped += np.bincount(owners, num_tried, minlength=len(sets)).astype(np.int64)
    return children, stepped, cut


def _views(
    setting: Setting, role: int, sets: Segments, paths: IntArray, children: Completions
) -> IntArray | None:
    """`[K, R]` incomplete path of every role along each child; our own is the real path."""
    if sets.views is None:
        return None
    views = sets.views[children.lanes]
    # Matching computed only our own percepts, and for many more joint moves.
    states = sets.states.take(children.lanes)
    percepts = setting.machine.step(states, children.joint_moves).percepts
    setting.tree.extend_views(views, children.joint_moves, percepts, role, paths[children.lanes])
    return views


def _gather(
    machine: Machine,
    sets: Segments,
    set_of: IntArray,
    children: Completions,
    views: IntArray | None,
    exact: BoolArray,
    capacity: IntArray,
) -> Segments:
    """The sets of all children, equal ones merged."""
    owners = set_of[children.lanes]
    keys = [owners, machine.groups(children.states)]
    if views is not None:
        keys.extend(views.T)
    first, group = first_seen_columns(keys)
    set_of_group = owners[first]
    if (set_of_group[1:] < set_of_group[:-1]).any():
        # Some were listed and some drawn, so children of one set are not neighbours.
        order = np.argsort(set_of_group, kind="stable")
        first, group = first[order], np.argsort(order)[group]
        set_of_group = set_of_group[order]
    log_weights = sets.log_weights[children.lanes] + children.log_factors
    if len(first) < len(group):
        log_weights = log_sums(log_weights, group, len(first))
    else:  # each child is its own group
        log_weights = log_weights[first]
    log_totals = log_sums(log_weights, set_of_group, len(sets))
    counts = np.bincount(set_of_group, minlength=len(sets))
    exact = exact & (counts <= capacity)
    sizes = counts.astype(np.float64)
    if not exact.all():
        estimate = _estimate_sizes(sets, set_of, children, group, set_of_group)
        sizes = np.where(exact, sizes, np.maximum(estimate, sizes))
    # A sample drawn from an exact set counts as `capacity` draws (see `Segments.log_masses`).
    draws = np.where(sets.exact & ~exact, np.maximum(capacity, 1), 1)
    return Segments(
        offsets_of(counts),
        children.states.take(first),
        log_weights - log_totals[set_of_group],
        exact,
        sizes,
        sets.log_masses + log_totals + np.log(draws),
        None if views is None else views[first],
    )


def _estimate_sizes(
    sets: Segments, set_of: IntArray, children: Completions, group: IntArray, owners: IntArray
) -> FloatArray:
    """`[S]` estimated number of distinct children of the whole sets.

    Two estimates in sequence: the distinct children of each entry, from its own completions; then
    the distinct children of the set, from the entries that share some.

    Args:
        group: `[K]` index of each child among the distinct ones.
        owners: `[G]` set of each distinct child.
    """
    # A child that one entry reaches in several ways counts once for this entry.
    first, pair = first_seen_columns([children.lanes, group])
    num_children = sums_by(children.lanes, children.stands_for, len(set_of))
    distinct = estimated_sizes(np.bincount(pair), children.lanes[first], num_children)
    set_totals = np.bincount(set_of, distinct, minlength=len(sets))
    with np.errstate(over="ignore"):
        # Entries that are left out are assumed to have as many children as the others.
        totals = np.minimum(sets.sizes * set_totals / np.maximum(sets.counts, 1), MAX_COMPLETIONS)
    parents = np.bincount(group[first], minlength=len(owners))
    return estimated_sizes(parents, owners, totals)


# ------------------------------------------------------------------------
# The number of different states, estimated from the paths that were tried.
#
# Different complete paths often end in the same state. If few states were reached twice, most are
# still missing; if nearly all were, few are. So the number of missing states is estimated from the
# numbers of states reached once and twice (Chao & Lin, "Nonparametric lower bounds for species
# richness and shared species richness under sampling without replacement", Biometrics 68, 2012).


def estimated_sizes(times: IntArray, set_of: IntArray, totals: FloatArray) -> FloatArray:
    """`[S]` estimated number of different states in each of several sets.

    If all paths were tried it is the number of states reached; if no state was reached twice it
    is the number of paths.

    Args:
        times: `[K]` number of tried paths that reach each state.
        set_of: `[K]` set of each state.
        totals: `[S]` estimated number of all paths.
    """
    num_sets = len(totals)
    num_found = np.bincount(set_of, minlength=num_sets)
    paths = np.bincount(set_of, times, minlength=num_sets)
    once = np.bincount(set_of[times == 1], minlength=num_sets)
    twice = np.bincount(set_of[times == 2], minlength=num_sets)
    totals = np.maximum(totals, paths)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Chao & Lin's lower bound. The second term is about 0 while few of all paths are tried, and
        # infinite when all are: then nothing is missing.
        divisor = 2.0 * twice * paths / (paths - 1) + once * paths / (totals - paths)
        num_missing = np.where(once > 0, once * (once / divisor), 0.0)
    return np.asarray(np.fmin(num_found + num_missing, totals))
