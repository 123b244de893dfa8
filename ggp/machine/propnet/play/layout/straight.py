"""Which fluents are overwritten by the gate that drives their next value.

Fluents take over their next values after all gates have been evaluated. But where all gates that
read a fluent come before the one that drives its next value, that one can write *straight* into the
row of the fluent, and nothing is copied:

    gate 1    next of b, from a and b    writes the row of b: it is the last to read b
    gate 2    next of a, from a          writes the row of a

In the other order gate 2 would need a row of its own, for gate 1 still reads a.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.circuit import Circuit, Literals
from ggp.machine.propnet.play.layout.cones import I64
from ggp.machine.propnet.play.layout.fusing import FusedGates


def written_straight(
    circuit: Circuit,
    gates: FusedGates,
    place: I64,
    targets: Literals,
    into: I64,
    copied: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """`[K]` which targets can be written straight into the rows of the inputs that take them over.

    Args:
        place: `[G]` where in the order each gate comes; gates of a loop follow each other.
        targets: `[K]` literals.
        into: `[K]` the input that takes over each.
        copied: `[K]` which targets are copied after all gates.
    """
    base = 1 + circuit.num_inputs
    writer = np.full(base + circuit.num_gates, -1, dtype=np.int64)
    writer[base + gates.gates] = np.arange(len(gates.gates))
    for loop in circuit.loops:
        writer[base + loop.start : base + loop.end] = -1
    # The place of the last gate that reads each net.
    read = np.full(base + circuit.num_gates, -1, dtype=np.int64)
    np.maximum.at(read, gates.nets, np.repeat(place, np.diff(gates.first)))
    read[targets[copied] >> 1] = len(gates.gates)
    net = targets >> 1
    straight: NDArray[np.bool_] = writer[net] >= 0
    # A gate writes into one row, and whoever else reads that row finds it as the input wants it:
    # other gates, and other inputs that take over what it drives.
    once = np.zeros(len(targets), dtype=np.bool_)
    once[np.unique(net, return_index=True)[1]] = True
    alone = (read[net] < 0) & (np.bincount(net)[net] == 1)
    straight &= once & ((targets & 1 == 0) | alone)
    straight[straight] = read[into[straight]] <= place[writer[net[straight]]]
    return straight
