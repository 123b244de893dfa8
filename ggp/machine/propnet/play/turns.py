"""Makes the moves of many lanes at once, and looks at the successors, for searches and trees.

In come packed states and joint moves, out come successors, percepts and whether the game is over.
A search over boards asks the same questions about every successor: is the game over, who is to
move, what can be captured? With one call for each, reading states and writing lists of moves would
take several times as long as the gates. So one kernel call answers all of them, and writes only the
parts that the caller uses. `PropnetStates` are the states: one row of packed bits each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np

from ggp.machine.abilities import MoveFacts, Turned
from ggp.machine.arrays import Packed, enlarged, pack
from ggp.machine.base import BoolArray, IntArray, Ragged, ShownStates, States
from ggp.machine.compiling.vectors import aligned_words, words_of
from ggp.machine.goal_values import number_or_nan
from ggp.machine.propnet.play.kernels.lanes.growing import Goals, Listing, Seen
from ggp.machine.propnet.play.kernels.lanes.turn_parts import TurnCircuit
from ggp.machine.propnet.play.kernels.lanes.turning import (
    NO_PHASE,
    TurnPhases,
    Write,
    count_choices,
    make_turns,
    write_states,
)
from ggp.machine.propnet.play.kernels.tapes import I32, Query, Wires
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.percepts import CircuitPercepts, MoveTable
from ggp.machine.rows import RowTable
from ggp.machine.threads import made_once

WIDTH = (0,)
"""The width of kernels that make turns, 512 lanes: waves of a search are often no longer, and
blocks that are twice as wide are no faster."""

MAX_PHASES = 2
"""Phases that have circuits of their own: most often one for each role."""

Scratch = tuple[Packed, Packed, Packed, Packed]
"""Working memory of `make_turns`: `blank`, `rows`, `marks`, `square`."""

_NO_LISTS = np.zeros((0, 0), dtype=np.int64), np.zeros(0, dtype=np.int64)


class TurnAnswers(NamedTuple):
    """The fields of `Turned` after K joint moves, without the successors."""

    percepts: IntArray
    over: BoolArray
    move_facts: MoveFacts | None


class CircuitTurns:
    """The part of `PropnetMachine` that makes turns, for searches and trees."""

    roles: tuple[str, ...]
    random_role: int | None
    goal_range: tuple[float, float]
    states_visited: int
    _queries: Queries
    _moves: MoveTable
    _percepts: CircuitPercepts

    def turned(
        self,
        states: States,
        lanes: IntArray,
        joint_moves: IntArray,
        *,
        percepts: bool,
        before: Sequence[Ragged] = (),
    ) -> Turned:
        """Make joint moves.

        Args:
            states: L states.
            lanes: `[K]` the state of each joint move; fastest if equal ones are neighbours.
            joint_moves: `[K, R]` move ids.
            percepts: whether to compute percepts.
            before: the moves of each role in the L states, if successors' moves are to be compared
                with them.

        Returns:
            the successors.

        Raises:
            MachineError: these are no moves of the roles.
        """
        out = np.empty((len(joint_moves), self.num_words), dtype=np.uint64)
        answers = self.write_turns(
            write_states,
            out,
            states,
            lanes,
            joint_moves,
            percepts=percepts,
            before=before,
        )
        return Turned(self._states(out), *answers)

    def write_turns(
        self,
        write: Write,
        into: Any,
        states: States,
        lanes: IntArray,
        joint_moves: IntArray,
        *,
        percepts: bool,
        only: int | None = None,
        before: Sequence[Ragged] = (),
        width: tuple[int, ...] = WIDTH,
    ) -> TurnAnswers:
        """Make joint moves with a kernel that writes the successors in a form of its own.

        Other arguments, and errors, are those of `turned`.

        Args:
            write, into: how a kernel writes successors, and where: see `make_turns`.
            only: the only role whose percepts are computed; default: all.
            width: lanes side by side in the kernel.
        """
        packed, step, num_turns = self._packed(states), self._queries.step, len(joint_moves)
        look = self._queries.look if before else self._queries.terminal
        circuit = self._circuit(step, look, only)
        words = (len(circuit.sees.rows) + 63) >> 6
        seen = np.empty((num_turns if percepts else 0, words), dtype=np.uint64)
        over = np.empty(num_turns, dtype=np.bool_)
        choices = np.empty((num_turns, len(before)), dtype=np.int64)
        news, agains = np.empty((2, num_turns, len(before)), dtype=np.bool_)
        lists = _NO_LISTS if not before else _joined(before)
        with self.turn_scratch(look, width) as scratch:
            are_legal = make_turns(
                write,
                into,
                circuit,
                packed,
                np.ascontiguousarray(lanes),
                np.ascontiguousarray(joint_moves),
                *lists,
                *scratch,
                seen,
                over,
                choices,
                news,
                agains,
                width,
            )
        if not are_legal:
            raise self._moves.fault_of(joint_moves, num_turns)
        self.states_visited += num_turns
        percept_ids = np.zeros((0, len(self.roles)), dtype=np.int64)
        if percepts:
            query = step._replace(starts=step.starts - step.starts[1])
            percept_ids = self._percepts.after(query, seen, joint_moves, only)
        return TurnAnswers(percept_ids, over, MoveFacts(choices, news, agains) if before else None)

    def choices(self, states: States) -> IntArray:
        """`[L, R]` number of moves of each role, 2 for more, which means nothing where the game is
        over."""
        look, packed = self.looks, self._packed(states)
        choices = np.empty((len(packed), len(self.roles)), dtype=np.int64)
        with self.turn_scratch(look) as (_, rows, _, square):
            count_choices(look, packed, rows, square, choices, WIDTH)
        return choices

    @property
    def looks(self) -> Query:
        """The query that kernels of searches evaluate in states."""
        return self._queries.moves

    @property
    def looks_ahead(self) -> Query:
        """The query that kernels of searches evaluate in successors."""
        return self._queries.look

    def turn_circuit(self, look: Query) -> TurnCircuit:
        """The circuit as kernels that make turns read it; `look`: the query about successors."""
        return self._circuit(self._queries.step, look)

    def turn_phases(self, state: Packed) -> TurnPhases:
        """The circuits of phases, for kernels that make legal moves and ignore percepts.

        Their query about successors is `looks_ahead`.

        Args:
            state: a packed state. If its phase has no circuit, one is made, unless there are
                `MAX_PHASES` already.
        """
        self._in_phase(state[None])
        by_phase = list(self._small.items())[:MAX_PHASES]
        phases = np.full(MAX_PHASES, NO_PHASE)
        phases[: len(by_phase)] = [phase for phase, _ in by_phase]
        whole = self._whole_turns
        circuits = [self._circuit(queries.advance, queries.look) for _, queries in by_phase]
        first, second = (*circuits, whole, whole)[:MAX_PHASES]
        fluents = self._queries.deciding.astype(np.int32)
        return TurnPhases(whole, first, second, phases, fluents)

    def moves_circuit(self, packed: Packed) -> TurnCircuit:
        """The circuit for kernels that list the moves (`looks`) in these states."""
        queries = self._in_phase(packed)
        return self._circuit(self._queries.step, queries.moves)

    @property
    def num_fluents(self) -> int:
        """Number of fluents that can change: the bits of a packed state."""
        return len(self._queries.circuit.next)

    @property
    def num_words(self) -> int:
        """Words of a packed state."""
        return int(self._queries.step.starts[1])

    def packed_of(self, states: States) -> Packed:
        """States as such kernels read them.

        Raises:
            MachineError: they are not states of this machine.
        """
        return self._packed(states)

    def from_packed(self, packed: Packed) -> PropnetStates:
        """States as such kernels write them."""
        return self._states(packed)

    @contextmanager
    def turn_scratch(self, look: Query, width: tuple[int, ...] = WIDTH) -> Iterator[Scratch]:
        """Scratch for such a kernel."""
        spare = self._scratch.setdefault((id(look), width), [])
        try:
            scratch = spare.pop()
        except IndexError:
            scratch = self._new_scratch(look, width)
        yield scratch
        spare.append(scratch)

    def circuit_moves(self, role: int) -> IntArray:
        """`[M]` ids of a role's moves, in the order of the circuit."""
        return self._moves.numbers[role]

    # ---------------------------------------------------------------- private

    def lister(self) -> Lister:
        """A new lister, for kernels that list moves, goals and percepts of new states."""
        circuit = self.turn_circuit(self._queries.look)
        return Lister(self._queries, self._percepts, circuit, self._goals_in_kernels())

    def _goals_in_kernels(self) -> Goals:
        queries, words, (low, high) = self._queries, words_of(WIDTH), self.goal_range
        size = 64 * int(queries.goals.starts[-1])
        points, usual = np.zeros(size), np.zeros(size, dtype=np.int64)
        for outputs, start in zip(queries.circuit.goals, queries.goals.starts, strict=False):
            values = np.array([number_or_nan(name) for name in outputs.names])
            is_usual, first = (values >= low) & (values <= high), 64 * start
            points[first : first + len(values)] = np.where(is_usual, values, 0.0)
            usual[first : first + len(values)] = np.where(is_usual, 1, 2)
        return Goals(
            queries.goals,
            fluents_read(queries.goals),
            points,
            usual,
            float(low),
            float(high),
            -1 if self.random_role is None else self.random_role,
            aligned_words(queries.goals.num_rows * words),
            np.zeros(2 * words, dtype=np.uint64),
        )

    def _packed(self, states: States) -> Packed:
        raise NotImplementedError

    def _states(self, packed: Packed) -> PropnetStates:
        raise NotImplementedError

    @made_once
    def _begins(self) -> IntArray:
        """`[R]` row in `Queries.step` of the first move of each role."""
        return self._queries.first_move_row + self._queries.role_moves[:-1].astype(np.int64)

    @made_once
    def _scratch(self) -> dict[tuple[int, tuple[int, ...]], list[Scratch]]:
        """Unused scratch of kernels, by query and width; queries live as long as the machine."""
        return {}

    @made_once
    def _circuits(self) -> dict[tuple[int, int, int | None], TurnCircuit]:
        """Circuits by the queries about states and about successors, and by `only`."""
        return {}

    def _circuit(self, step: Query, look: Query, only: int | None = None) -> TurnCircuit:
        """`only`: the only role whose percepts are computed; default: all."""
        key = id(step), id(look), only
        circuit = self._circuits.get(key)
        if circuit is None:
            moves = self._moves
            first, end = 64 * step.starts[1], 64 * step.starts[-1]
            if only is not None:
                first, end = 64 * step.starts[1 + only], 64 * step.starts[2 + only]
            circuit = self._circuits[key] = TurnCircuit(
                step,
                step.literals(0, len(self._queries.circuit.next)),
                Wires(step.wires.rows[first:end], step.wires.inverted[first:end]),
                look,
                fluents_read(look),
                moves.rows,
                self._begins,
                np.concatenate(moves.numbers[: len(self.roles)]),
            )
        return circuit

    @made_once
    def _whole_turns(self) -> TurnCircuit:
        """The circuit for any phase, without percepts."""
        queries = self._queries
        has_room = queries.advance.num_rows <= queries.step.num_rows
        return self._circuit(queries.advance if has_room else queries.step, queries.look)

    @made_once
    def _small(self) -> dict[int, Queries]:
        """The queries of each phase that has a circuit, at most `MAX_PHASES`."""
        return {}

    @made_once
    def _deciding_bits(self) -> list[tuple[int, np.uint64]]:
        """For each word of a packed state with deciding fluents: its index, and their mask."""
        bits = pack(np.isin(np.arange(64 * self.num_words), self._queries.deciding))
        return [(int(word), bits[word]) for word in np.flatnonzero(bits)]

    def _in_phase(self, packed: Packed) -> Queries:
        """The queries for some states: the queries of their phase if all are in the same one."""
        queries, fluents = self._queries, self._queries.deciding
        if not len(fluents) or not len(packed):
            return queries
        for word, mask in self._deciding_bits:
            first = packed[0, word] & mask
            if len(packed) > 1 and (packed[:, word] & mask != first).any():
                return queries
        is_true = packed[0, fluents >> 6] >> (fluents & 63).astype(np.uint64) & np.uint64(1) > 0
        phase = int(is_true @ (1 << np.arange(len(is_true))))
        if phase not in self._small and len(self._small) < MAX_PHASES:
            small = queries.in_phase(is_true)
            pairs = (
                (small.advance, queries.step),
                (small.look, queries.look),
                (small.moves, queries.moves),
            )
            # A phase may only replace the circuit if its rows fit scratch, whose size is that of
            # the whole circuit.
            has_room = all(query.num_rows <= whole_query.num_rows for query, whole_query in pairs)
            self._small.setdefault(phase, small if has_room else queries)
        return self._small.get(phase, queries)

    def _new_scratch(self, look: Query, width: tuple[int, ...]) -> Scratch:
        words = words_of(width)
        most = int(np.diff(self._queries.moves.starts).max(initial=0))
        return (
            aligned_words(self._queries.step.num_rows * words),
            aligned_words(look.num_rows * words),
            aligned_words(64 * most * words),
            np.zeros(64, dtype=np.uint64),
        )


