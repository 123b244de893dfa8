"""Making and advancing bags: exact sets while they are small, samples of the others.

The bag of a path is the first of these that there is:

1. its exact set, known or made of that of the turn before (`exact`);
2. the bag of the turn before, one turn on (`one_turn`), thinned to `capacity` entries;
3. if few are left of many there should be: one drawn again from the last exact set of the path,
   with more entries on the way (`_refill`);
4. if none is left: the same with ever more entries, and enumerating at the same expense, until one
   is found, it is proved that there is none, or the search is given up (`_search`).

Of 16 particles, say, percepts leave 3, though 200 states are possible: then 128 are drawn from the
last exact set on, turn by turn, and the bag is thinned to 16 of those that are left at the end.
Where that set is long ago, a player's own bag is first drawn again from those of the turns before
(`trail`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.completions import lanes_at_once
from ggp.belief.exact import ENTRIES_AT_ONCE, EXPANSIONS_PER_ENTRY, ExactSets, GivenUp
from ggp.belief.move_models import UNIFORM, MoveModel
from ggp.belief.one_turn import Grown, advance
from ggp.belief.paths import PathTree
from ggp.belief.quality import Quality, quality_of
from ggp.belief.redraw import HistoryRedraws
from ggp.belief.segments import (
    Segments,
    depleted_segments,
    initial_segments,
    join,
    pooled,
)
from ggp.belief.solving.finder import Solved, Start
from ggp.belief.solving.windows import MOST_STARTS, is_solvable
from ggp.belief.trail import Trail
from ggp.machine.arrays import first_seen
from ggp.machine.base import IntArray, Machine

DEFAULT_EXACT = 300
"""Information sets of up to this many entries are enumerated."""

OWN_COMPLETIONS = 1 << 22
"""Joint moves that may be tried in a turn to enumerate a set of a player's own bag; those of
simulated roles are far more, and have `EXPANSIONS_PER_ENTRY` for each entry."""

COMPLETIONS_PER_ENTRY, MOST_EXACT = 2, 1 << 16
"""Where a clock says how many joint moves may be tried, a set may have an entry for so many of
them: entries are looked at again, turn by turn. But no more in all: bounds memory."""

REFILL_FACTOR = 8
"""A bag that lost most of its particles is drawn again with this times as many."""

LONG_AGO = 6
"""Turns since the last exact set from which on a bag is rather drawn from earlier bags."""

RETRACED = 100
"""Lanes stepped for each entry that there is room for, to draw a bag again that is not yet empty:
those of a few turns."""

REDRAWN, REDRAWN_AT_ONCE = 64, 8
"""Entries that a bag is filled up to with whole histories, and how many more are drawn at once."""

MAX_ATTEMPTS = 400_000
"""Lanes stepped in search of a particle for a player's own bag; see `HyperPlaySampler`."""


MOST_SEARCHED = 1 << 16
"""Particles that a search draws at once: bounds memory where only the clock ends it."""


def never() -> bool:
    """Nothing stops the search but its own bounds."""
    return False


