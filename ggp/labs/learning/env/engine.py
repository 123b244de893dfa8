"""The interface between an environment and a machine: `Engine`, one that suits every machine, and a
fast one for circuits.

An engine speaks in the indices of `Names` and in packed bits, so that nothing beyond it depends on
the backend. `MachineEngine` asks a `Machine` lane by lane for lists and texts, and turns them into
bits: it is slow, and right.
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
from ggp.machine.propnet.play.kernels.packed import PropnetStates
from ggp.machine.propnet.play.kernels.tapes import Query
from ggp.machine.propnet.play.layout.queries import query_of
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.study.names import Names


class Engine(Protocol):
    """A game in indices and bits, for L lanes.

    M *movers* are the players, and then `random`, if its moves are listed. A *look* is `[L, ...]`
    words: whether the game is over (the lowest bit of the first), then the legal moves of each
    mover, from `starts` on.

    Attributes:
        names: the meaning of indices.
        starts: `[M + 2]` word at which each part of a look begins, and the end.
    """

    names: Names
    starts: IntArray

    def initial(self, num_lanes: int) -> States:
        """The initial state in `num_lanes` lanes."""
        ...

    def look(self, states: States) -> U64:
        """`[L, ...]` a look at each state: whether it is over, and the legal moves."""
        ...

    def play(self, states: States, actions: IntArray, keys: U64) -> tuple[States, U64]:
        """Successor states, and `[L, R, words]` the percepts of every player.

        Args:
            actions: `[L, M]` legal ones; any where the game is over, with any result.
            keys: `[L]` random bits, from which moves of chance are drawn if they are not listed.
        """
        ...

    def goals(self, states: States) -> FloatArray:
        """`[L, R]` goal values of the players, as `Machine.goals`."""
        ...

    def merged(self, states: States, old: States, kept: IntArray) -> States:
        """`states`, with the lanes `kept` replaced by those of `old`."""
        ...

    def fluent_words(self, states: States) -> U64:
        """`[L, words]` the fluents that hold."""
        ...


def layout_of(names: Names) -> IntArray:
    """The `starts` of an `Engine` with these names."""
    sizes = [1, *[words_for(len(names.moves))] * len(names.roles)]
    if names.chance:
        sizes.append(words_for(len(names.chance)))
    return np.cumsum([0, *sizes])


class MachineEngine:
    """The `Engine` of any machine.

    Args:
        machine: asked lane by lane.
        names: of its moves, percepts and fluents; may include more.
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
        self._places = [{text: k for k, text in enumerate(texts)} for texts in lists]
        self._percepts = {text: k for k, text in enumerate(names.percepts)}
        self._fluents = {text: k for k, text in enumerate(names.fluents)}

    def initial(self, num_lanes: int) -> States:
        return self._machine.initial(num_lanes)

    def look(self, states: States) -> U64:
        found = np.zeros((len(states), self.starts[-1]), dtype=np.uint64)
        found[:, 0] = self._machine.terminal(states)
        for number, role in enumerate(self._movers):
            legal = self._machine.legal(states, role, allow_stuck=True)
            lanes = np.repeat(np.arange(len(states)), legal.counts)
            texts = map(self._machine.move_text, legal.values.tolist())
            bits = self._indices(self._places[number], texts, "move")
            start, end = self.starts[1 + number], self.starts[2 + number]
            found[:, start:end] = rows_of_bits(lanes, bits, len(states), end - start)
        return found

    def play(self, states: States, actions: IntArray, keys: U64) -> tuple[States, U64]:
        machine = self._machine
        live = np.flatnonzero(~machine.terminal(states))
        made = np.zeros((len(live), len(machine.roles)), dtype=np.int64)
        for number, role in enumerate(self._movers):
            texts = self.names.moves if number < len(self._players) else self.names.chance
            used, place = np.unique(actions[live, number], return_inverse=True)
            moves = [machine.move_id(texts[action]) for action in used.tolist()]
            made[:, role] = np.array(moves, dtype=np.int64)[place]
        going = states.take(live)
        if len(self._movers) < len(machine.roles):
            made[:, machine.random_role] = self._drawn(going, keys[live])
        stepped = machine.step(going, made)
        seen = np.zeros((len(states), len(self._players), self._percept_words), dtype=np.uint64)
        for number, role in enumerate(self._players):
            seen[live, number] = self._seen(stepped.percepts[:, role])
        place = np.full(len(states), -1)
        place[live] = len(states) + np.arange(len(live))
        both = machine.concatenate([states, stepped.states])
        return both.take(np.where(place < 0, np.arange(len(states)), place)), seen

    def goals(self, states: States) -> FloatArray:
        return np.asarray(self._machine.goals(states)[:, self._players])

    def merged(self, states: States, old: States, kept: IntArray) -> States:
        chosen = np.arange(len(states))
        chosen[kept] += len(states)
        return self._machine.concatenate([states, old]).take(chosen)

    def fluent_words(self, states: States) -> U64:
        held = self._machine.fluents(states)
        lanes = np.repeat(np.arange(len(states)), list(map(len, held)))
        # Some always hold, and have no index.
        places = [self._fluents.get(text, -1) for texts in held for text in texts]
        bits = np.array(places, dtype=np.int64)
        some = bits >= 0
        num_words = words_for(len(self.names.fluents))
        return rows_of_bits(lanes[some], bits[some], len(states), num_words)

    @property
    def _percept_words(self) -> int:
        return words_for(len(self.names.percepts))

    def _drawn(self, states: States, keys: U64) -> IntArray:
        """`[L]` unlisted moves of `random`, each lane drawn with its own key."""
        machine = self._machine
        moves = np.zeros(len(states), dtype=np.int64)
        for lane, key in enumerate(keys.tolist()):
            rng, state = np.random.default_rng(key), states.take(np.array([lane]))
            chance = machine.chance(state)
            moves[lane] = rng.choice(chance.moves, p=chance.probabilities)
        return moves

    def _seen(self, percepts: IntArray) -> U64:
        """`[L, words]` the bits of percept ids."""
        used, place = np.unique(percepts, return_inverse=True)
        rows = np.zeros((len(used), self._percept_words), dtype=np.uint64)
        for row, percept in zip(rows, used.tolist(), strict=True):
            for bit in self._indices(
                self._percepts, self._machine.percept_texts(percept), "percept"
            ).tolist():
                row[bit >> 6] |= np.uint64(1 << (bit & 63))
        return rows[place]

    def _indices(self, places: dict[str, int], texts: Iterable[str], kind: str) -> IntArray:
        found: list[int] = []
        for text in texts:
            place = places.get(text)
            if place is None:
                raise MachineError(
                    f"the {kind} {text} has no index: these are not the names of this game"
                )
            found.append(place)
        return np.array(found, dtype=np.int64)


# ------------------------------------------------------------------------
# The fast `Engine`: two tapes of the circuit, one for the results of a turn, one for legal moves.
#
# The literals of legal moves and of percepts are laid out in the order of `Names`, with *false*
# where a role has no such move, so that kernels store the masks and percepts themselves. States are
# rows of words, and percepts are not numbered.


def suits(machine: Machine) -> TypeGuard[PropnetMachine]:
    """Whether all moves of a machine are inputs of its circuit."""
    return on_circuit(machine)


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
        run_query(asked, packed, moves, out, rows, square, WIDTH)
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
