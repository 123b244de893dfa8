"""The protocol of samplers of the states a role may be in; `HyperPlaySampler` implements it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, Required, TypedDict, Unpack, runtime_checkable

import numpy as np

from ggp.belief.bags import Bags, Segments, depleted_segments, initial_segments
from ggp.belief.move_models import UNIFORM, MoveModel
from ggp.belief.paths import PathTree
from ggp.belief.turns.completions import lanes_at_once, never
from ggp.machine.base import BoolArray, IntArray, Machine


class Sampler(Protocol):
    """Samples the states a role may be in, with weights, for many incomplete paths at once.

    Attributes:
        tree: names the incomplete paths.
        stop: asked now and then; when true, the search for particles is given up. May be replaced
            between calls.
        lanes_at_once: gives the number of lanes to step between two looks at `stop`. May be
            replaced between calls.
        capacity: particles of a sampled bag.
        room: most entries of a bag that is advanced, where that is more than `capacity`.
        timed: whether only `stop` ends a search for particles, and no count of attempts, where the
            sampler searches. May be replaced between calls.
        at_risk: whether `grown` is called for a bag that is likely to die, so that time is well
            spent on what costs more than samples do. May be replaced between calls.
    """

    tree: PathTree
    stop: Callable[[], bool]
    lanes_at_once: Callable[[], int]
    capacity: int
    room: int
    timed: bool
    at_risk: bool

    @property
    def sound(self) -> bool:
        """Whether every entry agrees with its path: no state outside the information set."""
        ...

    @property
    def enumerates(self) -> bool:
        """Whether small information sets are enumerated, so that a bag can be exact."""
        ...

    @property
    def views(self) -> IntArray:
        """Nodes that the sampler refers to besides the paths of its bags."""
        ...

    def start(self, role: int, count: int = 1) -> Bags:
        """`count` bags at the start of the game."""
        ...

    def at(self, paths: IntArray, role: int, rng: np.random.Generator) -> Bags:
        """The bags of these incomplete paths, which must be of the same length."""
        ...

    def advance(
        self,
        bags: Bags,
        moves: IntArray,
        percepts: IntArray,
        rng: np.random.Generator,
        refused: IntArray | None = None,
    ) -> Bags:
        """The bags one turn later; those without particles have no entries."""
        ...

    def grown(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        """One bag with what a new sample of `size` particles adds, if anything.

        Where the search is stopped, it comes back as it is.
        """
        ...

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        ...


@runtime_checkable
class Enumerates(Protocol):
    """A `Sampler` that enumerates information sets where that is not too costly."""

    def afford(self, completions: int | None, is_past: Callable[[float], bool] = never) -> None:
        """Set what may be spent on an exact set in a turn, from now on.

        Args:
            completions: joint moves that may be tried, and in proportion to them entries, but no
                fewer than the sampler was made for; None for what it was made for.
            is_past: whether more than a given share of the available time has passed: some finders
                may use only their share of it.
        """
        ...


# ------------------------------------------------------------------------
# Finding particles: the protocol of a finder, and what the finders of one sampler share.
#
# The bag of a path is its exact set (`finding.exact`), or it is made from the bag of the turn
# before (`one_turn`). Where that leaves few particles or none, `HyperPlaySampler`, and at last a
# player's `Tracker`, ask one `Finder` after the other, until one has found something:
#
# finder               needs                              gives
#     finding.histories    a machine that draws histories     histories changed as a whole
#     finding.earlier      a bag that is followed             samples from bags of earlier turns
#     finding.solved       a circuit that can be unrolled     solutions, moved about by chains
#     finding.forward      nothing                            ever more samples from the last exact
#                                                             set, and the set itself
#     finding.boards       a file that says how they are      boards that agree with recent
#                          drawn                              percepts
#     finding.larger       nothing                            states alone, with larger bounds
#
# `docs/reference/belief.md` says what each of them guarantees and costs.

MAX_ATTEMPTS = 400_000
"""Lanes stepped in search of a particle for a player's own bag."""

LARGER = 1.1
"""A bag lacks entries if its set is estimated at more than this times as many."""


