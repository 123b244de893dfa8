"""Solves puzzles, games of one role without chance, by three searches that share the time.

A player passes the state of its match and gets the best line of moves so far. Breadth-first search
suits few states, policy adaptation a goal that is reached step by step, a SAT solver a goal that is
all or nothing. Under a clock the search with the least time so far goes next; without a clock, each
does a piece of work in turn. The first line to the best goal ends all of them.
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
# each move a weight, and playouts draw moves by softmax: p(a) = exp(w_a) / sum of exp(w_b). After
# each round of playouts a gradient step makes the best line likelier: its moves gain weight, the
# others lose it. Two such loops are nested: the inner one begins with the policy of the outer one,
# which then adapts to the inner one's best line. The playouts of a round run side by side; they are
# the lowest level.
#
# The weight of a move is the sum of one for the move and one for the move in its turn, so that
# learning in one turn has a little effect in others.

LANES = 64
"""Playouts of a round."""

INNER_ROUNDS, OUTER_ROUNDS = 25, 40
"""Rounds of the two loops. Then the search restarts, since the policy has converged to a line."""

STEP = 1.0
"""Step of the gradient for each move of a line."""

MAX_PLAYOUT_TURNS = 300
"""Greatest number of turns of a playout, since games may not terminate."""

MAX_WEIGHTS = 1 << 22
"""Greatest number of weights by turn; later turns share those of the last."""


class _Turn(NamedTuple):
    """A turn of a line: the legal moves, and the index of the one that was made."""

    legal: IntArray
    choice: int


class Adaptation:
    """A `LineSearch` by nested policy adaptation, which ends only with a line to the best goal.

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
            self.line = Line(tuple(int(turn.legal[turn.choice]) for turn in turns), goal)
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
        """The goal and the turns of the best of `LANES` playouts; of equal ones the first."""
        machine = self._machine
        states = self._state.take(np.zeros(LANES, dtype=np.int64))
        lanes = np.arange(LANES)
        goals = np.full(LANES, machine.goal_range[0] - 1)
        history: list[tuple[IntArray, Ragged, IntArray]] = []
        while len(lanes) and len(history) < MAX_PLAYOUT_TURNS:
            check(deadline)
            legal = machine.legal(states, ROLE, allow_stuck=True)
            if not legal.counts.all():
                going = np.flatnonzero(legal.counts)
                lanes, states = lanes[going], states.take(going)
                legal = Ragged(offsets_of(legal.counts[going]), legal.values)
                if not len(lanes):
                    break
            choices = _draw_moves(legal, self._inner.weights(len(history), legal.values), self._rng)
            history.append((lanes, legal, choices))
            states = stepped(machine, states, legal.values[choices])
            over = machine.terminal(states)
            if over.any():
                ended = np.flatnonzero(over)
                goals[lanes[ended]] = machine.goals(states.take(ended))[:, ROLE]
                going = np.flatnonzero(~over)
                lanes, states = lanes[going], states.take(going)
        best = int(np.argmax(goals))
        return float(goals[best]), _turns_of(history, best)


