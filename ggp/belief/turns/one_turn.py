"""One turn of belief for many sets of particles at once.

Every entry of every set is completed by moves of the others that give our percepts; the successors
are the entry's children. Equal children are merged, and sets with too many are thinned:

    entries (weight)     completions that match (prior)     children (weight)
    s1 (1/2)             a (1/3), b (1/3)                   t1 (1/6 + 1/4), t2 (1/6)
    s2 (1/2)             c (1/2)

where a and c lead to the same state t1. The weights sum to 7/12, the probability of our percepts;
normalised they are 5/7 and 2/7. (For beliefs with views t1 would be two entries if a and c
tell another role different things.) A set stays exact for as long as nothing had to be drawn or
thinned. All sets are advanced side by side, and no result depends on its neighbours.
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
)
from ggp.belief.turns.open_moves import MOST_COMPLETIONS, Learnt, OpenMoves, open_moves
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
those of a particle are drawn if there are more than `LISTED_PER_ENTRY`."""

LISTED_PER_ENTRY = 32

SPARED = 4
"""Even where completions are rather drawn, those of a set are listed if they are at most this many
times its capacity."""

DRAW_LIMIT = 4096
"""Completions drawn for one entry in one turn before giving up, in a set of moderate size."""

DRAWN_PER_SET = 4 * DRAW_LIMIT
"""Completions drawn for all entries of a set together, in a set of moderate size."""

MOST_CHILDREN = 1 << 20
"""Children that a set may have before equal ones are merged: bounds memory."""

COMPLETIONS_AT_ONCE = 1 << 19
"""Completions of sets that are advanced side by side: bounds memory."""


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """What may become of S sets in a turn.

    Attributes:
        capacity: `[S]` most entries of a set.
        expansions: `[S]` if given, sets are only enumerated: those with more completions than
            this, or more children than `capacity`, come back empty and not exact.
        draws: whether completions of sets with many more than `capacity` are drawn, although they
            could be listed: that is cheaper where most of them match.
        stop: replaces the `stop` of the setting.
    """

    capacity: IntArray | int
    expansions: IntArray | int | None = None
    draws: bool = False
    stop: Callable[[], bool] | None = None

    def of(self, sets: slice, number: int) -> TurnLimits:
        """The limits of some of a number of sets."""
        capacity = np.broadcast_to(self.capacity, number)[sets]
        expansions = self.expansions
        if expansions is not None:
            expansions = np.broadcast_to(expansions, number)[sets]
        return replace(self, capacity=capacity, expansions=expansions)


class Grown(NamedTuple):
    """Sets one turn later, and `[S]` how many lanes were stepped for each."""

    sets: Segments
    stepped: IntArray


