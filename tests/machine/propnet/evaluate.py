"""The values of the nets of a circuit, computed in the plainest way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.circuit import Circuit

Bits = NDArray[np.bool_]


def evaluate(circuit: Circuit, fluents: Bits, moves: Bits) -> Bits:
    """Evaluate every net in every lane.

    Args:
        circuit: a circuit.
        fluents: `[L, F]` the states.
        moves: `[L, M]` the moves made, in the order of the nets; any number of them.

    Returns:
        `[L, P]` the value of each net.
    """
    first_net = 1 + circuit.num_inputs
    nets = np.zeros((first_net + circuit.num_gates, len(fluents)), dtype=np.bool_)
    nets[1 : 1 + len(circuit.fluents)] = fluents.T
    nets[1 + len(circuit.fluents) : first_net] = moves.T
    gates = [
        (literals >> 1, (literals & 1).astype(np.bool_)[:, None])
        for literals in np.split(circuit.literals, circuit.offsets[1:-1])
    ]
    loops = {loop.start: loop for loop in circuit.loops}

    def settle(start: int, end: int) -> None:
        for gate in range(start, end):
            inputs, inverted = gates[gate]
            nets[first_net + gate] = (nets[inputs] ^ inverted).all(axis=0)

    gate = 0
    while gate < circuit.num_gates:
        loop = loops.get(gate)
        if loop is None:
            settle(gate, gate + 1)
            gate += 1
            continue
        values = nets[first_net + loop.start : first_net + loop.end]
        values[:] = loop.initial[:, None]
        while True:
            previous = values.copy()
            settle(loop.start, loop.end)
            if (previous == values).all():
                break
        gate = loop.end
    return nets.T


def read(nets: Bits, literals: NDArray[np.int32]) -> Bits:
    """`[L, N]` the values of N literals."""
    values: Bits = nets[:, literals >> 1] ^ (literals & 1).astype(np.bool_)
    return values
