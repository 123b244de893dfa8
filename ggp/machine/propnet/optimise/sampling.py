"""Random matches on a circuit, many at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.circuit import Circuit, Literals, Loop
from ggp.machine.propnet.optimise.draft import gates_of
from ggp.machine.propnet.parts import parts_of

Words = NDArray[np.uint64]
"""64 lanes a word."""

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


class Samples(NamedTuple):
    """What was so in random matches.

    Attributes:
        values: `[N, S, W]` some nets at each of S steps.
        running: `[S, W]` whether moves were made: the game was neither over nor stuck.
    """

    values: Words
    running: Words


class Evaluator:
    """Evaluates circuits in numpy, 64 lanes a word, gates of one level at a time."""

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._first_net = 1 + circuit.num_inputs
        self.num_nets = self._first_net + circuit.num_gates
        self._steps = [
            (level, None) if isinstance(level, _Level) else (None, level)
            for level in _levels(circuit)
        ]

    def evaluate(self, nets: Words) -> None:
        """Set the gates of `nets[P, W]` from its inputs."""
        for level, loop in self._steps:
            if level is not None:
                level.settle(nets)
            elif loop is not None:
                self._settle(loop, nets)

    def _settle(self, loop: Loop, nets: Words) -> None:
        first_net, circuit = self._first_net, self._circuit
        gates = nets[first_net + loop.start : first_net + loop.end]
        gates[:] = np.where(loop.initial, _ONES, np.uint64(0))[:, None]
        while True:
            before = gates.copy()
            for place, gate in enumerate(range(loop.start, loop.end)):
                inputs = circuit.literals[circuit.offsets[gate] : circuit.offsets[gate + 1]]
                gates[place] = np.bitwise_and.reduce(read_words(nets, inputs), axis=0)
            if (gates == before).all():
                return


class _Level(NamedTuple):
    """Gates that do not depend on each other."""

    nets: NDArray[np.int64]
    offsets: NDArray[np.int64]
    literals: Literals

    def settle(self, nets: Words) -> None:
        values = read_words(nets, self.literals)
        nets[self.nets] = np.bitwise_and.reduceat(values, self.offsets, axis=0)


def read_words(nets: Words, literals: Literals) -> Words:
    """`[N, W]` the values of N literals."""
    words: Words = nets[literals >> 1]
    words ^= np.where(literals & 1, _ONES, np.uint64(0))[:, None]
    return words


def net_levels(circuit: Circuit) -> list[int]:
    """The longest way from an input to each net; the same for all gates of a loop."""
    first_net = 1 + circuit.num_inputs
    gates = gates_of(circuit)
    levels = [0] * (first_net + len(gates))
    in_loop = {gate: loop for loop in circuit.loops for gate in range(loop.start, loop.end)}
    for place, gate in enumerate(gates):
        loop = in_loop.get(place)
        if loop is None:
            levels[first_net + place] = 1 + max(levels[literal >> 1] for literal in gate)
        elif place == loop.start:
            inner = gates[loop.start : loop.end]
            level = 1 + max(levels[literal >> 1] for each in inner for literal in each)
            levels[first_net + loop.start : first_net + loop.end] = [level] * len(inner)
    return levels


def _levels(circuit: Circuit) -> list[_Level | Loop]:
    """Levels and loops in an order in which they can be evaluated."""
    first_net = 1 + circuit.num_inputs
    gates = gates_of(circuit)
    in_loop = {gate: loop for loop in circuit.loops for gate in range(loop.start, loop.end)}
    members: dict[int, list[int]] = {}
    loops: dict[int, list[Loop]] = {}
    for place, level in enumerate(net_levels(circuit)[first_net:]):
        loop = in_loop.get(place)
        if loop is None:
            members.setdefault(level, []).append(place)
        elif place == loop.start:
            loops.setdefault(level, []).append(loop)
    ordered: list[_Level | Loop] = []
    for level in sorted(members.keys() | loops.keys()):
        ordered += loops.get(level, [])
        places = members.get(level)
        if places:
            sizes = [len(gates[place]) for place in places]
            ordered.append(
                _Level(
                    first_net + np.array(places, dtype=np.int64),
                    np.cumsum([0, *sizes[:-1]], dtype=np.int64),
                    np.array([x for place in places for x in gates[place]], dtype=np.int32),
                )
            )
    return ordered


def sample(
    circuit: Circuit, nets_wanted: range, *, num_words: int, num_steps: int, seed: int
) -> Samples:
    """Play random matches in 64 lanes a word; where one is over, another begins.

    Where moves do not fit (see `Parts`), others are drawn in the next step.
    """
    rng = np.random.default_rng(seed)
    evaluator = Evaluator(circuit)
    num_fluents = len(circuit.fluents)
    values = np.zeros((len(nets_wanted), num_steps, num_words), dtype=np.uint64)
    running = np.zeros((num_steps, num_words), dtype=np.uint64)
    initial = np.where(circuit.initial, _ONES, np.uint64(0))[:, None]
    terminal = np.array([circuit.terminal], dtype=np.int32)
    fits = np.array([parts_of(circuit).fits], dtype=np.int32)
    states = np.tile(initial, num_words)
    nets = np.zeros((evaluator.num_nets, num_words), dtype=np.uint64)
    for step in range(num_steps):
        nets[1 : 1 + num_fluents] = states
        nets[1 + num_fluents : 1 + circuit.num_inputs] = 0
        evaluator.evaluate(nets)
        going = ~read_words(nets, terminal)[0]
        first = 1 + num_fluents
        for outputs in circuit.legal:
            chosen = _choose(read_words(nets, outputs.literals), rng)
            nets[first : first + len(chosen)] = chosen
            going &= np.bitwise_or.reduce(chosen, axis=0) if len(chosen) else np.uint64(0)
            first += len(chosen)
        nets[1 + num_fluents : first] &= going
        # Again, now that moves are made: what is legal had to be known to choose them.
        evaluator.evaluate(nets)
        values[:, step] = nets[nets_wanted.start : nets_wanted.stop]
        fit = read_words(nets, fits)[0]
        running[step] = going & fit
        # Lanes that are over or stuck begin anew, so that all lanes go on telling something.
        states = read_words(nets, circuit.next) & going & fit | states & going & ~fit
        states |= initial & ~going
    return Samples(values, running)


def _choose(legal: Words, rng: np.random.Generator) -> Words:
    """One of the legal moves `[M, W]` in every lane that has any."""
    num_moves, num_words = legal.shape
    if not num_moves:
        return legal
    bits = np.unpackbits(legal.view(np.uint8), axis=1, bitorder="little").reshape(num_moves, -1)
    pick = (rng.random(bits.shape, dtype=np.float32) * bits).argmax(axis=0)
    chosen = np.zeros_like(bits)
    lanes = np.arange(num_words * 64)
    chosen[pick, lanes] = bits[pick, lanes]
    packed: Words = np.packbits(chosen, axis=1, bitorder="little").view(np.uint64)
    return packed
