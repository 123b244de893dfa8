"""How particles are found: the protocol of what finds them, and what one sampler's finders share.

The bag of a path is its exact set (`finding.exact`), or what comes of the bag of the turn before
(`one_turn`). Where that leaves few particles or none, `HyperPlaySampler`, and at last the `Tracker`
of a player, ask one `Finder` after the other, until one has found something:

    finder               needs                              gives
    finding.histories    a machine that draws histories     histories changed as a whole
    finding.earlier      a bag that is followed             samples from bags of earlier turns
    finding.solved       a circuit that can be unrolled     solutions, moved about by chains
    finding.forward      nothing                            ever more samples from the last exact
                                                            set, and the set itself
    finding.boards       a file that says how they are      boards that agree with what was seen
                         drawn                              lately
    finding.larger       nothing                            states alone, with larger bounds

`docs/belief.md` says what each guarantees and costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, Required, TypedDict, Unpack

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.move_models import UNIFORM, MoveModel
from ggp.belief.paths import PathTree
from ggp.belief.sampler import never_past
from ggp.belief.segments import Segments, depleted_segments, initial_segments
from ggp.belief.turns.completions import lanes_at_once
from ggp.belief.turns.one_turn import Grown, advance
from ggp.machine.base import BoolArray, IntArray, Machine

MAX_ATTEMPTS = 400_000
"""Lanes stepped in search of a particle for a player's own bag."""

LARGER = 1.1
"""A set of so many times as many entries as a bag has more than these: its size is estimated."""


def never() -> bool:
    """Nothing stops the search but its own bounds."""
    return False


class Shared(TypedDict, total=False):
    """What a `Setting` is made with, besides the game and the paths: see there.

    Attributes:
        max_attempts: lanes stepped in search of particles for one bag that has none; without it, so
            many as samplers of a class usually take.
    """

    capacity: Required[int]
    max_attempts: int
    keep_views: bool
    model: MoveModel
    stop: Callable[[], bool]


class Setting:
    """What a sampler and its finders share: the game, the paths, and what finding may take.

    Samplers are settings themselves.

    Attributes:
        machine: the game.
        tree: names the incomplete paths.
        model: how the other roles are believed to move.
        keep_views: keep every role's incomplete path along each entry.
        capacity: particles of a sampled bag.
        room: entries that a bag which is advanced may have, where that is more.
        stop: asked now and then; when true, searching is given up.
        lanes_at_once: asked how many lanes to step between two looks at `stop`.
        is_past: whether more than a share of the time there is has passed; `stop` says that of 1.
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
        self.is_past: Callable[[float], bool] = never_past
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

    def one_turn_on(
        self,
        role: int,
        sets: Segments,
        paths: IntArray,
        capacity: IntArray | int,
        rng: np.random.Generator,
        expansion_limit: IntArray | int | None = None,
        stop: Callable[[], bool] | None = None,
        *,
        draws: bool = False,
    ) -> Grown:
        """`one_turn.advance` in this game.

        Args:
            stop: in place of what stops everything.
        """
        return advance(
            self.machine,
            self.tree,
            role,
            sets,
            paths,
            capacity=capacity,
            rng=rng,
            model=self.model,
            expansion_limit=expansion_limit,
            draws=draws,
            stop=self.stop if stop is None else stop,
            at_once=self.lanes_at_once,
        )

    def nothing(self, count: int) -> Segments:
        """`count` sets without an entry."""
        return depleted_segments(self.machine, count, keep_views=self.keep_views)

    def beginning(self, count: int) -> Segments:
        """`count` sets of the initial state."""
        return initial_segments(self.machine, count, keep_views=self.keep_views)

    def wanting(self, sets: Segments) -> BoolArray:
        """`[S]` sets that have no entries, or lost most of those they should have.

        A small bag of a small information set has lost nothing.
        """
        counts = sets.counts
        lost = (2 * counts < self.capacity) & (sets.sizes > LARGER * counts)
        return np.asarray(lost | (counts == 0))


class Finder(Protocol):
    """One way to find particles for bags that have few, or none.

    A bag that comes back never has fewer entries than before. Whoever is stopped gives what there
    is so far.

    Attributes:
        is_sound: whether every entry that is found agrees with its path.
    """

    is_sound: bool = True

    def helps(self, bags: Bags) -> BoolArray:
        """`[B]` which of some bags it would look for particles for, if these are not exact."""
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
        """Whether `more` is to be asked for the bags of some paths now."""
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
