"""Protocols of belief: `Sampler` makes bags for incomplete paths, `Finder` refills a bag.

Players call a sampler; it calls its finders when a bag loses its particles. `Setting` is the state
that they share, and `Quality` describes a bag to people. `HyperPlaySampler` implements `Sampler`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, ClassVar, Protocol, Required, TypedDict, Unpack, runtime_checkable

import numpy as np

from ggp.belief.bags import Bags, Segments, depleted_segments, initial_segments
from ggp.belief.move_models import UNIFORM, MoveModel
from ggp.belief.paths import PathTree
from ggp.belief.samplers.board_maker import BoardMaker
from ggp.belief.turns.completions import lanes_at_once, never
from ggp.belief.turns.open_moves import MAX_COMPLETIONS
from ggp.machine.base import BoolArray, IntArray, Machine


class Sampler(Protocol):
    """Makes bags: weighted states a role may be in, for many incomplete paths side by side.

    The caller owns the limits of the search, `stop` to `at_risk`: a player sets them before each
    call, as its clock and its bag require. No call changes them.

    >>> import numpy as np
    >>> from ggp.belief import PathTree, SamplerSettings, make_sampler
    >>> from ggp.machine import build_machine
    >>> from ggp.machine.games import load_program
    >>> machine = build_machine(load_program("monty_hall"))
    >>> candidate, rng = machine.roles.index("candidate"), np.random.default_rng(0)
    >>> sampler = make_sampler(
    ...     "hyperplay", machine, PathTree(machine), SamplerSettings(exact=300), capacity=10
    ... )
    >>> start = sampler.start(candidate)
    >>> move = np.array([machine.move_id("(choose 1)")])
    >>> percepts = np.array([machine.percept_id([])])
    >>> bags = sampler.advance(start, move, percepts, rng)
    >>> len(bags.states_of(0)), bags.exact[0]
    (3, np.True_)

    Attributes:
        tree: numbers the incomplete paths.
        stop: called now and then; when true, the search for particles ends.
        lanes_at_once: returns the number of lanes to step between two calls of `stop`.
        capacity: particles of a sampled bag.
        room: most entries of a bag that is advanced, if more than `capacity`.
        timed: whether only `stop` ends a search for particles, and no count of attempts.
        at_risk: whether the bag that is enlarged is likely to die, so that expensive searches for
            particles are worth their time.
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
        """Whether every entry agrees with its path: no state is outside the information set."""
        ...

    @property
    def enumerates(self) -> bool:
        """Whether small information sets are enumerated, so that bags can be exact."""
        ...

    @property
    def views(self) -> IntArray:
        """Nodes in use besides the paths of the sampler's bags."""
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
        """The bags one turn later; a bag without particles has no entries."""
        ...

    def enlarge(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        """One bag with the new entries of another sample of `size` particles, if any.

        If the search is stopped, the bag comes back unchanged.
        """
        ...

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        ...


@runtime_checkable
class Enumerates(Protocol):
    """A `Sampler` that enumerates information sets where this is cheap enough."""

    def afford(self, completions: int | None, is_past: Callable[[float], bool] = never) -> None:
        """Set the budget of an exact set in a turn, from now on.

        Args:
            completions: joint moves that may be tried, and entries in proportion to them; never
                less than the budget the sampler was made with, and None for this budget.
            is_past: whether more than a given share of the available time has passed, because some
                finders may use only a share of it.
        """
        ...


# ------------------------------------------------------------------------
# Finders, and the setting that the finders of one sampler share.
#
# The bag of a path is its exact set (`finding.exact`), or it is advanced from the bag of the turn
# before (`turns.one_turn`). When that leaves few particles or none, `HyperPlaySampler`, and at last
# a player's `Tracker`, ask one `Finder` after the other, until one finds particles:
#
# finder                             needs                            gives
#     finding.earlier.HistoryFinder      a machine that draws histories   whole histories
#     finding.earlier.Earlier            the bags of one match            samples from earlier bags
#     solving.finder.Solving             a circuit that can be unrolled   solutions, moved by chains
#                                        or unknown turns lately          paths followed on
#     finding.earlier.Forward            nothing                          ever more samples from the
#                                                                         last exact set, or it all
#     hyperplay_sampler.Larger           nothing                          states alone, with larger
#                                                                         bounds
#     last_observation.DrawnBoards       a file that describes boards     boards that agree with
#                                                                         recent percepts
#
# `docs/reference/belief.md` says what each finder guarantees and costs.

MAX_ATTEMPTS = 400_000
"""Most lanes stepped in search of a particle for a player's own bag."""

LARGER = 1.1
"""A bag lacks entries if its set is estimated at more than this times its size."""


class Shared(TypedDict, total=False):
    """Arguments of a `Setting` besides the game and the path tree; see `Setting`.

    Attributes:
        max_attempts: lanes stepped in search of particles for an empty bag; by default
            `usual_attempts` of the class.
    """

    capacity: Required[int]
    max_attempts: int
    keep_views: bool
    model: MoveModel
    stop: Callable[[], bool]


POOL_LIMIT = 20_000
"""Most states that samplers keep from turn to turn (paper 002)."""


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """Settings of the sampler of a player's own bag; each sampler uses some of them.

    Attributes:
        exact: largest information set that is enumerated.
        pool: most states that are kept from turn to turn.
        maker: draws boards when no history is found.
        rescues: whether to ask all finders when no particle is left.
    """

    exact: int
    pool: int = POOL_LIMIT
    maker: BoardMaker | None = None
    rescues: bool = True


class Setting:
    """What a sampler and its finders share: the game, the paths, and the limits of a search.

    A sampler is itself a setting. Its caller sets the limits, `room` to `at_risk`, between calls;
    finders only read them.

    Attributes:
        machine: the game.
        tree: numbers the incomplete paths.
        model: predicts the moves of the other roles.
        keep_views: keep every role's incomplete path along each entry.
        capacity: particles of a sampled bag.
        room: most entries of a bag that is advanced, if more than `capacity`.
        stop: called now and then; when true, the search ends.
        lanes_at_once: returns the number of lanes to step between two calls of `stop`.
        is_past: whether more than a given share of the available time has passed; `stop` is the
            same for a share of 1.
        timed: whether only `stop` ends a search for particles, and not `most_attempts`.
        at_risk: whether the bag of the match is likely to die, so that expensive searches for
            particles are worth their time.
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
        """Lanes that may be stepped in search of particles for an empty bag."""
        return np.inf if self.timed else self._max_attempts

    @property
    def most_entries(self) -> int:
        """Most entries of the bag of a match."""
        return max(self.room, self.capacity)

    def stops_with(self, sampler: Sampler | Setting) -> None:
        """Share the clock of another sampler: stop when it stops, and check as often."""
        self.stop, self.lanes_at_once = sampler.stop, sampler.lanes_at_once

    def nothing(self, count: int) -> Segments:
        """`count` sets without an entry."""
        return depleted_segments(self.machine, count, keep_views=self.keep_views)

    def beginning(self, count: int) -> Segments:
        """`count` sets of the initial state."""
        return initial_segments(self.machine, count, keep_views=self.keep_views)

    def lacking(self, sets: Segments) -> BoolArray:
        """`[S]` whether a set is empty, or lost most of its particles.

        A small bag of a small information set lacks nothing.
        """
        counts = sets.counts
        lost = (2 * counts < self.capacity) & (sets.sizes > LARGER * counts)
        return np.asarray(lost | (counts == 0))


class Finder(Protocol):
    """One way to find particles for bags that have few, or none.

    No bag loses entries. When stopped, a finder returns the entries found so far.

    Attributes:
        is_sound: whether every new entry agrees with its path.
    """

    is_sound: bool = True

    def helps(self, bags: Bags) -> BoolArray:
        """`[B]` whether to call `fill` for each bag, if the bag is not exact."""
        ...

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        """The same bags, refilled with particles.

        Args:
            bags: all of them `helps`; paths of equal length, a set for each.

        Returns:
            B bags; a bag is exact and empty if it is proved that no state is possible.
        """
        ...

    def adds(self, paths: IntArray) -> bool:
        """Whether to call `add_sample` for the bags of these paths now."""
        return False

    def add_sample(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        """One bag, which is not exact, with the entries of a new sample of `size` particles.

        Returns:
            the bag, of `most_entries` at most; None if it did not change.
        """
        return None

    def learn(self, path: int, sets: Segments) -> None:
        """Remember the bag of the match: later bags may be drawn from it."""
        return

    @property
    def views(self) -> IntArray:
        """Nodes in use."""
        return np.zeros(0, dtype=np.int64)

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        return


# ------------------------------------------------------------------------
# The quality of a bag: how it was made, its number of states, and how well it represents its set.


class How(StrEnum):
    """The method by which a bag was made."""

    EXACT = "exact"
    SAMPLED = "sampled"
    SOLVED = "solved"
    DRAWN = "drawn"


@dataclass(frozen=True)
class Quality:
    """The quality of a bag.

    Attributes:
        how: `exact`, the whole information set; `sampled` forward; `solved`, begun with paths that
            a solver found in the last turn; `drawn`, boards that agree with recent percepts.
        sound: whether no state is outside the information set.
        entries: number of entries. If other roles' incomplete paths are kept, equal states with
            different paths count separately.
        distinct: number of different states.
        ess: effective sample size, 1 / (sum of squared weights): this many entries of equal
            weight are worth as much.
        log_size: natural logarithm of the number of entries of the whole set, estimated
            unless the bag is exact; None if unknown.
        inexact_turns: turns since the bag was last exact; None if it never was, or that turn
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
    """The quality of the first of several bags."""
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
        float(np.log(size)) if 0 < size < MAX_COMPLETIONS else None,
        0 if bags.exact[0] else inexact_turns,
    )


