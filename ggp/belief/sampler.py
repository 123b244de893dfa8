"""The protocol of samplers of the states a role may be in; `HyperPlaySampler` implements it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.paths import PathTree
from ggp.belief.turns.completions import never
from ggp.machine.base import IntArray


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
