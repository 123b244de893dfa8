"""Bags: the weighted particles of incomplete paths of one role (paper 004, Definition 6).

Samplers make bags; players and searches read their states and weights. A bag is exact where the
information set is small enough to enumerate, and a HyperPlay sample of it otherwise. All bags of a
path share its exact set, but every sampled bag is a sample of its own.

Many bags lie side by side in arrays (`Segments`): the entries of all sets in one array, and offsets
that say where each set begins. Resampling, at the end, thins bags without bias.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ggp.belief.paths import PathTree
from ggp.belief.turns.open_moves import MAX_COMPLETIONS
from ggp.errors import BeliefDepletedError
from ggp.machine.arrays import first_seen, first_seen_columns, log_sums, offsets_of, take_segments
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States


@dataclass(frozen=True)
class Bags:
    """The bags of B incomplete paths of one role.

    A bag that happens to hold its whole information set is exact, even if it was not enumerated.

    >>> import numpy as np
    >>> from ggp.belief import HyperPlaySampler, PathTree
    >>> from ggp.machine import build_machine
    >>> from ggp.machine.games import load_program
    >>> machine = build_machine(load_program("monty_hall"))
    >>> sampler = HyperPlaySampler(machine, PathTree(machine), capacity=10)
    >>> bags = sampler.start(role=machine.roles.index("candidate"))
    >>> len(bags), bags.exact[0], bags.weights_of(0)
    (1, np.True_, array([1.]))

    Attributes:
        role: the role of these paths.
        paths: `[B]` tree nodes of the incomplete paths.
        segment: `[B]` index of each bag's set among the S sets; bags of a path share an exact set.
        sets: the entries.
        guessed: number of entries that need not agree with their paths: their states may lie
            outside the information set.
    """

    role: int
    paths: IntArray
    segment: IntArray
    sets: Segments
    guessed: int = 0

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def sound(self) -> bool:
        """Whether every entry agrees with its path: no state is outside the information set."""
        return self.guessed == 0

    @property
    def depleted(self) -> BoolArray:
        """`[B]` whether each bag has no entry."""
        return np.asarray(self.sets.counts[self.segment] == 0)

    @property
    def exact(self) -> BoolArray:
        """`[B]` whether each bag is a whole information set."""
        return self.sets.exact[self.segment]

    @property
    def nodes(self) -> IntArray:
        """Tree nodes in use: the paths of the bags, and the views of their entries."""
        views = self.sets.views
        return self.paths if views is None else np.concatenate([self.paths, views.ravel()])

    def states_of(self, bag: int) -> States:
        """The states of one bag's entries."""
        return self.sets.states.take(self.lanes_of(bag))

    def weights_of(self, bag: int) -> FloatArray:
        """The weights of one bag's entries; they sum to 1."""
        weights = np.exp(self.sets.log_weights[self.lanes_of(bag)])
        return np.asarray(weights / weights.sum())

    def draw(self, bag: int, count: int, rng: np.random.Generator) -> IntArray:
        """`[count]` lanes of one bag's entries, drawn by weight."""
        weights = self.weights_of(bag)
        return self.lanes_of(bag)[rng.choice(len(weights), size=count, p=weights)]

    def select(self, bags: IntArray) -> Bags:
        """The bags with these indices, in this order."""
        segment = self.segment[bags]
        first, group = first_seen(segment)
        return replace(
            self, paths=self.paths[bags], segment=group, sets=self.sets.take(segment[first])
        )

    def renumbered(self, numbers: IntArray) -> Bags:
        """The same bags after `PathTree.prune`."""
        return replace(self, paths=numbers[self.paths], sets=self.sets.renumbered(numbers))

    def lanes_of(self, bag: int) -> IntArray:
        """The lanes of one bag's entries, as indices into `sets.states`."""
        s = self.segment[bag]
        return np.arange(self.sets.offsets[s], self.sets.offsets[s + 1])


def require_particles(bags: Bags, tree: PathTree, attempts: int) -> None:
    """Raise `BeliefDepletedError` if the first bag has no entry."""
    if bags.depleted[0]:
        path = int(bags.paths[0])
        raise BeliefDepletedError(tree.texts(path), attempts, exhausted=bool(bags.exact[0]))


