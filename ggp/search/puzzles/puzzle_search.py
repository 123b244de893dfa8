"""The search for the best line of a puzzle: three searches that share the time.

Which one finds a line first depends on the puzzle: few states are all visited, a goal that is
reached step by step is found by a policy, and one that is all or nothing by a solver. Against a
clock the one that had least time so far goes on next; without one, each does a piece of work in
turn. The first line to the best goal ends all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ggp.belief.solving.sat import ClauseSolver, clause_solver
from ggp.belief.solving.unrolling import Contradiction, Unrolling, can_unroll
from ggp.machine.arrays import offsets_of, segment_ids
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged, States
from ggp.machine.goal_values import number_or_nan
from ggp.machine.on_circuit import on_circuit
from ggp.search.anytime import Deadline, OutOfTime, check
from ggp.search.puzzles.lines import (
    ROLE,
    BreadthFirst,
    Line,
    LineSearch,
    best_possible,
    better,
    replayed,
    stepped,
)

# ------------------------------------------------------------------------
# Nested rollout policy adaptation: playouts by a policy that follows the best line so far.
#
# Rosin, "Nested rollout policy adaptation for Monte Carlo tree search", IJCAI 2011. A policy gives
# each move a weight, and playouts draw moves by the exponentials of weights. After each round of
# playouts the policy is adapted: the moves of the best line gain weight, the others lose it. Two
# such loops are nested: the inner one begins with the policy of the outer one, which is adapted to
# what the inner one found. Playouts of a round are made side by side, which is the lowest level.
#
# The weight of a move is the sum of one for the move and one for the move in its turn, so that what
# is learnt in one turn counts a little in others.

LANES = 64
"""Playouts of a round."""

INNER_ROUNDS, OUTER_ROUNDS = 25, 40
"""Rounds of the two loops; then it begins anew, for it is caught by the best line by then."""

STEP = 1.0
"""By how much weights change for each move of a line."""

MOST_PLAYOUT_TURNS = 300
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
        while len(lanes) and len(history) < MOST_PLAYOUT_TURNS:
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


class PuzzleSearch:
    """Looks for lines from a state.

    Args:
        machine: of a puzzle, see `is_puzzle`.
        state: one, not terminal.
        rng: of playouts.
        line: one from this state on that is known.

    Attributes:
        line: the best so far.
        is_proved: whether no line is better.
    """

    def __init__(
        self, machine: Machine, state: States, rng: np.random.Generator, line: Line | None = None
    ) -> None:
        self.line, self.is_proved = line, False
        self._searches: list[LineSearch] = [
            BreadthFirst(machine, state),
            Adaptation(machine, state, rng),
        ]
        if can_unroll(machine):
            self._searches.append(Planner(machine, state))
        self._used_s = [0.0 for _ in self._searches]

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do."""
        return self.is_proved or all(search.is_done for search in self._searches)

    def run(self, rounds: int, deadline: Deadline | None, report: Callable[[], None]) -> None:
        """Search for some rounds, or, where there is a deadline, until then.

        Args:
            report: called when there is a better line.
        """
        if deadline is None:
            for _ in range(rounds):
                for search in self._searches:
                    self._go_on(search, None, report)
            return
        while not self.is_over and not deadline.passed():
            going = [k for k, search in enumerate(self._searches) if not search.is_done]
            chosen = min(going, key=lambda k: self._used_s[k])
            began_s = deadline.clock()
            try:
                self._go_on(self._searches[chosen], deadline, report)
            except OutOfTime:
                return
            finally:
                self._used_s[chosen] += deadline.clock() - began_s

    def _go_on(
        self, search: LineSearch, deadline: Deadline | None, report: Callable[[], None]
    ) -> None:
        if search.is_done or self.is_proved:
            return
        search.advance(deadline)
        self.is_proved = search.is_proved
        found = better(self.line, search.line)
        if found is not self.line:
            self.line = found
            report()


