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

import numpy as np

from ggp.belief import Bags
from ggp.labs.kriegspiel.boards.lower_bounds import FloorEvaluation, value_open
from ggp.machine.arrays import first_seen
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged, States
from ggp.search.anytime import Deadline, check
from ggp.search.estimates import Estimates, candidates
from ggp.search.parts import Evaluation
from ggp.search.worlds.clairvoyant import ClairvoyantValues, SharedWorlds, answered_by_lot
from ggp.search.worlds.layer_limits import PLAYOUTS, CountLimit, DepthLimit
from ggp.search.worlds.world_search import drawn_worlds

FIRST_BOARDS = 8
"""Boards searched side by side to begin with, and always if there is a clock: what is not done when
it ends is lost."""

BOARDS_AT_ONCE = 256
JOINT_AT_ONCE = 1 << 16
"""Most boards searched side by side, and joint moves that they should have: bounds memory."""


class BoardSearch:
    """Values of the candidates of one bag, by more and more of its boards.

    A trial is a board.

    Args:
        bags: one bag, not depleted.
        depth: plies to search each board.
        steps: joint moves that may be tried for a board; if there are more, fewer plies are
            searched.
        evaluation: of the states where the search stops, from our role's point of view; default:
            random playouts, `PLAYOUTS` each, in which each role gets its own goals.
        deadline: looked at all the time.
        most: boards drawn from the bag, if it has more.
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
        *,
        depth: int,
        steps: int,
        evaluation: Evaluation | None = None,
        deadline: Deadline | None = None,
        most: int = 1 << 30,
        moves: Ragged | None = None,
    ) -> None:
        self._machine, self._role, self._rng = machine, bags.role, rng
        self._depth, self._steps, self._deadline = depth, steps, deadline
        self._evaluation = evaluation
        self._playouts = PLAYOUTS if evaluation is None else 1
        self.moves = candidates(machine, bags) if moves is None else moves
        self._seen: list[ClairvoyantValues] = []
        self._at_once = FIRST_BOARDS
        self._states, self._weights = self._drawn(bags, most)

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

    def round(self, count: int, chosen: IntArray | None = None) -> None:
        """Search `count` more boards, if there are so many.

        Args:
            chosen: makes no difference: a board tells about all moves.

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
        machine, steps = self._machine, self._steps * len(states)
        worlds = SharedWorlds(machine, states, self._role, self._evaluation, skip_refused=True)
        worlds.grow(DepthLimit(CountLimit(steps), self._depth), self._deadline)
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
