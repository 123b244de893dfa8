"""A game's circuit unrolled over the turns of an incomplete path: its complete paths as clauses.

    turn      propositions                              what is known
    start     in which state it begins                  one of several states
    1         moves of the others, gates                our move is legal; our percepts; not the end
    2         moves of the others, gates                the same

Constants are folded turn by turn: of a circuit of 28,000 gates a few thousand are left in a turn of
kriegspiel. Gates, and choices of moves, become clauses only when something known depends on them
(their cone of influence). So whatever the clauses leave out may have any value.
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
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.machine.arrays import enlarged
from ggp.machine.base import UNKNOWN, BoolArray, FloatArray, IntArray, Machine, States
from ggp.machine.circuit import Circuit, cone
from ggp.machine.on_circuit import on_circuit

TRUE = 1
"""The sign that always holds."""

CLAUSES_AT_ONCE = 1 << 14
"""Signs of clauses that are written before they are taken: with more of them, Python's garbage
collector would scan them all."""


class Contradiction(Exception):
    """No complete path agrees with the percepts: a result, not an error."""


class TurnChoice(NamedTuple):
    """A choice of one of several moves by a role in a turn.

    Attributes:
        moves: `[N]` ids.
        first: proposition of the first move; the others follow.
    """

    turn: int
    role: int
    moves: IntArray
    first: int


class Unrolling:
    """The turns of one role's incomplete path, from some states on.

    Args:
        machine: see `can_unroll` in `windows`.
        role: the role whose path it is.
        starts: `[K, F]` fluents of the states it may begin in, in the circuit's order.

    Attributes:
        choices: the turns and roles with several moves.
        forced: by turn, `[R]` the only moves, or the known ones; `UNKNOWN` elsewhere.
    """

    def __init__(self, machine: Machine, role: int, starts: BoolArray) -> None:
        assert on_circuit(machine)
        self.machine, self.role, self.starts = machine, role, starts
        self.circuit: Circuit = machine.circuit
        self.choices: list[TurnChoice] = []
        self.forced: list[IntArray] = []
        self._moves = [machine.circuit_moves(each) for each in range(len(machine.roles))]
        self._wanted = _wanted_gates(self.circuit, role)
        self._props = _no_propositions(len(starts) + starts.shape[1] + 2)
        none = np.zeros(0, dtype=np.int64)
        self._groups = Groups(none, none.astype(np.int32), none, none.astype(np.int32))
        self._num_props, self._num_signs = TRUE, 0
        self._props.kind[TRUE], self._props.fixed[TRUE] = HELPER, 1
        self._stack: I32 = np.zeros(64, dtype=np.int32)
        self._sizes = np.zeros(2, dtype=np.int64)
        self._units: list[int] = []
        self.first_start = self._num_props + 1
        self._state = self._begin()

    @property
    def num_turns(self) -> int:
        """Number of turns added."""
        return len(self.forced)

    @property
    def num_signs(self) -> int:
        """Number of signs of all remaining gates."""
        return self._num_signs

    def _begin(self) -> I32:
        """`[F]` signs of the fluents where the window begins."""
        kind, about = self._props.kind, self._props.about
        count = len(self.starts)
        kind[self._num_props + 1 : self._num_props + 1 + count] = HELPER
        self._num_props += count
        always, ever = self.starts.all(axis=0), self.starts.any(axis=0)
        signs = np.where(always, TRUE, -TRUE).astype(np.int32)
        open_ = np.flatnonzero(ever & ~always)
        numbers = self._num_props + 1 + np.arange(len(open_))
        kind[numbers], about[numbers] = START, open_
        signs[open_] = numbers
        self._num_props += len(open_)
        return signs

    # ---------------------------------------------------------------- turns

    def add(self, move: int, percepts: int, refused: int) -> None:
        """Add a turn; arguments as for `PathTree.extend`.

        Raises:
            Contradiction: no path continues in this way.
        """
        self._turn(move, percepts, refused)
        self._go_on()

    def add_any(self) -> None:
        """Add a turn of which nothing is known but that the game goes on after it.

        Raises:
            Contradiction: it cannot.
        """
        self.add(UNKNOWN, UNKNOWN, UNKNOWN)

    def add_end(self, goal: int) -> None:
        """Add a turn after which the game is over: the last one.

        Args:
            goal: a literal of the circuit that holds then.

        Raises:
            Contradiction: no path ends so.
        """
        self._turn(UNKNOWN, UNKNOWN, UNKNOWN)
        ends = np.array([self.circuit.terminal, goal], dtype=np.int32)
        self._know(self._in_state(ends, cone(self.circuit, ends)[self._base :]).tolist())

    def copy(self) -> Unrolling:
        """One that can go on another way, before clauses of this one are taken."""
        other = copy.copy(self)
        props = self._props
        copies = {name: getattr(props, name).copy() for name in props._fields}
        other._props = props._replace(**copies)
        other._stack, other._sizes = self._stack.copy(), self._sizes.copy()
        other.choices, other.forced = list(self.choices), list(self.forced)
        other._units = list(self._units)
        return other

    def _turn(self, move: int, percepts: int, refused: int) -> None:
        """Make moves, and see what comes of them."""
        circuit, machine = self.circuit, self.machine
        self._reserve(circuit.num_gates, len(circuit.literals))
        nets = np.full(self._base + circuit.num_gates, -TRUE, dtype=np.int32)
        nets[1 : 1 + len(self._state)] = self._state
        # Legal moves do not depend on the moves of this turn, which are not made yet.
        self._fold(nets, self._wanted.before)
        known: list[int] = []
        self.forced.append(np.full(len(machine.roles), UNKNOWN, dtype=np.int64))
        first = 1 + len(self._state)
        for role, ids in enumerate(self._moves):
            legal = _signs_of(nets, circuit.legal[role].literals)
            if role == self.role:
                if refused >= 0:
                    known.extend((-legal[ids == refused]).tolist())
                if move != UNKNOWN:
                    if not (ids == move).any():
                        raise Contradiction
                    known.extend(legal[ids == move].tolist())
                    legal = np.where(ids == move, TRUE, -TRUE).astype(np.int32)
            nets[first : first + len(ids)] = self._made(role, ids, legal)
            first += len(ids)
        self._know(known)
        # Choices have taken some of the room.
        self._reserve(circuit.num_gates, len(circuit.literals))
        self._fold(nets, self._wanted.after)
        self._state = _signs_of(nets, circuit.next)
        if percepts != UNKNOWN:
            seen = set(machine.percept_texts(percepts))
            outputs = circuit.sees[self.role]
            held = np.array([name in seen for name in outputs.names], dtype=np.bool_)
            if held.sum() != len(seen):
                raise Contradiction
            signs = _signs_of(nets, outputs.literals)
            self._know(np.where(held, signs, -signs).tolist())

    def _go_on(self) -> None:
        """Require that the game is not over: information sets consist of decision states."""
        terminal = np.array([self.circuit.terminal], dtype=np.int32)
        self._know((-self._in_state(terminal, self._wanted.end)).tolist())

    def _in_state(self, literals: I32, wanted: BoolArray) -> I32:
        """`[K]` signs of literals that depend on no move, and on these gates."""
        circuit = self.circuit
        self._reserve(circuit.num_gates, len(circuit.literals))
        nets = np.full(self._base + circuit.num_gates, -TRUE, dtype=np.int32)
        nets[1 : 1 + len(self._state)] = self._state
        self._fold(nets, wanted)
        return _signs_of(nets, literals)

    @property
    def _base(self) -> int:
        """The net of the first gate."""
        return 1 + self.circuit.num_inputs

    def _made(self, role: int, ids: IntArray, legal: I32) -> I32:
        """`[M]` signs that a role makes each of its moves, given the signs that they are legal."""
        signs = np.full(len(ids), -TRUE, dtype=np.int32)
        props = self._props
        open_ = np.flatnonzero(
            (legal != -TRUE) & (props.fixed[np.abs(legal)] * np.sign(legal) >= 0)
        )
        if not len(open_):
            raise Contradiction
        if len(open_) == 1:
            self.forced[-1][role] = ids[open_[0]]
            signs[open_] = TRUE
            return signs
        self._reserve(2 * len(open_), 0)
        props, groups, count = self._props, self._groups, len(open_)
        numbers = self._num_props + 1 + np.arange(count)
        props.kind[numbers], props.about[numbers] = CHOICE, len(groups.first)
        props.kind[numbers[-1] + 1 : numbers[-1] + count] = HELPER
        self._groups = Groups(
            np.append(groups.first, numbers[0]),
            np.append(groups.size, np.int32(count)),
            np.append(groups.legal, len(groups.signs)),
            np.concatenate([groups.signs, legal[open_]]),
        )
        self._num_props += 2 * count - 1
        self.choices.append(TurnChoice(len(self.forced) - 1, role, ids[open_], int(numbers[0])))
        signs[open_] = numbers
        return signs

    def _fold(self, nets: I32, wanted: BoolArray) -> None:
        circuit = self.circuit
        self._num_props, self._num_signs = fold(
            circuit.offsets,
            circuit.literals,
            wanted,
            nets,
            1 + circuit.num_inputs,
            self._props,
            self._num_props,
            self._num_signs,
        )

    def _know(self, signs: list[int]) -> None:
        """Assert signs."""
        array = np.array(signs, dtype=np.int32)
        if not fix(self._props, array, np.zeros(self._num_signs + len(array) + 1, dtype=np.int32)):
            raise Contradiction
        self._units.extend(sign for sign in signs if sign != TRUE)

    # ---------------------------------------------------------------- clauses

    def clauses(self) -> Iterator[list[list[int]]]:
        """The clauses of all added turns that are not written yet, in pieces.

        Clauses that were taken are not written again, whether or not all of them were taken.
        """
        props = self._props
        # A gate may be needed for both of its signs.
        self._stack = enlarged(self._stack, 2 * self._num_props + 2, 0)
        if not props.written[TRUE]:
            self._sizes[1] = TRUE
            props.written[TRUE] = TRUE
            begun = self.first_start + np.arange(len(self.starts))
            yield [[TRUE], self._numbers(begun).tolist()]
        known, self._units = self._units, []
        yield [[sign] for sign in self._numbers(np.array(known)).tolist()]
        largest = 16 * int(self._groups.size.max(initial=0)) + 4 * int(props.size.max()) + 64
        room = np.zeros(max(CLAUSES_AT_ONCE, largest + 3 * len(self.starts)), dtype=np.int32)
        while self._sizes[0]:
            full = write(
                props,
                self._groups,
                self.starts,
                self.first_start,
                self._stack,
                self._sizes,
                room,
            )
            ends = np.flatnonzero(room[:full] == 0).tolist()
            flat = room[:full].tolist()
            yield [flat[a:b] for a, b in zip([0, *(e + 1 for e in ends)], ends, strict=False)]

    def _numbers(self, signs: IntArray) -> I32:
        """Signs as they appear in clauses."""
        found = signs.astype(np.int32)
        number(self._props, found, self._stack, self._sizes)
        return found

    # ---------------------------------------------------------------- models

    def guess(self, rng: np.random.Generator) -> list[int]:
        """A guess of what holds, as signs of clauses: a random match from one of the starts on,
        with any percepts for the role."""
        begun_in = int(rng.integers(len(self.starts)))
        values = np.zeros(self._num_props + 1, dtype=np.bool_)
        lots = rng.random(len(self._groups.first))
        simulate(
            self._props,
            self._groups,
            self._num_props,
            self.starts[begun_in],
            self.first_start,
            len(self.starts),
            begun_in,
            lots,
            values,
        )
        props = np.flatnonzero(self._props.written[: self._num_props + 1])
        numbers = self._props.written[props].astype(np.int64)
        signs: list[int] = np.where(values[props], numbers, -numbers).tolist()
        return signs

    def read(self, model: IntArray) -> tuple[int, IntArray]:
        """A path from a model of the clauses: the number of its start, and `[T, R]` moves.

        Args:
            model: signs of clauses that hold, any order.

        Returns:
            -1 for a start, and `UNKNOWN` for a move, that may be any possible one.
        """
        held = np.zeros(int(self._sizes[1]) + 1, dtype=np.bool_)
        held[model[(model > 0) & (model < len(held))]] = True
        held[0] = False
        written = self._props.written
        starts = np.arange(self.first_start, self.first_start + len(self.starts))
        begun = np.flatnonzero(held[written[starts]])
        moves = np.stack(self.forced) if self.forced else np.zeros((0, len(self._moves)), np.int64)
        for turn, role, ids, first in self.choices:
            made = np.flatnonzero(held[written[first : first + len(ids)]])
            if len(made):
                moves[turn, role] = ids[made[0]]
        return (int(begun[0]) if len(begun) else -1), moves

    # ---------------------------------------------------------------- room

    def _reserve(self, gates: int, signs: int) -> None:
        props = self._props
        rows, length = self._num_props + gates + 2, self._num_signs + signs + 1
        if rows <= len(props.kind) and length <= len(props.signs):
            return
        wider = {
            name: enlarged(getattr(props, name), rows, 0)
            for name in props._fields
            if name != "signs"
        }
        self._props = props._replace(**wider, signs=enlarged(props.signs, length, 0))


class _Wanted(NamedTuple):
    """The gates that matter: for legal moves, for percepts and successors, for the end."""

    before: BoolArray
    after: BoolArray
    end: BoolArray


def _wanted_gates(circuit: Circuit, role: int) -> _Wanted:
    base = 1 + circuit.num_inputs
    legal = np.concatenate([outputs.literals for outputs in circuit.legal])
    before = cone(circuit, legal)[base:]
    results = np.concatenate([circuit.next, circuit.sees[role].literals])
    after = cone(circuit, results)[base:] & ~before
    end = cone(circuit, np.array([circuit.terminal], dtype=np.int32))[base:]
    return _Wanted(before, after, end)


def _signs_of(nets: I32, literals: I32) -> I32:
    """`[K]` signs of literals of the circuit."""
    return np.asarray(nets[literals >> 1] * np.where(literals & 1, -1, 1).astype(np.int32))


def _no_propositions(rows: int) -> Propositions:
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
# Complete paths that agree with the last turns of an incomplete one, found by solving clauses.
#
# Forward sampling draws turn by turn, and finds nothing if one path in 2^60 agrees with the last
# percepts. A *window* begins with states that are known to be possible, some turns back, and is
# unrolled from there on (`unrolling`). Each solution is a complete path of the window, a *witness*:
# it is replayed on the machine, so that results are sound whatever the clauses say. If there is no
# solution, none of the states leads to where the role is.
#
# Witnesses differ because each search begins with its own guess: a random match from one of the
# states, with the role's own moves, whatever its percepts. The solver repairs it.

MOST_STARTS = 64
"""States in which a window begins, at most."""

CONFLICTS_AT_ONCE = 500
"""Solver conflicts between two looks at the clock."""

MOST_SIGNS = 30_000_000
"""Signs of the gates of a window: bounds memory, to some 500 MB including the solver's."""


