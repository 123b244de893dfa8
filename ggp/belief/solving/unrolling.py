"""Unrolling: a game's circuit, copied for each turn of an incomplete path, as clauses for a solver.

`finder` passes in the states where a window of turns begins, and the role's moves and percepts;
solutions come back as complete paths (`Window.witnesses`), each replayed on the machine.

    turn      propositions                              evidence
    start     the state in which it begins              one of several states
    1         moves of the others, gates                our move is legal; our percepts; not the end
    2         moves of the others, gates                the same

Constants are folded turn by turn: of a circuit of 28,000 gates a few thousand remain in a turn of
kriegspiel. Gates, and choices of moves, become clauses only when some evidence depends on them (its
cone of influence). So everything that the clauses leave out may have any value.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ggp.belief.move_models import UNIFORM, MoveModel
from ggp.belief.solving.sat import ClauseSolver, clause_solver
from ggp.belief.solving.unrolling_kernels import (
    CHOICE,
    HELPER,
    I32,
    START,
    Groups,
    Propositions,
    fix,
    fold,
    number,
    simulate,
    write,
)
from ggp.belief.turns.completions import OpenTurn, never
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.machine.arrays import enlarged
from ggp.machine.base import UNKNOWN, BoolArray, FloatArray, IntArray, Machine, States
from ggp.machine.circuit import Circuit, cone
from ggp.machine.on_circuit import on_circuit

TRUE = 1
"""The literal that always holds."""

CLAUSES_AT_ONCE = 1 << 14
"""Literals of clauses in one piece: with larger pieces, Python's garbage collector would scan them
all."""


class Contradiction(Exception):
    """No complete path agrees with the percepts: an outcome, not an error."""


class TurnChoice(NamedTuple):
    """The choice of a role among several moves in a turn.

    Attributes:
        moves: `[N]` ids.
        first: proposition of the first move; the other moves follow.
    """

    turn: int
    role: int
    moves: IntArray
    first: int


class Unrolling:
    """The turns of one role's incomplete path, from some states on, as propositions and clauses.

    Each turn maps the literals of the fluents before it to those after it; the circuit's gates in
    between become propositions unless they are constant.

    Args:
        machine: see `can_unroll`.
        role: the role of the path.
        starts: `[K, F]` fluents of the states where it may begin, in the circuit's order.

    Attributes:
        choices: the turns and roles with several moves.
        forced: by turn, `[R]` forced or known moves; `UNKNOWN` elsewhere.
    """

    def __init__(self, machine: Machine, role: int, starts: BoolArray) -> None:
        assert on_circuit(machine)
        self.machine, self.role, self.starts = machine, role, starts
        self.circuit: Circuit = machine.circuit
        self.choices: list[TurnChoice] = []
        self.forced: list[IntArray] = []
        self._moves = [machine.circuit_moves(index) for index in range(len(machine.roles))]
        self._gates = _gates_to_fold(self.circuit, role)
        self._props = _empty_propositions(len(starts) + starts.shape[1] + 2)
        empty = np.zeros(0, dtype=np.int64)
        self._groups = Groups(empty, empty.astype(np.int32), empty, empty.astype(np.int32))
        self._num_props, self._num_literals = TRUE, 0
        self._props.kind[TRUE], self._props.fixed[TRUE] = HELPER, 1
        self._stack: I32 = np.zeros(64, dtype=np.int32)
        self._sizes = np.zeros(2, dtype=np.int64)
        self._units: list[int] = []
        self.first_start = self._num_props + 1
        self._state = self._start_literals()

    @property
    def num_turns(self) -> int:
        """Number of turns so far."""
        return len(self.forced)

    @property
    def num_literals(self) -> int:
        """Number of inputs of all gates that were not folded away."""
        return self._num_literals

    def _start_literals(self) -> I32:
        """`[F]` literals of the fluents at the start of the window."""
        kind, about = self._props.kind, self._props.about
        count = len(self.starts)
        kind[self._num_props + 1 : self._num_props + 1 + count] = HELPER
        self._num_props += count
        always, ever = self.starts.all(axis=0), self.starts.any(axis=0)
        literals = np.where(always, TRUE, -TRUE).astype(np.int32)
        open_ = np.flatnonzero(ever & ~always)
        props = self._num_props + 1 + np.arange(len(open_))
        kind[props], about[props] = START, open_
        literals[open_] = props
        self._num_props += len(open_)
        return literals

    # ---------------------------------------------------------------- turns

    def add(self, move: int, percepts: int, refused: int) -> None:
        """Add a turn; arguments as for `PathTree.extend`.

        Raises:
            Contradiction: no path has such a turn.
        """
        self._turn(move, percepts, refused)
        self._assert_running()

    def add_any(self) -> None:
        """Add a turn without evidence, except that the game continues after it.

        Raises:
            Contradiction: the game always ends.
        """
        self.add(UNKNOWN, UNKNOWN, UNKNOWN)

    def add_end(self, goal: int) -> None:
        """Add the last turn: after it the game is over.

        Args:
            goal: a literal of the circuit that holds at the end.

        Raises:
            Contradiction: no path has such an end.
        """
        self._turn(UNKNOWN, UNKNOWN, UNKNOWN)
        ends = np.array([self.circuit.terminal, goal], dtype=np.int32)
        self._assert(self._in_state(ends, cone(self.circuit, ends)[self._base :]).tolist())

    def copy(self) -> Unrolling:
        """A copy, to continue in another way; only before any clauses are written."""
        copied = copy.copy(self)
        props = self._props
        copies = {name: getattr(props, name).copy() for name in props._fields}
        copied._props = props._replace(**copies)
        copied._stack, copied._sizes = self._stack.copy(), self._sizes.copy()
        copied.choices, copied.forced = list(self.choices), list(self.forced)
        copied._units = list(self._units)
        return copied

    def _turn(self, move: int, percepts: int, refused: int) -> None:
        """Add the moves, percepts and successors of a turn."""
        circuit, machine = self.circuit, self.machine
        self._reserve(circuit.num_gates, len(circuit.literals))
        nets = np.full(self._base + circuit.num_gates, -TRUE, dtype=np.int32)
        nets[1 : 1 + len(self._state)] = self._state
        # Legal moves do not depend on the moves of this turn, so their gates are folded first.
        self._fold(nets, self._gates.for_moves)
        evidence: list[int] = []
        self.forced.append(np.full(len(machine.roles), UNKNOWN, dtype=np.int64))
        first = 1 + len(self._state)
        for role, ids in enumerate(self._moves):
            legal = _literals_at(nets, circuit.legal[role].literals)
            if role == self.role and move != UNKNOWN:
                evidence.extend((-legal[ids == refused]).tolist())
                if not (ids == move).any():
                    raise Contradiction
                evidence.extend(legal[ids == move].tolist())
                legal = np.where(ids == move, TRUE, -TRUE).astype(np.int32)
            chosen = self._choose(role, ids, legal)
            if role == self.role and move == UNKNOWN:
                for place in np.flatnonzero(ids == refused):  # it is executed if it is legal
                    evidence.append(-self._both(legal[place], -chosen[place]))
            nets[first : first + len(ids)] = chosen
            first += len(ids)
        self._assert(evidence)
        # Choices used some of the reserved rows.
        self._reserve(circuit.num_gates, len(circuit.literals))
        self._fold(nets, self._gates.for_effects)
        self._state = _literals_at(nets, circuit.next)
        if percepts != UNKNOWN:
            texts = set(machine.percept_texts(percepts))
            outputs = circuit.sees[self.role]
            has_percept = np.array([name in texts for name in outputs.names], dtype=np.bool_)
            if has_percept.sum() != len(texts):
                raise Contradiction
            literals = _literals_at(nets, outputs.literals)
            self._assert(np.where(has_percept, literals, -literals).tolist())

    def _assert_running(self) -> None:
        """Assert that the game is not over: information sets consist of decision states."""
        terminal = np.array([self.circuit.terminal], dtype=np.int32)
        self._assert((-self._in_state(terminal, self._gates.end)).tolist())

    def _in_state(self, outputs: I32, is_needed: BoolArray) -> I32:
        """`[K]` literals of circuit literals that depend only on the state, through these gates."""
        circuit = self.circuit
        self._reserve(circuit.num_gates, len(circuit.literals))
        nets = np.full(self._base + circuit.num_gates, -TRUE, dtype=np.int32)
        nets[1 : 1 + len(self._state)] = self._state
        self._fold(nets, is_needed)
        return _literals_at(nets, outputs)

    @property
    def _base(self) -> int:
        """Net of the first gate."""
        return 1 + self.circuit.num_inputs

    def _choose(self, role: int, ids: IntArray, legal: I32) -> I32:
        """`[M]` literals that a role makes each of its moves, given the literals that they are
        legal."""
        literals = np.full(len(ids), -TRUE, dtype=np.int32)
        props = self._props
        open_ = np.flatnonzero(
            (legal != -TRUE) & (props.fixed[np.abs(legal)] * np.sign(legal) >= 0)
        )
        if not len(open_):
            raise Contradiction
        if len(open_) == 1:
            self.forced[-1][role] = ids[open_[0]]
            literals[open_] = TRUE
            return literals
        self._reserve(2 * len(open_), 2)
        props, groups, count = self._props, self._groups, len(open_)
        numbers = self._num_props + 1 + np.arange(count)
        props.kind[numbers], props.about[numbers] = CHOICE, len(groups.first)
        props.kind[numbers[-1] + 1 : numbers[-1] + count] = HELPER
        self._groups = Groups(
            np.append(groups.first, numbers[0]),
            np.append(groups.size, np.int32(count)),
            np.append(groups.legal, len(groups.literals)),
            np.concatenate([groups.literals, legal[open_]]),
        )
        self._num_props += 2 * count - 1
        self.choices.append(TurnChoice(len(self.forced) - 1, role, ids[open_], int(numbers[0])))
        literals[open_] = numbers
        return literals

    def _both(self, a: int, b: int) -> int:
        """The literal that two literals hold."""
        nets, inputs = np.array([0, a, b, 0], dtype=np.int32), np.array([2, 4], dtype=np.int32)
        self._fold(nets, np.array([True]), (np.array([0, 2]), inputs))
        return int(nets[3])

    def _fold(
        self, nets: I32, is_needed: BoolArray, gates: tuple[IntArray, I32] | None = None
    ) -> None:
        """Fold gates, given by their offsets and inputs: those of the circuit by default."""
        offsets, inputs = gates or (self.circuit.offsets, self.circuit.literals)
        self._num_props, self._num_literals = fold(
            offsets,
            inputs,
            is_needed,
            nets,
            len(nets) - len(is_needed),
            self._props,
            self._num_props,
            self._num_literals,
        )

    def _assert(self, literals: list[int]) -> None:
        """Assert literals."""
        array = np.array(literals, dtype=np.int32)
        if not fix(self._props, array, np.zeros(self._num_literals + len(array) + 1, np.int32)):
            raise Contradiction
        self._units.extend(literal for literal in literals if literal != TRUE)

    # ---------------------------------------------------------------- clauses

    def clauses(self) -> Iterator[list[list[int]]]:
        """New clauses of all turns, in pieces.

        No clause is returned twice, even if an earlier iteration was not exhausted.
        """
        props = self._props
        # A gate may be needed with both polarities.
        self._stack = enlarged(self._stack, 2 * self._num_props + 2, 0)
        if not props.written[TRUE]:
            self._sizes[1] = TRUE
            props.written[TRUE] = TRUE
            start_props = self.first_start + np.arange(len(self.starts))
            yield [[TRUE], self._numbers(start_props).tolist()]
        units, self._units = self._units, []
        yield [[literal] for literal in self._numbers(np.array(units)).tolist()]
        largest = 16 * int(self._groups.size.max(initial=0)) + 4 * int(props.size.max()) + 64
        buffer = np.zeros(max(CLAUSES_AT_ONCE, largest + 3 * len(self.starts)), dtype=np.int32)
        while self._sizes[0]:
            length = write(
                props,
                self._groups,
                self.starts,
                self.first_start,
                self._stack,
                self._sizes,
                buffer,
            )
            ends = np.flatnonzero(buffer[:length] == 0).tolist()
            flat = buffer[:length].tolist()
            yield [flat[a:b] for a, b in zip([0, *(e + 1 for e in ends)], ends, strict=False)]

    def _numbers(self, literals: IntArray) -> I32:
        """Literals as numbered in clauses."""
        numbers = literals.astype(np.int32)
        number(self._props, numbers, self._stack, self._sizes)
        return numbers

    # ---------------------------------------------------------------- models

    def guess(self, rng: np.random.Generator, near: Paths | None = None) -> list[int]:
        """A guess of a model, as literals of clauses: a random match from one of the starts, with
        any percepts of the role.

        Args:
            near: paths of the first turns; the match begins like one of them.
        """
        start = int(rng.integers(len(self.starts)))
        values = np.zeros(self._num_props + 1, dtype=np.bool_)
        lots = rng.random(len(self._groups.first))
        if near is not None:
            path = int(rng.integers(len(near)))
            start, moves = int(near.starts[path]), near.moves[path]
            for group, (turn, role, ids, _) in enumerate(self.choices):
                if turn < len(moves) and (ids == moves[turn, role]).any():
                    lots[group] = -1 - int(np.argmax(ids == moves[turn, role]))
        simulate(
            self._props,
            self._groups,
            self._num_props,
            self.starts[start],
            self.first_start,
            len(self.starts),
            start,
            lots,
            values,
        )
        props = np.flatnonzero(self._props.written[: self._num_props + 1])
        numbers = self._props.written[props].astype(np.int64)
        literals: list[int] = np.where(values[props], numbers, -numbers).tolist()
        return literals

    def read(self, model: IntArray) -> tuple[int, IntArray]:
        """The path of a model of the clauses: the index of its start, and `[T, R]` moves.

        Args:
            model: literals of clauses that hold, in any order.

        Returns:
            -1 if any start will do, and `UNKNOWN` where any legal move will do.
        """
        is_true = np.zeros(int(self._sizes[1]) + 1, dtype=np.bool_)
        is_true[model[(model > 0) & (model < len(is_true))]] = True
        is_true[0] = False
        written = self._props.written
        starts = np.arange(self.first_start, self.first_start + len(self.starts))
        true_starts = np.flatnonzero(is_true[written[starts]])
        moves = np.stack(self.forced) if self.forced else np.zeros((0, len(self._moves)), np.int64)
        for turn, role, ids, first in self.choices:
            true_moves = np.flatnonzero(is_true[written[first : first + len(ids)]])
            if len(true_moves):
                moves[turn, role] = ids[true_moves[0]]
        return (int(true_starts[0]) if len(true_starts) else -1), moves

    # ---------------------------------------------------------------- room

    def _reserve(self, gates: int, literals: int) -> None:
        props = self._props
        rows, length = self._num_props + gates + 2, self._num_literals + literals + 1
        if rows <= len(props.kind) and length <= len(props.literals):
            return
        wider = {
            name: enlarged(getattr(props, name), rows, 0)
            for name in props._fields
            if name != "literals"
        }
        self._props = props._replace(**wider, literals=enlarged(props.literals, length, 0))


class _Gates(NamedTuple):
    """The gates to fold: for legal moves, for percepts and successors, for the end."""

    for_moves: BoolArray
    for_effects: BoolArray
    end: BoolArray


def _gates_to_fold(circuit: Circuit, role: int) -> _Gates:
    base = 1 + circuit.num_inputs
    legal = np.concatenate([outputs.literals for outputs in circuit.legal])
    for_moves = cone(circuit, legal)[base:]
    outputs_after = np.concatenate([circuit.next, circuit.sees[role].literals])
    for_effects = cone(circuit, outputs_after)[base:] & ~for_moves
    end = cone(circuit, np.array([circuit.terminal], dtype=np.int32))[base:]
    return _Gates(for_moves, for_effects, end)


def _literals_at(nets: I32, outputs: I32) -> I32:
    """`[K]` literals of propositions, given literals of the circuit."""
    return np.asarray(nets[outputs >> 1] * np.where(outputs & 1, -1, 1).astype(np.int32))


def _empty_propositions(rows: int) -> Propositions:
    return Propositions(
        np.zeros(rows, dtype=np.int8),
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows, dtype=np.int32),
        np.zeros(1, dtype=np.int32),
        np.zeros(rows, dtype=np.int8),
        np.zeros(rows, dtype=np.int32),
        np.zeros(rows, dtype=np.int8),
    )


# ------------------------------------------------------------------------
# Windows: complete paths that agree with the last turns of an incomplete path, found by solving.
#
# Forward sampling draws turn by turn, and finds nothing if one path in 2^60 agrees with the last
# percepts. A *window* begins some turns back, in states known to be possible, and its turns are
# unrolled. Each solution is a complete path of the window, a *witness*. It is replayed on the
# machine, so witnesses are sound even if a clause were wrong. If there is no solution, no path from
# these states agrees with the role's moves and percepts.
#
# Witnesses differ because each search begins with its own guess: a random match from one of the
# states, with the role's own moves but any percepts. The solver repairs it.

MAX_STARTS = 64
"""Most states in which a window begins."""

CONFLICTS_AT_ONCE, NEAR_CONFLICTS = 500, 100
"""Solver conflicts between two looks at the clock; and most for one near guess."""

MAX_LITERALS = 30_000_000
"""Most inputs of all gates of a window: bounds memory, to some 500 MB including the solver's."""


