"""Lines of moves, and what searches for them have in common."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ggp.machine.arrays import first_seen, segment_ids
from ggp.machine.base import UNKNOWN, BoolArray, IntArray, Machine, States, WordArray
from ggp.machine.circuit import Circuit, cone
from ggp.machine.goal_values import number_or_nan
from ggp.machine.on_circuit import on_circuit
from ggp.machine.rows import RowTable
from ggp.search.anytime import Deadline, check

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
