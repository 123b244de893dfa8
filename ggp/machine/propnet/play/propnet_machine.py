"""The fast machine: `Machine` on a circuit of bits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import RLock
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ggp.clocks import TellsTime
from ggp.errors import MachineError, NoLegalMoveError
from ggp.gdl import canonical_term
from ggp.gdl.joint_move_percepts import PLAIN
from ggp.gdl.program import RANDOM
from ggp.machine.abilities import PlayoutSums, TrialBatch
from ggp.machine.arrays import first_seen, offsets_of
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
from ggp.machine.compiling.jit import load_at_once
from ggp.machine.freed_memory import keep_freed_memory
from ggp.machine.goal_values import GoalValues
from ggp.machine.percepts.joint_percepts import JointMovesTold, joint_percepts
from ggp.machine.percepts.percept_table import PerceptTable
from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.parts import parts_of
from ggp.machine.propnet.play.clues import MOST_CLUES, Clues
from ggp.machine.propnet.play.few import FewStates
from ggp.machine.propnet.play.kernels.block_kernels import count_bits, list_bits, query
from ggp.machine.propnet.play.kernels.blocks import PlayoutPlan, Queue
from ggp.machine.propnet.play.kernels.matching import advance_matching
from ggp.machine.propnet.play.kernels.narrow import NARROW
from ggp.machine.propnet.play.kernels.packed import Packed, PropnetStates, pack, pack_rows, unpack
from ggp.machine.propnet.play.kernels.tapes import Query
from ggp.machine.propnet.play.kernels.vectors import WIDTH, aligned_words, words_of
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.moves import MoveTable
from ggp.machine.propnet.play.percepts import RowPercepts, percept_names, percepts_of_roles
from ggp.machine.propnet.play.queues import Queues
from ggp.machine.propnet.play.runs import Done, QueuePlayer
from ggp.machine.propnet.reports import PassReport
from ggp.machine.rows import RowTable, grouped
from ggp.machine.threads import made_once


class PropnetMachine:
    """`Machine` on a circuit; several threads may use it at once (see `ggp.machine.threads`).

    Args:
        circuit: the circuit of the game.
        is_gdl2: false for plain GDL, where every role sees the joint move.
        told_by: the name in percepts that contain it in GDL-II, None if none do (see
            `ggp.gdl.joint_move_percepts`).
        threads: number of processors to use; results do not depend on it.
        reports: the reports of how the circuit was optimised.

    Attributes:
        growing: held while tables grow.
        parts: the parts of moves of `random` that are not listed.
    """

    backend = "propnet"
    side_by_side = 64 * words_of(WIDTH)
    goal_range = (0.0, 100.0)

    def __init__(
        self,
        circuit: Circuit,
        *,
        is_gdl2: bool,
        told_by: str | None = None,
        threads: int = 1,
        reports: Sequence[PassReport] = (),
    ) -> None:
        self.parts = parts_of(circuit)
        self.roles = circuit.roles[: self.parts.num_roles]
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
        self._moves = self._new_moves()
        self._percepts = PerceptTable(self._knows_percepts(), self.growing)
        name = PLAIN if not is_gdl2 else told_by
        self._told = None if name is None else JointMovesTold(name, self.growing)
        self._goal_values = GoalValues(self.roles, self.random_role)
        self._few = FewStates(self._queries, self._moves)
        self._blank: list[tuple[Packed, Packed]] = []  # scratch of `step_matching`
        keep_freed_memory()

    # ---------------------------------------------------------------- batches

    def initial(self, num_lanes: int = 1) -> PropnetStates:
        return self._states(np.repeat(self._initial[None], num_lanes, axis=0))

    def concatenate(self, batches: Sequence[States]) -> PropnetStates:
        packed = [self._packed(batch) for batch in batches]
        joined = np.concatenate([self._initial[None][:0], *packed])
        # For single lanes it may be in Fortran order, for which kernels would be compiled anew.
        return self._states(np.ascontiguousarray(joined))

    def groups(self, states: States) -> IntArray:
        return grouped(self._packed(states))[1]

    # ---------------------------------------------------------------- semantics

    def terminal(self, states: States) -> BoolArray:
        found = self._ask(self._queries.terminal, self._packed(states))
        return np.asarray(found[:, 0] != 0)

    def goals(self, states: States) -> FloatArray:
        asked = self._queries.goals
        found = self._ask(asked, self._packed(states))
        values = np.zeros((len(found), len(self.roles)))
        for role, outputs in enumerate(self.circuit.goals[: len(self.roles)]):
            # Lanes with the same goal values are settled together.
            rows = asked.part(found, role)
            first, group = first_seen(rows.view(np.int64))
            held = unpack(rows[first], len(outputs.names))
            settled = [
                self._goal_values.settle(role, [outputs.names[k] for k in np.flatnonzero(lane)])
                for lane in held
            ]
            values[:, role] = np.array(settled, dtype=np.float64)[group]
        return values

    def goal_texts(self, states: States) -> list[tuple[tuple[str, ...], ...]]:
        """See `GoalTexts`."""
        asked = self._queries.goals
        found = self._ask(asked, self._packed(states))
        columns = []
        for role, outputs in enumerate(self.circuit.goals[: len(self.roles)]):
            held = unpack(np.ascontiguousarray(asked.part(found, role)), len(outputs.names))
            columns.append([tuple(outputs.names[k] for k in np.flatnonzero(lane)) for lane in held])
        return list(zip(*columns, strict=True))

    def legal(self, states: States, role: int, *, allow_stuck: bool = False) -> Ragged:
        packed = self._packed(states)
        few = self._few.legal(packed, role)
        if few is not None:
            lane, offsets, values = few
            if lane >= 0 and not allow_stuck:
                self._say_stuck(packed, lane, role)
            return Ragged(offsets, values)
        asked = self._queries.legal(role)
        found = self._ask(asked, packed)
        over = asked.part(found, 1)[:, 0] != 0
        moves = np.ascontiguousarray(asked.part(found, 0))
        moves[over] = 0
        counts, values = self._listed(moves, role)
        stuck = (counts == 0) & ~over
        if not allow_stuck and stuck.any():
            self._say_stuck(packed, int(np.argmax(stuck)), role)
        return Ragged(offsets_of(counts), values)

    def _say_stuck(self, packed: Packed, lane: int, role: int) -> NoReturn:
        state = self._states(packed[lane][None])
        raise NoLegalMoveError(self.roles[role], self.fluents(state)[0])

    def chance(self, states: States) -> Chance:
        return even_chance(self, states)

    def step(self, states: States, joint_moves: IntArray) -> Stepped:
        packed = self._packed(states)
        asked = self._queries.step
        joint_moves = np.asarray(joint_moves)
        spread = self._moves.spread(joint_moves)
        out = self._few.stepped(packed, spread)
        if out is None:
            rows = self._moves.rows_of(spread, len(packed))
            out = self._evaluate(asked, packed, rows)
        num = len(packed)
        self.states_visited += num
        successors = self._states(np.ascontiguousarray(asked.part(out, 0)))
        percepts = np.zeros((num, len(self.roles)), dtype=np.int64)
        if not self._is_gdl2:
            percepts[:] = self._joint_percepts.ids(joint_moves.astype(np.uint64))[:, None]
        elif num == 1:
            for role, table in enumerate(self._role_percepts):
                if table is not None:
                    percepts[:, role] = table.ids(asked.part(out, 1 + role))
        else:
            with self.growing:  # once for all roles
                for role, table in enumerate(self._role_percepts):
                    if table is not None:
                        percepts[:, role] = table.numbered(asked.part(out, 1 + role))
        return Stepped(successors, percepts)

    def step_matching(
        self,
        states: States,
        lanes: IntArray,
        joint_moves: IntArray,
        role: int,
        percepts: IntArray,
    ) -> tuple[IntArray, States] | None:
        table = self._role_percepts[role] if self._is_gdl2 else None
        if table is None:
            return None
        packed, asked = self._packed(states), self._queries.step
        told = percepts != UNKNOWN
        wanted, possible = table.rows_of(percepts)
        if (told & ~possible).any():
            return None
        matches = np.empty(len(lanes), dtype=np.int64)
        out = np.empty((len(lanes), packed.shape[1]), dtype=np.uint64)
        try:
            scratch = self._blank.pop()
        except IndexError:
            scratch = self._new_blank()
        found = advance_matching(
            packed,
            lanes,
            asked.row_of,
            self._moves.spread(joint_moves),
            self._moves.rows,
            asked.tape,
            asked.literals(0, len(self.circuit.next)),
            asked.literals(1 + role, len(self.circuit.sees[role].names)),
            wanted,
            np.ascontiguousarray(percepts),
            *scratch,
            matches,
            out,
            WIDTH,
        )
        self._blank.append(scratch)
        if found < 0:
            # Raises an error that says what is wrong.
            self._moves.rows_of(self._moves.spread(joint_moves), len(lanes))
        num = len(lanes)
        self.states_visited += num
        return matches[:found], self._states(out[:found].copy())

    def legal_behind(
        self, states: States, mover: int, percepts: IntArray, role: int, more_than: int
    ) -> tuple[Ragged, IntArray] | None:
        if not self._is_gdl2 or len(self._moves.numbers[mover]) <= more_than:
            return None
        asked = self._queries.legal(mover)
        found = self._ask(asked, self._packed(states))
        moves = np.ascontiguousarray(asked.part(found, 0))
        moves[asked.part(found, 1)[:, 0] != 0] = 0
        totals = np.bitwise_count(moves).sum(axis=1, dtype=np.int64)
        long = (totals > more_than) & (percepts != UNKNOWN)
        for seen in np.unique(percepts[long])[:MOST_CLUES].tolist():
            behind = self._clues.moves_behind(self.percept_texts(seen), role, mover)
            if behind is not None:
                moves[long & (percepts == seen)] &= behind
        counts, values = self._listed(moves, mover)
        return Ragged(offsets_of(counts), values), totals

    def circuit_moves(self, role: int) -> IntArray:
        """See `OnCircuit`."""
        return self._moves.numbers[role]

    def _new_blank(self) -> tuple[Packed, Packed]:
        """Rows for `step`, zero except those of states and gates, and 64 words."""
        num_words = self._queries.step.num_rows * words_of(WIDTH)
        return aligned_words(num_words), np.zeros(64, dtype=np.uint64)

    def playout(
        self,
        states: States,
        rng: np.random.Generator,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> Playouts:
        queue = self.queue_of(states)
        steps = np.empty(len(states), dtype=np.int64)
        finished = np.empty(len(states), dtype=np.bool_)

        def done(first: int, end: int) -> None:
            steps[first:end] = queue.spread[first:end, 0]
            np.equal(queue.unfinished[first:end], 0, out=finished[first:end])

        self._play(queue, rng, max_steps, max_seconds, clock, done)
        return Playouts(queue.goals, steps, finished)

    def playouts_after(
        self,
        states: States,
        role: int,
        trials: TrialBatch,
        rng: np.random.Generator,
        *,
        cut_value: float,
        spread: bool,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> PlayoutSums:
        places = self._moves.places[role][trials.moves]
        queue = self._queues.of_trials(
            self._packed(states), role, trials, places, cut_value, spread=spread
        )
        self._play(queue, rng, max_steps, max_seconds, clock)
        found = queue.spread.T if spread else np.zeros((3, 0))
        return PlayoutSums(queue.goals[:, 0], not queue.unfinished.any(), *found)

    def _play(
        self,
        queue: Queue,
        rng: np.random.Generator,
        max_steps: int,
        max_seconds: float | None,
        clock: TellsTime,
        done: Done | None = None,
    ) -> None:
        visited = self._player.play(queue, rng, max_steps, max_seconds, done, clock)
        self.states_visited += visited
        self._queues.warn_of_goals(queue)

    @made_once
    def _queues(self) -> Queues:
        return Queues(self._queries, self._goal_values, self.goal_range)

    @made_once
    def _player(self) -> QueuePlayer:
        return QueuePlayer(self._queries.playout, self.threads)

    # ---------------------------------------------------------------- terms

    def move_id(self, move: str) -> int | None:
        return self._moves.id(move)

    def move_text(self, move: int) -> str:
        return self._moves.text(move)

    def percept_id(self, percepts: Sequence[str]) -> int | None:
        return self._percepts.find(list(map(canonical_term, percepts)))

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        try:
            return self._percepts.texts(percept)
        except KeyError:
            raise MachineError(f"there is no set of percepts number {percept}") from None

    def told_moves(self, percepts: IntArray) -> IntArray | None:
        return None if self._told is None else self._told.of(self, percepts)

    @property
    def fluent_names(self) -> tuple[str, ...]:
        return (*self.circuit.fluents, *self.circuit.constant)

    def fluent_words(self, states: States) -> Packed:
        packed = self._packed(states)
        fluents, always = len(self.circuit.fluents), len(self.circuit.constant)
        if not always:
            return packed
        constant = pack(np.arange(fluents + always) >= fluents)
        held = np.repeat(constant[None], len(packed), axis=0)
        held[:, : packed.shape[1]] |= packed
        return held

    def from_fluent_bits(self, bits: BoolArray) -> PropnetStates:
        return self._states(pack_rows(bits[:, : len(self.circuit.fluents)]))

    def fluent_bits(self, states: States) -> BoolArray:
        return unpack(self.fluent_words(states), len(self.fluent_names))

    def fluents(self, states: States) -> list[tuple[str, ...]]:
        names = self.fluent_names
        held = self.fluent_bits(states)
        return [tuple(sorted(names[f] for f in np.flatnonzero(lane))) for lane in held]

    def written(self, states: States) -> list[tuple[str, ...]]:
        """See `StateWriter`."""
        return self.fluents(states)

    def from_written(self, texts: Sequence[tuple[str, ...]]) -> PropnetStates:
        """See `StateWriter`."""
        place = {name: k for k, name in enumerate(self.fluent_names)}
        bits = np.zeros((len(texts), len(place)), dtype=np.bool_)
        for lane, fluents in enumerate(texts):
            try:
                bits[lane, [place[fluent] for fluent in fluents]] = True
            except KeyError as error:
                raise MachineError(f"{error.args[0]} can never hold by these rules") from None
        return self.from_fluent_bits(bits)

    def queue_of(self, states: States) -> Queue:
        """A queue that plays every lane out once, for the goals of all roles."""
        return self._queues.once(self._packed(states))

    @property
    def playout_plan(self) -> PlayoutPlan:
        """The plan of random playouts."""
        return self._queries.playout

    def cones(self) -> list[dict[str, str | int]]:
        """Numbers of gates and literals of each cone that is evaluated as a whole, by name."""
        queries = self._queries
        tapes = {
            "playout, every step: legal and terminal": queries.playout.look,
            "playout, every step: next": queries.playout.act,
            "playout, at the end: goals": queries.playout.judge,
            "step: next and sees": queries.step.tape,
        }
        return [
            {"name": name, "gates": len(tape.outputs), "literals": len(tape.inputs)}
            for name, tape in tapes.items()
        ]

    def lay_out(self) -> None:
        """Lay out every query, so that no later call waits for that.

        Raises:
            IndexError, KeyError, ValueError: the circuit is not one of a game with these roles.
        """
        queries = self._queries
        for role in range(len(self.roles)):
            queries.legal(role)
        _ = queries.terminal, queries.goals, queries.step, queries.playout

    def warm_up(self) -> None:
        """Load or compile every kernel, so that no later call waits for that."""
        load_at_once()
        states = self.initial(2)
        many = self.initial(NARROW + 1)
        self.groups(states)
        RowTable(1).numbers(np.arange(1000, dtype=np.uint64)[:, None])  # a table that grows
        self._ask(self._queries.goals, many.packed)
        self.legal(many, 0, allow_stuck=True)
        moves = [self._some_moves(states, role) for role in range(len(self.roles))]
        joint_moves = np.stack(moves, axis=1)
        if (joint_moves != UNKNOWN).all():
            percepts = self.step(states, joint_moves).percepts
            for role in range(len(self.roles)):
                self.step_matching(states, np.arange(2), joint_moves, role, percepts[:, role])
        # Not `playout`, which may warn about goal values.
        self._player.play(self.queue_of(states), np.random.default_rng(0), 2, None)
        self.states_visited = 0

    def close(self) -> None:
        self._closed = True

    def use_one_thread(self) -> None:
        """See `Forkable`."""
        self.threads = 1
        self._player.use_one_thread()

    # ---------------------------------------------------------------- private

    def _some_moves(self, states: States, role: int) -> IntArray:
        """`[L]` some legal move of a role in each lane, `UNKNOWN` where there is none."""
        legal = self.legal(states, role, allow_stuck=True)
        moves = np.full(len(states), UNKNOWN, dtype=np.int64)
        some = np.flatnonzero(legal.counts)
        moves[some] = legal.values[legal.offsets[some]]
        return moves

    def _knows_percepts(self) -> Callable[[str], bool]:
        """A function that tells whether the game can have a percept."""
        return percept_names(self.circuit, is_gdl2=self._is_gdl2).__contains__

    def _new_moves(self) -> MoveTable:
        return MoveTable(self._queries)

    @made_once
    def _clues(self) -> Clues:
        return Clues(self.circuit)

    @made_once
    def _role_percepts(self) -> list[RowPercepts | None]:
        return percepts_of_roles(self.circuit, self._percepts)[: len(self.roles)]

    @made_once
    def _joint_percepts(self) -> RowPercepts:
        def spell(rows: Packed) -> list[tuple[str, ...]]:
            return [
                joint_percepts(self.roles, list(map(self._moves.text, row)))
                for row in rows.tolist()
            ]

        return RowPercepts(self._percepts, len(self.roles), spell)

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

    def _is_copy(self, other: object) -> bool:
        return isinstance(other, PropnetMachine) and other.growing is self.growing

    def _listed(self, moves: Packed, role: int) -> tuple[IntArray, IntArray]:
        """The number of a role's moves set in each lane, and the moves."""
        names = self._moves.numbers[role]
        if count_bits.is_spared(len(moves)):
            held = unpack(moves, len(names)) != 0
            return held.sum(axis=1), names[np.nonzero(held)[1]]
        counts = np.zeros(len(moves), dtype=np.int64)
        count_bits(moves, counts)
        values = np.zeros(counts.sum(), dtype=np.int64)
        list_bits(moves, names, values)
        return counts, values

    def _ask(self, asked: Query, packed: Packed) -> Packed:
        """The words of a query's literals in states, whatever moves are made."""
        if len(packed) > NARROW:
            return self._evaluate(asked, packed, np.zeros((len(packed), 0), dtype=np.int32))
        return self._few.ask(asked, packed)

    def _evaluate(self, asked: Query, packed: Packed, moves: NDArray[np.int32]) -> Packed:
        out = np.zeros((len(packed), asked.starts[-1]), dtype=np.uint64)

        scratch = aligned_words(asked.num_rows * words_of(WIDTH)), np.empty(64, dtype=np.uint64)
        query(asked, packed, moves, out, *scratch, WIDTH)
        return out
