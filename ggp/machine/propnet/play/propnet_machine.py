"""The fast machine: `Machine` on a circuit of bits.

It checks that states are its own, passes their packed bits to the classes that do the work
(`Answers`, `CircuitPercepts`, `CircuitPlayouts`, `CircuitTurns`), and wraps the results.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from functools import cache
from threading import RLock

import numpy as np

from ggp.errors import MachineError, NoLegalMoveError
from ggp.gdl import canonical_term
from ggp.gdl.program import RANDOM
from ggp.machine.abilities import UNLIMITED, PlayoutLimits, PlayoutSums, TrialBatch
from ggp.machine.arrays import Packed, pack, pack_rows, unpack
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    UNKNOWN,
    BoolArray,
    Chance,
    FloatArray,
    IntArray,
    Playouts,
    Ragged,
    States,
    Stepped,
    even_chance,
)
from ggp.machine.circuit import Circuit, PassReport
from ggp.machine.compiling.jit import load_at_once
from ggp.machine.compiling.vectors import WIDTH, words_of
from ggp.machine.goal_values import GoalValues
from ggp.machine.percepts import RevealedMoves
from ggp.machine.propnet.play.answers import NARROW, Answers
from ggp.machine.propnet.play.kernels.block_kernels import OpenLists
from ggp.machine.propnet.play.kernels.blocks import PlayoutPlan, Queue
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.percepts import (
    MAX_CLUES,
    CircuitPercepts,
    Clues,
    MoveTable,
)
from ggp.machine.propnet.play.playouts import CircuitPlayouts
from ggp.machine.propnet.play.turns import CircuitTurns, PropnetStates
from ggp.machine.rows import RowTable, grouped
from ggp.machine.threads import made_once
from ggp.run.clocks import TellsTime


class PropnetMachine(CircuitTurns):
    """`Machine` on a circuit; several threads may use it at once (see `ggp.machine.threads`).

    Callers reach its additional methods through `on_circuit`.

    Args:
        circuit: the circuit of the game.
        is_gdl2: false for plain GDL, where every role sees the joint move.
        move_percept: in GDL-II, the name of the percepts that contain the joint move, None if
            there are none (see `ggp.gdl.analysis.told_moves`).
        threads: number of processors to use; results do not depend on it.
        reports: the reports of how the circuit was optimised.

    Attributes:
        growing: held while tables grow.
        fluent_names: the fluents that may hold, as canonical KIF: fluents of the circuit, then
            fluents that always hold.
    """

    backend = "propnet"
    side_by_side = 64 * words_of(WIDTH)
    goal_range = (0.0, 100.0)

    def __init__(
        self,
        circuit: Circuit,
        *,
        is_gdl2: bool,
        move_percept: str | None = None,
        threads: int = 1,
        reports: Sequence[PassReport] = (),
    ) -> None:
        self.roles = circuit.roles
        self.random_role = circuit.roles.index(RANDOM) if RANDOM in circuit.roles else None
        self.states_visited = 0
        self.circuit = circuit
        self.reports = tuple(reports)
        self._is_gdl2 = is_gdl2
        self._closed = False
        self.threads = threads
        self._queries = Queries(circuit)
        self._initial = pack(circuit.initial)
        self.growing = RLock()
        self._moves = MoveTable(self._queries)
        self._answers = Answers(self._queries, self._moves)
        self.fluent_names = (*circuit.fluents, *circuit.constant)
        self._percepts = CircuitPercepts(circuit, self._moves, self.growing, is_gdl2=is_gdl2)
        self._revealed = RevealedMoves(move_percept, self.growing)
        self._goal_values = GoalValues(self.roles, self.random_role)
        keep_freed_memory()

    # ---------------------------------------------------------------- batches

    def initial(self, num_lanes: int = 1) -> PropnetStates:
        return self._states(np.repeat(self._initial[None], num_lanes, axis=0))

    def concatenate(self, batches: Sequence[States]) -> PropnetStates:
        packed = [self._packed(batch) for batch in batches]
        joined = np.concatenate([self._initial[None][:0], *packed])
        # A single lane may be in Fortran order, for which kernels would be compiled again.
        return self._states(np.ascontiguousarray(joined))

    def groups(self, states: States) -> IntArray:
        return grouped(self._packed(states))[1]

    # ---------------------------------------------------------------- semantics

    def terminal(self, states: States) -> BoolArray:
        return self._answers.terminal(self._packed(states))

    def goals(self, states: States) -> FloatArray:
        packed = self._packed(states)
        values = np.zeros((len(packed), len(self.roles)))
        # Lanes with the same goal values are settled together, and once in all.
        for role, (rows, group) in enumerate(self._answers.goal_rows(packed)):
            numbers = [self._goal_number(role, row) for row in rows]
            values[:, role] = np.array(numbers, dtype=np.float64)[group]
        return values

    def _goal_number(self, role: int, row: Packed) -> float:
        """The goal value of a role as a number, from the bits of its goal values."""
        key = role, row.tobytes()
        number = self._settled.get(key)
        if number is None:
            texts = self._answers.goal_texts(role, row[None])[0]
            number = self._settled[key] = self._goal_values.settle(role, texts)
        return number

    @made_once
    def _settled(self) -> dict[tuple[int, bytes], float]:
        """Goal values by role and bits."""
        return {}

    def goal_texts(self, states: States) -> list[tuple[tuple[str, ...], ...]]:
        """See `GoalTexts`."""
        columns = []
        for role, (rows, group) in enumerate(self._answers.goal_rows(self._packed(states))):
            texts = self._answers.goal_texts(role, rows)
            columns.append([texts[k] for k in group.tolist()])
        return list(zip(*columns, strict=True))

    def legal(self, states: States, role: int, *, allow_stuck: bool = False) -> Ragged:
        packed = self._packed(states)
        stuck, legal = self._answers.legal(packed, role)
        if stuck >= 0 and not allow_stuck:
            stuck_state = self._states(packed[stuck][None])
            raise NoLegalMoveError(self.roles[role], self.fluents(stuck_state)[0])
        return legal

    def open_lists(
        self, states: States, role: int, moves: IntArray, refused: IntArray, most: int
    ) -> OpenLists | None:
        """The moves that each role may have made in a turn of which a role knows its own move.

        Args:
            role: this role; not `random`.
            moves, refused: `[L]` its move and its refused try, see `PathTree.extend`.
            most: most moves that another role may have.

        Returns:
            the fields of `OpenMoves`; None if there may be too many moves, or if there has been too
            little work for a kernel.
        """
        others = (len(ids) for j, ids in enumerate(self._moves.numbers) if j != role)
        if max(others, default=0) > most:
            return None
        return self._answers.open_lists(self._packed(states), role, moves, refused)

    def candidates(self, states: States, role: int, set_offsets: IntArray) -> Ragged | None:
        """The moves of a role that are legal in at least one state of each set, in order of
        appearance.

        Args:
            set_offsets: `[S + 1]` states of each set.

        Returns:
            S lists; None if there has been too little work for a kernel.
        """
        return self._answers.candidates(self._packed(states), role, set_offsets)

    def are_legal(self, states: States, role: int, moves: IntArray) -> BoolArray:
        """`[L]` whether a move of a role is legal in each state; not where it is `UNKNOWN`."""
        return self._answers.are_legal(self._packed(states), role, moves)

    def chance(self, states: States) -> Chance:
        return even_chance(self, states)

    def step(self, states: States, joint_moves: IntArray) -> Stepped:
        packed, joint_moves = self._packed(states), np.asarray(joint_moves, dtype=np.int64)
        query = self._queries.step
        words = self._answers.stepped(packed, joint_moves)
        self.states_visited += len(packed)
        successors = self._states(np.ascontiguousarray(query.part(words, 0)))
        return Stepped(successors, self._percepts.after(query, words, joint_moves))

    def step_matching(
        self,
        states: States,
        lanes: IntArray,
        joint_moves: IntArray,
        role: int,
        percepts: IntArray,
    ) -> tuple[IntArray, States] | None:
        targets = self._percepts.rows_of(role, percepts)
        if targets is None:
            return None
        packed = self._packed(states)
        matches, new = self._answers.matching(packed, lanes, joint_moves, role, percepts, targets)
        self.states_visited += len(lanes)
        return matches, self._states(new)

    def legal_behind(
        self, states: States, mover: int, percepts: IntArray, role: int, more_than: int
    ) -> tuple[Ragged, IntArray] | None:
        """The legal moves of a role that may have caused the percepts of another role.

        The converse does not hold: a move in the list may still lead to other percepts.

        Args:
            states: L states; where the mover is stuck it has no moves.
            mover: the role whose moves these are.
            percepts: `[L]` percept id that the other role gets after them, `UNKNOWN` if not known.
            role: the role that gets these percepts.
            more_than: lanes with no more legal moves than this keep all of them.

        Returns:
            The moves, and `[L]` the number of legal ones; None if the mover never has more than
            `more_than`.
        """
        if not self._is_gdl2 or len(self._moves.numbers[mover]) <= more_than:
            return None
        moves, _ = self._answers.legal_bits(self._packed(states), mover)
        totals = np.bitwise_count(moves).sum(axis=1, dtype=np.int64)
        long = (totals > more_than) & (percepts != UNKNOWN)
        for seen in np.unique(percepts[long])[:MAX_CLUES].tolist():
            possible = self._clues.moves_behind(self.percept_texts(seen), role, mover)
            if possible is not None:
                moves[long & (percepts == seen)] &= possible
        return self._answers.listed(moves, mover), totals

    def playout(
        self,
        states: States,
        rng: np.random.Generator,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> Playouts:
        packed = self._packed(states)
        limits = PlayoutLimits(max_steps, max_seconds, clock)
        playouts, visited = self._playouts.once(self._playouts.queue_of(packed), rng, limits)
        self.states_visited += visited
        return playouts

    @property
    def num_moves(self) -> int:
        """M: ids of moves of all roles but `random` are below it."""
        return len(self._moves.rows[0])

    def playout_by_weights(
        self,
        states: States,
        weights: IntArray,
        credits: FloatArray,
        rng: np.random.Generator,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> Playouts:
        """Like `Machine.playout`, but each role draws its legal moves by weight.

        If all weights are 1, the playouts are those of `Machine.playout`.

        Args:
            weights: `[R, M]` by move id, at least 1; those of `random` are ignored. The weights of
                a role's moves add up to at most `MAX_SUM`.
            credits: `[R, M, 2]`. For each move of a role, the number of finished playouts in which
                the role made it, and the sum of the role's goals in them, are added.

        Raises:
            ValueError: a weight is less than 1, or the weights of a role are too large together.
        """
        packed, numbers = self._packed(states), enumerate(self._moves.numbers)
        weighed = {role: moves for role, moves in numbers if role != self.random_role}
        limits = PlayoutLimits(max_steps, max_seconds, clock)
        playouts, visited = self._playouts.weighed(packed, weighed, weights, credits, rng, limits)
        self.states_visited += visited
        return playouts

    def playouts_after(
        self,
        states: States,
        role: int,
        trials: TrialBatch,
        rng: np.random.Generator,
        *,
        cut_value: float,
        spread: bool,
        limits: PlayoutLimits = UNLIMITED,
    ) -> PlayoutSums:
        """Sums over playouts that begin with given moves of a role, entry by entry.

        The other roles' moves are random from the first one on. In a lane where the given move is
        not legal, a random legal move takes its place.

        Args:
            cut_value: the value of playouts that do not finish.
            spread: also sum up squares and steps.
        """
        packed, indices = self._packed(states), self._moves.places[role][trials.moves]
        queue = self._playouts.queue_of_trials(
            packed, role, trials, indices, cut_value, spread=spread
        )
        sums, visited = self._playouts.summed(queue, rng, limits)
        self.states_visited += visited
        return sums

    @made_once
    def _playouts(self) -> CircuitPlayouts:
        return CircuitPlayouts(self._queries, self._goal_values, self.goal_range, self.threads)

    # ---------------------------------------------------------------- terms

    def move_id(self, move: str) -> int | None:
        return self._moves.id(move)

    def move_text(self, move: int) -> str:
        return self._moves.text(move)

    def percept_id(self, percepts: Sequence[str]) -> int | None:
        return self._percepts.find(list(map(canonical_term, percepts)))

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        return self._percepts.texts(percept)

    def told_moves(self, percepts: IntArray) -> IntArray | None:
        if not self._is_gdl2:
            return self._percepts.joint_moves(percepts)
        return self._revealed.of(self, percepts)

    def fluent_words(self, states: States) -> Packed:
        """`[L, ceil(F / 64)]` the fluents that hold: bit f % 64 of word f // 64 is fluent f."""
        packed, num_packed = self._packed(states), len(self.circuit.fluents)
        if len(self.fluent_names) == num_packed:
            return packed
        constant = pack(np.arange(len(self.fluent_names)) >= num_packed)
        words = np.repeat(constant[None], len(packed), axis=0)
        words[:, : packed.shape[1]] |= packed
        return words

    def fluent_bits(self, states: States) -> BoolArray:
        """`[L, F]` whether each fluent holds."""
        return unpack(self.fluent_words(states), len(self.fluent_names))

    def from_fluent_bits(self, bits: BoolArray) -> PropnetStates:
        """The states in which these fluents hold, in the form of `fluent_bits`.

        The states must be reachable: the circuit is optimised by facts that hold in all reachable
        states, and may give wrong answers in others.
        """
        return self._states(pack_rows(bits[:, : len(self.circuit.fluents)]))

    def fluents(self, states: States) -> list[tuple[str, ...]]:
        names, bits = self.fluent_names, self.fluent_bits(states)
        return [tuple(sorted(names[f] for f in np.flatnonzero(lane))) for lane in bits]

    def written(self, states: States) -> list[tuple[str, ...]]:
        """See `StateWriter`."""
        return self.fluents(states)

    def from_written(self, texts: Sequence[tuple[str, ...]]) -> PropnetStates:
        """See `StateWriter`."""
        bits = np.zeros((len(texts), len(self.fluent_names)), dtype=np.bool_)
        for lane, fluents in enumerate(texts):
            try:
                bits[lane, [self._fluent_index[fluent] for fluent in fluents]] = True
            except KeyError as error:
                raise MachineError(f"{error.args[0]} can never hold by these rules") from None
        return self.from_fluent_bits(bits)

    @made_once
    def _fluent_index(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.fluent_names)}

    # ---------------------------------------------------------------- circuit

    def queue_of(self, states: States) -> Queue:
        """A queue that plays every lane out once, for the goals of all roles."""
        return self._playouts.queue_of(self._packed(states))

    @property
    def playout_plan(self) -> PlayoutPlan:
        """The plan of random playouts."""
        return self._queries.playout

    def cones(self) -> list[dict[str, str | int]]:
        """Numbers of gates and literals of each cone that is evaluated as a whole, by name."""
        return self._queries.cones()

    def lay_out(self) -> None:
        """Lay out every query, so that no later call waits for that.

        Raises:
            IndexError, KeyError, ValueError: the circuit is not one of a game with these roles.
        """
        self._queries.lay_out()

    def warm_up(self) -> None:
        """Load or compile every kernel, so that no later call waits for that."""
        load_at_once()
        visited = self.states_visited
        states = self.initial(2)
        wide = self.initial(NARROW + 1)
        self.groups(states)
        RowTable(1).numbers(np.arange(1000, dtype=np.uint64)[:, None])  # a table that grows
        self._answers.ask(self._queries.goals, wide.packed)
        self.legal(wide, 0, allow_stuck=True)
        self.candidates(states, 0, np.array([0, 2]))
        unknown = np.full(2, UNKNOWN)
        self._answers.open_lists(states.packed, 0, unknown, unknown)
        moves = [self._some_moves(states, role) for role in range(len(self.roles))]
        joint_moves = np.stack(moves, axis=1)
        if (joint_moves != UNKNOWN).all():
            percepts = self.step(states, joint_moves).percepts
            for role in range(len(self.roles)):
                self.step_matching(states, np.arange(2), joint_moves, role, percepts[:, role])
            self.turned(states, np.arange(2), joint_moves, percepts=True)
            self.choices(states)
        self._playouts.warm_up(states.packed)
        self.states_visited = visited

    def close(self) -> None:
        self._closed = True

    def use_one_thread(self) -> None:
        """See `Forkable`."""
        self.threads = 1
        self._playouts.use_one_thread()

    # ---------------------------------------------------------------- private

    def _some_moves(self, states: States, role: int) -> IntArray:
        """`[L]` the first legal move of a role in each lane, `UNKNOWN` where there is none."""
        legal = self.legal(states, role, allow_stuck=True)
        moves = np.full(len(states), UNKNOWN, dtype=np.int64)
        playing = np.flatnonzero(legal.counts)
        moves[playing] = legal.values[legal.offsets[playing]]
        return moves

    @made_once
    def _clues(self) -> Clues:
        return Clues(self.circuit)

    def _states(self, packed: Packed) -> PropnetStates:
        return PropnetStates(self, packed)

    def _packed(self, states: States) -> Packed:
        if self._closed:
            raise MachineError("this machine is closed; build another one")
        if not isinstance(states, PropnetStates) or (
            states.owner is not self and not self._is_copy(states.owner)
        ):
            raise MachineError("these states belong to another machine")
        return states.packed

    def _is_copy(self, machine: object) -> bool:
        return isinstance(machine, PropnetMachine) and machine.growing is self.growing


# ------------------------------------------------------------------------
# Keeps freed memory for the next arrays, if the C library is glibc.
#
# The results of a batch of playouts take some megabytes. By default glibc returns such a block to
# the system as soon as it is freed, and fetching it again, page by page, can take as long as the
# playouts.

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Parameters of `mallopt`, from malloc.h."""

ARRAY_BYTES = 32 << 20
"""Larger arrays go back to the system, as does free memory beyond four times as much."""


@cache
def keep_freed_memory() -> None:
    """Make glibc keep freed memory; other C libraries are left alone."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, ARRAY_BYTES)
        mallopt(_M_TRIM_THRESHOLD, 4 * ARRAY_BYTES)
