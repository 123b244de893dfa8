"""Redraws a bag that is followed from bags of earlier turns: further and further back, with ever
more entries, until it is half full.

In a long game the last set that was enumerated is far back, and samples drawn from there on hardly
ever agree with so many turns. So bags on the way are remembered (`BagHistory`), the more sparsely
the longer ago:

    turn     0 ... 32 .. 48 .. 56 .. 64 . 68 . 72 . 76 78 80 82 84 85 86 87 | 88

Samples drawn from one of them restart with its weights. They are as good as that bag was: what it
had lost does not come back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ggp.belief.bags import Bags, Segments, join, one_set, pooled, replaced, with_more
from ggp.belief.finding.exact import ENTRIES_AT_ONCE, EXPANSIONS_PER_ENTRY, ExactSets
from ggp.belief.paths import PathTree
from ggp.belief.sampler import Finder, Setting
from ggp.belief.turns.one_turn import Grown, TurnLimits, advance
from ggp.machine.abilities import Redrawer, Redraws
from ggp.machine.arrays import first_seen
from ggp.machine.base import BoolArray, IntArray, Machine, States

NEAR = 4
"""Of this many recent turns each is remembered; of twice as many before, every second; and so
on."""


LONG_AGO = 6
"""From this many turns after the last exact set on, a bag is drawn from earlier bags instead."""

OWN_SHARE = 0.5
"""Share of the available time after which it leaves an empty bag to other finders."""

RETRACED = 100
"""Lanes stepped for each free place in a bag that is not yet empty, to draw it again: enough for a
few turns."""


class BagHistory:
    """Sampled bags on the way to one path."""

    def __init__(self) -> None:
        self._sets: dict[int, tuple[int, Segments]] = {}
        self._starts: tuple[int, list[tuple[int, Segments]]] | None = None  # of the last path

    def __len__(self) -> int:
        """Number of bags."""
        return len(self._sets)

    @property
    def views(self) -> IntArray:
        """Nodes that these bags refer to, and their paths."""
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
        """Remember the bag of a path of `depth` turns, and forget bags that are not needed any
        more."""
        self._starts = None
        self._sets[path] = depth, bag
        self._sets = {
            path: (then, bag)
            for path, (then, bag) in self._sets.items()
            if depth - then < NEAR * (then & -then if then else depth + 1)
        }

    def starts(self, tree: PathTree, path: int) -> list[tuple[int, Segments]]:
        """The remembered bags of a path, each with its number of turns before the end, last
        first."""
        if self._starts is None or self._starts[0] != path:
            nodes = [int(node) for (node,) in tree.beginnings(np.array([path]))][-2::-1]
            found = [
                (back, self._sets[node][1])
                for back, node in enumerate(nodes, start=1)
                if node in self._sets
            ]
            self._starts = path, found  # asked for again with every sample
        return self._starts[1]


class Earlier(Finder):
    """A `Finder` that draws from bags of earlier turns; see the module.

    Args:
        trail: where the bags of earlier turns are.
        leaves_time: whether another finder comes after it, and needs some of the time.
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
        self._setting, self._exact, self._forward = setting, exact, forward
        self._trail, self._share = trail, OWN_SHARE if leaves_time else 1.0

    def helps(self, bags: Bags) -> BoolArray:
        wanted = self._setting.wanting(bags.sets)
        return wanted if wanted.any() and self.adds(bags.paths) else np.zeros_like(wanted)

    def adds(self, paths: IntArray) -> bool:
        """Whether the last exact set is long ago, and there are bags since then."""
        if len(paths) != 1 or not self._trail:
            return False
        tree, node = self._setting.tree, paths
        for _ in range(LONG_AGO):
            if not tree.depth(int(node[0])) or self._exact.holds(node)[0]:
                return False
            node = tree.parents(node)
        return bool(self._starts(paths))

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        room, stop, sets = self._setting.most_entries, self._setting.stop, bags.sets
        if not len(sets.states):
            stop = self._is_late
        limit = RETRACED * room if len(sets.states) else self._setting.most_attempts
        # Ever more, but not so many that a turn takes longer than there may be time for.
        capacity, spent = room, 0
        most = max(room, REFILL_FACTOR * self._setting.capacity)
        for back, start in self._starts(bags.paths):
            half_full = 2 * len(sets.states) >= self._setting.capacity
            if spent >= limit or half_full or stop():
                break
            capacity = min(2 * capacity, most)
            drawn, stepped = self._forward.onward(
                bags.role, bags.paths, start, back, capacity, rng, stop
            )
            spent += int(stepped[0])
            if len(drawn.states) > len(sets.states):
                sets = drawn.thinned(room, rng)
        return sets

    def _is_late(self) -> bool:
        return self._setting.stop() or self._setting.is_past(self._share)

    def more(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        starts = self._starts(bags.paths)
        back, start = starts[int(rng.integers(len(starts)))]
        drawn = self._forward.onward(bags.role, bags.paths, start, back, size, rng).sets
        return self._forward.pooled(bags.sets, drawn, rng)

    def _starts(self, paths: IntArray) -> list[tuple[int, Segments]]:
        return self._trail.starts(self._setting.tree, int(paths[0]))

    def learn(self, path: int, sets: Segments) -> None:
        self._trail.keep(path, self._setting.tree.depth(path), sets)

    @property
    def views(self) -> IntArray:
        return self._trail.views

    def renumber(self, numbers: IntArray) -> None:
        self._trail.renumber(numbers)


# ------------------------------------------------------------------------
# Redraws bags from the last exact set of their path, turn by turn, with ever more entries.
#
# Say percepts leave 3 of 16 particles, though 200 states are possible: then 128 are drawn from the
# last exact set on, and those left at the end are thinned to 16.
#
# Where none is left, the same is done with twice as many as there should be, and again. Between
# these tries the set is enumerated at the same cost, which finds rare paths, or proves that there
# is none.

REFILL_FACTOR = 8
"""A bag that lost most of its particles is redrawn with this times as many."""

MOST_SEARCHED = 1 << 16
"""Particles that a search draws at once: bounds memory where only the clock ends it."""


class Forward(Finder):
    """The last `Finder` of a sampler, which helps with every bag; see the module."""

    def __init__(self, setting: Setting, exact: ExactSets) -> None:
        self._setting, self._exact = setting, exact
        self._tree, self._machine = setting.tree, setting.machine

    def helps(self, bags: Bags) -> BoolArray:
        return self._setting.wanting(bags.sets)

    def adds(self, paths: IntArray) -> bool:
        return True

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        sets, counts = bags.sets, bags.sets.counts
        lost, empty = np.flatnonzero(counts > 0), np.flatnonzero(counts == 0)
        found: list[tuple[IntArray, Segments]] = []
        if len(lost):
            most = self._setting.capacity
            drawn = self.replayed(bags.role, bags.paths[lost], REFILL_FACTOR * most, rng).sets
            drawn = drawn.thinned(most, rng)
            better = np.flatnonzero(drawn.counts > counts[lost])
            found.append((lost[better], drawn.take(better)))
        for which, searched in self._searched(bags.role, bags.paths[empty], rng):
            found.append((empty[which], searched))
        return replaced(self._machine, sets, found)

    def more(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        drawn = self.replayed(bags.role, bags.paths, size, rng).sets
        return self.pooled(bags.sets, drawn, rng)

    def pooled(self, sets: Segments, drawn: Segments, rng: np.random.Generator) -> Segments | None:
        """One bag pooled with a new sample of its path; None if that was cut short, or is empty."""
        if self._setting.stop() or not len(drawn.states):
            return None
        if drawn.exact[0]:
            return drawn
        return pooled(self._machine, sets, drawn).thinned(self._setting.most_entries, rng)

    def replayed(
        self, role: int, paths: IntArray, capacity: int, rng: np.random.Generator
    ) -> Grown:
        """Bags of paths of equal length, sampled from the last exact set of each; see `onward`."""
        starts = paths
        # Back to the last turn whose set is known: up to there nothing need be sampled.
        while (missing := ~self._exact.holds(starts) & (self._tree.depths(starts) > 0)).any():
            starts = np.where(missing, self._tree.parents(starts), starts)
        depths = self._tree.depths(starts)
        order: list[IntArray] = []
        parts: list[Grown] = []
        for depth in np.unique(depths).tolist():
            group = np.flatnonzero(depths == depth)
            for some in np.array_split(group, 1 + len(group) * capacity // ENTRIES_AT_ONCE):
                if len(some):
                    sets = self._known(starts[some])
                    back = self._tree.depth(int(paths[0])) - depth
                    order.append(some)
                    parts.append(self.onward(role, paths[some], sets, back, capacity, rng))
        back_in_order = np.argsort(np.concatenate(order))
        sets = join(self._machine, [part.sets for part in parts]).take(back_in_order)
        return Grown(sets, np.concatenate([part.stepped for part in parts])[back_in_order])

    def onward(
        self,
        role: int,
        paths: IntArray,
        sets: Segments,
        back: int,
        capacity: int,
        rng: np.random.Generator,
        stop: Callable[[], bool] | None = None,
    ) -> Grown:
        """Bags sampled from sets of paths `back` turns before the ends of theirs.

        If it is stopped they have no entries.

        Args:
            stop: replaces the `stop` of the setting.
        """
        stop = self._setting.stop if stop is None else stop
        # Without a clock bags stay as they were: counts, not time, limit them.
        limits = TurnLimits(capacity, draws=self._setting.timed, stop=stop)
        sets = sets.thinned(capacity, rng)
        stepped = np.zeros(len(paths), dtype=np.int64)
        for steps in self._tree.beginnings(paths, back) if back else ():
            if stop():
                return Grown(self._setting.nothing(len(paths)), stepped)
            if not len(sets.states):
                break  # nothing comes of nothing
            grown = advance(self._setting, role, sets, steps, limits, rng)
            sets, stepped = grown.sets, stepped + grown.stepped
        return Grown(sets, stepped)

    def _known(self, nodes: IntArray) -> Segments:
        """Known sets of paths; the initial state for empty paths."""
        if self._exact.holds(nodes).all():
            return self._exact.get(nodes)
        return self._setting.beginning(len(nodes))

    def _searched(
        self, role: int, paths: IntArray, rng: np.random.Generator
    ) -> Iterator[tuple[IntArray, Segments]]:
        """Searches with ever more particles for bags of paths that have none.

        Yields:
            indices of paths, and the bags found for them.
        """
        most, limit = self._setting.capacity, self._setting.most_attempts
        capacity = 2 * most
        open_ = np.arange(len(paths))
        spent = np.zeros(len(paths), dtype=np.int64)
        while len(open_) and not self._setting.stop():
            drawn, stepped = self.replayed(role, paths[open_], capacity, rng)
            spent[open_] += stepped
            found = drawn.counts > 0
            yield open_[found], drawn.take(np.flatnonzero(found)).thinned(most, rng)
            open_ = open_[~found]
            if not len(open_):
                return
            if capacity >= MOST_SEARCHED:
                open_ = open_[spent[open_] < limit]
                continue  # this much was enumerated before
            # Enumerating as much finds the rare path, or proves that there is none.
            first, group = first_seen(paths[open_])
            which, whole, stepped = self._exact.find(
                role, paths[open_[first]], EXPANSIONS_PER_ENTRY * capacity
            )
            spent[open_] += stepped[group]
            place = np.full(len(first), -1, dtype=np.int64)
            place[which] = np.arange(len(which))
            place = place[group]
            solved = place >= 0
            yield open_[solved], whole.take(place[solved]).thinned(most, rng)
            open_ = open_[~solved & (spent[open_] < limit)]
            capacity = min(2 * capacity, MOST_SEARCHED)


# ------------------------------------------------------------------------
# Particles made of whole histories, for games in which much is decided before a role learns of it.
#
# Where chance deals ten cards before the role sees its hand, nothing drawn turn by turn agrees with
# the percepts. Some machines draw whole histories for a path instead (`Redrawer`), in all of which
# the role sees exactly what it saw.
#
# bag before the turn     what agrees     histories drawn for the path     the bag
#     64 entries              5               59, beginning with those 5       64
#
# Where none agrees, histories begin with the bag of the turn before, or else with the initial
# state.

FULL = 64
"""Bags are filled up with whole histories to this many entries."""

AT_ONCE = 8
"""Histories drawn between two looks at the bag, and for a bag that grows."""

MOST_FRUITLESS = 4
"""After this many draws in a row with nothing new, there are taken to be no more histories."""


class HistoryFinder(Finder):
    """A `Finder` that draws whole histories for the path of a player's own bag.

    Args:
        trail: bags of earlier turns.
    """

    def __init__(self, setting: Setting, trail: BagHistory) -> None:
        self._setting, self._trail = setting, trail
        # What draws for the last path for which anything was drawn: it has learnt how.
        self._last: tuple[int, Redraws] | None = None
        self._unfinished: States | None = None

    def helps(self, bags: Bags) -> BoolArray:
        return np.asarray(self.adds(bags.paths) & (2 * bags.sets.counts < self._wanted))

    def adds(self, paths: IntArray) -> bool:
        """Whether the machine draws histories for these paths: for a single path with a turn."""
        machine, tree = self._setting.machine, self._setting.tree
        if len(paths) != 1 or not tree.depth(int(paths[0])):
            return False
        return isinstance(machine, Redrawer) and machine.redraws_histories

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        return self._filled(bags, self._wanted, rng)

    def more(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        wanted = min(len(bags.sets.states) + AT_ONCE, self._setting.most_entries)
        return self._filled(bags, wanted, rng)

    def renumber(self, numbers: IntArray) -> None:
        self._last = None

    @property
    def _wanted(self) -> int:
        return max(self._setting.capacity, min(self._setting.room, FULL))

    def _filled(self, bags: Bags, wanted: int, rng: np.random.Generator) -> Segments:
        """The one bag of a path, filled up to `wanted` entries with histories drawn for it.

        Histories are drawn by their prior under uniform moves of the others, whatever a model says.
        """
        machine, tree = self._setting.machine, self._setting.tree
        role, path, sets = bags.role, int(bags.paths[0]), bags.sets
        if self._last is None or self._last[0] != path:
            self._last = path, redraws_of(machine, tree, role, path, rng)
        redraws = self._last[1]
        earlier = self._trail.starts(tree, path)
        starts = earlier[0][1].states if earlier else machine.initial(1)
        if self._unfinished is not None:
            starts = machine.concatenate([self._unfinished, starts])
        fruitless, stop = 0, self._setting.stop
        while len(sets.states) < wanted and fruitless < MOST_FRUITLESS and not stop():
            if len(sets.states):
                weights = np.exp(sets.log_weights)
                places = rng.choice(len(weights), AT_ONCE, p=weights / weights.sum())
                starts = sets.states.take(places)
            before = len(sets.states)
            drawn = redraws.draw(starts, min(wanted - before, AT_ONCE), stop)
            if len(drawn.states):
                views = None if sets.views is None else self._views(role, path, drawn.joint_moves)
                sets = with_more(machine, sets, replace(one_set(drawn.states), views=views))
            fruitless = 0 if len(sets.states) > before else fruitless + 1
        # What was begun for this path helps with its continuations.
        self._unfinished = None if len(sets.states) else redraws.unfinished()
        return sets

    def _views(self, role: int, path: int, joint_moves: IntArray) -> IntArray:
        """`[N, R]` incomplete path of every role along histories that agree with that of one."""
        machine, tree = self._setting.machine, self._setting.tree
        states = machine.initial(len(joint_moves))
        known = np.tile(np.arange(len(machine.roles), dtype=np.int64), (len(joint_moves), 1))
        for turn in range(joint_moves.shape[1]):
            rows = joint_moves[:, turn]
            states, percepts = machine.step(states, rows)
            tree.extend_views(known, rows, percepts, role, path)
        return known


def redraws_of(
    machine: Machine, tree: PathTree, role: int, path: int, rng: np.random.Generator
) -> Redraws:
    """The `Redraws` of histories for a path that is not empty, on a machine that draws some."""
    assert isinstance(machine, Redrawer)
    turns = [tree.last_turns(node)[0] for node in tree.beginnings(np.array([path]))[1:]]
    return machine.redraws(role, np.array(turns), rng)
