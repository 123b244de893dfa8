"""Puzzles: games of one role without chance. The best line is sought by three searches that share
the time.

Which one finds a line first depends on the puzzle: few states are all visited, a goal that is
reached step by step is found by a policy, and one that is all or nothing by a solver. Against a
clock the one that had least time so far goes on next; without one, each does a piece of work in
turn. The first line to the best goal ends all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from ggp.belief.solving.sat import ClauseSolver, clause_solver
from ggp.belief.solving.unrolling import Contradiction, Unrolling, can_unroll
from ggp.machine.arrays import first_seen, offsets_of, segment_ids
from ggp.machine.base import (
    UNKNOWN,
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    Ragged,
    States,
    WordArray,
)
from ggp.machine.circuit import Circuit, cone
from ggp.machine.goal_values import number_or_nan
from ggp.machine.on_circuit import on_circuit
from ggp.machine.rows import RowTable
from ggp.search.anytime import Deadline, OutOfTime, check

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
        too_large = self._going.num_literals > MOST_SIGNS // MOST_OPEN
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


# ------------------------------------------------------------------------
# Lines of moves, and what searches for them have in common.

ROLE = 0
"""The one role of a puzzle."""


class Line(NamedTuple):
    """Moves from a state to the end of the game.

    Attributes:
        moves: ids, one a turn.
        goal: what the role gets for them.
    """

    moves: tuple[int, ...]
    goal: float


class LineSearch(Protocol):
    """A search for lines from one state.

    Attributes:
        line: the best found so far; None before there is one.
        is_done: whether it has nothing left to do.
        is_proved: whether no line is better than `line`.
    """

    line: Line | None
    is_done: bool
    is_proved: bool

    def advance(self, deadline: Deadline | None) -> None:
        """Do a piece of work, the same whatever the clock says.

        Raises:
            OutOfTime: the deadline passed within.
        """
        ...


def is_puzzle(machine: Machine) -> bool:
    """Whether a game has one role and no chance: whoever knows its moves knows everything."""
    return len(machine.roles) == 1 and machine.random_role is None


def best_possible(machine: Machine) -> float:
    """A bound of the role's goal: the highest value that the rules have."""
    if on_circuit(machine):
        values = [number_or_nan(name) for name in machine.circuit.goals[ROLE].names]
        if not np.isnan(values).all():
            return float(np.nanmax(values))
    return machine.goal_range[1]


def better(line: Line | None, other: Line | None) -> Line | None:
    """The line with the higher goal; of equal ones the first."""
    if line is None or (other is not None and other.goal > line.goal):
        return other
    return line


def stepped(machine: Machine, states: States, moves: IntArray) -> States:
    """The states after a move in each lane."""
    return machine.step(states, moves[:, None]).states


def replayed(machine: Machine, state: States, moves: IntArray) -> Line | None:
    """What becomes of moves by the rules; None if they are not legal, or do not lead to the end.

    Args:
        state: one.
        moves: `UNKNOWN` for any that is legal. Those after the end are left out.
    """
    made: list[int] = []
    for move in moves.tolist():
        if machine.terminal(state)[0]:
            break
        legal = machine.legal(state, ROLE, allow_stuck=True).values
        if move == UNKNOWN and len(legal):
            move = int(legal[0])
        if move not in legal:
            return None
        made.append(move)
        state = stepped(machine, state, np.array([move]))
    if not machine.terminal(state)[0]:
        return None
    return Line(tuple(made), float(machine.goals(state)[0, ROLE]))


# ------------------------------------------------------------------------
# Breadth-first search: all states that can be reached, each where it is reached first.
#
# layer 0   the state                         a layer keeps its states only until the next one is
#     layer 1   its successors                    made; of all earlier ones are left the move into
#     layer 2   theirs that are new               each state and where it came from
#
# States are equal where the same fluents hold, whole rows compared. At first those that differ only
# in a step counter are one: the first has the most time left. A game may want a line that is
# longer, so if no line to the best goal is found that way, all states are visited that there are.

SUCCESSORS_AT_ONCE = 1 << 13
"""Of a piece of work, as far as the branching so far tells."""

MOST_BYTES = 1 << 28
"""Of the states that are known, and the layers."""

_BYTES_BESIDE = 40
"""A state takes so much besides its row: slots of the table, its origin, its lane."""


class _Layer(NamedTuple):
    """How states of a layer were reached: `[N]` lane of the layer before, and move."""

    origins: IntArray
    moves: IntArray