# ------------------------------------------------------------------------
# Segments: the sets of weighted particles behind bags.


@dataclass(frozen=True)
class Segments:
    """S sets of weighted entries of one role: N lanes in all.

    Attributes:
        offsets: `[S + 1]` lanes of each set.
        states: `[N]` state of each entry.
        log_weights: `[N]` log of weights that sum to 1 in each set.
        exact: `[S]` whether the set is the whole information set, with exact weights: nothing was
            ever left out.
        sizes: `[S]` number of entries of the whole information set; a rough estimate unless exact.
        log_masses: `[S]` log of (probability of the role's percepts, given its moves) * (number of
            draws behind this estimate, 1 if exact). Independent samples of one path are pooled in
            proportion to it.
        views: `[N, R]` incomplete path of every role along the entry's complete path
            (tree nodes; the path of `random` stays empty). None if not needed.
    """

    offsets: IntArray
    states: States
    log_weights: FloatArray
    exact: BoolArray
    sizes: FloatArray
    log_masses: FloatArray
    views: IntArray | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def counts(self) -> IntArray:
        """`[S]` number of entries of each set; 0 where the set is depleted."""
        return self.offsets[1:] - self.offsets[:-1]

    def take(self, sets: IntArray) -> Segments:
        """The sets with these indices, in this order, repeats allowed."""
        if len(sets) == len(self) and (sets == np.arange(len(sets))).all():
            return self
        offsets, lanes = take_segments(self.offsets, sets)
        return self._with_lanes(offsets, lanes, sets)

    def entry(self, lane: int) -> Segments:
        """A single entry of a single set, as a set of its own."""
        return self._with_lanes(np.array([0, 1]), np.array([lane]), np.zeros(1, dtype=np.int64))

    def thinned(self, limits: IntArray | int, rng: np.random.Generator) -> Segments:
        """Sets of at most `[S]` limits entries, drawn so that every expectation stays the same."""
        counts = self.counts
        if (counts <= limits).all():
            return self
        limits = np.broadcast_to(limits, len(self))
        lanes, log_weights, offsets = choose_entries(self.log_weights, self.offsets, limits, rng)
        thin = self._with_lanes(offsets, lanes, np.arange(len(self)))
        exact = self.exact & (counts <= limits)
        draws = np.where(self.exact & ~exact, np.maximum(limits, 1), 1)
        return Segments(
            offsets,
            thin.states,
            log_weights,
            exact,
            self.sizes,
            self.log_masses + np.log(draws),
            thin.views,
        )

    def without_views(self, machine: Machine) -> Segments:
        """The same single set without views: entries of equal states are merged."""
        first, weights = _distinct(machine, self.states, self.log_weights, None)
        merged = self._with_lanes(np.array([0, len(first)]), first, np.zeros(1, dtype=np.int64))
        sizes = np.where(self.exact, len(first), self.sizes)
        return replace(merged, log_weights=weights, sizes=sizes, views=None)

    def renumbered(self, numbers: IntArray) -> Segments:
        """The same sets after `PathTree.prune`."""
        return replace(self, views=None if self.views is None else numbers[self.views])

    def _with_lanes(self, offsets: IntArray, lanes: IntArray, sets: IntArray) -> Segments:
        views = None if self.views is None else self.views[lanes]
        return Segments(
            offsets,
            self.states.take(lanes),
            self.log_weights[lanes],
            self.exact[sets],
            self.sizes[sets],
            self.log_masses[sets],
            views,
        )


def join(machine: Machine, parts: Sequence[Segments]) -> Segments:
    """All sets of several `Segments`, in order."""
    if len(parts) == 1:
        return parts[0]
    views = [part.views for part in parts if part.views is not None]
    return Segments(
        offsets_of(np.concatenate([part.counts for part in parts])),
        machine.concatenate([part.states for part in parts]),
        np.concatenate([part.log_weights for part in parts]),
        np.concatenate([part.exact for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.log_masses for part in parts]),
        np.concatenate(views) if len(views) == len(parts) else None,
    )