def can_unroll(machine: Machine) -> bool:
    """Whether a machine has a circuit without loops."""
    return on_circuit(machine) and not machine.circuit.loops


def is_solvable(machine: Machine) -> bool:
    """Whether to solve for paths: the game has percepts, and a circuit without loops."""
    if not on_circuit(machine) or machine.circuit.loops:
        return False
    return any(outputs.names for outputs in machine.circuit.sees)


@dataclass
class Spent:
    """The budget of a search.

    Attributes:
        conflicts: the remaining number.
        stop: when true, the search ends.
        suffices: when true, so does one solution: what is done with it needs time, too.
    """

    conflicts: int
    stop: Callable[[], bool]
    suffices: Callable[[], bool] = never

    @property
    def is_over(self) -> bool:
        return self.conflicts <= 0 or self.stop()


class Window:
    """The turns of a path from some states on; later turns are added as the match continues.

    Attributes:
        role: the argument.
        turns: `[T, 3]` the turns it covers.
        is_empty: whether it is proved that no path of the window agrees.
        is_too_large: whether it needs more memory than allowed.

    Args:
        machine: see `is_solvable`.
        role: the role of the path.
        states: K states, at most `MAX_STARTS`.
        model: predicts the moves of the other roles.
    """

    def __init__(
        self,
        machine: Machine,
        role: int,
        states: States,
        model: MoveModel = UNIFORM,
    ) -> None:
        assert on_circuit(machine)
        self.role = role
        self.turns: IntArray = np.zeros((0, 3), dtype=np.int64)
        self._model = model
        self._machine, self._states = machine, states
        bits = machine.fluent_bits(states)[:, : len(machine.circuit.fluents)]
        self._unrolling = Unrolling(machine, role, bits)
        self._solver: ClauseSolver | None = None
        self.is_empty = self.is_too_large = False

    @property
    def path(self) -> IncompletePath:
        """The role's moves and percepts in its turns."""
        return IncompletePath(self._machine, self.role, self.turns, self._model)

    def open(self, turns: IntArray, budget: Spent) -> bool:
        """Unroll turns and load the solver; false if stopped, or if it needs too much memory.

        A later call continues where this one stopped.

        Args:
            turns: `[T, 3]` see `PathTree.last_turns`; begins with the turns it covers already.
        """
        self.turns = turns
        try:
            for turn in turns[self._unrolling.num_turns :].tolist():
                self._unrolling.add(*turn)
                self.is_too_large = self._unrolling.num_literals > MAX_LITERALS
                if self.is_too_large or budget.stop():
                    return False
        except Contradiction:
            self.is_empty = True
            return True
        if self._solver is None:
            self._solver = clause_solver()
        for clauses in self._unrolling.clauses():
            self._solver.add(clauses)
            if budget.stop():
                return False
        return True

    def close(self) -> None:
        """Free the solver's memory."""
        if self._solver is not None:
            self._solver.close()
            self._solver = None

    def witnesses(
        self,
        count: int,
        budget: Spent,
        rng: np.random.Generator,
        near: Paths | None = None,
    ) -> Paths | None:
        """Up to `count` paths, which may be equal; None if none was found.

        Then `is_empty` says whether this proves that there is none.

        Args:
            near: paths of the first turns, with which half of the guesses begin.
        """
        if self._solver is None:
            return None
        starts: list[int] = []
        moves: list[IntArray] = []
        while len(starts) < count and not self.is_empty and not budget.is_over:
            if starts and budget.suffices():
                break
            # Near guesses are repaired in no time if any can be, and otherwise lead astray.
            begins = near if near is not None and rng.random() < 0.5 else None
            self._solver.guess(self._unrolling.guess(rng, begins))
            most = CONFLICTS_AT_ONCE if begins is None else NEAR_CONFLICTS
            is_satisfiable = self._solve(self._solver, budget, most, once=near is not None)
            if is_satisfiable is None and near is not None:
                continue  # another guess may be nearer
            if is_satisfiable is False:
                self.is_empty = True
            if not is_satisfiable:
                break
            start, path_moves = self._unrolling.read(self._solver.model())
            starts.append(start if start >= 0 else int(rng.integers(len(self._states))))
            moves.append(path_moves)
        if not starts:
            return None
        first_states = self._states.take(np.array(starts))
        paths = replayed(self.path, first_states, np.array(starts), np.stack(moves), rng)
        return paths if len(paths) else None

    def _solve(
        self, solver: ClauseSolver, budget: Spent, at_once: int, *, once: bool
    ) -> bool | None:
        while not budget.is_over:
            old_conflicts = solver.conflicts
            is_satisfiable = solver.solve(min(at_once, budget.conflicts))
            budget.conflicts -= max(solver.conflicts - old_conflicts, 1)
            if is_satisfiable is not None or once:
                return is_satisfiable
        return None


