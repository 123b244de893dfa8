"""Decides when fluents take over their next values: as soon as the old one is no longer read.

States are overwritten fluent by fluent. If all next values are computed first, large circuits
write them to memory that is far away, and read them back from there. So a tape is cut into parts,
and after each part those fluents are overwritten that no later gate reads:

    gates       next of a, next of b  | next of c, next of d    where only b is read by d
    after it    a                     | b, c, d

If all gates that read a fluent come before the one that drives its next value, that one can
write *straight* into the row of the fluent, and nothing is copied.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.circuit import Circuit, Literals
from ggp.machine.propnet.play.layout.cones import I64
from ggp.machine.propnet.play.layout.fusing import FusedGates

TOGETHER = 64
"""Number of fluents overwritten together, if there are so many: 64 rows fit the first cache."""


class Updates(NamedTuple):
    """P parts of a tape, and the inputs that take over a new value after each.

    Attributes:
        cuts: `[P - 1]` number of gates that run before each part except the first.
        part_of: `[K]` part after which each target is taken over; -1 if a gate writes it
            straight into the row of the input.
    """

    cuts: I64
    part_of: I64


def written_straight(
    circuit: Circuit,
    gates: FusedGates,
    place: I64,
    targets: Literals,
    into: I64,
    copied: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """`[K]` whether each target can be written straight into the row of the input that takes it.

    Args:
        place: `[G]` place of each gate in the order; gates of a loop follow each other.
        targets, into: as in `updates_of`.
        copied: `[K]` whether each target is copied after all gates.
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
    # A gate writes into one row, and everything else that reads that row must find its own value
    # there: other gates, and other inputs that take over the same gate.
    once = np.zeros(len(targets), dtype=np.bool_)
    once[np.unique(net, return_index=True)[1]] = True
    alone = (read[net] < 0) & (np.bincount(net)[net] == 1)
    straight &= once & ((targets & 1 == 0) | alone)
    straight[straight] = read[into[straight]] <= place[writer[net[straight]]]
    return straight


def updates_of(
    circuit: Circuit,
    gates: FusedGates,
    segments: I64,
    targets: Literals,
    into: I64,
    copied: I64,
    straight: NDArray[np.bool_],
) -> Updates:
    """Parts of a tape such that inputs take over targets soon after these were computed.

    Args:
        gates: in order.
        segments: `[S, 9]` see `Tape`.
        targets: `[K]` literals.
        into: `[K]` the input that takes over each target.
        copied: targets that are copied after all gates, and taken over then.
        straight: `[K]` whether each target is written straight.
    """
    base, size = 1 + circuit.num_inputs, len(gates.gates)
    # Number of gates that have run when each is over: all gates of a loop run again and again.
    over = np.arange(1, size + 1)
    for first, end in segments[segments[:, 2] != 0, :2].tolist():
        over[first:end] = end
    # And when each net is ready, and when it is no longer read.
    ready = np.zeros(base + circuit.num_gates, dtype=np.int64)
    ready[base + gates.gates] = over
    inputs = gates.nets < base
    np.maximum.at(ready, gates.nets[inputs], np.repeat(over, np.diff(gates.first))[inputs])
    ready[targets[copied] >> 1] = size
    moment = np.maximum(ready[targets >> 1], ready[into])
    moment[copied] = size
    cuts, left = [], np.sort(moment[~straight])
    while len(left) >= TOGETHER and left[TOGETHER - 1] < size:
        cuts.append(int(left[TOGETHER - 1]))
        left = left[np.searchsorted(left, cuts[-1], side="right") :]
    part_of = np.where(straight, -1, np.searchsorted(cuts, moment))
    return Updates(np.array(cuts, dtype=np.int64), part_of)


def cut(segments: I64, cuts: I64) -> I64:
    """Segments that begin anew at each cut, see `Updates`."""
    starts = np.union1d(segments[:, 0], cuts)
    pieces = segments[np.searchsorted(segments[:, 0], starts, side="right") - 1]
    pieces[:, 0] = starts
    pieces[:-1, 1] = starts[1:]
    return pieces