# ------------------------------------------------------------------------
# Planning: a solver of clauses looks for a line of so many moves to the best goal.
#
# The circuit is unrolled over T turns (`ggp.belief.solving.unrolling`), after the last of which the
# game is over and the goal is reached; a model of the clauses is a line (Kautz and Selman,
# "Planning as satisfiability", ECAI 1992). How many turns it takes is not known. So several lengths
# are asked about in turn, a number of conflicts each, and a length that is refuted makes room for
# the next one (Rintanen, "Evaluation strategies for planning as satisfiability", ECAI 2004).

CONFLICTS = 500
"""Of the solver in a piece of work: some tenths of a second on a large circuit."""

MOST_OPEN = 6
"""Lengths that are asked about in turn."""

MOST_TURNS = 400
"""Of lines that are looked for."""

MOST_SIGNS = 8_000_000
"""Inputs of gates of all turns that are unrolled: takes some hundred megabytes."""


class Planner:
    """See `LineSearch`; made for a machine that `can_unroll`.

    Args:
        machine: of a puzzle.
        state: one, not terminal.
    """

    def __init__(self, machine: Machine, state: States) -> None:
        assert on_circuit(machine)
        self.line: Line | None = None
        self.is_done = self.is_proved = False
        self._machine, self._state = machine, state
        starts = machine.fluent_bits(state)[:, : len(machine.circuit.fluents)]
        self._going = Unrolling(machine, ROLE, starts)
        goals = machine.circuit.goals[ROLE]
        best = best_possible(machine)
        self._goals = [
            int(literal)
            for name, literal in zip(goals.names, goals.literals, strict=True)
            if number_or_nan(name) == best
        ]
        self._to_open = list(self._goals)
        self._open: list[_Question] = []
        self._next = 0

    def advance(self, deadline: Deadline | None) -> None:
        """Ask about one length; see `LineSearch.advance`."""
        check(deadline)
        if self._to_open and len(self._open) < MOST_OPEN:
            question = self._new_question()
        elif self._open:
            self._next = (self._next + 1) % len(self._open)
            question = self._open[self._next]
        else:
            self.is_done = True
            return
        if question is not None:
            self._ask(question, deadline)

    def _new_question(self) -> _Question | None:
        """The next length, or the next way to state the goal; None if that is refuted at once."""
        goal = self._to_open.pop(0)
        unrolled = self._going.copy()
        if not self._to_open:
            self._add_turn()
        try:
            unrolled.add_end(goal)
        except Contradiction:
            return None
        question = _Question(unrolled)
        self._open.append(question)
        self._next = len(self._open) - 1
        return question

    def _add_turn(self) -> None:
        """Go on to the next length, where the game can go on so long, and there is room."""
        too_large = self._going.num_signs > MOST_SIGNS // MOST_OPEN
        if too_large or self._going.num_turns >= MOST_TURNS:
            return
        try:
            self._going.add_any()
        except Contradiction:
            return
        self._to_open = list(self._goals)

    def _ask(self, question: _Question, deadline: Deadline | None) -> None:
        found = question.solve(deadline)
        if found is None:
            return
        if found:
            self.line = replayed(self._machine, self._state, question.moves())
            self.is_done = self.is_proved = self.line is not None
        if not self.is_done:
            question.close()
            self._open.remove(question)
        else:
            self.close()

    def close(self) -> None:
        """Free the solvers' memory."""
        for each in self._open:
            each.close()
        self._open, self._to_open = [], []


class _Question:
    """Whether a line of one length leads to the goal."""

    def __init__(self, unrolled: Unrolling) -> None:
        self._unrolled = unrolled
        self._clauses = unrolled.clauses()
        self._solver: ClauseSolver = clause_solver()

    def solve(self, deadline: Deadline | None) -> bool | None:
        """Whether there is such a line; None if that is not known yet.

        Raises:
            OutOfTime: the deadline passed while clauses were loaded; the next call loads the rest.
        """
        for clauses in self._clauses:
            self._solver.add(clauses)
            check(deadline)
        return self._solver.solve(CONFLICTS)

    def moves(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The moves of a line that was found; `UNKNOWN` where any will do."""
        return self._unrolled.read(self._solver.model())[1][:, ROLE]

    def close(self) -> None:
        self._solver.close()
