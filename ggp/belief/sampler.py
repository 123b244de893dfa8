"""The protocol of samplers of the states a role may be in; `HyperPlaySampler` implements it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, ClassVar, Protocol, Required, TypedDict, Unpack, runtime_checkable

import numpy as np

from ggp.belief.bags import Bags, Segments, depleted_segments, initial_segments
from ggp.belief.move_models import UNIFORM, MoveModel
from ggp.belief.paths import PathTree
from ggp.belief.turns.completions import lanes_at_once, never
from ggp.belief.turns.open_moves import MOST_COMPLETIONS
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
#     finding.last_resorts       nothing                            states alone, with larger bounds
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


# ------------------------------------------------------------------------
# How good a bag is: how it was made, how many states it has, and how well it stands for its set.


class How(StrEnum):
    """The method by which a bag was made."""

    EXACT = "exact"
    SAMPLED = "sampled"
    SOLVED = "solved"
    DRAWN = "drawn"


@dataclass(frozen=True)
class Quality:
    """How good a bag is.

    Attributes:
        how: `exact`, the whole information set; `sampled` forward; `solved`, begun with paths that
            a solver found in the last turn; `drawn`, boards that agree with recent percepts.
        sound: whether no state is outside the information set.
        entries: of the bag. Where other roles' incomplete paths are kept, states that differ only
            in these count separately.
        distinct: number of different states.
        ess: effective sample size, 1 / (sum of squared weights): this many entries of equal
            weight tell as much.
        log_size: natural logarithm of the number of entries that the whole set has, estimated
            where the bag is not exact; None if unknown.
        inexact_turns: turns since the bag was last exact; None where it never was, and its start
            is not remembered.
    """

    how: How
    sound: bool
    entries: int
    distinct: int
    ess: float
    log_size: float | None
    inexact_turns: int | None

    def as_json(self) -> dict[str, Any]:
        """The quality as JSON, for records and commands."""
        return {
            **asdict(self),
            "how": str(self.how),
            "ess": round(self.ess, 3),
            "log_size": None if self.log_size is None else round(self.log_size, 3),
        }


def quality_of(
    machine: Machine, bags: Bags, *, solved: bool = False, inexact_turns: int | None = None
) -> Quality:
    """How good the first of several bags is."""
    states = bags.states_of(0)
    count = len(states)
    how = How.SOLVED if solved else How.SAMPLED
    if bags.guessed:
        how = How.DRAWN
    elif bags.exact[0]:
        how = How.EXACT
    size = float(bags.sets.sizes[bags.segment[0]])
    size = count if bags.exact[0] else max(size, count)
    return Quality(
        how,
        bags.sound,
        count,
        len(np.unique(machine.groups(states))),
        float(1 / np.square(bags.weights_of(0)).sum()) if count else 0.0,
        float(np.log(size)) if 0 < size < MOST_COMPLETIONS else None,
        0 if bags.exact[0] else inexact_turns,
    )


LARGE = 10_000
"""Estimated sizes from here on are given as powers of ten."""


def in_words(told: Mapping[str, Any]) -> str:
    """A quality in words for people; the page of the table uses the same words (`mind.js`).

    Args:
        told: as `Quality.as_json` returns it.
    """
    entries, distinct, exact = told["entries"], told["distinct"], told["how"] == How.EXACT
    if not entries:
        return f"{told['how']}: no state {'fits' if exact else 'was found'}"
    many = f"{entries:,}" if entries == distinct else f"{entries:,} entries, {distinct:,}"
    if exact:
        weighed = f"; effective {told['ess']:,.0f}" if round(told["ess"]) < entries else ""
        which = "which is" if distinct == 1 else "which are"
        return f"exact: {many} {_states(distinct)}, {which} all there can be{weighed}"
    size, ago = told["log_size"], told["inexact_turns"]
    of = "" if size is None else f", of about {_size_in_words(size)}"
    since = "" if ago is None else f", exact {ago:,} turn{'' if ago == 1 else 's'} ago"
    sound = "sound" if told["sound"] else "not sound: some need not fit what was seen"
    found = f"{told['how']}: {many} {_states(distinct)}{of}"
    return f"{found}, effective {told['ess']:,.0f}{since}; {sound}"


def _states(count: int) -> str:
    return "state" if count == 1 else "states"


def _size_in_words(log_size: float) -> str:
    size = np.exp(log_size)
    return f"{float(f'{size:.2g}'):,.0f}" if size < LARGE else f"10^{log_size / np.log(10):.1f}"
