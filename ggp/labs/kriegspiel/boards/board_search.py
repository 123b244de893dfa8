"""The `Search` of Choose-move (papers 001 and 002): boards searched as if everybody saw them.

The boards of a bag come in; estimates of our moves go out, to the players of `choose_move`. Each
board is searched some plies deep, and the boards where that ends are valued for our role. So the
value of a move on a board is the minimax of one evaluation: we maximise it, and the opponents
minimise it. If random playouts value boards instead, and where the game is over, each role goes by
its own goals.

The value of a move is its mean over the boards on which it can be made: boards on which it is
illegal, or a refused try, do not count. Boards are searched in random order, a few at a time, so
that a clock may end the search after any of them; without a clock, as many at a time as fill the
blocks of a circuit.
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
"""Boards searched side by side at first, and always if there is a clock: unfinished ones are lost
when it ends."""

BOARDS_AT_ONCE = 256
JOINT_AT_ONCE = 1 << 16
"""Most boards searched side by side, and joint moves to aim at for them: both bound memory."""


class BoardLimits(NamedTuple):
    """How deep boards are searched, and how many of them.

    Attributes:
        depth: plies to search each board.
        steps: most joint moves for a board; if there are more, fewer plies are searched.
        boards: number of boards to draw from a bag that has more.
    """

    depth: int
    steps: int
    boards: int = 1 << 30


class BoardSearch:
    """Values of the candidates of one bag, from more and more of its boards.

    A trial is one board.

    Args:
        bags: one bag, not depleted.
        evaluation: of the states where the search stops, for our role; default: random playouts,
            `PLAYOUTS` each, in which each role gets its own goals.
        deadline: checked throughout.
        moves: the candidates, if known: in a large bag it takes time to list them.

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
        self._searched: list[ClairvoyantValues] = []
        self._at_once = FIRST_BOARDS
        self._states, self._weights = self._draw(bags, limits.boards)

    @property
    def num_searched(self) -> int:
        """Boards searched so far."""
        return sum(len(values.moves.counts) for values in self._searched)

    @property
    def num_left(self) -> int:
        """Boards not searched yet."""
        return len(self._weights) - self.num_searched

    def add(self, bags: Bags) -> None:
        """Add the new boards of a bag of the same path."""
        states, weights = self._draw(bags, len(bags.sets.states))
        count = len(self._weights)
        all_states = self._machine.concatenate([self._states, states])
        first, _ = first_seen(self._machine.groups(all_states))
        fresh = first[first >= count]
        self._states = all_states.take(np.concatenate([np.arange(count), fresh]))
        self._weights = np.concatenate([self._weights, weights[fresh - count]])
        moves = np.concatenate([self.moves.values, candidates(self._machine, bags).values])
        distinct, _ = first_seen(moves)
        self.moves = Ragged(np.array([0, len(distinct)]), moves[distinct])

    def round(self, count: int, subset: IntArray | None = None) -> None:
        """Search `count` more boards, if there are so many.

        Args:
            subset: has no effect: each board gives values of all moves.

        Raises:
            OutOfTime: there was no time for all; the boards searched so far count.
        """
        end = min(self.num_searched + count, len(self._weights))
        while (start := self.num_searched) < end:
            check(self._deadline)
            lanes = np.arange(start, min(start + self._at_once, end))
            self._searched.append(self._search(self._states.take(lanes)))

    def estimates(self) -> Estimates:
        """The values so far; 0 for candidates that could be made on no board."""
        moves = self.moves.values
        tables = [self._values_by_move(batch) for batch in self._searched]
        if not tables:
            zeros = np.zeros(len(moves))
            none = np.zeros(len(moves), dtype=np.int64)
            return Estimates(self.moves, zeros, zeros, none, zeros)
        values, noise = (np.concatenate(parts) for parts in zip(*tables, strict=True))
        counts = ~np.isnan(values)
        weights = np.where(counts, self._weights[: len(values), None], 0.0)
        weights /= np.where(counts.any(axis=0), weights.sum(axis=0), 1.0)
        means = (weights * np.where(counts, values, 0.0)).sum(axis=0)
        visits = counts.sum(axis=0)
        spread = (weights**2 * np.where(counts, values - means, 0.0) ** 2).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.where(visits > 1, spread * visits / (visits - 1), np.nan)
        # Values of one board have no spread; the noise of its playouts is a lower bound.
        floor = (weights**2 * np.where(counts, noise, 0.0)).sum(axis=0)
        errors = np.where(visits > 0, np.sqrt(np.maximum(spread, floor)), 0.0)
        return Estimates(self.moves, means, errors, visits, np.zeros(len(moves)))

    def _draw(self, bags: Bags, count: int) -> tuple[States, FloatArray]:
        """Boards of a bag in random order, and their weights."""
        lanes, weights = drawn_worlds(bags, count, self._rng)
        order = self._rng.permutation(len(lanes))
        return bags.sets.states.take(lanes[order]), weights[order]

    def _search(self, states: States) -> ClairvoyantValues:
        """Values of our moves on these boards.

        Raises:
            OutOfTime: the deadline passed.
        """
        machine, steps = self._machine, self._limits.steps * len(states)
        worlds = SharedWorlds(machine, states, self._role, self._evaluation, skip_refused=True)
        worlds.grow(DepthLimit(CountLimit(steps), self._limits.depth), self._deadline)
        check(self._deadline)
        if self._deadline is None:
            num_joint = sum(len(layer.children) for layer in worlds.layers.layers)
            num_boards = len(states) * JOINT_AT_ONCE // max(num_joint, 1)
            self._at_once = min(max(num_boards, FIRST_BOARDS), BOARDS_AT_ONCE)
        if not worlds.solved:
            if not worlds.layers.layers:
                return answered_by_lot(machine, states, self._role, self._rng, steps)
            if isinstance(self._evaluation, FloorEvaluation):
                value_open(worlds, self._evaluation, self._rng, self._deadline)
            else:
                worlds.play_out(self._playouts, self._rng, self._deadline)
        return worlds.values()

    def _values_by_move(self, batch: ClairvoyantValues) -> tuple[FloatArray, FloatArray]:
        """`[K, C]` values on K boards, NaN where a move is illegal; and their variances."""
        moves, counts = self.moves.values, batch.moves.counts
        order = np.argsort(moves)
        columns = order[np.searchsorted(moves, batch.moves.values, sorter=order)]
        tables = []
        for entries in (batch.values, batch.variances):
            table = np.full((len(counts), len(moves)), np.nan)
            table[np.repeat(np.arange(len(counts)), counts), columns] = entries
            tables.append(table)
        return tables[0], tables[1]