def replaced(
    machine: Machine, sets: Segments, parts: Sequence[tuple[IntArray, Segments]]
) -> Segments:
    """The sets after replacements.

    Args:
        parts: indices of sets, and their replacements; later parts win.
    """
    if not parts:
        return sets
    if len(parts) == 1 and len(parts[0][0]) == len(sets):
        return parts[0][1]
    order = np.arange(len(sets))
    count = len(sets)
    for indices, replacements in parts:
        order[indices] = count + np.arange(len(replacements))
        count += len(replacements)
    return join(machine, [sets, *(replacements for _, replacements in parts)]).take(order)


def pooled(machine: Machine, first_sample: Segments, second_sample: Segments) -> Segments:
    """Two independent samples of a path as one; each argument is one set.

    Each weight is multiplied by the mass of its sample: the number of draws, times the share of
    their starting weight that agrees with the path. So every expectation is the same as over all
    draws together. Equal entries are merged.
    """
    union = join(machine, [first_sample, second_sample])
    log_weights = union.log_weights + np.repeat(union.log_masses, union.counts)
    first, summed = _distinct(machine, union.states, log_weights, union.views)
    log_mass = log_sums(union.log_masses, np.zeros(2, dtype=np.int64), 1)
    sizes = np.maximum(union.sizes.max(keepdims=True), len(first))
    return _sample_of(union.states, union.views, first, summed - log_mass, sizes, log_mass)


def extended(machine: Machine, sets: Segments, sample: Segments) -> Segments:
    """One bag with entries of its path from another source added; each argument is one set.

    New entries weigh on average as much as old ones, whatever their masses. Equal entries are
    merged. The union is not exact.
    """
    old_size, total = len(sets.states), len(sets.states) + len(sample.states)
    union = join(machine, [sets, sample])
    log_weights = union.log_weights + np.repeat(np.log(np.maximum(union.counts, 1)), union.counts)
    first, summed = _distinct(machine, union.states, log_weights, union.views)
    sizes = np.maximum(sets.sizes, len(first)) if old_size else np.full(1, MAX_COMPLETIONS)
    log_masses = sets.log_masses + np.log(total / old_size) if old_size else np.zeros(1)
    logs = summed - np.log(total)
    return _sample_of(union.states, union.views, first, logs, sizes, log_masses)


def united(machine: Machine, parts: list[Segments]) -> Segments:
    """The union of several sets, weighted by their masses; equal entries are merged."""
    union = join(machine, parts)
    log_weights = union.log_weights + np.repeat(union.log_masses, union.counts)
    return set_of(machine, union.states, log_weights, union.views)


def set_of(
    machine: Machine, states: States, log_weights: FloatArray, views: IntArray | None
) -> Segments:
    """One set of weighted entries, equal ones merged; not exact. Its mass is the sum of weights."""
    first, summed = _distinct(machine, states, log_weights, views)
    if not len(first):
        return depleted_segments(machine, 1, keep_views=views is not None)
    total = log_sums(summed, np.zeros(len(first), dtype=np.int64), 1)
    return _sample_of(states, views, first, summed - total, np.full(1, float(len(first))), total)


def _distinct(
    machine: Machine, states: States, log_weights: FloatArray, views: IntArray | None
) -> tuple[IntArray, FloatArray]:
    """Indices of the distinct entries, and the log of the sum of weights of each."""
    keys = [machine.groups(states), *([] if views is None else views.T)]
    first, group = first_seen_columns(keys)
    return first, log_sums(log_weights, group, len(first))


def _sample_of(
    states: States,
    views: IntArray | None,
    lanes: IntArray,
    log_weights: FloatArray,
    sizes: FloatArray,
    log_masses: FloatArray,
) -> Segments:
    """One set of some of these entries; not exact."""
    return Segments(
        np.array([0, len(lanes)]),
        states.take(lanes),
        log_weights,
        np.zeros(1, dtype=np.bool_),
        sizes,
        log_masses,
        None if views is None else views[lanes],
    )


def depleted_segments(machine: Machine, count: int, *, keep_views: bool) -> Segments:
    """`count` sets without an entry; the sizes of their information sets are unknown."""
    return Segments(
        np.zeros(count + 1, dtype=np.int64),
        machine.initial(0),
        np.zeros(0),
        np.zeros(count, dtype=np.bool_),
        np.ones(count),
        np.full(count, -np.inf),
        np.zeros((0, len(machine.roles)), dtype=np.int64) if keep_views else None,
    )