# ------------------------------------------------------------------------
# Complete paths of the last turns, replayed on the machine and weighted by their priors.


class IncompletePath(NamedTuple):
    """A role's moves and percepts in some turns, and a model of the other roles' moves.

    Attributes:
        turns: `[T, 3]` see `PathTree.last_turns`.
    """

    machine: Machine
    role: int
    turns: IntArray
    model: MoveModel = UNIFORM


@dataclass(frozen=True)
class Paths:
    """N complete paths of T turns.

    Attributes:
        starts: `[N]` index of the state in which each begins.
        moves: `[N, T, R]`.
        states: the states before each turn, and at the end: T + 1 times N states.
        log_priors: `[N, T]` log priors of the turns; see `completions`.
        log_counts: `[N, T]` log of the number of completions.
    """

    starts: IntArray
    moves: IntArray
    states: tuple[States, ...]
    log_priors: FloatArray
    log_counts: FloatArray

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def ends(self) -> States:
        """`[N]` final states."""
        return self.states[-1]

    def take(self, paths: IntArray) -> Paths:
        """The paths with these indices, repeats allowed."""
        return Paths(
            self.starts[paths],
            self.moves[paths],
            tuple(states.take(paths) for states in self.states),
            self.log_priors[paths],
            self.log_counts[paths],
        )