# ------------------------------------------------------------------------
# Alpha-beta cut-offs in batches: open states that cannot matter are not valued.
#
# If captures are played out (`quiescence`), a state is costly to value, but it has a cheap lower
# bound for the role to move, which may stand pat. Its opponent, who chooses among the states, takes
# the one of lowest value. So the children of each state are valued in waves, those of lowest bound
# first, until no bound is below the lowest value so far:
#
# bound       44   50   51   51   52
#     value       49   50+  51+  51+  52+      one of five was valued

WAVE_GROWTH = 4
"""A wave values this many times as many states as the one before."""


@runtime_checkable
class FloorEvaluation(Protocol):
    """An `Evaluation` with cheap lower bounds of some states.

    Attributes:
        role: the role whose values are bounded.
    """

    role: int

    def floors(
        self, states: States, choices: IntArray | None = None
    ) -> tuple[FloatArray, BoolArray]:
        """`[L]` cheap values of states for the role, and `[L]` whether these are lower bounds.

        Args:
            choices: `[L, R]` number of moves of each role, if known.
        """
        ...


def value_open(
    worlds: SharedWorlds,
    evaluation: FloorEvaluation,
    rng: np.random.Generator,
    deadline: Deadline | None = None,
) -> None:
    """Value the open states of worlds; states that cannot matter for our moves get lower bounds.

    Args:
        evaluation: of the worlds, for their role.

    Raises:
        OutOfTime: not all could be valued.
    """
    if len(worlds.layers.layers) == 1:
        # Each of our first moves needs its own value, so every state matters.
        worlds.play_out(1, rng, deadline)
        return
    floors, is_floor = evaluation.floors(worlds.layers.open, worlds.layers.choices)
    parents, chooser, open_ids = worlds.layers.leading()
    can_wait = is_floor[open_ids] & (chooser != evaluation.role)
    mask = np.zeros(len(floors), dtype=np.bool_)
    mask[open_ids[~can_wait]] = True
    worlds.play_out(1, rng, deadline, mask)
    valued = mask
    lowest = np.full(int(parents.max(initial=-1)) + 1, np.inf)
    edges = np.flatnonzero(valued[open_ids])
    np.minimum.at(lowest, parents[edges], worlds.worth(evaluation.role, open_ids[edges]))
    order = ordered(parents, floors[open_ids])
    order = order[(can_wait & ~valued[open_ids])[order]]
    parents, open_ids = parents[order], open_ids[order]
    size = 1
    while True:
        relevant = np.flatnonzero(floors[open_ids] < lowest[parents])
        parents, open_ids = parents[relevant], open_ids[relevant]
        if not len(open_ids):
            break
        wave = np.zeros(len(floors), dtype=np.bool_)
        wave[open_ids[first_open(parents, size)]] = True
        worlds.play_out(1, rng, deadline, wave)
        valued = valued | wave
        edges = np.flatnonzero(wave[open_ids])
        np.minimum.at(lowest, parents[edges], worlds.worth(evaluation.role, open_ids[edges]))
        rest = np.flatnonzero(~wave[open_ids])
        parents, open_ids = parents[rest], open_ids[rest]
        size *= WAVE_GROWTH
    worlds.note(np.flatnonzero(~valued), floors[~valued])


def ordered(owner: IntArray, key: FloatArray) -> IntArray:
    """`[N]` order by key within each owner; entries of one owner are neighbours."""
    order = np.empty(len(owner), dtype=np.int64)
    order_runs.for_steps(len(owner))(owner, key, order)
    return order


def first_open(owner: IntArray, size: int) -> IntArray:
    """Indices of the first `size` entries of each owner; entries of one owner are neighbours."""
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    rank = np.arange(len(owner)) - np.repeat(begins, np.diff(begins, append=len(owner)))
    return np.flatnonzero(rank < size)
