"""The `Search` of Choose-move (papers 001 and 002): boards searched as if everybody saw them.

Each board is searched some plies deep, and where that ends, it is valued from the point of view of
our role. So the value of a move on a board is minimax of one evaluation: we maximise it, and the
others minimise it. If random playouts value boards instead, and where the game is over, each role
has its own goals.

The value of a move is its mean over the boards in which it can be made: boards in which it is
illegal, or a try that is refused, do not count. Boards are searched a few at a time, in random
order, so that a clock may end the search after any of them; without one as many as fill the blocks
of a circuit.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from ggp.belief import Bags
from ggp.labs.kriegspiel.boards.board_kernels import order_runs
from ggp.machine.arrays import first_seen
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, Ragged, States
from ggp.search.anytime import Deadline, check
from ggp.search.clairvoyant import ClairvoyantValues, SharedWorlds, answered_by_lot, drawn_worlds
from ggp.search.estimates import Estimates, candidates
from ggp.search.layers import PLAYOUTS, CountLimit, DepthLimit
from ggp.search.parts import Evaluation

FIRST_BOARDS = 8
"""Boards searched side by side to begin with, and always if there is a clock: what is not done when
it ends is lost."""

BOARDS_AT_ONCE = 256
JOINT_AT_ONCE = 1 << 16
"""Most boards searched side by side, and joint moves that they should have: bounds memory."""


class BoardLimits(NamedTuple):
    """How far boards are searched, and how many of them.

    Attributes:
        depth: plies to search each board.
        steps: joint moves that may be tried for a board; if there are more, fewer plies are
            searched.
        boards: drawn from a bag that has more.
    """

    depth: int
    steps: int
    boards: int = 1 << 30


class BoardSearch:
    """Values of the candidates of one bag, by more and more of its boards.

    A trial is a board.

    Args:
        bags: one bag, not depleted.
        evaluation: of the states where the search stops, from our role's point of view; default:
            random playouts, `PLAYOUTS` each, in which each role gets its own goals.
        deadline: looked at all the time.
        moves: the candidates, if known: in a large bag it takes time to find them.

    Attributes:
        moves: the candidates.
    """

    side_by_side = 1

    def __init__(
        self,
        machine: Machine,
        bags: Bags,
        rng: np.random.Generator,
        limits: BoardLimits,
        *,
        evaluation: Evaluation | None = None,
        deadline: Deadline | None = None,
        moves: Ragged | None = None,
    ) -> None:
        self._machine, self._role, self._rng = machine, bags.role, rng
        self._limits, self._deadline = limits, deadline
        self._evaluation = evaluation
        self._playouts = PLAYOUTS if evaluation is None else 1
        self.moves = candidates(machine, bags) if moves is None else moves
        self._seen: list[ClairvoyantValues] = []
        self._at_once = FIRST_BOARDS
        self._states, self._weights = self._drawn(bags, limits.boards)

    @property
    def num_searched(self) -> int:
        """Boards searched so far."""
        return sum(len(each.moves.counts) for each in self._seen)

    @property
    def num_left(self) -> int:
        """Boards not searched yet."""
        return len(self._weights) - self.num_searched

    def add(self, bags: Bags) -> None:
        """Add those boards of a bag of the same path that are not known yet."""
        states, weights = self._drawn(bags, len(bags.sets.states))
        number = len(self._weights)
        both = self._machine.concatenate([self._states, states])
        first, _ = first_seen(self._machine.groups(both))
        new = first[first >= number]
        self._states = both.take(np.concatenate([np.arange(number), new]))
        self._weights = np.concatenate([self._weights, weights[new - number]])
        moves = np.concatenate([self.moves.values, candidates(self._machine, bags).values])
        known, _ = first_seen(moves)
        self.moves = Ragged(np.array([0, len(known)]), moves[known])

    def round(self, count: int, subset: IntArray | None = None) -> None:
        """Search `count` more boards, if there are so many.

        Args:
            subset: makes no difference: a board tells about all moves.

        Raises:
            OutOfTime: there was no time for all of them; the boards searched so far count.
        """
        end = min(self.num_searched + count, len(self._weights))
        while (start := self.num_searched) < end:
            check(self._deadline)
            lanes = np.arange(start, min(start + self._at_once, end))
            self._seen.append(self._searched(self._states.take(lanes)))

    def estimates(self) -> Estimates:
        """The values so far; candidates that could be made on no board have value 0."""
        moves = self.moves.values
        found = [self._by_move(each) for each in self._seen]
        if not found:
            zeros = np.zeros(len(moves))
            none = np.zeros(len(moves), dtype=np.int64)
            return Estimates(self.moves, zeros, zeros, none, zeros)
        values, noise = (np.concatenate(each) for each in zip(*found, strict=True))
        counts = ~np.isnan(values)
        weights = np.where(counts, self._weights[: len(values), None], 0.0)
        weights /= np.where(counts.any(axis=0), weights.sum(axis=0), 1.0)
        means = (weights * np.where(counts, values, 0.0)).sum(axis=0)
        visits = counts.sum(axis=0)
        spread = (weights**2 * np.where(counts, values - means, 0.0) ** 2).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.where(visits > 1, spread * visits / (visits - 1), np.nan)
        # One board tells no spread.
        least = (weights**2 * np.where(counts, noise, 0.0)).sum(axis=0)
        errors = np.where(visits > 0, np.sqrt(np.maximum(spread, least)), 0.0)
        return Estimates(self.moves, means, errors, visits, np.zeros(len(moves)))

    def _drawn(self, bags: Bags, most: int) -> tuple[States, FloatArray]:
        """Boards of a bag in random order, and their weights."""
        lanes, weights = drawn_worlds(bags, most, self._rng)
        order = self._rng.permutation(len(lanes))
        return bags.sets.states.take(lanes[order]), weights[order]

    def _searched(self, states: States) -> ClairvoyantValues:
        """Values of our moves on some boards.

        Raises:
            OutOfTime: the deadline passed.
        """
        machine, steps = self._machine, self._limits.steps * len(states)
        worlds = SharedWorlds(machine, states, self._role, self._evaluation, skip_refused=True)
        worlds.grow(DepthLimit(CountLimit(steps), self._limits.depth), self._deadline)
        check(self._deadline)
        if self._deadline is None:
            tried = sum(len(layer.after) for layer in worlds.layers.layers)
            most = len(states) * JOINT_AT_ONCE // max(tried, 1)
            self._at_once = min(max(most, FIRST_BOARDS), BOARDS_AT_ONCE)
        if not worlds.solved:
            if not worlds.layers.layers:
                return answered_by_lot(machine, states, self._role, self._rng, steps)
            if isinstance(self._evaluation, FloorEvaluation):
                value_open(worlds, self._evaluation, self._rng, self._deadline)
            else:
                worlds.play_out(self._playouts, self._rng, self._deadline)
        return worlds.values()

    def _by_move(self, seen: ClairvoyantValues) -> tuple[FloatArray, FloatArray]:
        """`[K, C]` values on K boards, NaN where a move is illegal; and their variances."""
        moves, counts = self.moves.values, seen.moves.counts
        order = np.argsort(moves)
        at = order[np.searchsorted(moves, seen.moves.values, sorter=order)]
        tables = []
        for column in (seen.values, seen.variances):
            table = np.full((len(counts), len(moves)), np.nan)
            table[np.repeat(np.arange(len(counts)), counts), at] = column
            tables.append(table)
        return tables[0], tables[1]


# ------------------------------------------------------------------------
# Lower bounds that leave out open states that cannot matter: alpha-beta cut-offs, in batches.
#
# If captures are played out (`quiescence`), a state is costly to value, but a lower bound for the
# role to move is known at once: it may stand pat. The other role, which chooses the state to go to,
# takes the one of least value. So states are valued a few at a time, for each state before them the
# least promising first, until none is left that could be worth less than the least so far:
#
# bound       44   50   51   51   52
#     value       49   50+  51+  51+  52+      one of five was valued

WAVE_GROWTH = 4
"""A wave values this many times as many states as the one before."""


@runtime_checkable
class FloorEvaluation(Protocol):
    """An `Evaluation` that knows lower bounds of some states at once.

    Attributes:
        role: the role whose values are bounded.
    """

    role: int

    def floors(
        self, states: States, choices: IntArray | None = None
    ) -> tuple[FloatArray, BoolArray]:
        """`[L]` values of states for the role at first sight, and `[L]` whether these are lower
        bounds.

        Args:
            choices: `[L, R]` number of moves of each role, if it is known.
        """
        ...


def value_open(
    worlds: SharedWorlds,
    evaluation: FloorEvaluation,
    rng: np.random.Generator,
    deadline: Deadline | None = None,
) -> None:
    """Value the open states of worlds, except those that cannot matter for our moves.

    Those left out get their lower bounds.

    Args:
        evaluation: that of the worlds, for the role that they belong to.

    Raises:
        OutOfTime: not all could be valued.
    """
    if len(worlds.layers.layers) == 1:
        # Each of our first moves has a value of its own, so everything it leads to matters.
        worlds.play_out(1, rng, deadline)
        return
    floors, is_floor = evaluation.floors(worlds.layers.open, worlds.layers.choices)
    before, chooser, place = worlds.layers.leading()
    can_wait = is_floor[place] & (chooser != evaluation.role)
    at_once = np.zeros(len(floors), dtype=np.bool_)
    at_once[place[~can_wait]] = True
    worlds.play_out(1, rng, deadline, at_once)
    valued = at_once
    least = np.full(int(before.max(initial=-1)) + 1, np.inf)
    known = np.flatnonzero(valued[place])
    np.minimum.at(least, before[known], worlds.worth(evaluation.role, place[known]))
    order = ordered(before, floors[place])
    order = order[(can_wait & ~valued[place])[order]]
    before, place = before[order], place[order]
    size = 1
    while True:
        open_ = np.flatnonzero(floors[place] < least[before])
        before, place = before[open_], place[open_]
        if not len(place):
            break
        chosen = np.zeros(len(floors), dtype=np.bool_)
        chosen[place[first_open(before, size)]] = True
        worlds.play_out(1, rng, deadline, chosen)
        valued = valued | chosen
        known = np.flatnonzero(chosen[place])
        np.minimum.at(least, before[known], worlds.worth(evaluation.role, place[known]))
        rest = np.flatnonzero(~chosen[place])
        before, place = before[rest], place[rest]
        size *= WAVE_GROWTH
    worlds.note(np.flatnonzero(~valued), floors[~valued])


def ordered(owner: IntArray, key: FloatArray) -> IntArray:
    """`[N]` the order by key within each owner; those of an owner are neighbours."""
    order = np.empty(len(owner), dtype=np.int64)
    order_runs.for_steps(len(owner))(owner, key, order)
    return order


def first_open(owner: IntArray, size: int) -> IntArray:
    """Places of the first `size` open states of each owner; those of an owner are neighbours."""
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    rank = np.arange(len(owner)) - np.repeat(begins, np.diff(begins, append=len(owner)))
    return np.flatnonzero(rank < size)