def initial_segments(machine: Machine, count: int, *, keep_views: bool) -> Segments:
    """`count` sets that hold only the initial state."""
    # Node r of a path tree is the empty path of role r.
    roles = np.arange(len(machine.roles), dtype=np.int64)
    return Segments(
        np.arange(count + 1, dtype=np.int64),
        machine.initial(count),
        np.zeros(count),
        np.ones(count, dtype=np.bool_),
        np.ones(count),
        np.zeros(count),
        np.tile(roles, (count, 1)) if keep_views else None,
    )


def one_set(states: States) -> Segments:
    """One set of states of equal weight, without views."""
    count = len(states)
    return Segments(
        np.array([0, count], dtype=np.int64),
        states,
        np.full(count, -np.log(max(count, 1))),
        np.zeros(1, dtype=np.bool_),
        np.full(1, float(max(count, 1))),
        np.full(1, np.log(count) if count else -np.inf),
    )


# ------------------------------------------------------------------------
# Resampling: thins sets of weighted entries to their limits without changing any expectation.
#
# `Segments.thinned` passes in log weights and gets indices of entries with new log weights back. A
# set of more than K entries keeps K. Entries heavier than a threshold c stay with their weight; of
# the lighter ones a systematic sample stays, each with probability weight / c, and gets weight c.
# The threshold is the one for which K entries stay. No entry is duplicated, and among all unbiased
# methods this one changes the weights least (Fearnhead & Clifford, J. R. Statist. Soc. B 65, 2003,
# section 3).
#
# Weights .5, .3, .1, .06, .04 and K = 3: the threshold is c = .2, because .5 and .3 are above it
# and the other three share (.1 + .06 + .04) / .2 = 1 place. The first two stay; of the others one
# stays, with probability .5, .3 and .2, and weighs .2. Expectations do not change: .5 * .2 = .1,
# and so on.
#
# Sets of similar size are processed side by side, as rows of a matrix. Sums run along a row, entry
# by entry, so that no set depends on its neighbours. Shapes: S sets, N entries, E entries in a row.

_WASTE = 4
"""A row of a matrix is at most this many times as long as its set, or one matrix for all sets has
at most this many times their entries."""


def matrices(offsets: IntArray, sets: IntArray) -> Iterator[tuple[IntArray, IntArray, BoolArray]]:
    """Sets as rows of matrices; empty sets are left out.

    Args:
        offsets: `[S + 1]` entries of each set.
        sets: indices of the sets.

    Yields:
        for one matrix: the positions of its rows in `sets`, the `[rows, E]` index of each entry
        (padded with the row's first), and `[rows, E]` whether it is an entry and not padding.
    """
    counts = offsets[sets + 1] - offsets[sets]
    if not counts.any():
        return
    longest = int(counts.max())
    if longest * len(counts) <= _WASTE * int(counts.sum()) + 1024:
        bounds = [(0, longest)]
    else:
        steps = [0, *(_WASTE**k for k in range(1, 32) if _WASTE ** (k - 1) < longest)]
        bounds = list(itertools.pairwise(steps))
    for low, high in bounds:
        rows = np.flatnonzero((counts > low) & (counts <= high))
        if not len(rows):
            continue
        columns = np.arange(int(counts[rows].max()))
        inside = columns < counts[rows, None]
        yield rows, offsets[sets[rows], None] + np.where(inside, columns, 0), inside


