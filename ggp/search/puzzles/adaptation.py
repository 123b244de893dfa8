"""Nested rollout policy adaptation: playouts by a policy that follows the best line so far.

Rosin, "Nested rollout policy adaptation for Monte Carlo tree search", IJCAI 2011. A policy gives
each move a weight, and playouts draw moves by the exponentials of weights. After each round of
playouts the policy is adapted: the moves of the best line gain weight, the others lose it. Two such
loops are nested: the inner one begins with the policy of the outer one, which is adapted to what
the inner one found. Playouts of a round are made side by side, which is the lowest level.

The weight of a move is the sum of one for the move and one for the move in its turn, so that what
is learnt in one turn counts a little in others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.arrays import offsets_of, segment_ids
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged, States
from ggp.search.anytime import Deadline, check
from ggp.search.puzzles.lines import ROLE, Line, best_possible, stepped

LANES = 64
"""Playouts of a round."""

INNER_ROUNDS, OUTER_ROUNDS = 25, 40
"""Rounds of the two loops; then it begins anew, for it is caught by the best line by then."""

STEP = 1.0
"""By how much weights change for each move of a line."""

MOST_TURNS = 300
"""Of a playout: games may go on without end."""

MOST_WEIGHTS = 1 << 22
"""Of moves by turn; later turns share those of the last."""


class _Turn(NamedTuple):
    """A turn of a line: what was legal, and which of these was made."""

    legal: IntArray
    made: int


class Adaptation:
    """See `LineSearch`; it has always something left to do, unless a line to the best is known.

    Args:
        machine: of a puzzle.
        state: one, not terminal.
        rng: draws the moves.
    """

    def __init__(self, machine: Machine, state: States, rng: np.random.Generator) -> None:
        self.line: Line | None = None
        self.is_done = self.is_proved = False
        self._machine, self._state, self._rng = machine, state, rng
        self._best = best_possible(machine)
        self._begin()

    def _begin(self) -> None:
        self._outer, self._inner = _Policy(), _Policy()
        self._rounds = 0
        self._inner_best: tuple[float, list[_Turn]] | None = None
        self._outer_best: tuple[float, list[_Turn]] | None = None

    def advance(self, deadline: Deadline | None) -> None:
        """A round of playouts; see `LineSearch.advance`."""
        goal, turns = self._round(deadline)
        if self.line is None or goal > self.line.goal:
            self.line = Line(tuple(int(turn.legal[turn.made]) for turn in turns), goal)
            self.is_done = self.is_proved = goal >= self._best
        if self._inner_best is None or goal >= self._inner_best[0]:
            self._inner_best = (goal, turns)
        self._inner.adapt(self._inner_best[1])
        self._rounds += 1
        if self._rounds % INNER_ROUNDS == 0:
            self._end_inner_loop()

    def _end_inner_loop(self) -> None:
        assert self._inner_best is not None
        if self._outer_best is None or self._inner_best[0] >= self._outer_best[0]:
            self._outer_best = self._inner_best
        if self._rounds == INNER_ROUNDS * OUTER_ROUNDS:
            self._begin()
            return
        self._outer.adapt(self._outer_best[1])
        self._inner, self._inner_best = self._outer.copy(), None

    def _round(self, deadline: Deadline | None) -> tuple[float, list[_Turn]]:
        """The best of some playouts, and its turns; the first of several."""
        machine = self._machine
        states = self._state.take(np.zeros(LANES, dtype=np.int64))
        lanes = np.arange(LANES)
        goals = np.full(LANES, machine.goal_range[0] - 1)
        history: list[tuple[IntArray, Ragged, IntArray]] = []
        while len(lanes) and len(history) < MOST_TURNS:
            check(deadline)
            legal = machine.legal(states, ROLE, allow_stuck=True)
            if not legal.counts.all():
                going = np.flatnonzero(legal.counts)
                lanes, states = lanes[going], states.take(going)
                legal = Ragged(offsets_of(legal.counts[going]), legal.values)
                if not len(lanes):
                    break
            drawn = _drawn(legal, self._inner.weights(len(history), legal.values), self._rng)
            history.append((lanes, legal, drawn))
            states = stepped(machine, states, legal.values[drawn])
            over = machine.terminal(states)
            if over.any():
                ended = np.flatnonzero(over)
                goals[lanes[ended]] = machine.goals(states.take(ended))[:, ROLE]
                going = np.flatnonzero(~over)
                lanes, states = lanes[going], states.take(going)
        best = int(np.argmax(goals))
        return float(goals[best]), _turns_of(history, best)


def _drawn(legal: Ragged, weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """`[L]` place among all legal moves of the one that is drawn in each lane."""
    # The largest after Gumbel noise is drawn in proportion to the exponentials of weights.
    noisy = weights + rng.gumbel(size=len(weights))
    most = np.maximum.reduceat(noisy, legal.offsets[:-1])
    places = np.flatnonzero(noisy == most[segment_ids(legal.offsets)])
    first = np.searchsorted(places, legal.offsets[:-1])
    return np.asarray(places[first])


def _turns_of(history: list[tuple[IntArray, Ragged, IntArray]], lane: int) -> list[_Turn]:
    turns = []
    for lanes, legal, drawn in history:
        at = int(np.searchsorted(lanes, lane))
        if at == len(lanes) or lanes[at] != lane:
            break
        turns.append(_Turn(legal[at], int(drawn[at] - legal.offsets[at])))
    return turns


class _Policy:
    """Weights of moves, and of moves by turn."""

    def __init__(self) -> None:
        self._moves = np.zeros(0)
        self._by_turn = np.zeros((0, 0))

    def copy(self) -> _Policy:
        other = _Policy()
        other._moves, other._by_turn = self._moves.copy(), self._by_turn.copy()
        return other

    def weights(self, turn: int, moves: IntArray) -> FloatArray:
        """`[K]` of moves in a turn."""
        self._make_room(turn, int(moves.max()))
        return np.asarray(self._moves[moves] + self._by_turn[self._row(turn), moves])

    def adapt(self, line: list[_Turn]) -> None:
        """Make a line likelier: a step up the gradient of the logarithm of its probability."""
        changes = []
        for turn, (legal, made) in enumerate(line):
            weights = self.weights(turn, legal)
            shares = np.exp(weights - weights.max())
            change = -STEP * shares / shares.sum()
            change[made] += STEP
            changes.append(change)
        for turn, ((legal, _), change) in enumerate(zip(line, changes, strict=True)):
            # Half for each of the two weights, whose sum counts; those of moves add up over turns.
            self._by_turn[self._row(turn), legal] += change / 2
            self._moves[legal] += change / 2

    def _row(self, turn: int) -> int:
        return min(turn, len(self._by_turn) - 1)

    def _make_room(self, turn: int, move: int) -> None:
        rows, columns = self._by_turn.shape
        if move >= columns:
            columns = 2 * move + 2
        most_rows = max(1, MOST_WEIGHTS // columns)
        if turn >= rows:
            rows = 2 * turn + 16
        rows = min(rows, most_rows)
        if (rows, columns) == self._by_turn.shape:
            return
        kept = self._by_turn[:rows]
        self._by_turn = np.zeros((rows, columns))
        self._by_turn[: len(kept), : kept.shape[1]] = kept
        moves = np.zeros(columns)
        moves[: len(self._moves)] = self._moves
        self._moves = moves
