"""HyperPlay's sampler: it gets incomplete paths and returns bags, exact while sets are small.

The bag of a path is its exact set, if this is stored or follows from the stored set of the turn
before (`finding.exact`). Otherwise the bag of the turn before is advanced (`turns.one_turn`) and
thinned to `capacity` entries. If none of the entries is left, or only a few of many, one `Finder`
after the other looks for more, until one succeeds; `ggp.belief.sampler` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Unpack

import numpy as np

from ggp.belief.bags import Bags, Segments, join, replaced
from ggp.belief.finding.earlier import BagHistory, Earlier, Forward, HistoryFinder
from ggp.belief.finding.exact import ExactSets
from ggp.belief.paths import PathTree
from ggp.belief.sampler import (
    Finder,
    Quality,
    Sampler,
    SamplerSettings,
    Setting,
    Shared,
    quality_of,
)
from ggp.belief.solving.finder import Solving
from ggp.belief.solving.unrolling import is_solvable
from ggp.belief.turns.completions import never
from ggp.belief.turns.one_turn import TurnLimits, advance
from ggp.machine.arrays import first_seen
from ggp.machine.base import BoolArray, IntArray, Machine

DEFAULT_EXACT = 300
"""Most entries of an information set that is enumerated."""

OWN_COMPLETIONS = 1 << 22
"""Joint moves that may be tried in a turn to enumerate the set of a player's own bag. Simulated
roles have far more bags; for them the limit is `EXPANSIONS_PER_ENTRY` for each entry."""


ADVANCED, ADVANCE_SHARE = 16, 0.6
"""With a clock, a bag of up to this many times its size is advanced, such as one that was exact;
after this share of the time, the rest of it is left out."""


class HyperPlaySampler(Setting):
    """The `Sampler` of HyperPlay: makes and advances bags of every role of a machine.

    Args:
        machine: the game.
        tree: numbers the incomplete paths.
        exact: largest information set that is enumerated; 0 never enumerates.
        follows: whether it follows one match: then bags of earlier turns are remembered.
        completions: joint moves that may be tried in a turn to enumerate a set; by default in
            proportion to the entries that it may have.
        solves: whether to solve for particles of an empty bag, if the machine can be unrolled.
        rescues: whether bags that lost particles are refilled; otherwise each bag is only advanced,
            and an empty bag stays empty.
        shared: see `Setting`. With `keep_views`, entries are merged only if the paths of all roles
            agree too.

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
        self.enumerates = self._exact.enumerates
        self._exact_at = 0  # the last turn at which the bag of the match was exact
        self._follows, self._solves, self._rescues = follows, solves, rescues

    # Exact sets need no finder, so finders are made when the first one is asked.

    @cached_property
    def _forward(self) -> Forward:
        return Forward(self, self._exact)

    @cached_property
    def _finders(self) -> tuple[Finder, ...]:
        """The finders that refill bags, in the order in which they are asked."""
        if not self._rescues:
            return ()
        finders: list[Finder] = []
        trail = BagHistory()
        if self._follows:
            may_solve = self._solves and is_solvable(self.machine)
            earlier = Earlier(self, self._exact, self._forward, trail, leaves_time=may_solve)
            finders += HistoryFinder(self, trail), earlier
        if self._solves:
            finders.append(Solving(self, self._exact, trail))
        return *finders, self._forward

    @property
    def _solving(self) -> Solving | None:
        return next((finder for finder in self._finders if isinstance(finder, Solving)), None)

    def afford(self, completions: int | None, is_past: Callable[[float], bool] = never) -> None:
        """See `Enumerates`."""
        self._exact.afford(completions)
        self.is_past = is_past

    def start(self, role: int, count: int = 1) -> Bags:
        """`count` bags at the start of the game."""
        return self.at(np.full(count, role, dtype=np.int64), role, np.random.default_rng(0))

    def at(self, paths: IntArray, role: int, rng: np.random.Generator) -> Bags:
        """The bags of these incomplete paths, which must be of the same length.

        A bag for which no particle is found has no entries.
        """
        self._exact.stored.trim()
        self._exact.enumerate_from_start(role, paths)
        sampled = np.flatnonzero(~self._exact.stored.holds(paths))
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

        If all particles of a bag disagree with the percepts, it is redrawn from earlier turns, each
        time with more particles, until some agree or the search ends; then it has no entries.
        """
        role = bags.role
        paths = self.tree.extend(bags.paths, moves, percepts, refused)
        self._exact.stored.trim()
        self._exact.extend_bags(bags, paths)
        sampled = np.flatnonzero(~self._exact.stored.holds(paths))
        if not len(sampled):
            bags = self._assemble(role, paths, sampled, None)
            # A window may be too old by now; none is open before finders are made.
            if "_finders" in vars(self) and (solving := self._solving) is not None:
                solving.learn(int(paths[0]), bags.sets)
            return bags
        room = self.most_entries
        # With a clock, a bag may begin with more entries than it keeps.
        most, stop = (room, None) if not self.timed else (ADVANCED * room, self._is_late)
        old_sets = bags.sets.take(bags.segment[sampled]).thinned(most, rng)
        limits = TurnLimits(room, draws=self.timed, stop=stop)
        new_sets = advance(self, role, old_sets, paths[sampled], limits, rng).sets
        new_sets = self._refill(role, paths[sampled], new_sets, rng)
        if len(paths) == 1 and len(new_sets.states):
            for finder in self._finders:
                finder.learn(int(paths[0]), new_sets)
        self._exact.retry_shrunk(role, paths[sampled], new_sets.sizes)
        inexact = np.flatnonzero(~self._exact.stored.holds(paths[sampled]))
        return self._assemble(role, paths, sampled[inexact], new_sets.take(inexact))

    def _is_late(self) -> bool:
        return self.stop() or self.is_past(ADVANCE_SHARE)

    def resume(self, bags: Bags) -> None:
        """Go on from the bag of the match that another sampler has made."""
        path = int(bags.paths[0])
        if bags.exact[0]:
            self._exact_at = self.tree.depth(path)
            return  # it is stored when it is advanced
        for finder in self._finders:
            finder.learn(path, bags.sets)

    def enlarge(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        """One bag of up to `room` entries, pooled with a new sample of its path.

        Args:
            bags: one bag; it comes back unchanged if it is exact, or the search is stopped.
            size: particles of the new sample.
        """
        if bags.exact[0]:
            return bags
        finder = self._adding(bags.paths) or self._forward
        sets = finder.add_sample(bags.select(np.zeros(1, dtype=np.int64)), size, rng)
        return bags if sets is None else Bags(bags.role, bags.paths, np.zeros(1, np.int64), sets)

    def _adding(self, paths: IntArray) -> Finder | None:
        """The first finder that adds samples to the bags of these paths now; None for none."""
        earlier = (finder for finder in self._finders if finder is not self._forward)
        # Solving comes first if it helps now.
        finders = sorted(earlier, key=lambda finder: not isinstance(finder, Solving))
        return next((finder for finder in finders if finder.adds(paths)), None)

    def would_solve(self, bags: Bags) -> bool:
        """Whether `enlarge` would now solve for paths of this bag instead of sampling."""
        solving = None if bags.exact[0] else self._solving
        return solving is not None and solving.adds(bags.paths)

    def quality(self, bags: Bags) -> Quality:
        """The quality of a bag, which must be the last one made."""
        path = int(bags.paths[0])
        solving = None if bags.exact[0] else self._solving
        return quality_of(
            self.machine,
            bags,
            solved=solving is not None and solving.solved_path == path,
            inexact_turns=self.tree.depth(path) - self._exact_at,
        )

    @property
    def sound(self) -> bool:
        """True: every entry is a complete path that agrees with the incomplete path."""
        return True

    @property
    def views(self) -> IntArray:
        """Nodes in use besides the paths of bags."""
        return np.concatenate(
            [self._exact.stored.views, *(finder.views for finder in self._finders)]
        )

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        self._exact.renumber(numbers)
        for finder in self._finders:
            finder.renumber(numbers)

    def _sample(self, role: int, paths: IntArray, rng: np.random.Generator) -> Segments | None:
        """New sampled bags: from the last exact set of each path, thinned and advanced."""
        if not len(paths):
            return None
        sets = self.nothing(len(paths))
        # Bags of earlier turns are better starts than an exact set far back, and so are paths that
        # are followed through a gap.
        if self._adding(paths) is None:
            sets = self._forward.sample_paths(role, paths, self.capacity, rng).sets
        return self._refill(role, paths, sets, rng)

    def _refill(
        self, role: int, paths: IntArray, sets: Segments, rng: np.random.Generator
    ) -> Segments:
        """Sets, refilled where most particles are lost, by the first finder that succeeds."""
        bags, missing = Bags(role, paths, np.arange(len(paths)), sets), ~sets.exact
        for finder in self._finders:
            indices = np.flatnonzero(missing & finder.helps(bags))
            if len(indices):
                refilled = finder.fill(bags.select(indices), rng)
                missing[indices] = (refilled.counts == 0) & ~refilled.exact
                sets = replaced(self.machine, bags.sets, [(indices, refilled)])
                bags = replace(bags, sets=sets)
        return bags.sets

    def _assemble(
        self, role: int, paths: IntArray, sampled: IntArray, sets: Segments | None
    ) -> Bags:
        """The bags of all paths: stored exact sets, and the given sampled sets."""
        is_exact = np.ones(len(paths), dtype=np.bool_)
        is_exact[sampled] = False
        exact_paths = paths[is_exact]
        first, group = first_seen(exact_paths)
        segment = group
        if len(sampled):
            segment = np.empty(len(paths), dtype=np.int64)
            segment[is_exact] = group
            segment[sampled] = len(first) + np.arange(len(sampled))
        if len(paths) == 1 and len(first):
            self._exact_at = self.tree.depth(int(paths[0]))
        parts = [] if sets is None else [sets]
        if len(first):
            parts.insert(0, self._exact.stored.get(exact_paths[first]))
        if not parts:
            parts = [self.nothing(0)]
        return Bags(role, paths, segment, join(self.machine, parts))


def own_sampler(
    machine: Machine, tree: PathTree, settings: SamplerSettings, **shared: Unpack[Shared]
) -> HyperPlaySampler:
    """The sampler of a player's own bag, which follows one match; no other enumerates sets."""
    return HyperPlaySampler(
        machine,
        tree,
        exact=settings.exact,
        follows=True,
        completions=OWN_COMPLETIONS,
        solves=True,
        rescues=settings.rescues,
        **shared,
    )


