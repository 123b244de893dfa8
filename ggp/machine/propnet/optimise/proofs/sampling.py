"""Plays random matches on a circuit, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import take_segments
from ggp.machine.circuit import Circuit, Literals, Loop, gates_of, net_levels

Words = NDArray[np.uint64]
"""Words of 64 lanes each."""

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


class Evaluator:
    """Evaluates circuits in numpy, 64 lanes a word, gates of one level at a time."""

    def __init__(self, circuit: Circuit) -> None:
        self.num_nets = 1 + circuit.num_inputs + circuit.num_gates
        matter = moves_matter(circuit)
        self._of_states, self._of_moves = (
            _levels(circuit, [each == late for each in matter]) for late in (False, True)
        )

    def look(self, nets: Words) -> None:
        """Set the gates of `nets[P, W]` that do not depend on moves, from its fluents."""
        self._settle(self._of_states, nets)

    def act(self, nets: Words) -> None:
        """Set the gates that depend on moves, after `look`, from the inputs."""
        self._settle(self._of_moves, nets)

    def _settle(self, levels: Sequence[_Level | _Circle], nets: Words) -> None:
        for level in levels:
            level.settle(nets)


class _Level(NamedTuple):
    """Gates that do not depend on each other.

    Attributes:
        nets: `[G]` nets of the gates.
        offsets: `[G]` where the inputs of each gate begin.
        inputs: `[E]` nets of the inputs.
        inverted: `[E, 1]` all bits of a word for inputs that are inverted.
    """

    nets: NDArray[np.int64]
    offsets: NDArray[np.int64]
    inputs: NDArray[np.int32]
    inverted: Words

    def settle(self, nets: Words) -> None:
        values = nets[self.inputs]
        values ^= self.inverted
        nets[self.nets] = np.bitwise_and.reduceat(values, self.offsets, axis=0)


class _Circle(NamedTuple):
    """Gates of a loop. Evaluating all of them again and again, side by side, reaches the same
    fixpoint as one after the other: they only ever move away from their initial values."""

    gates: _Level
    initial: Words

    def settle(self, nets: Words) -> None:
        nets[self.gates.nets] = self.initial
        while True:
            before = nets[self.gates.nets]
            self.gates.settle(nets)
            if (nets[self.gates.nets] == before).all():
                return


def read_words(nets: Words, literals: Literals) -> Words:
    """`[N, W]` the values of N literals."""
    words: Words = nets[literals >> 1]
    words ^= np.where(literals & 1, _ONES, np.uint64(0))[:, None]
    return words


def moves_matter(circuit: Circuit) -> list[bool]:
    """Whether each net depends on moves; the same for all gates of a loop."""
    first_net = 1 + circuit.num_inputs
    gates = gates_of(circuit)
    loops = {loop.start: loop for loop in circuit.loops}
    matter = [net > len(circuit.fluents) for net in range(first_net)]
    while len(matter) < first_net + len(gates):
        place = len(matter) - first_net
        loop = loops.get(place)
        end = place + 1 if loop is None else loop.end
        inner = gates[place:end]
        # Within a loop, later gates are not known yet, but the inputs from outside are.
        known = len(matter)
        late = any(matter[x >> 1] for each in inner for x in each if x >> 1 < known)
        matter += [late] * len(inner)
    return matter


def _levels(circuit: Circuit, wanted: Sequence[bool]) -> list[_Level | _Circle]:
    """Levels and loops of some nets in an order in which they can be evaluated."""
    first_net = 1 + circuit.num_inputs
    in_loop = {gate: loop for loop in circuit.loops for gate in range(loop.start, loop.end)}
    members: dict[int, list[int]] = {}
    loops: dict[int, list[Loop]] = {}
    for place, level in enumerate(net_levels(circuit)[first_net:]):
        loop = in_loop.get(place)
        if not wanted[first_net + place]:
            continue
        if loop is None:
            members.setdefault(level, []).append(place)
        elif place == loop.start:
            loops.setdefault(level, []).append(loop)
    ordered: list[_Level | _Circle] = []
    for level in sorted(members.keys() | loops.keys()):
        for loop in loops.get(level, ()):
            initial = np.where(loop.initial, _ONES, np.uint64(0))[:, None]
            ordered.append(_Circle(_level(circuit, range(loop.start, loop.end)), initial))
        if level in members:
            ordered.append(_level(circuit, members[level]))
    return ordered


def _level(circuit: Circuit, places: Sequence[int]) -> _Level:
    """Some gates as a level."""
    gates = np.array(places, dtype=np.int64)
    offsets, inputs = take_segments(circuit.offsets, gates)
    literals = circuit.literals[inputs]
    inverted = np.where(literals & 1, _ONES, np.uint64(0))[:, None]
    return _Level(1 + circuit.num_inputs + gates, offsets[:-1], literals >> 1, inverted)


def sample(circuit: Circuit, *, num_words: int, num_steps: int, seed: int) -> Words:
    """`[F, S, W]` the fluents in S steps of random matches; where one is over, another begins."""
    rng = np.random.default_rng(seed)
    evaluator = Evaluator(circuit)
    num_fluents = len(circuit.fluents)
    values = np.zeros((num_fluents, num_steps, num_words), dtype=np.uint64)
    initial = np.where(circuit.initial, _ONES, np.uint64(0))[:, None]
    terminal = np.array([circuit.terminal], dtype=np.int32)
    states = np.tile(initial, num_words)
    nets = np.zeros((evaluator.num_nets, num_words), dtype=np.uint64)
    for step in range(num_steps):
        values[:, step] = nets[1 : 1 + num_fluents] = states
        # What is legal has to be known to choose moves, and does not depend on them.
        evaluator.look(nets)
        going = ~read_words(nets, terminal)[0]
        first = 1 + num_fluents
        for outputs in circuit.legal:
            chosen = _choose(read_words(nets, outputs.literals), rng)
            nets[first : first + len(chosen)] = chosen
            going &= np.bitwise_or.reduce(chosen, axis=0) if len(chosen) else np.uint64(0)
            first += len(chosen)
        nets[1 + num_fluents : first] &= going
        evaluator.act(nets)
        # Lanes that are over or stuck begin anew, so that all lanes go on telling something.
        states = read_words(nets, circuit.next) & going | initial & ~going
    return values


def _choose(legal: Words, rng: np.random.Generator) -> Words:
    """One of the legal moves `[M, W]` in every lane that has any."""
    num_moves = len(legal)
    if not num_moves:
        return legal
    bits = np.unpackbits(legal.view(np.uint8), axis=1, bitorder="little").reshape(num_moves, -1)
    counts = bits.sum(axis=0, dtype=np.int64)
    # The legal moves of one lane after the other, of which each lane takes one by its number.
    moves = np.flatnonzero(bits.T.copy()) % num_moves
    lanes = np.flatnonzero(counts)
    picked = (rng.random(len(lanes)) * counts[lanes]).astype(np.int64)
    chosen = np.zeros_like(bits)
    chosen[moves[(np.cumsum(counts) - counts)[lanes] + picked], lanes] = 1
    packed: Words = np.packbits(chosen, axis=1, bitorder="little").view(np.uint64)
    return packed