def _draw_moves(legal: Ragged, weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """`[L]` index, among all legal moves, of a random move in each lane."""
    # Gumbel-max: the largest weight after Gumbel noise is a draw from the softmax of weights.
    noisy = weights + rng.gumbel(size=len(weights))
    highest = np.maximum.reduceat(noisy, legal.offsets[:-1])
    maxima = np.flatnonzero(noisy == highest[segment_ids(legal.offsets)])
    first = np.searchsorted(maxima, legal.offsets[:-1])
    return np.asarray(maxima[first])


def _turns_of(history: list[tuple[IntArray, Ragged, IntArray]], lane: int) -> list[_Turn]:
    turns = []
    for lanes, legal, choices in history:
        row = int(np.searchsorted(lanes, lane))
        if row == len(lanes) or lanes[row] != lane:
            break
        turns.append(_Turn(legal[row], int(choices[row] - legal.offsets[row])))
    return turns


class _Policy:
    """Weights of moves, and of moves by turn."""

    def __init__(self) -> None:
        self._moves = np.zeros(0)
        self._by_turn = np.zeros((0, 0))

    def copy(self) -> _Policy:
        twin = _Policy()
        twin._moves, twin._by_turn = self._moves.copy(), self._by_turn.copy()
        return twin

    def weights(self, turn: int, moves: IntArray) -> FloatArray:
        """`[K]` of moves in a turn."""
        self._make_room(turn, int(moves.max()))
        return np.asarray(self._moves[moves] + self._by_turn[self._row(turn), moves])

    def adapt(self, line: list[_Turn]) -> None:
        """Make a line likelier: a step up the gradient of the logarithm of its probability,
        1 - p(a) for its move and -p(b) for the others of a turn."""
        changes = []
        for turn, (legal, choice) in enumerate(line):
            weights = self.weights(turn, legal)
            shares = np.exp(weights - weights.max())
            change = -STEP * shares / shares.sum()
            change[choice] += STEP
            changes.append(change)
        for turn, ((legal, _), change) in enumerate(zip(line, changes, strict=True)):
            # Half the step for each of the two weights, whose sum counts.
            self._by_turn[self._row(turn), legal] += change / 2
            self._moves[legal] += change / 2

    def _row(self, turn: int) -> int:
        return min(turn, len(self._by_turn) - 1)

    def _make_room(self, turn: int, move: int) -> None:
        rows, columns = self._by_turn.shape
        if move >= columns:
            columns = 2 * move + 2
        most_rows = max(1, MAX_WEIGHTS // columns)
        if turn >= rows:
            rows = 2 * turn + 16
        rows = min(rows, most_rows)
        if (rows, columns) == self._by_turn.shape:
            return
        old = self._by_turn[:rows]
        self._by_turn = np.zeros((rows, columns))
        self._by_turn[: len(old), : old.shape[1]] = old
        moves = np.zeros(columns)
        moves[: len(self._moves)] = self._moves
        self._moves = moves


class PuzzleSearch:
    """Searches for lines from a state.

    Args:
        machine: of a puzzle, see `is_puzzle`.
        state: one, not terminal.
        rng: for playouts.
        line: a known line from this state.

    Attributes:
        line: the best line so far.
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
        """Whether the search is over."""
        return self.is_proved or all(search.is_done for search in self._searches)

    def run(self, rounds: int, deadline: Deadline | None, report: Callable[[], None]) -> None:
        """Search for some rounds, or until the deadline if there is one.

        Args:
            report: called after each better line.
        """
        if deadline is None:
            for _ in range(rounds):
                for search in self._searches:
                    self._advance(search, None, report)
            return
        while not self.is_over and not deadline.passed():
            going = [k for k, search in enumerate(self._searches) if not search.is_done]
            index = min(going, key=lambda k: self._used_s[k])
            began_s = deadline.clock()
            try:
                self._advance(self._searches[index], deadline, report)
            except OutOfTime:
                return
            finally:
                self._used_s[index] += deadline.clock() - began_s

    def _advance(
        self, search: LineSearch, deadline: Deadline | None, report: Callable[[], None]
    ) -> None:
        if search.is_done or self.is_proved:
            return
        search.advance(deadline)
        self.is_proved = search.is_proved
        line = better(self.line, search.line)
        if line is not self.line:
            self.line = line
            report()


# ------------------------------------------------------------------------
# Planning: a SAT solver looks for a line of T moves to the best goal.
#
# The circuit is unrolled over T turns (`ggp.belief.solving.unrolling`), after the last of which the
# game is over and the goal is reached; a model of the clauses is a line (Kautz and Selman,
# "Planning as satisfiability", ECAI 1992). T is not known. So the solver works on several lengths
# in turn, for a number of conflicts each, and a refuted length makes room for the next one
# (Rintanen, "Evaluation strategies for planning as satisfiability", ECAI 2004).

CONFLICTS = 500
"""Conflicts of the solver in a piece of work: some tenths of a second on a large circuit."""

MAX_OPEN = 6
"""Number of lengths that the solver works on in turn."""

MAX_TURNS = 400
"""Greatest length of a line."""

MAX_SIGNS = 8_000_000
"""Greatest number of inputs of the unrolled gates of all lengths: some hundred megabytes."""


class Planner:
    """A `LineSearch` by a SAT solver, for a machine that `can_unroll`.

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
        self._unrolled = Unrolling(machine, ROLE, starts)
        goals = machine.circuit.goals[ROLE]
        best = best_possible(machine)
        self._goals = [
            int(literal)
            for name, literal in zip(goals.names, goals.literals, strict=True)
            if number_or_nan(name) == best
        ]
        self._open_goals = list(self._goals)
        self._open: list[_Question] = []
        self._next = 0

    def advance(self, deadline: Deadline | None) -> None:
        """Work on one length; see `LineSearch.advance`."""
        check(deadline)
        if self._open_goals and len(self._open) < MAX_OPEN:
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
        """The question of the next length and goal literal; None if unrolling refutes it."""
        goal = self._open_goals.pop(0)
        unrolled = self._unrolled.copy()
        if not self._open_goals:
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
        """Unroll one more turn, if the game can last so long and there is room."""
        too_large = self._unrolled.num_literals > MAX_SIGNS // MAX_OPEN
        if too_large or self._unrolled.num_turns >= MAX_TURNS:
            return
        try:
            self._unrolled.add_any()
        except Contradiction:
            return
        self._open_goals = list(self._goals)

    def _ask(self, question: _Question, deadline: Deadline | None) -> None:
        exists = question.solve(deadline)
        if exists is None:
            return
        if exists:
            self.line = replayed(self._machine, self._state, question.moves())
            self.is_done = self.is_proved = self.line is not None
        if not self.is_done:
            question.close()
            self._open.remove(question)
        else:
            self.close()

    def close(self) -> None:
        """Free the solvers' memory."""
        for question in self._open:
            question.close()
        self._open, self._open_goals = [], []


class _Question:
    """Whether a line of one length leads to the goal."""

    def __init__(self, unrolled: Unrolling) -> None:
        self._unrolled = unrolled
        self._clauses = unrolled.clauses()
        self._solver: ClauseSolver = clause_solver()

    def solve(self, deadline: Deadline | None) -> bool | None:
        """Whether there is such a line; None if it is still unknown.

        Raises:
            OutOfTime: the deadline passed while clauses were loaded; the next call loads the rest.
        """
        for clauses in self._clauses:
            self._solver.add(clauses)
            check(deadline)
        return self._solver.solve(CONFLICTS)

    def moves(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The moves of the line; `UNKNOWN` where any move will do."""
        return self._unrolled.read(self._solver.model())[1][:, ROLE]

    def close(self) -> None:
        self._solver.close()


# ------------------------------------------------------------------------
# Lines of moves, and the protocol of searches for them.

ROLE = 0
"""The one role of a puzzle."""


class Line(NamedTuple):
    """Moves from a state to the end of the game.

    Attributes:
        moves: one id for each turn.
        goal: the role's goal value at the end.
    """

    moves: tuple[int, ...]
    goal: float


class LineSearch(Protocol):
    """A search for lines from one state.

    Attributes:
        line: the best so far; None before the first.
        is_done: whether the search is over.
        is_proved: whether no line is better than `line`.
    """

    line: Line | None
    is_done: bool
    is_proved: bool

    def advance(self, deadline: Deadline | None) -> None:
        """Do a piece of work, whose size does not depend on the clock.

        Raises:
            OutOfTime: the deadline passed during the work.
        """
        ...


def is_puzzle(machine: Machine) -> bool:
    """Whether a game has one role and no chance, so that the role's moves determine the state."""
    return len(machine.roles) == 1 and machine.random_role is None


def best_possible(machine: Machine) -> float:
    """An upper bound of the role's goal: the highest value in the rules."""
    if on_circuit(machine):
        values = [number_or_nan(name) for name in machine.circuit.goals[ROLE].names]
        if not np.isnan(values).all():
            return float(np.nanmax(values))
    return machine.goal_range[1]


def better(first: Line | None, second: Line | None) -> Line | None:
    """The line with the higher goal; of equal ones the first."""
    if first is None or (second is not None and second.goal > first.goal):
        return second
    return first


def stepped(machine: Machine, states: States, moves: IntArray) -> States:
    """The states after one move in each lane."""
    return machine.step(states, moves[:, None]).states


def replayed(machine: Machine, state: States, moves: IntArray) -> Line | None:
    """The line of some moves; None if one is illegal, or they do not lead to the end.

    Args:
        state: one.
        moves: `UNKNOWN` stands for any legal move. Moves after the end are left out.
    """
    played_moves: list[int] = []
    for move in moves.tolist():
        if machine.terminal(state)[0]:
            break
        legal = machine.legal(state, ROLE, allow_stuck=True).values
        if move == UNKNOWN and len(legal):
            move = int(legal[0])
        if move not in legal:
            return None
        played_moves.append(move)
        state = stepped(machine, state, np.array([move]))
    if not machine.terminal(state)[0]:
        return None
    return Line(tuple(played_moves), float(machine.goals(state)[0, ROLE]))


# ------------------------------------------------------------------------
# Breadth-first search: all reachable states, each in the first layer that reaches it.
#
#     layer 0   the state             A layer keeps its states until the next layer is made. Of
#     layer 1   its successors        earlier layers only the move into each state, and its origin,
#     layer 2   their new successors  remain.
#
# States are equal if the same fluents hold. At first, states that differ only in a step counter are
# merged: the first has the most time left. But a puzzle may need a longer line, so if this finds no
# line to the best goal, a second search distinguishes all states.

SUCCESSORS_AT_ONCE = 1 << 13
"""Approximate number of successors in a piece of work, by the branching so far."""

MAX_BYTES = 1 << 28
"""Greatest memory of all states and layers."""

_BYTES_BESIDE = 40
"""Bytes of a state besides its row: slots of the table, its origin, its lane."""


class _Layer(NamedTuple):
    """How the states of a layer were reached: `[N]` lane in the layer before, and move."""

    origins: IntArray
    moves: IntArray


class BreadthFirst:
    """A `LineSearch` through all states; it ends without a proof if there are too many.

    Args:
        machine: of a puzzle.
        state: one, not terminal.
        most_bytes: of memory.
    """

    def __init__(self, machine: Machine, state: States, most_bytes: int = MAX_BYTES) -> None:
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
        """Number of distinct states so far."""
        return len(self._keys)

    def _begin(self) -> None:
        self._keys.are_new(self._start)
        self._layers: list[_Layer] = []
        self._frontier, self._next_lane, self._branching = self._start, 0, 1.0
        self._next_parts: list[tuple[States, _Layer]] = []

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
            self._next_parts, self._frontier = [], self._start
        elif end == len(self._frontier):
            self._go_deeper()

    def _expand(self, lanes: IntArray) -> None:
        machine = self._machine
        states = self._frontier.take(lanes)
        legal = machine.legal(states, ROLE, allow_stuck=True)
        self._branching = len(legal.values) / len(lanes)
        if not len(legal.values):
            return
        parents = segment_ids(legal.offsets)
        successors = stepped(machine, states.take(parents), legal.values)
        over = machine.terminal(successors)
        origins = lanes[parents]
        ended = np.flatnonzero(over)
        if len(ended):
            goals = machine.goals(successors.take(ended))[:, ROLE]
            best = int(np.argmax(goals))
            if self.line is None or goals[best] > self.line.goal:
                moves = self._way_to(int(origins[ended[best]]))
                last_move = int(legal.values[ended[best]])
                self.line = Line((*moves, last_move), float(goals[best]))
        going = np.flatnonzero(~over)
        if len(going):
            new = going[self._keys.are_new(successors.take(going))]
            self._next_parts.append((successors.take(new), _Layer(origins[new], legal.values[new])))

    def _go_deeper(self) -> None:
        parts = [(states, layer) for states, layer in self._next_parts if len(states)]
        self._next_parts, self._next_lane = [], 0
        if parts:
            self._frontier = self._machine.concatenate([states for states, _ in parts])
            columns = zip(*(layer for _, layer in parts), strict=True)
            self._layers.append(_Layer(*(np.concatenate(column) for column in columns)))
        elif self._merges:
            # Merged states, which differ only in a counter, may lead to different goals.
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
    """The set of states so far, which recognises new ones.

    Args:
        ignored: `[F]` mask of fluents that do not count.
    """

    _WORDS_OF_TEXT = 64
    """Approximate number of words of a state that is stored as text."""

    def __init__(self, machine: Machine, ignored: BoolArray | None) -> None:
        self._machine = machine
        self._texts: dict[tuple[str, ...], int] = {}
        self._table: RowTable | None = None
        self.words = self._WORDS_OF_TEXT
        if on_circuit(machine):
            self.words = -(-len(machine.fluent_names) // 64)
            self._mask = _mask(self.words, ignored)
            self._table = RowTable(self.words)

    def __len__(self) -> int:
        return len(self._texts) if self._table is None else len(self._table)

    def are_new(self, states: States) -> IntArray:
        """Lanes of new states, one for each distinct state; all states are added."""
        num_keys = len(self)
        if self._table is None:
            fluents = self._machine.fluents(states)
            listed = [self._texts.setdefault(names, len(self._texts)) for names in fluents]
            keys = np.array(listed, dtype=np.int64)
        else:
            assert on_circuit(self._machine)
            keys = self._table.numbers(self._machine.fluent_words(states) & self._mask)
        first, _ = first_seen(keys)
        return first[keys[first] >= num_keys]


def _mask(words: int, ignored: BoolArray | None) -> WordArray:
    """`[W]` bits of the fluents that count."""
    bits = np.ones(64 * words, dtype=np.bool_)
    if ignored is not None:
        bits[: len(ignored)] = ~ignored
    return np.packbits(bits, bitorder="little").view(np.uint64)


# ------------------------------------------------------------------------
# Step counters: fluents that change independently of all moves.
#
# A counter is found in the circuit, so its form in the rules does not matter: it is the largest set
# of fluents whose next values depend on this set alone, and on no move. Such a set may be more than
# a counter: it may be traffic lights, which decide where one may go. So the set counts only if
# nothing else depends on it except the end of the game and the goal. Both are greatest fixpoints.


def step_counter(circuit: Circuit) -> BoolArray:
    """`[F]` mask of the fluents that change independently of moves, and on which no other fluent
    and no legal move depends."""
    num_fluents = len(circuit.fluents)
    needs = np.zeros((num_fluents, circuit.num_inputs), dtype=np.bool_)
    for fluent, literal in enumerate(circuit.next.tolist()):
        needs[fluent] = _inputs(circuit, literal)
    counts = ~needs[:, num_fluents:].any(axis=1)
    while True:
        # Remove fluents that need a fluent outside the set.
        closed = counts & ~needs[:, :num_fluents][:, ~counts].any(axis=1)
        if (closed == counts).all():
            break
        counts = closed
    decides: BoolArray = np.asarray(needs[~counts].any(axis=0))
    for literal in circuit.legal[0].literals.tolist():
        decides |= _inputs(circuit, literal)
    # Remove fluents on which something else depends, and the fluents that these depend on.
    while True:
        remaining = counts & ~decides[:num_fluents]
        if (remaining == counts).all():
            return remaining
        decides |= needs[counts & ~remaining].any(axis=0)
        counts = remaining


def _inputs(circuit: Circuit, literal: int) -> BoolArray:
    """`[inputs]` fluents and moves that a literal depends on."""
    nets = cone(circuit, np.array([literal], dtype=np.int32))
    return np.asarray(nets[1 : 1 + circuit.num_inputs])
