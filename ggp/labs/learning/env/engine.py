"""The interface between an environment and a machine: `Engine`, with one implementation for every
machine and a fast one for circuits.

An engine takes states and action indices, and returns successor states, legal moves and percepts
as packed bits, in the order of `Names`; so no caller depends on the backend. `MachineEngine` asks a
`Machine` for lists and texts, lane by lane, and turns them into bits: slow, but a reference for the
fast one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ggp.errors import MachineError
from ggp.labs.learning.env.kernels import U64
from ggp.machine.arrays import rows_of_bits, words_for
from ggp.machine.base import FloatArray, IntArray, Machine, States, player_roles
from ggp.machine.circuit import FALSE, Literals, Outputs
from ggp.machine.compiling.vectors import WIDTH, aligned_words, words_of
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.play.kernels.block_kernels import run_query
from ggp.machine.propnet.play.kernels.tapes import Query
from ggp.machine.propnet.play.layout.queries import query_of
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.machine.propnet.play.turns import PropnetStates
from ggp.study.names import Names


class Engine(Protocol):
    """A game in indices and bits, for L lanes.

    The M *movers* are the players, followed by `random` if its moves are listed. A *look* is
    `[L, ...]` words: whether the game is over (lowest bit of the first word), then the legal moves
    of each mover, at the words that `starts` gives.

    Attributes:
        names: the meaning of indices.
        starts: `[M + 2]` first word of each part of a look, and the end.
    """

    names: Names
    starts: IntArray

    def initial(self, num_lanes: int) -> States:
        """The initial state in `num_lanes` lanes."""
        ...

    def look(self, states: States) -> U64:
        """`[L, ...]` a look at each state: whether the game is over, and the legal moves."""
        ...

    def play(self, states: States, actions: IntArray, keys: U64) -> tuple[States, U64]:
        """Successor states, and `[L, R, words]` the percepts of every player.

        Args:
            actions: `[L, M]` legal actions. Where the game is over, anything is accepted, and the
                successor is arbitrary.
            keys: `[L]` random bits for moves of chance that are not listed.
        """
        ...

    def goals(self, states: States) -> FloatArray:
        """`[L, R]` goal values of the players, as `Machine.goals`."""
        ...

    def merged(self, states: States, old: States, lanes: IntArray) -> States:
        """`states`, with `lanes` taken from `old`."""
        ...

    def fluent_words(self, states: States) -> U64:
        """`[L, words]` the fluents that hold."""
        ...


def layout_of(names: Names) -> IntArray:
    """The `starts` of an `Engine` for these names."""
    sizes = [1, *[words_for(len(names.moves))] * len(names.roles)]
    if names.chance:
        sizes.append(words_for(len(names.chance)))
    return np.cumsum([0, *sizes])


class MachineEngine:
    """The `Engine` of any machine.

    Args:
        machine: the game; it is asked lane by lane.
        names: names of its moves, percepts and fluents; may include others.
    """

    def __init__(self, machine: Machine, names: Names) -> None:
        self.names = names
        self.starts = layout_of(names)
        self._machine = machine
        self._players = player_roles(machine)
        self._movers = list(self._players)
        if names.chance and machine.random_role is not None:
            self._movers.append(machine.random_role)
        lists = [names.moves] * len(self._players) + [names.chance]
        self._action_index = [{text: k for k, text in enumerate(texts)} for texts in lists]
        self._percepts = {text: k for k, text in enumerate(names.percepts)}
        self._fluents = {text: k for k, text in enumerate(names.fluents)}

    def initial(self, num_lanes: int) -> States:
        return self._machine.initial(num_lanes)

    def look(self, states: States) -> U64:
        words = np.zeros((len(states), self.starts[-1]), dtype=np.uint64)
        words[:, 0] = self._machine.terminal(states)
        for mover, role in enumerate(self._movers):
            legal = self._machine.legal(states, role, allow_stuck=True)
            lanes = np.repeat(np.arange(len(states)), legal.counts)
            texts = map(self._machine.move_text, legal.values.tolist())
            bits = self._indices(self._action_index[mover], texts, "move")
            start, end = self.starts[1 + mover], self.starts[2 + mover]
            words[:, start:end] = rows_of_bits(lanes, bits, len(states), end - start)
        return words

    def play(self, states: States, actions: IntArray, keys: U64) -> tuple[States, U64]:
        machine = self._machine
        live = np.flatnonzero(~machine.terminal(states))
        joint_moves = np.zeros((len(live), len(machine.roles)), dtype=np.int64)
        for mover, role in enumerate(self._movers):
            texts = self.names.moves if mover < len(self._players) else self.names.chance
            distinct, inverse = np.unique(actions[live, mover], return_inverse=True)
            moves = [machine.move_id(texts[action]) for action in distinct.tolist()]
            joint_moves[:, role] = np.array(moves, dtype=np.int64)[inverse]
        live_states = states.take(live)
        if len(self._movers) < len(machine.roles):
            joint_moves[:, machine.random_role] = self._draw_chance(live_states, keys[live])
        stepped = machine.step(live_states, joint_moves)
        percepts = np.zeros((len(states), len(self._players), self._percept_words), dtype=np.uint64)
        for player, role in enumerate(self._players):
            percepts[live, player] = self._percept_bits(stepped.percepts[:, role])
        rows = np.full(len(states), -1)
        rows[live] = len(states) + np.arange(len(live))
        pool = machine.concatenate([states, stepped.states])
        return pool.take(np.where(rows < 0, np.arange(len(states)), rows)), percepts

    def goals(self, states: States) -> FloatArray:
        return np.asarray(self._machine.goals(states)[:, self._players])

    def merged(self, states: States, old: States, lanes: IntArray) -> States:
        rows = np.arange(len(states))
        rows[lanes] += len(states)
        return self._machine.concatenate([states, old]).take(rows)

    def fluent_words(self, states: States) -> U64:
        fluents = self._machine.fluents(states)
        lanes = np.repeat(np.arange(len(states)), list(map(len, fluents)))
        # Fluents that always hold have no index.
        indices = [self._fluents.get(text, -1) for texts in fluents for text in texts]
        bits = np.array(indices, dtype=np.int64)
        varies = bits >= 0
        num_words = words_for(len(self.names.fluents))
        return rows_of_bits(lanes[varies], bits[varies], len(states), num_words)

    @property
    def _percept_words(self) -> int:
        return words_for(len(self.names.percepts))

    def _draw_chance(self, states: States, keys: U64) -> IntArray:
        """`[L]` unlisted moves of `random`, drawn with the key of each lane."""
        machine = self._machine
        moves = np.zeros(len(states), dtype=np.int64)
        for lane, key in enumerate(keys.tolist()):
            rng, state = np.random.default_rng(key), states.take(np.array([lane]))
            chance = machine.chance(state)
            moves[lane] = rng.choice(chance.moves, p=chance.probabilities)
        return moves

    def _percept_bits(self, percepts: IntArray) -> U64:
        """`[L, words]` the percepts of `[L]` percept ids, as bits."""
        distinct, inverse = np.unique(percepts, return_inverse=True)
        rows = np.zeros((len(distinct), self._percept_words), dtype=np.uint64)
        for row, percept in zip(rows, distinct.tolist(), strict=True):
            for bit in self._indices(
                self._percepts, self._machine.percept_texts(percept), "percept"
            ).tolist():
                row[bit >> 6] |= np.uint64(1 << (bit & 63))
        return rows[inverse]

    def _indices(self, index_of: dict[str, int], texts: Iterable[str], kind: str) -> IntArray:
        indices: list[int] = []
        for text in texts:
            index = index_of.get(text)
            if index is None:
                raise MachineError(
                    f"the {kind} {text} has no index: these are not the names of this game"
                )
            indices.append(index)
        return np.array(indices, dtype=np.int64)


# ------------------------------------------------------------------------
# The fast `Engine`: two tapes of the circuit, one for successors and percepts, one for legal moves.
#
# Rule: the literals of legal moves and of percepts stand in the order of `Names`, with *false*
# where a role has no such move. So the words that the kernels write are the masks and percepts of
# the environment; nothing is numbered or copied afterwards. States are rows of words.


def suits(machine: Machine) -> TypeGuard[PropnetMachine]:
    """Whether all moves of a machine are inputs of its circuit."""
    return on_circuit(machine)


def engine_of(machine: Machine, names: Names) -> Engine:
    """The fastest engine available for a machine."""
    return CircuitEngine(machine, names) if suits(machine) else MachineEngine(machine, names)


class CircuitEngine:
    """The `Engine` of a circuit; several threads may use it at the same time.

    Args:
        machine: a machine that `suits`.
        names: the names of its circuit.
    """

    def __init__(self, machine: PropnetMachine, names: Names) -> None:
        self.names = names
        self.starts = layout_of(names)
        self._machine = machine
        circuit = machine.circuit
        self._players = player_roles(machine)
        self._movers = [*self._players]
        if machine.random_role is not None and names.chance:
            self._movers.append(machine.random_role)
        lists = [names.moves] * len(self._players) + [names.chance]
        legal = [
            in_order(circuit.legal[role], texts)
            for role, texts in zip(self._movers, lists, strict=False)
        ]
        terminal = np.array([circuit.terminal], dtype=np.int32)
        self._look = query_of(circuit, [terminal, *legal])
        # Plain GDL reveals the joint move; its circuit has no percepts.
        self._move_percepts = names.told_of_moves() if names.is_plain else None
        sees = [in_order(circuit.sees[role], names.percepts) for role in self._players]
        percepts = [] if self._move_percepts is not None else sees
        self._step = query_of(circuit, [circuit.next, *percepts], moves=True)
        self._rows_of = self._move_rows(lists)
        # Scratch for each query. A query leaves the rows of moves at 0, as it needs them.
        self._spare: dict[int, list[tuple[U64, U64]]] = {id(self._look): [], id(self._step): []}

    def initial(self, num_lanes: int) -> States:
        return self._machine.initial(num_lanes)

    def look(self, states: States) -> U64:
        packed = _packed(states)
        no_moves = np.zeros((len(packed), 0), dtype=np.int32)
        return self._ask(self._look, packed, no_moves)

    def play(self, states: States, actions: IntArray, keys: U64) -> tuple[States, U64]:
        packed = _packed(states)
        rows = self._rows_of[np.arange(len(self._movers)), actions]
        out = self._ask(self._step, packed, rows)
        self._machine.states_visited += len(packed)
        successors = np.ascontiguousarray(self._step.part(out, 0))
        num_words = words_for(len(self.names.percepts))
        if self._move_percepts is None:
            percepts = out[:, self._step.starts[1] :].reshape(len(packed), -1, num_words)
            return PropnetStates(self._machine, successors), np.ascontiguousarray(percepts)
        lanes = np.repeat(np.arange(len(packed)), len(self._movers))
        bits = self._move_percepts[np.arange(len(self._movers)), actions].ravel()
        joint_move = rows_of_bits(lanes, bits, len(packed), num_words)
        percepts = np.repeat(joint_move[:, None], len(self._players), axis=1)
        return PropnetStates(self._machine, successors), percepts

    def goals(self, states: States) -> FloatArray:
        return np.asarray(self._machine.goals(states)[:, self._players])

    def merged(self, states: States, old: States, lanes: IntArray) -> States:
        packed = _packed(states).copy()
        packed[lanes] = _packed(old)[lanes]
        return PropnetStates(self._machine, packed)

    def fluent_words(self, states: States) -> U64:
        return _packed(states)

    def _ask(self, tape: Query, packed: U64, moves: NDArray[np.int32]) -> U64:
        out = np.zeros((len(packed), tape.starts[-1]), dtype=np.uint64)
        spare = self._spare[id(tape)]
        try:
            rows, square = spare.pop()
        except IndexError:
            rows = aligned_words(tape.num_rows * words_of(WIDTH))
            square = np.zeros(64, dtype=np.uint64)
        run_query(tape, packed, moves, out, rows, square, WIDTH)
        spare.append((rows, square))
        return out

    def _move_rows(self, lists: Sequence[Sequence[str]]) -> NDArray[np.int32]:
        """`[M, ...]` row in `_step` of each action of each mover.

        An action that a mover never has gets the row of another of its moves: it is requested only
        in lanes that are over, and their successors are dropped.
        """
        circuit = self._machine.circuit
        first = 1 + len(circuit.fluents)
        ends = np.cumsum([first, *(len(outputs.names) for outputs in circuit.legal)])
        rows = np.zeros((len(self._movers), max(map(len, lists))), dtype=np.int32)
        for mover, role in enumerate(self._movers):
            rows[mover] = ends[role]
            index_of = {text: k for k, text in enumerate(lists[mover])}
            for k, text in enumerate(circuit.legal[role].names):
                rows[mover, index_of[text]] = ends[role] + k
        return rows


def _packed(states: States) -> U64:
    assert isinstance(states, PropnetStates)
    return states.packed


def in_order(outputs: Outputs, names: Sequence[str]) -> Literals:
    """The literals of a role in the order of `names`, false where it has none."""
    literal_of = dict(zip(outputs.names, outputs.literals, strict=True))
    return np.array([literal_of.get(name, FALSE) for name in names], dtype=np.int32)
