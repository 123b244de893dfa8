"""Finders that redraw a bag from earlier ones: of earlier turns, or of the last exact set.

They get a bag that lost its particles, and return one with more. `Earlier` redraws the bag of a
match from bags of earlier turns, each try from further back and with more entries, until the bag is
half full. In a long game the last enumerated set is far back, and samples drawn from there hardly
ever agree with so many turns. So some bags since then are remembered (`BagHistory`), fewer of the
older ones:

    turn     0 ... 32 .. 48 .. 56 .. 64 . 68 . 72 . 76 78 80 82 84 85 86 87 | 88

Samples drawn from such a bag start with its weights. They are as good as that bag was: particles
that it had lost do not come back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ggp.belief.bags import Bags, Segments, extended, join, one_set, pooled, replaced
from ggp.belief.finding.exact import ENTRIES_AT_ONCE, EXPANSIONS_PER_ENTRY, ExactSets
from ggp.belief.paths import PathTree
from ggp.belief.sampler import Finder, Setting
from ggp.belief.turns.one_turn import AdvancedSets, TurnLimits, advance
from ggp.machine.abilities import Redrawer, Redraws
from ggp.machine.arrays import first_seen
from ggp.machine.base import UNKNOWN, BoolArray, IntArray, Machine, States

NEAR = 4
"""The last this many turns are all remembered; of the turns up to twice as long ago, every second;
and so on."""

LONG_AGO = 6
"""From this many turns after the last exact set, a bag is drawn from earlier bags instead."""

OWN_SHARE = 0.5
"""Share of the available time after which `Earlier` leaves an empty bag to other finders."""

RETRACED = 100
"""Lanes stepped for each entry that a bag may have, to redraw a bag that is not yet empty: enough
for a few turns."""


MAX_KEPT = 1 << 13
"""Most entries of a bag that is remembered: bounds memory."""


class PathStart(NamedTuple):
    """A bag of an earlier turn: one set, `back` turns before the end of a path."""

    back: int
    bag: Segments


class BagHistory:
    """Sampled bags of the beginnings of one path."""

    def __init__(self) -> None:
        self._sets: dict[int, tuple[int, Segments]] = {}
        self._starts: tuple[int, list[PathStart]] | None = None  # of the last path

    def __len__(self) -> int:
        """Number of bags."""
        return len(self._sets)

    @property
    def views(self) -> IntArray:
        """Nodes in use: the paths of these bags, and their views."""
        views = [s.views.ravel() for _, s in self._sets.values() if s.views is not None]
        return np.concatenate([np.array(list(self._sets), dtype=np.int64), *views])

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        self._starts = None
        self._sets = {
            int(numbers[path]): (depth, bag.renumbered(numbers))
            for path, (depth, bag) in self._sets.items()
            if numbers[path] >= 0
        }

    def keep(self, path: int, depth: int, bag: Segments) -> None:
        """Remember the bag of a path of `depth` turns, and forget bags too old for the schedule."""
        self._starts = None
        self._sets[path] = depth, bag
        self._sets = {
            path: (turn, bag)
            for path, (turn, bag) in self._sets.items()
            # The lowest bit of `turn` is the power of two that divides it: such bags live longer.
            if depth - turn < NEAR * (turn & -turn if turn else depth + 1)
        }

    def starts(self, tree: PathTree, path: int) -> list[PathStart]:
        """The remembered bags of a path, latest first."""
        if self._starts is None or self._starts[0] != path:
            nodes = [int(node) for (node,) in tree.beginnings(np.array([path]))][-2::-1]
            bags = [
                PathStart(back, self._sets[node][1])
                for back, node in enumerate(nodes, start=1)
                if node in self._sets
            ]
            self._starts = path, bags  # asked for again with every sample
        return self._starts[1]


class Earlier(Finder):
    """A `Finder` that draws from bags of earlier turns; see the module.

    Args:
        trail: the bags of earlier turns.
        leaves_time: whether a later finder needs some of the time.
    """

    def __init__(
        self,
        setting: Setting,
        exact: ExactSets,
        forward: Forward,
        trail: BagHistory,
        *,
        leaves_time: bool = False,
    ) -> None:
        self._setting, self._stored, self._forward = setting, exact.stored, forward
        self._trail, self._share = trail, OWN_SHARE if leaves_time else 1.0
        self._tries = 0  # from which bag an empty one is redrawn next

    def helps(self, bags: Bags) -> BoolArray:
        mask = self._setting.lacking(bags.sets)
        return mask if mask.any() and self.adds(bags.paths) else np.zeros_like(mask)

    def adds(self, paths: IntArray) -> bool:
        """Whether the last exact set is long ago, and there are bags since then."""
        tree, node = self._setting.tree, paths
        if len(paths) != 1 or not self._trail or self._is_blind(int(paths[0])):
            return False
        for _ in range(LONG_AGO):
            if not tree.depth(int(node[0])) or self._stored.holds(node)[0]:
                return False
            node = tree.parents(node)
        return bool(self._starts(paths))

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        room, stop, sets = self._setting.most_entries, self._setting.stop, bags.sets
        if not len(sets.states):
            stop = self._is_late
        limit = RETRACED * room if len(sets.states) else self._setting.most_attempts
        # Ever more entries, but not so many that one turn takes more than the time available.
        capacity, spent = room, 0
        size_limit = max(room, REFILL_FACTOR * self._setting.capacity)
        starts = self._starts(bags.paths)
        if self._setting.timed and not len(sets.states):
            # The last bag was just tried. Each search goes on further back than the one before.
            starts = starts[1:] or starts
            first = self._tries % len(starts)
            starts, capacity = starts[first:] + starts[:first], size_limit
        for back, start in starts:
            self._tries += 1
            half_full = 2 * len(sets.states) >= self._setting.capacity
            if spent >= limit or half_full or stop():
                break
            capacity = min(2 * capacity, size_limit)
            sample, stepped = self._forward.sample_from(
                bags.role, bags.paths, start, back, capacity, rng, stop
            )
            spent += int(stepped[0])
            if len(sample.states) > len(sets.states):
                sets = sample.thinned(room, rng)
        if len(sets.states):
            self._tries = 0
        return sets

    def _is_late(self) -> bool:
        return self._setting.stop() or self._setting.is_past(self._share)

    def add_sample(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        starts = self._starts(bags.paths)
        back, start = starts[int(rng.integers(len(starts)))]
        sample = self._forward.sample_from(bags.role, bags.paths, start, back, size, rng).sets
        return self._forward.pooled(bags.sets, sample, rng)

    def _is_blind(self, path: int) -> bool:
        """Whether hardly a state of a bag will agree with what follows: in a gap, and soon after it
        unless bags are as large as time allows."""
        tree = self._setting.tree
        if self._setting.timed:
            return bool(tree.last_turns(np.array([path]))[0, 1] == UNKNOWN)
        return tree.has_gap(path)

    def _starts(self, paths: IntArray) -> list[PathStart]:
        return self._trail.starts(self._setting.tree, int(paths[0]))

    def learn(self, path: int, sets: Segments) -> None:
        if not self._is_blind(path):
            depth = self._setting.tree.depth(path)
            self._trail.keep(path, depth, sets.thinned(MAX_KEPT, np.random.default_rng(depth)))

    @property
    def views(self) -> IntArray:
        return self._trail.views

    def renumber(self, numbers: IntArray) -> None:
        self._trail.renumber(numbers)


# ------------------------------------------------------------------------
# `Forward`: redraws bags turn by turn from the last exact set of a path, with ever more entries.
#
# Say percepts leave 3 of 16 particles, though 200 states are possible. Then 128 particles start
# from the last exact set, and the survivors are thinned to 16.
#
# If none survives, twice the capacity is drawn, then four times, and so on. Between these tries the
# set is enumerated at the same cost, which finds rare paths, or proves that there are none.

REFILL_FACTOR = 8
"""A bag that lost most of its particles is redrawn with this times its capacity."""

MAX_SEARCHED = 1 << 16
"""Particles in one draw of a search: bounds memory where only the clock ends it."""


class Forward(Finder):
    """The last `Finder` of a sampler, which can help with every bag; see above."""

    def __init__(self, setting: Setting, exact: ExactSets) -> None:
        self._setting, self._exact, self._stored = setting, exact, exact.stored
        self._tree, self._machine = setting.tree, setting.machine

    def helps(self, bags: Bags) -> BoolArray:
        return self._setting.lacking(bags.sets)

    def adds(self, paths: IntArray) -> bool:
        return True

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        sets, counts = bags.sets, bags.sets.counts
        thin, empty = np.flatnonzero(counts > 0), np.flatnonzero(counts == 0)
        parts: list[tuple[IntArray, Segments]] = []
        if len(thin):
            size = self._setting.capacity
            sample = self.sample_paths(bags.role, bags.paths[thin], REFILL_FACTOR * size, rng).sets
            sample = sample.thinned(size, rng)
            better = np.flatnonzero(sample.counts > counts[thin])
            parts.append((thin[better], sample.take(better)))
        for indices, particles in self._search(bags.role, bags.paths[empty], rng):
            parts.append((empty[indices], particles))
        return replaced(self._machine, sets, parts)

    def add_sample(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        sample = self.sample_paths(bags.role, bags.paths, size, rng).sets
        return self.pooled(bags.sets, sample, rng)

    def pooled(self, sets: Segments, sample: Segments, rng: np.random.Generator) -> Segments | None:
        """One bag pooled with a new sample of its path; None if that is incomplete or empty."""
        if self._setting.stop() or not len(sample.states):
            return None
        if sample.exact[0]:
            return sample
        return pooled(self._machine, sets, sample).thinned(self._setting.most_entries, rng)

    def sample_paths(
        self, role: int, paths: IntArray, capacity: int, rng: np.random.Generator
    ) -> AdvancedSets:
        """Bags of paths of equal length, sampled from the last exact set; see `sample_from`."""
        starts = paths
        # Back to the last beginning whose set is stored: before it nothing need be sampled.
        while (unknown := ~self._stored.holds(starts) & (self._tree.depths(starts) > 0)).any():
            starts = np.where(unknown, self._tree.parents(starts), starts)
        depths = self._tree.depths(starts)
        order: list[IntArray] = []
        parts: list[AdvancedSets] = []
        for depth in np.unique(depths).tolist():
            group = np.flatnonzero(depths == depth)
            for batch in np.array_split(group, 1 + len(group) * capacity // ENTRIES_AT_ONCE):
                if len(batch):
                    sets = self._stored_or_initial(starts[batch])
                    back = self._tree.depth(int(paths[0])) - depth
                    order.append(batch)
                    parts.append(self.sample_from(role, paths[batch], sets, back, capacity, rng))
        back_in_order = np.argsort(np.concatenate(order))
        sets = join(self._machine, [part.sets for part in parts]).take(back_in_order)
        return AdvancedSets(sets, np.concatenate([part.stepped for part in parts])[back_in_order])

    def sample_from(
        self,
        role: int,
        paths: IntArray,
        sets: Segments,
        back: int,
        capacity: int,
        rng: np.random.Generator,
        stop: Callable[[], bool] | None = None,
    ) -> AdvancedSets:
        """Bags sampled from sets of `back` turns before the ends of their paths.

        If stopped, the bags have no entries.

        Args:
            stop: replaces the `stop` of the setting.
        """
        stop = self._setting.stop if stop is None else stop
        # Only under a clock are completions drawn that could be listed.
        limits = TurnLimits(capacity, draws=self._setting.timed, stop=stop)
        sets = sets.thinned(capacity, rng)
        stepped = np.zeros(len(paths), dtype=np.int64)
        for steps in self._tree.beginnings(paths, back) if back else ():
            if stop():
                return AdvancedSets(self._setting.nothing(len(paths)), stepped)
            if not len(sets.states):
                break  # no entry is left to advance
            successors = advance(self._setting, role, sets, steps, limits, rng)
            sets, stepped = successors.sets, stepped + successors.stepped
        return AdvancedSets(sets, stepped)

    def _stored_or_initial(self, paths: IntArray) -> Segments:
        """The stored sets of paths; the initial state for empty paths."""
        if self._stored.holds(paths).all():
            return self._stored.get(paths)
        return self._setting.beginning(len(paths))

    def _search(
        self, role: int, paths: IntArray, rng: np.random.Generator
    ) -> Iterator[tuple[IntArray, Segments]]:
        """Search for particles of paths whose bags are empty, with ever larger samples.

        Yields:
            indices of paths, and their new bags.
        """
        size, limit = self._setting.capacity, self._setting.most_attempts
        capacity = 2 * size
        open_ = np.arange(len(paths))
        spent = np.zeros(len(paths), dtype=np.int64)
        while len(open_) and not self._setting.stop():
            sample, stepped = self.sample_paths(role, paths[open_], capacity, rng)
            spent[open_] += stepped
            nonempty = sample.counts > 0
            yield open_[nonempty], sample.take(np.flatnonzero(nonempty)).thinned(size, rng)
            open_ = open_[~nonempty]
            if not len(open_):
                return
            if capacity >= MAX_SEARCHED:
                open_ = open_[spent[open_] < limit]
                continue  # a set of this size was enumerated before
            # Enumeration at the same cost finds a rare path, or proves that there is none.
            first, group = first_seen(paths[open_])
            indices, exact_sets, stepped = self._exact.enumerate_within(
                role, paths[open_[first]], EXPANSIONS_PER_ENTRY * capacity
            )
            spent[open_] += stepped[group]
            position = np.full(len(first), -1, dtype=np.int64)
            position[indices] = np.arange(len(indices))
            position = position[group]
            solved = position >= 0
            yield open_[solved], exact_sets.take(position[solved]).thinned(size, rng)
            open_ = open_[~solved & (spent[open_] < limit)]
            capacity = min(2 * capacity, MAX_SEARCHED)


# ------------------------------------------------------------------------
# `HistoryFinder`: particles from whole histories, for games that decide much before a role sees it.
#
# Where chance deals ten cards before the role sees its hand, nothing drawn turn by turn agrees with
# the percepts. Some machines draw whole histories for a path instead (`Redrawer`), and every one of
# them gives the role exactly its percepts.
#
# bag before the turn     survivors       histories drawn for the path     new bag
#     64 entries              5               59, beginning with those 5       64
#
# Without survivors, histories begin with the bag of the turn before, or with the initial state.

FULL = 64
"""Bags are filled with whole histories up to this many entries."""

AT_ONCE = 8
"""Histories in one draw, and for one call of `add_sample`."""

MAX_FRUITLESS = 4
"""After this many draws in a row without a new entry, the search assumes that none is left."""


class HistoryFinder(Finder):
    """A `Finder` that draws whole histories for the path of a player's own bag.

    Args:
        trail: bags of earlier turns.
    """

    def __init__(self, setting: Setting, trail: BagHistory) -> None:
        self._setting, self._trail = setting, trail
        # The last path, and its source of histories, which adapts to the path while it draws.
        self._redraws: tuple[int, Redraws] | None = None
        self._unfinished: States | None = None

    def helps(self, bags: Bags) -> BoolArray:
        return np.asarray(self.adds(bags.paths) & (2 * bags.sets.counts < self._target_size))

    def adds(self, paths: IntArray) -> bool:
        """Whether the machine draws histories for these paths: for a single path with a turn."""
        machine, tree = self._setting.machine, self._setting.tree
        if len(paths) != 1 or not tree.depth(int(paths[0])):
            return False
        return isinstance(machine, Redrawer) and machine.redraws_histories

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        return self._fill_up(bags, self._target_size, rng)

    def add_sample(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        size_limit = min(len(bags.sets.states) + AT_ONCE, self._setting.most_entries)
        return self._fill_up(bags, size_limit, rng)

    def renumber(self, numbers: IntArray) -> None:
        self._redraws = None

    @property
    def _target_size(self) -> int:
        return max(self._setting.capacity, min(self._setting.room, FULL))

    def _fill_up(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments:
        """The bag of a path, filled up to `size` entries with histories drawn for it.

        Histories are drawn by their prior under uniform moves of the others, not by the model.
        """
        machine, tree = self._setting.machine, self._setting.tree
        role, path, sets = bags.role, int(bags.paths[0]), bags.sets
        if self._redraws is None or self._redraws[0] != path:
            self._redraws = path, redraws_of(machine, tree, role, path, rng)
        redraws = self._redraws[1]
        trail = self._trail.starts(tree, path)
        starts = trail[0].bag.states if trail else machine.initial(1)
        if self._unfinished is not None:
            starts = machine.concatenate([self._unfinished, starts])
        fruitless, stop = 0, self._setting.stop
        while len(sets.states) < size and fruitless < MAX_FRUITLESS and not stop():
            if len(sets.states):
                weights = np.exp(sets.log_weights)
                indices = rng.choice(len(weights), AT_ONCE, p=weights / weights.sum())
                starts = sets.states.take(indices)
            old_size = len(sets.states)
            ends = redraws.draw(starts, min(size - old_size, AT_ONCE), stop)
            if len(ends.states):
                views = None if sets.views is None else self._views(role, path, ends.joint_moves)
                sets = extended(machine, sets, replace(one_set(ends.states), views=views))
            fruitless = 0 if len(sets.states) > old_size else fruitless + 1
        # An unfinished history for this path helps with its continuations.
        self._unfinished = None if len(sets.states) else redraws.unfinished()
        return sets

    def _views(self, role: int, path: int, joint_moves: IntArray) -> IntArray:
        """`[N, R]` incomplete path of every role along histories that agree with `path`."""
        machine, tree = self._setting.machine, self._setting.tree
        states = machine.initial(len(joint_moves))
        views = np.tile(np.arange(len(machine.roles), dtype=np.int64), (len(joint_moves), 1))
        for turn in range(joint_moves.shape[1]):
            rows = joint_moves[:, turn]
            states, percepts = machine.step(states, rows)
            tree.extend_views(views, rows, percepts, role, path)
        return views


def redraws_of(
    machine: Machine, tree: PathTree, role: int, path: int, rng: np.random.Generator
) -> Redraws:
    """The source of histories for a path that is not empty, on a `Redrawer`."""
    assert isinstance(machine, Redrawer)
    return machine.redraws(role, tree.turns(path), rng)