def fluents_read(look: Query) -> I32:
    """The fluents that a query reads."""
    inputs = np.unique(np.concatenate([look.tape.inputs, look.wires.rows]))
    return (inputs[(inputs > 0) & (inputs <= len(look.row_of))] - 1).astype(np.int32)


def _joined(lists: Sequence[Ragged]) -> tuple[IntArray, IntArray]:
    """The offsets of all lists, as rows, and their values, one after the other."""
    ends = np.cumsum([0, *(len(moves.values) for moves in lists)])
    offsets = np.stack([moves.offsets + end for moves, end in zip(lists, ends, strict=False)])
    return offsets, np.concatenate([moves.values for moves in lists])


# ------------------------------------------------------------------------
# The working memory of kernels that grow trees: see `kernels.lanes.growing`.
#
# A lister belongs to one tree and to one thread, because it has its own scratch and its own table
# of percept ids. A kernel can look ids up but not make them: it stops at percepts that the table
# lacks, and `learn` gets their ids from the machine.


FIRST_MOVES = 1 << 12
"""Number of moves that a new lister has room for."""


class Lister:
    """The `Listing` of one tree.

    Args:
        circuit: its query about successors is `Queries.look`.

    Attributes:
        listing: the arrays that kernels read and write.
    """

    def __init__(
        self, queries: Queries, percepts: CircuitPercepts, circuit: TurnCircuit, goals: Goals
    ) -> None:
        words, num_roles = words_of(WIDTH), len(queries.circuit.roles)
        most, step, look = 64 * words, queries.step, circuit.look
        is_open = not percepts.is_gdl2
        self._percepts = percepts
        # What kernels write is the part of `step` behind the next state.
        self._step = step._replace(starts=step.starts - step.starts[1])
        starts = self._step.starts[1 : num_roles + 2]
        self._table = RowTable(num_roles if is_open else 1 + int(np.diff(starts).max()))
        self.listing = Listing(
            circuit,
            goals,
            Seen(
                is_open,
                starts,
                *self._table.tables,
                np.zeros(0, dtype=np.int64),
                np.zeros((1, self._table.rows.shape[1]), dtype=np.uint64),
            ),
            aligned_words(step.num_rows * words),
            aligned_words(look.num_rows * words),
            np.zeros(64, dtype=np.uint64),
            np.empty(most, dtype=np.int64),
            np.empty((most, int(step.starts[1])), dtype=np.uint64),
            np.empty((most, int(step.starts[-1] - step.starts[1])), dtype=np.uint64),
            np.zeros((most, num_roles), dtype=np.int64),
            np.empty(most, dtype=np.bool_),
            np.empty((most, num_roles)),
            np.empty((most, num_roles), dtype=np.int64),
            np.empty((num_roles, most + 1), dtype=np.int64),
            np.empty(FIRST_MOVES, dtype=np.int64),
        )

    def make_room(self, moves: int) -> None:
        """Make room for lists of this many moves."""
        if moves > len(self.listing.values):
            self.listing = self.listing._replace(values=np.empty(2 * moves, dtype=np.int64))

    def learn(self, moves: IntArray) -> None:
        """Learn the ids of the percepts after `[K, R]` joint moves, which were just listed."""
        listing, seen, count = self.listing, self.listing.seen, len(moves)
        ids = self._percepts.after(self._step, listing.words[:count], moves)
        if seen.is_open:
            self._know(moves.astype(np.uint64), ids[:, 0])
        else:
            for role, (start, end) in enumerate(zip(seen.starts, seen.starts[1:], strict=False)):
                keys = np.zeros((count, seen.key.shape[1]), dtype=np.uint64)
                keys[:, 0], keys[:, 1 : 1 + end - start] = role, listing.words[:count, start:end]
                self._know(keys, ids[:, role])
        rows, slots = self._table.tables
        self.listing = listing._replace(seen=self.listing.seen._replace(keys=rows, slots=slots))

    def _know(self, keys: Packed, ids: IntArray) -> None:
        listing, numbers = self.listing, self._table.numbers(keys)
        all_ids = enlarged(listing.seen.ids, len(self._table), 0)
        all_ids[numbers] = ids
        self.listing = listing._replace(seen=listing.seen._replace(ids=all_ids))


# ------------------------------------------------------------------------
# Batches of states as packed bits, lane by lane: the `States` of the circuit backend.

_FEW = 256
"""Up to so many lanes are copied without a check whether they are all lanes in order."""


class _TellsFluents(Protocol):
    def fluents(self, states: States, /) -> list[tuple[str, ...]]: ...


class PropnetStates(ShownStates):
    """A batch of states: `packed[L, ceil(F / 64)]`, item f of a lane is fluent f."""

    __slots__ = ("owner", "packed")

    def __init__(self, owner: _TellsFluents, packed: Packed) -> None:
        self.owner = owner
        self.packed = packed

    def __len__(self) -> int:
        return len(self.packed)

    def first_fluents(self) -> tuple[str, ...]:
        return self.owner.fluents(PropnetStates(self.owner, self.packed[:1]))[0]

    def take(self, lanes: IntArray) -> PropnetStates:
        """The lanes with these indices, in this order, repeats allowed."""
        is_long = len(lanes) == len(self.packed) > _FEW
        if is_long and lanes[0] == 0 and (np.diff(lanes) == 1).all():
            return self  # to copy all of them would take as long as to make them
        return PropnetStates(self.owner, self.packed.take(lanes, axis=0))