class BreadthFirst:
    """See `LineSearch`; done without a proof where states are too many.

    Args:
        machine: of a puzzle.
        state: one, not terminal.
        most_bytes: of memory.
    """

    def __init__(self, machine: Machine, state: States, most_bytes: int = MOST_BYTES) -> None:
        self.line: Line | None = None
        self.is_done = self.is_proved = False
        self._machine, self._start, self._most_bytes = machine, state, most_bytes
        self._best = best_possible(machine)
        counter = step_counter(machine.circuit) if on_circuit(machine) else None
        self._merges = counter is not None and bool(counter.any())
        self._keys = _Keys(machine, counter if self._merges else None)
        self._begin()

    @property
    def num_states(self) -> int:
        """States that are known to differ."""
        return len(self._keys)

    def _begin(self) -> None:
        self._keys.are_new(self._start)
        self._layers: list[_Layer] = []
        self._frontier, self._next_lane, self._branching = self._start, 0, 1.0
        self._found: list[tuple[States, _Layer]] = []

    def advance(self, deadline: Deadline | None) -> None:
        """Visit the successors of some states; see `LineSearch.advance`."""
        check(deadline)
        count = max(1, int(SUCCESSORS_AT_ONCE / max(self._branching, 1.0)))
        end = min(self._next_lane + count, len(self._frontier))
        self._expand(np.arange(self._next_lane, end))
        self._next_lane = end
        if self.line is not None and self.line.goal >= self._best:
            self.is_done = self.is_proved = True
        elif self._bytes() > self._most_bytes:
            self.is_done = True
            self._found, self._frontier = [], self._start
        elif end == len(self._frontier):
            self._go_deeper()

    def _expand(self, lanes: IntArray) -> None:
        machine = self._machine
        states = self._frontier.take(lanes)
        legal = machine.legal(states, ROLE, allow_stuck=True)
        self._branching = len(legal.values) / len(lanes)
        if not len(legal.values):
            return
        before = segment_ids(legal.offsets)
        after = stepped(machine, states.take(before), legal.values)
        over = machine.terminal(after)
        origins = lanes[before]
        ended = np.flatnonzero(over)
        if len(ended):
            goals = machine.goals(after.take(ended))[:, ROLE]
            best = int(np.argmax(goals))
            if self.line is None or goals[best] > self.line.goal:
                moves = self._way_to(int(origins[ended[best]]))
                last = int(legal.values[ended[best]])
                self.line = Line((*moves, last), float(goals[best]))
        going = np.flatnonzero(~over)
        if len(going):
            new = going[self._keys.are_new(after.take(going))]
            self._found.append((after.take(new), _Layer(origins[new], legal.values[new])))

    def _go_deeper(self) -> None:
        found = [(states, layer) for states, layer in self._found if len(states)]
        self._found, self._next_lane = [], 0
        if found:
            self._frontier = self._machine.concatenate([states for states, _ in found])
            columns = zip(*(layer for _, layer in found), strict=True)
            self._layers.append(_Layer(*(np.concatenate(column) for column in columns)))
        elif self._merges:
            # States that differ in a counter only may be worth another goal.
            self._merges, self._keys = False, _Keys(self._machine, None)
            self._begin()
        else:
            self.is_done = self.is_proved = True

    def _way_to(self, lane: int) -> list[int]:
        """The moves to a state of the frontier."""
        moves: list[int] = []
        for layer in reversed(self._layers):
            moves.append(int(layer.moves[lane]))
            lane = int(layer.origins[lane])
        return moves[::-1]

    def _bytes(self) -> int:
        return len(self._keys) * (8 * self._keys.words + _BYTES_BESIDE)


class _Keys:
    """Tells which states are new.

    Args:
        ignored: `[F]` fluents that make no difference.
    """

    _WORDS_OF_TEXT = 64
    """What a state that is known as text takes, about."""

    def __init__(self, machine: Machine, ignored: BoolArray | None) -> None:
        self._machine = machine
        self._texts: dict[tuple[str, ...], int] = {}
        self._table: RowTable | None = None
        self.words = self._WORDS_OF_TEXT
        if on_circuit(machine):
            self.words = -(-len(machine.fluent_names) // 64)
            self._kept = _mask(self.words, ignored)
            self._table = RowTable(self.words)

    def __len__(self) -> int:
        return len(self._texts) if self._table is None else len(self._table)

    def are_new(self, states: States) -> IntArray:
        """Lanes of states that were not asked about before, each once."""
        known = len(self)
        if self._table is None:
            fluents = self._machine.fluents(states)
            listed = [self._texts.setdefault(each, len(self._texts)) for each in fluents]
            numbers = np.array(listed, dtype=np.int64)
        else:
            assert on_circuit(self._machine)
            numbers = self._table.numbers(self._machine.fluent_words(states) & self._kept)
        first, _ = first_seen(numbers)
        return first[numbers[first] >= known]


def _mask(words: int, ignored: BoolArray | None) -> WordArray:
    """`[W]` bits of the fluents that count."""
    bits = np.ones(64 * words, dtype=np.bool_)
    if ignored is not None:
        bits[: len(ignored)] = ~ignored
    return np.packbits(bits, bitorder="little").view(np.uint64)


# ------------------------------------------------------------------------
# Step counters: fluents that go their own way, whatever is done.
#
# A counter is found in the circuit, so that it may be written in any way. It is the largest set of
# fluents whose next values depend on this set alone, and on no move. Such a set need not be a mere
# counter: it may be traffic lights, which decide where one may go. States that differ only in a
# counter are one for a search only where it decides nothing but when the game ends and what it is
# worth.


def step_counter(circuit: Circuit) -> BoolArray:
    """`[F]` fluents that change by themselves, and on which no other fluent and no move depends.

    None of them where that is not all that changes by itself.
    """
    num_fluents = len(circuit.fluents)
    needs = np.zeros((num_fluents, circuit.num_inputs), dtype=np.bool_)
    for fluent, literal in enumerate(circuit.next.tolist()):
        needs[fluent] = _inputs(circuit, literal)
    counts = ~needs[:, num_fluents:].any(axis=1)
    while True:
        # Without those that need a fluent outside.
        fewer = counts & ~needs[:, :num_fluents][:, ~counts].any(axis=1)
        if (fewer == counts).all():
            break
        counts = fewer
    decides: BoolArray = np.asarray(needs[~counts].any(axis=0))
    for literal in circuit.legal[0].literals.tolist():
        decides |= _inputs(circuit, literal)
    # What decides is no counter, nor is what moves it on.
    while True:
        kept = counts & ~decides[:num_fluents]
        if (kept == counts).all():
            return kept
        decides |= needs[counts & ~kept].any(axis=0)
        counts = kept


def _inputs(circuit: Circuit, literal: int) -> BoolArray:
    """`[inputs]` fluents and moves that a literal depends on."""
    nets = cone(circuit, np.array([literal], dtype=np.int32))
    return np.asarray(nets[1 : 1 + circuit.num_inputs])