def can_unroll(machine: Machine) -> bool:
    """Whether a game is on a circuit without loops."""
    return on_circuit(machine) and not machine.circuit.loops


def is_solvable(machine: Machine) -> bool:
    """Whether windows can be unrolled: for a game of GDL-II on a circuit without loops."""
    if not on_circuit(machine) or machine.circuit.loops:
        return False
    return any(outputs.names for outputs in machine.circuit.sees)


@dataclass
class Spent:
    """The budget of a search.

    Attributes:
        conflicts: the number left.
        stop: when true, the search is given up.
    """

    conflicts: int
    stop: Callable[[], bool]

    @property
    def is_over(self) -> bool:
        return self.conflicts <= 0 or self.stop()


class Window:
    """The turns of a path from some states on; later turns can be added as the match goes on.

    Attributes:
        role: the argument.
        turns: `[T, 3]` the turns it was opened for.
        is_empty: whether it is proved that no path of the window agrees.
        is_too_large: whether it needs more memory than allowed.

    Args:
        machine: see `is_solvable`.
        role: the role whose path it is.
        states: K states, at most `MOST_STARTS`.
        model: how the other roles are believed to move.
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
        """What the role did and saw in the turns it was opened for."""
        return IncompletePath(self._machine, self.role, self.turns, self._model)

    def open(self, turns: IntArray, budget: Spent) -> bool:
        """Unroll some turns and load the solver; false if that was stopped, or needs too much
        memory. A later call continues where it was stopped.

        Args:
            turns: `[T, 3]` see `PathTree.last_turns`; begins with the turns it was opened for
                before.
        """
        self.turns = turns
        try:
            for turn in turns[self._unrolling.num_turns :].tolist():
                self._unrolling.add(*turn)
                self.is_too_large = self._unrolling.num_signs > MOST_SIGNS
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

    def witnesses(self, count: int, budget: Spent, rng: np.random.Generator) -> Paths | None:
        """Up to `count` paths, which may be equal; None if there is none, or none was found.

        `is_empty` tells which.
        """
        if self._solver is None:
            return None
        starts: list[int] = []
        moves: list[IntArray] = []
        while len(starts) < count and not self.is_empty and not budget.is_over:
            self._solver.guess(self._unrolling.guess(rng))
            found = self._solve(self._solver, budget)
            if found is False:
                self.is_empty = True
            if not found:
                break
            start, made = self._unrolling.read(self._solver.model())
            starts.append(start if start >= 0 else int(rng.integers(len(self._states))))
            moves.append(made)
        if not starts:
            return None
        begun = self._states.take(np.array(starts))
        paths = replayed(self.path, begun, np.array(starts), np.stack(moves), rng)
        return paths if len(paths) else None

    def _solve(self, solver: ClauseSolver, budget: Spent) -> bool | None:
        while not budget.is_over:
            before = solver.conflicts
            found = solver.solve(min(CONFLICTS_AT_ONCE, budget.conflicts))
            budget.conflicts -= max(solver.conflicts - before, 1)
            if found is not None:
                return found
        return None


# ------------------------------------------------------------------------
# Complete paths of the last turns: replayed, and weighted by their prior.


class IncompletePath(NamedTuple):
    """What a role did and saw in some turns, and how the others are believed to move.

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
        starts: `[N]` number of the state in which each begins.
        moves: `[N, T, R]`.
        states: the states before each turn, and at the end: T + 1 times N states.
        log_priors: `[N, T]` log priors of the turns, as those of completions (see `completions`).
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
            tuple(each.take(paths) for each in self.states),
            self.log_priors[paths],
            self.log_counts[paths],
        )