def choose_entries(
    log_weights: FloatArray, offsets: IntArray, limits: IntArray, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, IntArray]:
    """Thin every set to its limit.

    >>> import numpy as np
    >>> from ggp.belief.bags import choose_entries
    >>> weights, rng = np.array([0.5, 0.3, 0.1, 0.06, 0.04]), np.random.default_rng(0)
    >>> entries, log_weights, offsets = choose_entries(
    ...     np.log(weights), np.array([0, 5]), np.array([3]), rng
    ... )
    >>> np.exp(log_weights).round(2)
    array([0.5, 0.3, 0.2])

    Args:
        log_weights: `[N]` log of weights that sum to 1 in each set.
        offsets: `[S + 1]` entries of each set.
        limits: `[S]` most entries to keep.
        rng: draws one number for each set that is thinned.

    Returns:
        `[K]` indices of the remaining entries, in order; their log weights, normalised in each
        set; and the `[S + 1]` new offsets.
    """
    counts = offsets[1:] - offsets[:-1]
    mask = np.repeat(limits > 0, counts)
    log_weights = log_weights.copy()
    thinned = np.flatnonzero((counts > limits) & (limits > 0))
    starts = rng.random(len(thinned))
    for rows, entries, inside in matrices(offsets, thinned):
        logs = np.where(inside, log_weights[entries], -np.inf)
        new, _ = _thin_logs(logs, limits[thinned[rows]], starts[rows])
        mask[entries[inside]] = new[inside] > -np.inf
        log_weights[entries[inside]] = new[inside]
    num_before = np.concatenate([[0], np.cumsum(mask)])
    return np.flatnonzero(mask), log_weights[mask], num_before[offsets]


def _thin_logs(
    logs: FloatArray, limits: IntArray, starts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """`[S, E]` log of the new weights, which sum to 1, -inf for dropped entries; and `[S, 1]` log
    of their sum before normalisation.

    Entries whose weights underflow to 0 get the free places, if any.

    Args:
        logs: `[S, E]` log weights, the greatest of each row about 0; -inf for no entry.
    """
    weights = np.exp(logs)
    new = _thin(weights, limits, starts)
    total = np.cumsum(new, axis=1)[:, -1:]
    with np.errstate(divide="ignore"):
        new_logs = np.log(new / total)
    log_total = np.log(total)
    faint = (weights == 0) & (logs > -np.inf)
    room = limits - np.count_nonzero(new, axis=1)
    rows = np.flatnonzero(faint.any(axis=1) & (room > 0))
    if len(rows):
        faint_logs = np.where(faint[rows], logs[rows], -np.inf)
        top = faint_logs.max(axis=1, keepdims=True)
        light, log_light = _thin_logs(faint_logs - top, room[rows], starts[rows])
        light += log_light + top - log_total[rows]
        new_logs[rows] = np.maximum(new_logs[rows], light)
    return new_logs, log_total


def _thin(weights: FloatArray, limits: IntArray, starts: FloatArray) -> FloatArray:
    """`[S, E]` new weights, 0 for dropped entries."""
    threshold = _thresholds(weights, limits)[:, None]
    light = weights <= threshold
    with np.errstate(divide="ignore", invalid="ignore"):
        keep = np.where(light, weights / threshold, 1.0)
    keep[np.isnan(keep)] = 0.0  # weights of 0 below a threshold of 0
    ends = np.cumsum(keep, axis=1)
    # Rounding must not lose the last entry.
    ends = np.where((ends >= ends[:, -1:]) & (threshold > 0), limits[:, None], ends)
    # A systematic sample: marks at distance 1 from a random start, and entries laid end to end with
    # their `keep` as lengths. An entry stays if a mark falls on it; as lengths are at most 1, no
    # entry gets two.
    marks = np.floor(np.column_stack([starts, ends + starts[:, None]]))
    return np.where(marks[:, 1:] > marks[:, :-1], np.maximum(weights, threshold), 0.0)


def _thresholds(weights: FloatArray, limits: IntArray) -> FloatArray:
    """`[S]` the threshold c of each row: sum(min(1, weight / c)) = limit.

    A row must have more entries than its limit.
    """
    rising = np.sort(weights, axis=1)
    falling, tails = rising[:, ::-1], np.cumsum(rising, axis=1)[:, ::-1]
    # If the k heaviest keep their weights, the others share limit - k places, so c is their sum
    # divided by limit - k. The right k is the first for which no other entry exceeds this c.
    room = limits[:, None] - np.arange(weights.shape[1])
    candidates = tails / np.maximum(room, 1)
    fits = (falling <= candidates) & (room > 0)
    return np.asarray(candidates[np.arange(len(weights)), np.argmax(fits, axis=1)])
