"""Segments of weighted particles, and one turn of belief for many of them at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ggp.belief.completions import (
    DRAW_LIMIT,
    Completions,
    draw_matching,
    list_completions,
    open_moves,
)
from ggp.belief.paths import PathTree
from ggp.belief.resample import choose_entries
from ggp.machine.arrays import first_seen, offsets_of, segment_ids
from ggp.machine.base import (
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    States,
)

LIST_LIMIT = 256
"""Joint completions of one particle are listed up to this many, and drawn beyond."""


@dataclass(frozen=True)
class Segments:
    """S sets of weighted entries of one role: N lanes in all.

    Attributes:
        offsets: `[S + 1]` lanes of each set.
        states: `[N]` state of each entry.
        log_weights: `[N]` log of weights that sum to 1 in each set.
        exact: `[S]` whether nothing was ever left out: the set is the whole information set,
            with exact weights.
        sizes: `[S]` number of entries of the whole information set: known if exact, else a
            rough estimate.
        views: `[N, R]` incomplete path of every role along the entry's complete path
            (tree nodes; that of `random` stays empty). None where nobody needs them.
    """

    offsets: IntArray
    states: States
    log_weights: FloatArray
    exact: BoolArray
    sizes: FloatArray
    views: IntArray | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def counts(self) -> IntArray:
        """`[S]` number of entries of each set; 0 where the set is depleted."""
        return np.diff(self.offsets)

    def take(self, sets: IntArray) -> Segments:
        """The sets with these indices, in this order, repeats allowed."""
        counts = self.counts[sets]
        offsets = offsets_of(counts)
        lanes = np.arange(offsets[-1]) + np.repeat(self.offsets[sets] - offsets[:-1], counts)
        return self._with_lanes(offsets, lanes, sets)

    def thinned(self, capacity: int, rng: np.random.Generator) -> Segments:
        """At most `capacity` entries of each set, drawn so that expectations are kept."""
        if not np.any(self.counts > capacity):
            return self
        kept, log_weights, offsets = choose_entries(
            self.log_weights, self.offsets, np.full(len(self), capacity), rng
        )
        sets = np.arange(len(self))
        thin = self._with_lanes(offsets, kept, sets)
        exact = self.exact & (self.counts <= capacity)
        return Segments(offsets, thin.states, log_weights, exact, self.sizes, thin.views)

    def _with_lanes(self, offsets: IntArray, lanes: IntArray, sets: IntArray) -> Segments:
        views = None if self.views is None else self.views[lanes]
        return Segments(
            offsets,
            self.states.take(lanes),
            self.log_weights[lanes],
            self.exact[sets],
            self.sizes[sets],
            views,
        )


def join(machine: Machine, parts: list[Segments]) -> Segments:
    """The sets of several `Segments`, one after the other."""
    if len(parts) == 1:
        return parts[0]
    views = [part.views for part in parts if part.views is not None]
    return Segments(
        offsets_of(np.concatenate([part.counts for part in parts])),
        machine.concatenate([part.states for part in parts]),
        np.concatenate([part.log_weights for part in parts]),
        np.concatenate([part.exact for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate(views) if len(views) == len(parts) else None,
    )


def depleted_segments(machine: Machine, count: int, *, keep_views: bool) -> Segments:
    """`count` sets without an entry, that nothing is known of."""
    return Segments(
        np.zeros(count + 1, dtype=np.int64),
        machine.initial(0),
        np.zeros(0),
        np.zeros(count, dtype=np.bool_),
        np.ones(count),
        np.zeros((0, len(machine.roles)), dtype=np.int64) if keep_views else None,
    )


def initial_segments(machine: Machine, count: int, *, keep_views: bool) -> Segments:
    """`count` sets that hold the initial state and nothing else."""
    roles = np.arange(len(machine.roles), dtype=np.int64)
    return Segments(
        np.arange(count + 1, dtype=np.int64),
        machine.initial(count),
        np.zeros(count),
        np.ones(count, dtype=np.bool_),
        np.ones(count),
        np.tile(roles, (count, 1)) if keep_views else None,
    )


@dataclass(frozen=True)
class Evidence:
    """What the role learns in one turn, one row a set: see `paths.Turn`."""

    moves: IntArray
    percepts: IntArray
    refused: IntArray

    def take(self, sets: IntArray) -> Evidence:
        """The rows with these indices."""
        return Evidence(self.moves[sets], self.percepts[sets], self.refused[sets])


def evidence_of(tree: PathTree, nodes: list[int]) -> Evidence:
    """The last turns of paths."""
    turns = np.array([tree.last_turn(node) for node in nodes], dtype=np.int64).reshape(-1, 3)
    return Evidence(turns[:, 0], turns[:, 1], turns[:, 2])


def advance(
    machine: Machine,
    tree: PathTree,
    role: int,
    sets: Segments,
    paths: IntArray,
    *,
    capacity: int,
    rng: np.random.Generator,
    expansion_limit: int | None = None,
) -> Segments:
    """One turn: every entry is completed by moves of the others that give our percepts.

    The completions of an entry are its children. A child weighs what its parent weighs times
    the prior probability of the completion; where the completions are too many to list, the
    weight is estimated without bias from those drawn. Children equal in state (and in views,
    where these are kept) become one. Sets of more than `capacity` children are thinned so
    that the expectation of every weighted sum stays what it was.

    A set that was exact stays so if nothing had to be drawn or thinned. A set without
    children has no entries in the result: it is depleted.

    Args:
        sets: S sets.
        paths: `[S]` incomplete paths of the role (tree nodes) that end with this turn.
        capacity: entries of a set at most.
        expansion_limit: if given, sets are only enumerated: those with more completions than
            this, or more children than `capacity`, come back empty and not exact.
    """
    evidence = evidence_of(tree, paths.tolist())
    options = open_moves(machine, role, sets.states, sets.offsets, evidence)
    set_of = segment_ids(sets.offsets)
    num_open = np.bincount(set_of, weights=options.counts, minlength=len(sets))
    if expansion_limit is None:
        listed = options.counts <= LIST_LIMIT
        exact = sets.exact & (np.bincount(set_of[~listed], minlength=len(sets)) == 0)
    else:
        exact = sets.exact & (num_open <= expansion_limit)
        options.counts[~exact[set_of]] = 0
        listed = np.ones(len(set_of), dtype=np.bool_)
    wanted = evidence.percepts[set_of]
    children = list_completions(machine, role, sets.states, options, listed, wanted)
    if np.any(~listed & (options.counts > 0)):
        drawn = draw_matching(
            machine,
            role,
            sets.states,
            options,
            ~listed,
            wanted,
            _shares(sets, capacity),
            max(DRAW_LIMIT, 16 * capacity),
            rng,
        )
        children = children.joined(drawn, machine)
    enumerate_only = expansion_limit is not None
    views = _views(machine, tree, role, sets, paths, children)
    return _gather(machine, sets, children, views, exact, capacity, enumerate_only, rng)


def _shares(sets: Segments, capacity: int) -> IntArray:
    """`[N]` how many children an entry should have if its set is to be full afterwards."""
    full = np.ceil(np.exp(sets.log_weights) * capacity)
    return np.asarray(np.maximum(1, full), dtype=np.int64)


def _views(
    machine: Machine,
    tree: PathTree,
    role: int,
    sets: Segments,
    paths: IntArray,
    children: Completions,
) -> IntArray | None:
    """`[K, R]` incomplete path of every role along each child; ours is what we really know."""
    if sets.views is None:
        return None
    views = sets.views[children.lanes].copy()
    for j in range(len(machine.roles)):
        if j == role:
            views[:, j] = paths[segment_ids(sets.offsets)[children.lanes]]
        elif j != machine.random_role:
            views[:, j] = tree.extend(
                views[:, j], children.joint_moves[:, j], children.percepts[:, j]
            )
    return views


def _gather(
    machine: Machine,
    sets: Segments,
    children: Completions,
    views: IntArray | None,
    exact: BoolArray,
    capacity: int,
    enumerate_only: bool,
    rng: np.random.Generator,
) -> Segments:
    parents = children.lanes
    set_of = segment_ids(sets.offsets)[parents]
    keys = [set_of, machine.groups(children.states)]
    if views is not None:
        keys.extend(views.T)
    first, group = first_seen(np.column_stack(keys))
    # Children of one set need not be neighbours when some were listed and some drawn.
    order = np.argsort(set_of[first], kind="stable")
    first, rank = first[order], np.argsort(order, kind="stable")
    group = rank[group]
    offsets = offsets_of(np.bincount(set_of[first], minlength=len(sets)))
    log_weights = _sum_weights(
        sets.log_weights[parents] + children.log_factors, set_of, group, len(first), len(sets)
    )
    counts = np.diff(offsets)
    exact = exact & (counts <= capacity)
    born = np.bincount(set_of, weights=children.stands_for, minlength=len(sets))
    sizes = np.where(exact, counts, sets.sizes * born / np.maximum(sets.counts, 1))
    result = Segments(
        offsets,
        children.states.take(first),
        log_weights,
        exact,
        np.maximum(sizes, counts),
        None if views is None else views[first],
    )
    limits = np.where(exact, counts, 0 if enumerate_only else capacity)
    if np.all(counts <= limits):
        return result
    kept, log_weights, offsets = choose_entries(log_weights, offsets, limits, rng)
    return Segments(
        offsets,
        result.states.take(kept),
        log_weights,
        exact,
        result.sizes,
        None if result.views is None else result.views[kept],
    )


def _sum_weights(
    log_weights: FloatArray, set_of: IntArray, group: IntArray, num_groups: int, num_sets: int
) -> FloatArray:
    """`[G]` log of summed weights of each group, normalised in each set."""
    top = np.full(num_sets, -np.inf)
    np.maximum.at(top, set_of, log_weights)
    weights = np.exp(log_weights - top[set_of])
    summed = np.bincount(group, weights=weights, minlength=num_groups)
    set_of_group = np.zeros(num_groups, dtype=np.int64)
    set_of_group[group] = set_of
    total = np.bincount(set_of_group, weights=summed, minlength=num_sets)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(summed / total[set_of_group]))