def replayed(
    path: IncompletePath,
    begun: States,
    starts: IntArray,
    moves: IntArray,
    rng: np.random.Generator,
) -> Paths:
    """The paths that some moves make, if they agree with what a role did and saw.

    Args:
        begun: N states in which they begin.
        starts: `[N]` see `Paths`.
        moves: `[N, T, R]`, `UNKNOWN` where any legal move will do: there one is drawn.
    """
    alive = np.arange(len(starts))
    moves = moves.copy()
    states = [begun]
    log_priors, log_counts = np.zeros((2, len(starts), len(path.turns)))
    for turn in range(len(path.turns)):
        tried = tried_turn(path, turn, states[-1], moves[alive, turn], rng)
        lanes = tried.lanes
        alive = alive[lanes]
        moves[alive, turn] = tried.moves
        log_priors[alive, turn], log_counts[alive, turn] = tried.log_priors, tried.log_counts
        states = [*(each.take(lanes) for each in states), tried.states]
    return Paths(starts[alive], moves[alive], tuple(states), log_priors[alive], log_counts[alive])


class Tried(NamedTuple):
    """Joint moves of lanes that agree with what a role knows of one turn; see `Paths`.

    Attributes:
        lanes: `[K]` increasing; the lanes of these moves.
        moves: `[K, R]`.
        states: `[K]` successors.
    """

    lanes: IntArray
    moves: IntArray
    states: States
    log_priors: FloatArray
    log_counts: FloatArray


def tried_turn(
    path: IncompletePath, turn: int, states: States, moves: IntArray, rng: np.random.Generator
) -> Tried:
    """Make joint moves `[N, R]` in a turn; moves that are `UNKNOWN` are drawn from the open
    ones."""
    machine, role, turns, model = path
    evidence = Learnt(*np.tile(turns[turn][:, None], len(states)))
    options = open_moves(machine, role, states, evidence, model)
    given = options.given(moves)
    lanes = np.flatnonzero(given.counts > 0)
    made, log_priors = given.random(lanes, rng)
    stepped = machine.step(states.take(lanes), made)
    agrees = ~machine.terminal(stepped.states)
    percepts = turns[turn, 1]
    if percepts != UNKNOWN:
        agrees &= stepped.percepts[:, role] == percepts
    kept = np.flatnonzero(agrees)
    return Tried(
        lanes[kept],
        made[kept],
        stepped.states.take(kept),
        log_priors[kept],
        np.log(options.counts[lanes[kept]]),
    )