def replayed(
    path: IncompletePath,
    states: States,
    starts: IntArray,
    moves: IntArray,
    rng: np.random.Generator,
) -> Paths:
    """The complete paths of these moves, as far as they agree with the role's moves and percepts.

    Args:
        trail: N states in which they begin.
        starts: `[N]` see `Paths`.
        moves: `[N, T, R]`, `UNKNOWN` where any legal move will do: then one is drawn.
    """
    alive = np.arange(len(starts))
    moves = moves.copy()
    trail = [states]
    log_priors, log_counts = np.zeros((2, len(starts), len(path.turns)))
    for turn in range(len(path.turns)):
        trial = try_turn(path, turn, trail[-1], moves[alive, turn], rng)
        lanes = trial.lanes
        alive = alive[lanes]
        moves[alive, turn] = trial.moves
        log_priors[alive, turn], log_counts[alive, turn] = trial.log_priors, trial.log_counts
        trail = [*(s.take(lanes) for s in trail), trial.states]
    return Paths(starts[alive], moves[alive], tuple(trail), log_priors[alive], log_counts[alive])


class TriedTurn(NamedTuple):
    """Joint moves that agree with a role's evidence of one turn; see `Paths`.

    Attributes:
        lanes: `[K]` the lane of each, increasing.
        moves: `[K, R]`.
        states: `[K]` successors.
    """

    lanes: IntArray
    moves: IntArray
    states: States
    log_priors: FloatArray
    log_counts: FloatArray


def try_turn(
    path: IncompletePath, turn: int, states: States, moves: IntArray, rng: np.random.Generator
) -> TriedTurn:
    """Try joint moves `[N, R]` in a turn; where a move is `UNKNOWN`, an open move is drawn."""
    machine, role, turns, model = path
    evidence = Learnt(*np.tile(turns[turn][:, None], len(states)))
    options = open_moves(machine, role, states, evidence, model)
    restricted = options.restricted(moves)
    lanes = np.flatnonzero(restricted.counts > 0)
    joint_moves, log_priors = restricted.random(lanes, rng)
    open_turn = OpenTurn(machine, role, states, options, evidence.percepts)
    agreeing, successors = open_turn.matching(lanes, joint_moves)
    goes_on = np.flatnonzero(~machine.terminal(successors))
    agreeing = agreeing[goes_on]
    return TriedTurn(
        lanes[agreeing],
        joint_moves[agreeing],
        successors.take(goes_on),
        log_priors[agreeing],
        np.log(options.counts[lanes[agreeing]]),
    )