def advance(
    setting: Setting,
    role: int,
    sets: Segments,
    paths: IntArray,
    limits: TurnLimits,
    rng: np.random.Generator,
) -> Grown:
    """Advance sets by one turn: each entry is completed by moves of the others that give our
    percepts.

    The completions of an entry are its children. A child's weight is its parent's weight times
    the prior probability of the completion; where the completions are too many to list, the
    weight is estimated without bias from those drawn. Children equal in state (and in views,
    where these are kept) are merged. Sets of more children than `capacity` are thinned so
    that the expectation of every weighted sum is unchanged.

    A set that was exact stays so if nothing had to be drawn or thinned. A set without
    children has no entries in the result: it is depleted.

    When it is stopped, whatever was not reached yet is left out: of a single set at random, of
    several sets the last ones.

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
        listed = _listed(options, set_of, capacity, draws=limits.draws)
        exact = sets.exact & (np.bincount(set_of[~listed], minlength=len(sets)) == 0)
    else:
        num_open = np.bincount(set_of, weights=options.counts, minlength=len(sets))
        exact = sets.exact & (num_open <= limits.expansions)
        # Sets that are not enumerated are not stepped either.
        options.counts[~exact[set_of]] = 0.0
        listed = np.ones(len(set_of), dtype=np.bool_)
    effort = np.bincount(
        set_of, weights=np.where(listed, options.counts, LISTED_PER_ENTRY), minlength=len(sets)
    )
    parts = list(chunks(effort, COMPLETIONS_AT_ONCE))
    if len(parts) > 1:
        return _advance_parts(setting, role, sets, paths, parts, limits, rng)
    turn = OpenTurn(machine, role, sets.states, options, evidence.percepts)
    polling = Polling(limits.stop or setting.stop, setting.lanes_at_once)
    children, stepped, cut = _complete(turn, sets, set_of, listed, capacity, rng, polling)
    views = _views(setting, role, sets, paths[set_of], children)
    grown = _gather(machine, sets, set_of, children, views, exact & ~cut, capacity)
    most = capacity if limits.expansions is None else np.where(grown.exact, capacity, 0)
    return Grown(grown.thinned(most, rng), stepped)


def _advance_parts(
    setting: Setting,
    role: int,
    sets: Segments,
    paths: IntArray,
    parts: list[tuple[int, int]],
    limits: TurnLimits,
    rng: np.random.Generator,
) -> Grown:
    """`advance` for one run of sets after another."""
    done: list[Grown] = []
    for start, end in parts:
        if done and (limits.stop or setting.stop)():
            left = len(sets) - start
            lost = depleted_segments(setting.machine, left, keep_views=sets.views is not None)
            done.append(Grown(lost, np.zeros(left, dtype=np.int64)))
            break
        part, places = sets.take(np.arange(start, end)), slice(start, end)
        bounds = limits.of(places, len(sets))
        done.append(advance(setting, role, part, paths[places], bounds, rng))
    return Grown(
        join(setting.machine, [part.sets for part in done]),
        np.concatenate([part.stepped for part in done]),
    )


def _listed(options: OpenMoves, set_of: IntArray, capacity: IntArray, *, draws: bool) -> BoolArray:
    """`[N]` whether the completions of an entry are all listed."""
    if draws:
        totals = np.bincount(set_of, options.counts, minlength=len(capacity))
        return np.asarray((totals <= SPARED * capacity)[set_of] & (options.counts <= LIST_LIMIT))
    listed = options.counts <= LIST_LIMIT
    total = np.bincount(set_of[listed], options.counts[listed], minlength=len(capacity))
    many = total > np.maximum(LIST_TOTAL, LISTED_PER_ENTRY * capacity)
    if many.any():
        listed &= ~many[set_of] | (options.counts <= LISTED_PER_ENTRY)
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
    """Matching completions of all entries; `[S]` lanes stepped, `[S]` sets cut short by `stop`."""
    counts = turn.options.counts
    open_ = counts > 0
    lanes = np.flatnonzero(listed & open_)
    # The order matters if not all are reached, and then only within a set.
    alone = len(sets) == 1
    children, tried = list_completions(
        turn, lanes, polling, rng if alone else None, most=MOST_CHILDREN
    )
    stepped = np.bincount(set_of[lanes], tried, minlength=len(sets)).astype(np.int64)
    whole = np.bincount(set_of[lanes], counts[lanes], minlength=len(sets))
    cut = stepped < whole
    if alone and cut[0] and stepped[0]:
        children = children.standing_for(whole[0] / stepped[0])
    drawn = np.flatnonzero(~listed & open_)
    if len(drawn):
        owners = set_of[drawn]
        # Number of children an entry should have if its set is to be full afterwards.
        full = np.ceil(np.exp(sets.log_weights[drawn]) * capacity[owners])
        shares = np.maximum(1, full).astype(np.int64)
        total = np.bincount(owners, shares, minlength=len(sets))[owners]
        budget = np.maximum(DRAWN_PER_SET, 64 * capacity)[owners]
        most = np.maximum(DRAW_LIMIT, 16 * capacity)[owners]
        limits = np.clip(budget * (shares / total), LISTED_PER_ENTRY, most).astype(np.int64)
        others, num_drawn = draw_completions(
            turn, drawn, shares, limits, rng, polling, shuffle=alone
        )
        if alone and 0 < (come_to := np.count_nonzero(num_drawn)) < len(drawn):
            others = others.standing_for(len(drawn) / come_to)
        children = Completions.joined(turn.machine, [children, others])
        stepped += np.bincount(owners, num_drawn, minlength=len(sets)).astype(np.int64)
    return children, stepped, cut


def _views(
    setting: Setting, role: int, sets: Segments, paths: IntArray, children: Completions
) -> IntArray | None:
    """`[K, R]` incomplete path of every role along each child; ours is our real one."""
    if sets.views is None:
        return None
    views = sets.views[children.lanes]
    # So far only our own percepts were asked for, and of many more joint moves.
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
    """The sets that children form, equal ones merged."""
    owners = set_of[children.lanes]
    keys = [owners, machine.groups(children.states)]
    if views is not None:
        keys.extend(views.T)
    first, group = first_seen_columns(keys)
    if (owners[first][1:] < owners[first][:-1]).any():
        # Some were listed and some drawn: children of one set are not neighbours.
        order = np.argsort(owners[first], kind="stable")
        first, group = first[order], np.argsort(order)[group]
    log_weights, log_totals = _sum_weights(
        sets.log_weights[children.lanes] + children.log_factors,
        owners,
        group,
        len(first),
        len(sets),
    )
    counts = np.bincount(owners[first], minlength=len(sets))
    exact = exact & (counts <= capacity)
    sizes = counts.astype(np.float64)
    if not exact.all():
        estimate = _estimated(sets, set_of, children, group, owners[first])
        sizes = np.where(exact, sizes, np.maximum(estimate, sizes))
    # A draw from a whole set stands for as many draws as the sample has places.
    draws = np.where(sets.exact & ~exact, np.maximum(capacity, 1), 1)
    return Segments(
        offsets_of(counts),
        children.states.take(first),
        log_weights,
        exact,
        sizes,
        sets.log_masses + log_totals + np.log(draws),
        None if views is None else views[first],
    )


def _estimated(
    sets: Segments, set_of: IntArray, children: Completions, group: IntArray, owners: IntArray
) -> FloatArray:
    """`[S]` estimated number of different children that the whole sets have.

    Args:
        group: `[K]` number of each child among the different ones.
        owners: `[G]` set of each different one.
    """
    # Several completions of one entry that lead to the same child say nothing of other entries.
    first, pair = first_seen_columns([children.lanes, group])
    made = sums_by(children.lanes, children.stands_for, len(set_of))
    of_entries = estimated_sizes(np.bincount(pair), children.lanes[first], made)
    born = np.bincount(set_of, of_entries, minlength=len(sets))
    with np.errstate(over="ignore"):
        # Entries that were left out are taken to have as many children as those present.
        totals = np.minimum(sets.sizes * born / np.maximum(sets.counts, 1), MOST_COMPLETIONS)
    parents = np.bincount(group[first], minlength=len(owners))
    return estimated_sizes(parents, owners, totals)


def _sum_weights(
    log_weights: FloatArray, set_of: IntArray, group: IntArray, num_groups: int, num_sets: int
) -> tuple[FloatArray, FloatArray]:
    """`[G]` log of summed weights of each group, normalised in each set; `[S]` log of the sums."""
    summed = log_sums(log_weights, group, num_groups)
    set_of_group = np.zeros(num_groups, dtype=np.int64)
    set_of_group[group] = set_of
    totals = log_sums(summed, set_of_group, num_sets)
    return np.asarray(summed - totals[set_of_group]), totals


# ------------------------------------------------------------------------
# How many different states there are, when only some of the ways to them were tried.
#
# Different complete paths often end in the same state. If few states were reached in two ways, few
# of many were found; if nearly all were, nearly all were found. So what was not found is estimated
# from the numbers of what was reached once and twice (Chao & Lin, "Nonparametric lower bounds for
# species richness and shared species richness under sampling without replacement", Biometrics 68,
# 2012).


def estimated_sizes(times: IntArray, set_of: IntArray, totals: FloatArray) -> FloatArray:
    """`[S]` estimated number of different states in each of several sets.

    It is the number of states that were found where all ways were tried, and the number of ways
    where no state was reached twice.

    Args:
        times: `[K]` in how many of the ways that were tried each state was reached.
        set_of: `[K]` set of each state.
        totals: `[S]` estimated number of ways that there are.
    """
    num_sets = len(totals)
    found = np.bincount(set_of, minlength=num_sets)
    tried = np.bincount(set_of, times, minlength=num_sets)
    once = np.bincount(set_of[times == 1], minlength=num_sets)
    twice = np.bincount(set_of[times == 2], minlength=num_sets)
    totals = np.maximum(totals, tried)
    with np.errstate(divide="ignore", invalid="ignore"):
        known = 2.0 * twice * tried / (tried - 1) + once * tried / (totals - tried)
        unknown = np.where(once > 0, once * (once / known), 0.0)
    return np.asarray(np.fmin(found + unknown, totals))
