"""Makes and advances bags: exact sets while they are small, samples of the others.

The bag of a path is its exact set, if that is known or can be made from the set of the turn before
(`finding.exact`). Otherwise it is made from the bag of the turn before (`one_turn`), thinned to
`capacity` entries. If few of the many entries it should have are left, or none, one `Finder` after
the other looks for more, until one succeeds. `finder` lists them in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Unpack

import numpy as np

from ggp.belief.bags import Bags, Segments, join, replaced
from ggp.belief.finding.earlier import BagHistory, Earlier, Forward, HistoryFinder
from ggp.belief.finding.exact import ExactSets
from ggp.belief.paths import PathTree
from ggp.belief.sampler import Finder, Quality, Setting, Shared, quality_of
from ggp.belief.solving.finder import Solving
from ggp.belief.solving.unrolling import is_solvable
from ggp.belief.turns.completions import never
from ggp.belief.turns.one_turn import TurnLimits, advance
from ggp.machine.arrays import first_seen
from ggp.machine.base import IntArray, Machine

DEFAULT_EXACT = 300
"""Information sets of up to this many entries are enumerated."""

OWN_COMPLETIONS = 1 << 22
"""Joint moves that may be tried in a turn to enumerate a set of a player's own bag. Simulated roles
have far more bags, and may use `EXPANSIONS_PER_ENTRY` for each entry."""


class HyperPlaySampler(Setting):
    """The `Sampler` of HyperPlay: makes and advances bags of every role of a machine.

    Args:
        machine: the game.
        tree: names the incomplete paths.
        exact: largest information set that is enumerated; 0 never enumerates.
        follows: whether one bag is followed through a match: bags of earlier turns are then
            remembered.
        completions: joint moves that may be tried in a turn to enumerate a set; by default in
            proportion to the entries that it may have.
        solves: whether particles for an empty bag are found by solving, where the machine can be
            unrolled.
        rescues: whether bags that lost particles are redrawn; otherwise each is only made from the
            one before, and an empty bag stays empty.
        shared: see `Setting`. Where every role's incomplete path is kept, entries are merged only
            if these agree too.

    Attributes: see `Setting`.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        *,
        exact: int = DEFAULT_EXACT,
        follows: bool = False,
        completions: int | None = None,
        solves: bool = False,
        rescues: bool = True,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(machine, tree, **shared)
        self._exact = ExactSets(self, exact, completions)
        self._exact_at = 0  # turns at which the bag that is followed was exact
        self._forward = Forward(self, self._exact)
        self._rescues, trail = rescues, BagHistory()
        self._of_earlier: tuple[Finder, ...] = ()
        may_solve = solves and rescues and is_solvable(machine)
        if follows and rescues:
            earlier = Earlier(self, self._exact, self._forward, trail, leaves_time=may_solve)
            self._of_earlier = HistoryFinder(self, trail), earlier
        self._solved = Solving(self, self._exact, trail) if may_solve else None

    @property
    def _finders(self) -> tuple[Finder, ...]:
        """The finders that fill bags which lost their particles, in this order."""
        if not self._rescues:
            return ()
        solved = () if self._solved is None else (self._solved,)
        return *self._of_earlier, *solved, self._forward

    @property
    def enumerates(self) -> bool:
        """Whether small information sets are enumerated."""
        return self._exact.enumerates

    def afford(self, completions: int | None, is_past: Callable[[float], bool] = never) -> None:
        """See `Enumerates`."""
        self._exact.afford(completions)
        self.is_past = is_past

    def start(self, role: int, count: int = 1) -> Bags:
        """`count` bags at the start of the game."""
        return self.at(np.full(count, role, dtype=np.int64), role, np.random.default_rng(0))

    def at(self, paths: IntArray, role: int, rng: np.random.Generator) -> Bags:
        """The bags of these incomplete paths, which must be of the same length.

        Bags for which no particle was found have no entries.
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

        A bag whose particles all disagree with the percepts is redrawn from earlier turns, each
        time with more particles, until one agrees or the search is given up; then it has no
        entries.
        """
        role = bags.role
        paths = self.tree.extend(bags.paths, moves, percepts, refused)
        self._exact.trim()
        self._exact.enumerate_after(bags, paths)
        sampled = np.flatnonzero(~self._exact.holds(paths))
        if not len(sampled):
            if self._solved is not None and len(paths) == 1:
                self._solved.learn(int(paths[0]), bags.sets)  # a window of long ago is closed
            return self._assemble(role, paths, sampled, None)
        room = self.most_entries
        before = bags.sets.take(bags.segment[sampled]).thinned(room, rng)
        after = advance(self, role, before, paths[sampled], TurnLimits(room), rng).sets
        after = self._filled(role, paths[sampled], after, rng)
        if len(paths) == 1 and len(after.states):
            for finder in self._finders:
                finder.learn(int(paths[0]), after)
        self._exact.enumerate_shrunk(role, paths[sampled], after.sizes)
        still = np.flatnonzero(~self._exact.holds(paths[sampled]))
        return self._assemble(role, paths, sampled[still], after.take(still))

    def grown(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        """One bag with what a new sample of its path adds, of up to `room` entries.

        Args:
            bags: one bag; it comes back unchanged if it is exact, or the search is stopped.
            size: particles of the new sample.
        """
        if bags.exact[0]:
            return bags
        # Solving comes first, if it is time for it.
        finders = [*([] if self._solved is None else [self._solved]), *self._of_earlier]
        finder = next((each for each in finders if each.adds(bags.paths)), self._forward)
        sets = finder.more(bags.select(np.zeros(1, dtype=np.int64)), size, rng)
        return bags if sets is None else Bags(bags.role, bags.paths, np.zeros(1, np.int64), sets)

    def would_solve(self, bags: Bags) -> bool:
        """Whether `grown` would now solve for paths of one bag instead of drawing a sample."""
        return self._solved is not None and not bags.exact[0] and self._solved.adds(bags.paths)

    def quality(self, bags: Bags) -> Quality:
        """How good a bag is, which must be the one made last."""
        depth = self.tree.depth(int(bags.paths[0]))
        return quality_of(
            self.machine,
            bags,
            solved=self._solved is not None and self._solved.found_for == int(bags.paths[0]),
            inexact_turns=depth - self._exact_at,
        )

    @property
    def sound(self) -> bool:
        """True: every entry is a complete path that agrees with its incomplete one."""
        return True

    @property
    def views(self) -> IntArray:
        """Nodes that known sets refer to besides those of their own paths."""
        return np.concatenate([self._exact.views, *(finder.views for finder in self._finders)])

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        self._exact.renumber(numbers)
        for finder in self._finders:
            finder.renumber(numbers)

    def _sample(self, role: int, paths: IntArray, rng: np.random.Generator) -> Segments | None:
        """New sampled bags: thinned from the last exact set of each path, then advanced."""
        if not len(paths):
            return None
        sets = self.nothing(len(paths))
        # Starting from bags of earlier turns is better than starting so far back.
        if not any(finder.adds(paths) for finder in self._of_earlier):
            sets = self._forward.replayed(role, paths, self.capacity, rng).sets
        return self._filled(role, paths, sets, rng)

    def _filled(
        self, role: int, paths: IntArray, sets: Segments, rng: np.random.Generator
    ) -> Segments:
        """Bags, refilled by the first finder with particles for those that lost most of theirs."""
        bags, missing = Bags(role, paths, np.arange(len(paths)), sets), ~sets.exact
        for finder in self._finders:
            which = np.flatnonzero(missing & finder.helps(bags))
            if len(which):
                found = finder.fill(bags.select(which), rng)
                missing[which] = (found.counts == 0) & ~found.exact
                sets = replaced(self.machine, bags.sets, [(which, found)])
                bags = replace(bags, sets=sets)
        return bags.sets

    def _assemble(
        self, role: int, paths: IntArray, sampled: IntArray, sets: Segments | None
    ) -> Bags:
        """Bags of the known exact sets and of the sampled ones given."""
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
            parts = [self.nothing(0)]
        return Bags(role, paths, segment, join(self.machine, parts))