class HyperPlaySampler:
    """The `Sampler` of HyperPlay: makes and advances bags of every role of a machine.

    Args:
        machine: the game.
        tree: names the incomplete paths.
        capacity: particles of a sampled bag.
        exact: largest information set that is enumerated; 0 never enumerates.
        keep_views: keep every role's incomplete path along each entry, as incomplete
            information simulations need; entries then are one only if these agree too.
        max_attempts: lanes stepped in search of particles for one bag that has none.
        model: how the other roles are believed to move.
        stop: asked between attempts; when true, searching for particles is given up. May be
            replaced between calls.
        follows: whether one bag is followed through a match: those of earlier turns are then
            remembered.
        completions: joint moves that may be tried in a turn to enumerate a set; by default so many
            for each entry that it may have.
        solves: whether a bag without particles is looked for by solving, where the machine can be
            unrolled.
        rescues: whether bags that lost particles are drawn again; else each is what comes of the
            one before, and one without particles stays so.

    Attributes:
        room: entries that a bag which is advanced may have, where that is more than `capacity`.
        lanes_at_once: asked how many lanes to step between two looks at `stop`. May be replaced
            between calls.
        timed: whether only `stop` ends a search for particles, and not `max_attempts`. May be
            replaced between calls.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        *,
        capacity: int,
        exact: int = DEFAULT_EXACT,
        keep_views: bool = False,
        max_attempts: int = MAX_ATTEMPTS,
        model: MoveModel = UNIFORM,
        stop: Callable[[], bool] = never,
        follows: bool = False,
        completions: int | None = None,
        solves: bool = False,
        rescues: bool = True,
    ) -> None:
        self.machine = machine
        self.tree = tree
        self.capacity = capacity
        self.stop = stop
        self.room = capacity
        self.timed = False
        self.lanes_at_once: Callable[[], int] = lanes_at_once
        self._keep_views = keep_views
        self._max_attempts = max_attempts
        self._model = model
        self._rescues = rescues
        self._trail = Trail() if follows and rescues else None
        self._redraws: HistoryRedraws | None = None
        if self._trail is not None:
            self._redraws = HistoryRedraws(machine, tree, self._trail, self._stopped)
        self._solved = (
            Solved(machine, tree, model) if solves and rescues and is_solvable(machine) else None
        )
        self._exact = ExactSets(
            machine,
            tree,
            exact,
            keep_views=keep_views,
            model=model,
            stop=self._stopped,
            at_once=self._at_once,
            completions=completions,
        )
        # Of one bag that is followed: turns at which it was exact, and found by solving.
        self._exact_at, self._solved_at = 0, -1
        self._usual = self._exact.limit, self._exact.completions
        self.enumerates = exact > 0

    def afford(self, completions: int | None, late: Callable[[], bool] | None = None) -> None:
        """See `Enumerates`."""
        self._exact.late = late
        self._exact.limit, self._exact.completions = self._usual
        if completions is not None and self.enumerates:
            entries = min(completions // COMPLETIONS_PER_ENTRY, MOST_EXACT)
            self._exact.limit = max(self._exact.limit, entries)
            least = EXPANSIONS_PER_ENTRY * self._usual[0]
            self._exact.completions = max(completions, least)

    def start(self, role: int, count: int = 1) -> Bags:
        """`count` bags at the start of the game."""
        return self.at(np.full(count, role, dtype=np.int64), role, np.random.default_rng(0))

    def at(self, paths: IntArray, role: int, rng: np.random.Generator) -> Bags:
        """The bags of these incomplete paths, which must be of the same length.

        Bags that no particle was found for have no entries.
        """
        self._exact.trim()
        self._exact.enumerate_with_beginnings(role, paths)
        sampled = np.flatnonzero(~self._exact.holds(paths))
        return self._assemble(role, paths, sampled, self._sample(role, paths[sampled], rng))

    def advance(
        self,
        bags: Bags,
        moves: IntArray,
        percepts: IntArray,
        rng: np.random.Generator,
        refused: IntArray | None = None,
    ) -> Bags:
        """The bags one turn later (`[B]` moves, percepts, refused: see `PathTree.extend`).

        A bag whose particles all disagree with the percepts is drawn again from earlier
        turns, each time with more particles, until one agrees or the search is given up; it
        then has no entries.
        """
        role = bags.role
        paths = self.tree.extend(bags.paths, moves, percepts, refused)
        self._exact.trim()
        self._exact.enumerate_after(bags, paths)
        sampled = np.flatnonzero(~self._exact.holds(paths))
        if not len(sampled):
            return self._assemble(role, paths, sampled, None)
        room = max(self.room, self.capacity)
        before = bags.sets.take(bags.segment[sampled]).thinned(room, rng)
        after = self._grow(role, before, paths[sampled], room, rng).sets
        after = self._refill(role, paths[sampled], after, rng)
        if self._trail is not None and len(paths) == 1 and len(after.states):
            self._trail.keep(int(paths[0]), self.tree.depth(int(paths[0])), after)
        self._exact.enumerate_shrunk(role, paths[sampled], after.sizes)
        still = np.flatnonzero(~self._exact.holds(paths[sampled]))
        return self._assemble(role, paths, sampled[still], after.take(still))

    def grown(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        """One bag with what a new sample of its path adds, of up to `room` entries.

        Args:
            bags: one bag; it comes back as it is where it is exact, or the search is stopped.
            size: particles of the new sample.
        """
        if bags.exact[0]:
            return bags
        path = int(bags.paths[0])
        if (redraws := self._redraws_for(bags.paths)) is not None:
            wanted = min(len(bags.sets.states) + REDRAWN_AT_ONCE, max(self.room, self.capacity))
            sets = bags.sets.take(bags.segment)
            sets = redraws.filled(bags.role, path, sets, wanted, rng)
            return Bags(bags.role, bags.paths, np.zeros(1, dtype=np.int64), sets)
        starts = self._earlier(bags.paths)
        try:
            if starts:
                back, start = starts[int(rng.integers(len(starts)))]
                drawn = self._on_from(bags.role, bags.paths, start, back, size, rng).sets
            else:
                drawn = self._replay(bags.role, bags.paths, size, rng).sets
        except GivenUp:
            return bags
        if self.stop() or not len(drawn.states):
            return bags
        if not drawn.exact[0]:
            drawn = pooled(self.machine, bags.sets.take(bags.segment), drawn)
            drawn = drawn.thinned(max(self.room, self.capacity), rng)
        return Bags(bags.role, bags.paths, np.zeros(1, dtype=np.int64), drawn)

    def quality(self, bags: Bags) -> Quality:
        """How good one bag is, which was made last."""
        depth = self.tree.depth(int(bags.paths[0]))
        return quality_of(
            self.machine,
            bags,
            solved=self._solved_at == depth,
            inexact_turns=depth - self._exact_at,
        )

    def draw(self, bags: Bags, count: int, rng: np.random.Generator) -> IntArray:
        """`[B, count]` lanes of `bags.sets.states`, drawn by weight; no bag may be depleted."""
        return np.stack([bags.draw(bag, count, rng) for bag in range(len(bags))])

    @property
    def sound(self) -> bool:
        """Every entry is a complete path that agrees with its incomplete one."""
        return True

    @property
    def views(self) -> IntArray:
        """Nodes that known sets refer to besides those of their own paths."""
        if self._trail is None:
            return self._exact.views
        return np.concatenate([self._exact.views, self._trail.views])

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        self._exact.renumber(numbers)
        if self._trail is not None:
            self._trail.renumber(numbers)
        if self._redraws is not None:
            self._redraws.forget()

    # ---------------------------------------------------------------- sampled bags

    def _sample(self, role: int, paths: IntArray, rng: np.random.Generator) -> Segments | None:
        """New sampled bags: thinned from the last exact set of each path, then advanced."""
        if not len(paths):
            return None
        if self._earlier(paths) or self._redraws_for(paths) is not None:
            nothing = depleted_segments(self.machine, 1, keep_views=self._keep_views)
            return self._refill(role, paths, nothing, rng)
        try:
            sets = self._replay(role, paths, self.capacity, rng).sets
        except GivenUp:
            return depleted_segments(self.machine, len(paths), keep_views=self._keep_views)
        return self._refill(role, paths, sets, rng)

    def _replay(self, role: int, paths: IntArray, capacity: int, rng: np.random.Generator) -> Grown:
        """Bags of paths of equal length, sampled from the last exact set of each."""
        starts = paths
        # Back to the last turn whose set is known: up to there nothing need be sampled.
        while (missing := ~self._exact.holds(starts) & (self.tree.depths(starts) > 0)).any():
            starts = np.where(missing, self.tree.parents(starts), starts)
        depths = self.tree.depths(starts)
        order: list[IntArray] = []
        parts: list[Grown] = []
        for depth in np.unique(depths).tolist():
            group = np.flatnonzero(depths == depth)
            for some in np.array_split(group, 1 + len(group) * capacity // ENTRIES_AT_ONCE):
                if len(some):
                    order.append(some)
                    parts.append(self._replay_from(role, paths[some], starts[some], capacity, rng))
        back = np.argsort(np.concatenate(order))
        sets = join(self.machine, [part.sets for part in parts]).take(back)
        return Grown(sets, np.concatenate([part.stepped for part in parts])[back])

    def _replay_from(
        self,
        role: int,
        paths: IntArray,
        starts: IntArray,
        capacity: int,
        rng: np.random.Generator,
    ) -> Grown:
        """Bags sampled from known sets of equally long beginnings, or from the start."""
        if self._exact.holds(starts).all():
            sets = self._exact.get(starts)
        else:
            sets = initial_segments(self.machine, len(paths), keep_views=self._keep_views)
        back = self.tree.depth(int(paths[0])) - self.tree.depth(int(starts[0]))
        return self._on_from(role, paths, sets, back, capacity, rng)

    def _on_from(
        self,
        role: int,
        paths: IntArray,
        sets: Segments,
        back: int,
        capacity: int,
        rng: np.random.Generator,
    ) -> Grown:
        """Bags sampled from sets of so many turns before the ends of their paths.

        Raises:
            GivenUp: the search was stopped.
        """
        sets = sets.thinned(capacity, rng)
        stepped = np.zeros(len(paths), dtype=np.int64)
        for steps in self.tree.beginnings(paths, back) if back else ():
            if self.stop():
                raise GivenUp
            if not len(sets.states):
                break  # nothing comes of nothing
            grown = self._grow(role, sets, steps, capacity, rng)
            sets, stepped = grown.sets, stepped + grown.stepped
        return Grown(sets, stepped)

    def _refill(
        self, role: int, paths: IntArray, sets: Segments, rng: np.random.Generator
    ) -> Segments:
        """Bags that lost most of their particles drawn again from earlier turns."""
        if not self._rescues:
            return sets
        counts = sets.counts
        # A small bag of a small information set has lost nothing, so drawing again would not help.
        few = (2 * counts < self.capacity) & (sets.sizes > 1.1 * counts) & (counts > 0)
        lost = np.flatnonzero(few & ~sets.exact)
        if (redraws := self._redraws_for(paths)) is not None and not sets.exact[0]:
            wanted = max(self.capacity, min(self.room, REDRAWN))
            if 2 * len(sets.states) < wanted:
                sets = redraws.filled(role, int(paths[0]), sets, wanted, rng)
            if len(sets.states):
                return sets
        if len(sets) == 1 and (few[0] or counts[0] == 0) and (starts := self._earlier(paths)):
            sets = self._retraced(role, paths, sets, starts, rng)
            counts = sets.counts
            lost = lost[:0]
        empty = np.flatnonzero((counts == 0) & ~sets.exact)
        if len(paths) == 1 and len(empty) and (solved := self._solved_for(role, paths, rng)):
            return solved
        found = [(np.arange(len(sets)), sets)]
        if len(lost):
            try:
                drawn = self._replay(role, paths[lost], REFILL_FACTOR * self.capacity, rng).sets
            except GivenUp:
                return sets
            drawn = drawn.thinned(self.capacity, rng)
            better = np.flatnonzero(drawn.counts > counts[lost])
            found.append((lost[better], drawn.take(better)))
        for which, searched in self._search(role, paths[empty], rng):
            found.append((empty[which], searched))
        if len(found) == 1:
            return sets
        pick = np.zeros(len(sets), dtype=np.int64)
        pick[np.concatenate([which for which, _ in found])] = np.arange(
            sum(len(which) for which, _ in found)
        )
        return join(self.machine, [part for _, part in found]).take(pick)

    def _solved_for(self, role: int, paths: IntArray, rng: np.random.Generator) -> Segments | None:
        """The bag of a path that is found by solving, if there is one and it is found."""
        if self._solved is None:
            return None
        path, starts = int(paths[0]), []
        if self._trail is not None:
            starts = [Start(*each) for each in self._trail.starts(self.tree, path)]
        nodes = self.tree.beginnings(paths)[::-1]
        known = next((back for back, node in enumerate(nodes) if self._exact.holds(node)[0]), None)
        starts = [start for start in starts if known is None or start.back < known]
        if known is not None:
            starts.append(Start(known, self._exact.get(nodes[known])))
        if known is None or starts[-1].bag.counts[0] > MOST_STARTS:
            first = initial_segments(self.machine, 1, keep_views=self._keep_views)
            starts.append(Start(len(nodes) - 1, first))
        found = self._solved.find(
            role, path, starts, max(self.room, self.capacity), rng, self.stop, timed=self.timed
        )
        if found is not None:
            self._solved_at = self.tree.depth(path)
        return found

    def _redraws_for(self, paths: IntArray) -> HistoryRedraws | None:
        """What draws whole histories for the path of a player's own bag, where that is done."""
        return self._redraws if self._redraws and self._redraws.help_with(paths) else None

    def _earlier(self, paths: IntArray) -> list[tuple[int, Segments]]:
        """Bags of earlier turns of one path that is long since there was an exact set."""
        if self._trail is None or len(paths) != 1:
            return []
        node, back = paths, 0
        while back < LONG_AGO and self.tree.depth(int(node[0])) and not self._exact.holds(node)[0]:
            node, back = self.tree.parents(node), back + 1
        return self._trail.starts(self.tree, int(paths[0])) if back == LONG_AGO else []

    def _retraced(
        self,
        role: int,
        paths: IntArray,
        sets: Segments,
        starts: list[tuple[int, Segments]],
        rng: np.random.Generator,
    ) -> Segments:
        """A bag drawn again from those of earlier turns, further and further back, with ever more
        entries, until it is half full; what is left of it, if that is more."""
        room = max(self.room, self.capacity)
        limit = RETRACED * room if len(sets.states) else self._most_attempts
        # Ever more, but not so many that a turn takes longer than there may be time for.
        capacity, most, spent = room, max(room, REFILL_FACTOR * self.capacity), 0
        for back, start in starts:
            if spent >= limit or 2 * len(sets.states) >= self.capacity or self.stop():
                break
            capacity = min(2 * capacity, most)
            try:
                drawn, stepped = self._on_from(role, paths, start, back, capacity, rng)
            except GivenUp:
                break
            spent += int(stepped[0])
            if len(drawn.states) > len(sets.states):
                sets = drawn.thinned(room, rng)
        return sets

    def _search(
        self, role: int, paths: IntArray, rng: np.random.Generator
    ) -> Iterator[tuple[IntArray, Segments]]:
        """Bags of paths that have none, searched for with ever more particles.

        Yields:
            indices of paths, and the bags found for them.
        """
        capacity = 2 * self.capacity
        open_ = np.arange(len(paths))
        spent = np.zeros(len(paths), dtype=np.int64)
        try:
            while len(open_) and not self.stop():
                drawn, stepped = self._replay(role, paths[open_], capacity, rng)
                spent[open_] += stepped
                found = drawn.counts > 0
                some = drawn.take(np.flatnonzero(found)).thinned(self.capacity, rng)
                yield open_[found], some
                open_ = open_[~found]
                if not len(open_):
                    return
                if capacity >= MOST_SEARCHED:
                    open_ = open_[spent[open_] < self._most_attempts]
                    continue  # as much was enumerated before
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
                yield open_[solved], whole.take(place[solved]).thinned(self.capacity, rng)
                open_ = open_[~solved & (spent[open_] < self._most_attempts)]
                capacity = min(2 * capacity, MOST_SEARCHED)
        except GivenUp:
            return

    # ---------------------------------------------------------------- shared

    def _grow(
        self,
        role: int,
        sets: Segments,
        paths: IntArray,
        capacity: int,
        rng: np.random.Generator,
    ) -> Grown:
        """Sampled sets one turn later."""
        return advance(
            self.machine,
            self.tree,
            role,
            sets,
            paths,
            capacity=capacity,
            rng=rng,
            model=self._model,
            stop=self._stopped,
            at_once=self._at_once,
        )

    def _assemble(
        self, role: int, paths: IntArray, sampled: IntArray, sets: Segments | None
    ) -> Bags:
        """Bags of exact sets that are known, and the sampled ones given."""
        is_exact = np.ones(len(paths), dtype=np.bool_)
        is_exact[sampled] = False
        exact = np.flatnonzero(is_exact)
        first, group = first_seen(paths[exact])
        segment = np.empty(len(paths), dtype=np.int64)
        segment[exact] = group
        segment[sampled] = len(first) + np.arange(len(sampled))
        if len(paths) == 1 and len(first):
            self._exact_at = self.tree.depth(int(paths[0]))
        parts = [] if sets is None else [sets]
        if len(first):
            parts.insert(0, self._exact.get(paths[exact[first]]))
        if not parts:
            parts = [depleted_segments(self.machine, 0, keep_views=self._keep_views)]
        return Bags(role, paths, segment, join(self.machine, parts))

    @property
    def _most_attempts(self) -> float:
        return np.inf if self.timed else self._max_attempts

    def _stopped(self) -> bool:
        return self.stop()

    def _at_once(self) -> int:
        return self.lanes_at_once()
