"""The fast `Engine`: two tapes of the circuit, one for the results of a turn, one for legal moves.

The literals of legal moves and of percepts are laid out in the order of `Names`, with *false* where
a role has no such move, so that kernels store the masks and percepts themselves. States are rows of
words, and percepts are not numbered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from ggp.labs.learning.env.engine import Engine, MachineEngine, layout_of
from ggp.labs.learning.env.kernels import U64
from ggp.machine.base import FloatArray, IntArray, Machine, States, player_roles
from ggp.machine.propnet.circuit import FALSE, Literals, Outputs
from ggp.machine.propnet.parts import parts_of
from ggp.machine.propnet.play.kernels.block_kernels import query
from ggp.machine.propnet.play.kernels.packed import PropnetStates, rows_of_bits, words_for
from ggp.machine.propnet.play.kernels.tapes import Query
from ggp.machine.propnet.play.kernels.vectors import WIDTH, aligned_words, words_of
from ggp.machine.propnet.play.layout.queries import query_of
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.study.names import Names


def suits(machine: Machine) -> TypeGuard[PropnetMachine]:
    """Whether all moves of a machine are inputs of its circuit."""
    return isinstance(machine, PropnetMachine) and not parts_of(machine.circuit).apart


def engine_of(machine: Machine, names: Names) -> Engine:
    """The fastest engine available for a machine."""
    return CircuitEngine(machine, names) if suits(machine) else MachineEngine(machine, names)


class CircuitEngine:
    """The `Engine` of a circuit; several threads may use it at once.

    Args:
        machine: one that `suits`.
        names: those of its circuit.
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
        # Plain GDL reveals the joint move, and nothing of that is in the circuit.
        self._told = names.told_of_moves() if names.is_plain else None
        sees = [in_order(circuit.sees[role], names.percepts) for role in self._players]
        told = [] if self._told is not None else sees
        self._step = query_of(circuit, [circuit.next, *told], moves=True)
        self._rows_of = self._move_rows(lists)
        # Scratch of each query, which leaves the rows of moves as it found them: at 0.
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
        after = np.ascontiguousarray(self._step.part(out, 0))
        num_words = words_for(len(self.names.percepts))
        if self._told is None:
            seen = out[:, self._step.starts[1] :].reshape(len(packed), -1, num_words)
            return PropnetStates(self._machine, after), np.ascontiguousarray(seen)
        lanes = np.repeat(np.arange(len(packed)), len(self._movers))
        bits = self._told[np.arange(len(self._movers)), actions].ravel()
        everybody = rows_of_bits(lanes, bits, len(packed), num_words)
        seen = np.repeat(everybody[:, None], len(self._players), axis=1)
        return PropnetStates(self._machine, after), seen

    def goals(self, states: States) -> FloatArray:
        return np.asarray(self._machine.goals(states)[:, self._players])

    def merged(self, states: States, old: States, kept: IntArray) -> States:
        packed = _packed(states).copy()
        packed[kept] = _packed(old)[kept]
        return PropnetStates(self._machine, packed)

    def fluent_words(self, states: States) -> U64:
        return _packed(states)

    def _ask(self, asked: Query, packed: U64, moves: NDArray[np.int32]) -> U64:
        out = np.zeros((len(packed), asked.starts[-1]), dtype=np.uint64)
        spare = self._spare[id(asked)]
        try:
            rows, square = spare.pop()
        except IndexError:
            rows = aligned_words(asked.num_rows * words_of(WIDTH))
            square = np.zeros(64, dtype=np.uint64)
        query(asked, packed, moves, out, rows, square, WIDTH)
        spare.append((rows, square))
        return out

    def _move_rows(self, lists: Sequence[Sequence[str]]) -> NDArray[np.int32]:
        """`[M, ...]` row in `_step` of each action of each mover.

        A move that a mover never has gets the row of some other of its moves: it is requested only
        in lanes that are over, of which nothing is kept.
        """
        circuit = self._machine.circuit
        first = 1 + len(circuit.fluents)
        ends = np.cumsum([first, *(len(outputs.names) for outputs in circuit.legal)])
        rows = np.zeros((len(self._movers), max(map(len, lists))), dtype=np.int32)
        for number, role in enumerate(self._movers):
            rows[number] = ends[role]
            place = {text: k for k, text in enumerate(lists[number])}
            for k, text in enumerate(circuit.legal[role].names):
                rows[number, place[text]] = ends[role] + k
        return rows


def _packed(states: States) -> U64:
    assert isinstance(states, PropnetStates)
    return states.packed


def in_order(outputs: Outputs, names: Sequence[str]) -> Literals:
    """The literals of a role in the order of names, false where it has none."""
    place = dict(zip(outputs.names, outputs.literals, strict=True))
    return np.array([place.get(name, FALSE) for name in names], dtype=np.int32)
