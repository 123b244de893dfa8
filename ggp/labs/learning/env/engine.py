"""The interface between an environment and a machine: `Engine`, with one implementation for every
machine and a fast one for circuits.

An engine takes states and action indices, and returns successor states, legal moves and percepts
as packed bits, in the order of `Names`; so no caller depends on the backend. `MachineEngine` asks a
`Machine` for lists and texts, lane by lane, and turns them into bits: slow, but a reference for the
fast one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeGuard

import numpy as np

from ggp.errors import MachineError
from ggp.labs.learning.env.kernels import U64, Bools, TurnTapes, make_turns
from ggp.machine.arrays import rows_of_bits, words_for
from ggp.machine.base import FloatArray, IntArray, Machine, States, player_roles, replace_lanes
from ggp.machine.circuit import FALSE, Literals, Outputs
from ggp.machine.compiling.vectors import WIDTH, aligned_words, words_of
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.play.kernels.block_kernels import NO_MOVES, run_query
from ggp.machine.propnet.play.kernels.tapes import I32, Wires
from ggp.machine.propnet.play.layout.queries import query_of
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.machine.propnet.play.turns import PropnetStates
from ggp.study.names import Names


class AfterTurn(NamedTuple):
    """L lanes after a turn.

    Attributes:
        states: the successors.
        look: `[..., L]` a look at them.
        percepts: `[R * words, L]` percepts of every player.
    """

    states: States
    look: U64
    percepts: U64


ALL = np.zeros(0, dtype=np.bool_)
"""All lanes, where some may be named."""

BLOCK = 64 * words_of(WIDTH)
"""The lanes that a circuit plays together: fewer cost as much."""


class Engine(Protocol):
    """A game in indices and bits, for L lanes.

    The M *movers* are the players, followed by `random` if its moves are listed. A *look* is
    `[..., L]` words: whether the game is over (lowest bit of the first word), and perhaps which
    goal values hold; then the legal moves of each mover, at the words that `starts` gives.

    Attributes:
        names: the meaning of indices.
        starts: `[M + 2]` first word of each part of a look, and the end.
        goal_names: for each player, the goal values that have bits in a look, from bit 1 on; those
            that count first come first. None at all: only `goals` knows.
    """

    names: Names
    starts: IntArray
    goal_names: Sequence[Sequence[str]]

    def initial(self, num_lanes: int) -> States:
        """The initial state in `num_lanes` lanes."""
        ...

    def look(self, states: States) -> U64:
        """`[..., L]` a look at each state."""
        ...

    def play(self, states: States, actions: IntArray, keys: U64, live: Bools = ALL) -> AfterTurn:
        """Make a turn.

        Args:
            actions: `[M, L]` legal actions.
            keys: `[L]` random bits for moves of chance that are not listed.
            live: `[L]` lanes in which it is made; the others keep their states, accept any actions,
                and have any percepts.
        """
        ...

    def goals(self, states: States) -> FloatArray:
        """`[L, R]` goal values of the players, as `Machine.goals`."""
        ...

    def restarted(self, states: States, lanes: IntArray) -> States:
        """`states`, with the initial one in `lanes`."""
        ...

    def fluent_words(self, states: States) -> U64:
        """`[L, words]` the fluents that hold."""
        ...


def layout_of(names: Names, goal_names: Sequence[Sequence[str]]) -> IntArray:
    """The `starts` of an `Engine` for these names."""
    sizes = [words_for(1 + sum(map(len, goal_names)))]
    sizes += [words_for(len(names.moves))] * len(names.roles)
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
        self.goal_names: Sequence[Sequence[str]] = [()] * len(names.roles)
        self.starts = layout_of(names, self.goal_names)
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
        words = np.zeros((self.starts[-1], len(states)), dtype=np.uint64)
        words[0] = self._machine.terminal(states)
        for mover, role in enumerate(self._movers):
            legal = self._machine.legal(states, role, allow_stuck=True)
            lanes = np.repeat(np.arange(len(states)), legal.counts)
            texts = map(self._machine.move_text, legal.values.tolist())
            bits = self._indices(self._action_index[mover], texts, "move")
            start, end = self.starts[1 + mover], self.starts[2 + mover]
            words[start:end] = rows_of_bits(lanes, bits, len(states), end - start).T
        return words

    def play(self, states: States, actions: IntArray, keys: U64, live: Bools = ALL) -> AfterTurn:
        machine = self._machine
        lanes = np.flatnonzero(live) if len(live) else np.arange(len(states))
        joint_moves = np.zeros((len(lanes), len(machine.roles)), dtype=np.int64)
        for mover, role in enumerate(self._movers):
            texts = self.names.moves if mover < len(self._players) else self.names.chance
            distinct, inverse = np.unique(actions[mover, lanes], return_inverse=True)
            moves = [machine.move_id(texts[action]) for action in distinct.tolist()]
            joint_moves[:, role] = np.array(moves, dtype=np.int64)[inverse]
        live_states = states.take(lanes)
        if len(self._movers) < len(machine.roles):
            joint_moves[:, machine.random_role] = self._draw_chance(live_states, keys[lanes])
        stepped = machine.step(live_states, joint_moves)
        percepts = np.zeros((len(states), len(self._players), self._percept_words), dtype=np.uint64)
        for player, role in enumerate(self._players):
            percepts[lanes, player] = self._percept_bits(stepped.percepts[:, role])
        successors = replace_lanes(machine, states, lanes, stepped.states)
        seen = np.ascontiguousarray(percepts.reshape(len(states), -1).T)
        return AfterTurn(successors, self.look(successors), seen)

    def goals(self, states: States) -> FloatArray:
        return np.asarray(self._machine.goals(states)[:, self._players])

    def restarted(self, states: States, lanes: IntArray) -> States:
        rows = np.arange(len(states))
        rows[lanes] = len(states)
        return self._machine.concatenate([states, self._machine.initial()]).take(rows)

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
# The fast `Engine`: two tapes of the circuit, one for successors and percepts, one for looks.
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
        self._machine = machine
        circuit = machine.circuit
        self._players = player_roles(machine)
        goals = [circuit.goals[role] for role in self._players]
        self.goal_names: Sequence[Sequence[str]] = [outputs.names for outputs in goals]
        self.starts = layout_of(names, self.goal_names)
        self._movers = [*self._players]
        if machine.random_role is not None and names.chance:
            self._movers.append(machine.random_role)
        lists = [names.moves] * len(self._players) + [names.chance]
        legal = [
            in_order(circuit.legal[role], texts)
            for role, texts in zip(self._movers, lists, strict=False)
        ]
        ends = np.concatenate([[circuit.terminal], *(outputs.literals for outputs in goals)])
        # Plain GDL reveals the joint move; its circuit has no percepts.
        sees = [in_order(circuit.sees[role], names.percepts) for role in self._players]
        step = query_of(circuit, [circuit.next, *([] if names.is_plain else sees)], moves=True)
        first = 64 * step.starts[1]
        self._tapes = TurnTapes(
            step,
            query_of(circuit, [ends.astype(np.int32), *legal]),
            Wires(step.row_of, np.zeros(len(step.row_of), dtype=np.uint64)),
            Wires(step.wires.rows[first:], step.wires.inverted[first:]),
            _sizes([circuit.next]),
            _sizes([] if names.is_plain else sees),
            _sizes([ends, *legal]),
            self._move_rows(lists),
            names.told_of_moves() if names.is_plain else np.zeros((0, 0), dtype=np.int64),
        )
        self._num_percepts = len(self._players) * words_for(len(names.percepts))
        self._spare: list[tuple[U64, U64, U64]] = []
        self._start = _packed(machine.initial())

    def initial(self, num_lanes: int) -> States:
        return self._machine.initial(num_lanes)

    def look(self, states: States) -> U64:
        packed = _packed(states)
        out = np.empty((len(packed), self.starts[-1]), dtype=np.uint64)
        scratch = self._scratch()
        run_query(self._tapes.look, packed, *NO_MOVES, out, *scratch[1:], WIDTH)
        self._spare.append(scratch)
        return np.ascontiguousarray(out.T)

    def play(self, states: States, actions: IntArray, keys: U64, live: Bools = ALL) -> AfterTurn:
        packed = np.ascontiguousarray(_packed(states))
        played = AfterTurn(
            PropnetStates(self._machine, np.empty(packed.shape, dtype=np.uint64)),
            np.empty((self.starts[-1], len(packed)), dtype=np.uint64),
            np.empty((self._num_percepts, len(packed)), dtype=np.uint64),
        )
        scratch = self._scratch()
        make_turns.unchecked(
            self._tapes,
            packed,
            np.ascontiguousarray(actions),
            live,
            _packed(played.states),
            *played[1:],
            *scratch,
            WIDTH,
        )
        self._spare.append(scratch)
        self._machine.states_visited += len(packed)
        return played

    def goals(self, states: States) -> FloatArray:
        return np.asarray(self._machine.goals(states)[:, self._players])

    def restarted(self, states: States, lanes: IntArray) -> States:
        packed = _packed(states).copy()
        packed[lanes] = self._start
        return PropnetStates(self._machine, packed)

    def fluent_words(self, states: States) -> U64:
        return _packed(states)

    def _scratch(self) -> tuple[U64, U64, U64]:
        """Rows of both tapes, and a square, that no other thread uses."""
        try:
            return self._spare.pop()
        except IndexError:
            step, look = self._tapes.step.num_rows, self._tapes.look.num_rows
            words = words_of(WIDTH)
            return (
                aligned_words(step * words),
                aligned_words(look * words),
                aligned_words(64 * words),
            )

    def _move_rows(self, lists: Sequence[Sequence[str]]) -> I32:
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


def _sizes(groups: Sequence[Literals]) -> IntArray:
    """The numbers of literals in the words of groups that begin at words."""
    sizes = [min(64, len(group) - k) for group in groups for k in range(0, max(1, len(group)), 64)]
    return np.array(sizes, dtype=np.int64)
