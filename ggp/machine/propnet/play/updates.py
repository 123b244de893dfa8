"""When fluents take over their next values: as soon as nobody reads the old one.

States are overwritten fluent by fluent. Where all next values are computed first, large circuits
write them to memory that is far away, and read them back from there. So a tape is cut into parts,
and after each part those fluents are overwritten that no later gate reads:

    gates       next of a, next of b  | next of c, next of d    where only b is read by d
    after it    a                     | b, c, d
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.propnet.circuit import Circuit, Literals
from ggp.machine.propnet.play.cones import I64
from ggp.machine.propnet.play.fusing import FusedGates

TOGETHER = 64
"""Fluents that are overwritten together, if there are so many: 64 rows fit the first cache."""


class Updates(NamedTuple):
    """P parts of a tape, and which inputs take over a new value after each.

    Attributes:
        cuts: `[P - 1]` how many gates run before each part but the first.
        part_of: `[K]` part after which each target is taken over.
    """

    cuts: I64
    part_of: I64


def updates_of(
    circuit: Circuit,
    gates: FusedGates,
    segments: I64,
    targets: Literals,
    into: I64,
    copied: I64,
) -> Updates:
    """Parts of a tape such that inputs take over targets soon after these were computed.

    Args:
        gates: in order.
        segments: `[S, 8]` see `Tape`.
        targets: `[K]` literals.
        into: `[K]` the input that takes over each.
        copied: targets that are copied after all gates, and taken over then.
    """
    base, size = 1 + circuit.num_inputs, len(gates.gates)
    # How many gates have run when each is over: all of a loop runs again and again.
    over = np.arange(1, size + 1)
    for first, end in segments[segments[:, 2] != 0, :2].tolist():
        over[first:end] = end
    # And when each net is there, and nobody reads it any more.
    ready = np.zeros(base + circuit.num_gates, dtype=np.int64)
    ready[base + gates.gates] = over
    inputs = gates.nets < base
    np.maximum.at(ready, gates.nets[inputs], np.repeat(over, np.diff(gates.first))[inputs])
    ready[targets[copied] >> 1] = size
    moment = np.maximum(ready[targets >> 1], ready[into])
    moment[copied] = size
    cuts, left = [], np.sort(moment)
    while len(left) >= TOGETHER and left[TOGETHER - 1] < size:
        cuts.append(int(left[TOGETHER - 1]))
        left = left[np.searchsorted(left, cuts[-1], side="right") :]
    return Updates(np.array(cuts, dtype=np.int64), np.searchsorted(cuts, moment))


def cut(segments: I64, cuts: I64) -> I64:
    """Segments that begin anew at each cut, see `Updates`."""
    starts = np.union1d(segments[:, 0], cuts)
    pieces = segments[np.searchsorted(segments[:, 0], starts, side="right") - 1]
    pieces[:, 0] = starts
    pieces[:-1, 1] = starts[1:]
    return pieces