LARGE = 10_000
"""Estimated sizes of at least this are shown as powers of ten."""


def in_words(quality: Mapping[str, Any]) -> str:
    """A quality in words for people; the page of the table uses the same words (`mind.js`).

    Args:
        quality: as returned by `Quality.as_json`.
    """
    entries, distinct, exact = quality["entries"], quality["distinct"], quality["how"] == How.EXACT
    if not entries:
        return f"{quality['how']}: no state {'fits' if exact else 'was found'}"
    count = f"{entries:,}" if entries == distinct else f"{entries:,} entries, {distinct:,}"
    if exact:
        weighed = f"; effective {quality['ess']:,.0f}" if round(quality["ess"]) < entries else ""
        verb = "which is" if distinct == 1 else "which are"
        return f"exact: {count} {_states(distinct)}, {verb} all there can be{weighed}"
    size, ago = quality["log_size"], quality["inexact_turns"]
    of = "" if size is None else f", of about {_size_in_words(size)}"
    age = "" if ago is None else f", exact {ago:,} turn{'' if ago == 1 else 's'} ago"
    sound = "sound" if quality["sound"] else "not sound: some may not fit the percepts"
    summary = f"{quality['how']}: {count} {_states(distinct)}{of}"
    return f"{summary}, effective {quality['ess']:,.0f}{age}; {sound}"


def _states(count: int) -> str:
    return "state" if count == 1 else "states"


def _size_in_words(log_size: float) -> str:
    size = np.exp(log_size)
    return f"{float(f'{size:.2g}'):,.0f}" if size < LARGE else f"10^{log_size / np.log(10):.1f}"