class Shared(TypedDict, total=False):
    """Arguments of a `Setting` besides the game and the paths; see `Setting`.

    Attributes:
        max_attempts: lanes stepped in search of particles for one bag that has none; by default as
            many as samplers of the class usually take.
    """

    capacity: Required[int]
    max_attempts: int
    keep_views: bool
    model: MoveModel
    stop: Callable[[], bool]


class Setting:
    """The common settings of a sampler and its finders: the game, the paths, and the limits of a
    search.

    A sampler is itself a setting.

    Attributes:
        machine: the game.
        tree: names incomplete paths.
        model: how the other roles are believed to move.
        keep_views: keep every role's incomplete path along each entry.
        capacity: particles of a sampled bag.
        room: most entries of a bag that is advanced, where that is more than `capacity`.
        stop: asked now and then; when true, the search is given up.
        lanes_at_once: gives the number of lanes to step between two looks at `stop`.
        is_past: whether more than a given share of the available time has passed; `stop` is the
            same for a share of 1.
        timed: whether only `stop` ends a search for particles, and not `most_attempts`.
        at_risk: whether the bag that is followed is likely to die, so that time is well spent on
            what costs more than samples do.

    The last six may be replaced between calls.
    """

    usual_attempts: ClassVar[int] = MAX_ATTEMPTS

    def __init__(self, machine: Machine, tree: PathTree, **shared: Unpack[Shared]) -> None:
        self.machine, self.tree = machine, tree
        self.model = shared.get("model", UNIFORM)
        self.keep_views = shared.get("keep_views", False)
        self.capacity = self.room = shared["capacity"]
        self.stop = shared.get("stop", never)
        self.lanes_at_once: Callable[[], int] = lanes_at_once
        self.is_past: Callable[[float], bool] = never
        self.timed = self.at_risk = False
        self._max_attempts = shared.get("max_attempts", self.usual_attempts)

    @property
    def most_attempts(self) -> float:
        """Lanes that may be stepped in search of particles for one bag that has none."""
        return np.inf if self.timed else self._max_attempts

    @property
    def most_entries(self) -> int:
        """Entries that the bag of a path that is followed may have."""
        return max(self.room, self.capacity)

    def stops_with(self, other: Sampler | Setting) -> None:
        """Stop when another one does, and ask as often."""
        self.stop, self.lanes_at_once = other.stop, other.lanes_at_once

    def nothing(self, count: int) -> Segments:
        """`count` sets without an entry."""
        return depleted_segments(self.machine, count, keep_views=self.keep_views)

    def beginning(self, count: int) -> Segments:
        """`count` sets of the initial state."""
        return initial_segments(self.machine, count, keep_views=self.keep_views)

    def wanting(self, sets: Segments) -> BoolArray:
        """`[S]` whether a set has no entries, or lost most of those it should have.

        A small bag of a small information set has lost nothing.
        """
        counts = sets.counts
        lost = (2 * counts < self.capacity) & (sets.sizes > LARGER * counts)
        return np.asarray(lost | (counts == 0))


class Finder(Protocol):
    """One way to find particles for bags that have few, or none.

    A bag that comes back never has fewer entries than before. A finder that is stopped returns
    what it has found so far.

    Attributes:
        is_sound: whether every entry that is found agrees with its path.
    """

    is_sound: bool = True

    def helps(self, bags: Bags) -> BoolArray:
        """`[B]` whether it would look for particles for each bag, if the bag is not exact."""
        ...

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        """Bags that it helps with, with the particles that it finds.

        Args:
            bags: of paths of equal length, a set for each.

        Returns:
            B bags; one that is exact and has no entry where it is proved that there is none.
        """
        ...

    def adds(self, paths: IntArray) -> bool:
        """Whether to ask for `more` for the bags of some paths now."""
        return False

    def more(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        """One bag, which is not exact, with what a new sample of `size` particles adds to it.

        Returns:
            the bag, of `most_entries` at most; None where nothing came of it.
        """
        return None

    def learn(self, path: int, sets: Segments) -> None:
        """Take note of the bag of a path that is followed: later ones may be found from it."""
        return

    @property
    def views(self) -> IntArray:
        """Nodes that are referred to."""
        return np.zeros(0, dtype=np.int64)

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        return