# ------------------------------------------------------------------------
# The last resort of a player without a `BoardMaker`: a sampler with larger bounds, whose entries
# are states without the paths of other roles. There are far fewer distinct entries of this kind, so
# it can enumerate and hold many more of them.

PARTICLES, EXACT, ATTEMPTS = 2_000, 100_000, 10_000_000
"""The bounds of `Larger`: particles of a bag, entries of an enumerated set, lanes stepped in a
search."""


class Larger(Finder):
    """A `Finder` that asks a sampler with larger bounds, whose entries are states without paths.

    Args:
        belief: the player's sampler, which says when to stop.
    """

    def __init__(self, machine: Machine, belief: Sampler) -> None:
        self._belief = belief
        self._sampler = HyperPlaySampler(
            machine, belief.tree, capacity=PARTICLES, exact=EXACT, max_attempts=ATTEMPTS
        )

    def helps(self, bags: Bags) -> BoolArray:
        return bags.depleted

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        sampler, belief = self._sampler, self._belief
        sampler.stops_with(belief)
        sampler.timed = belief.timed
        bags_found = sampler.at(bags.paths, bags.role, rng)
        return bags_found.sets.take(bags_found.segment)

    @property
    def views(self) -> IntArray:
        return self._sampler.views

    def renumber(self, numbers: IntArray) -> None:
        self._sampler.renumber(numbers)
