"""Finds openings: parts of a game that are over for good, such as dealing or setting up.

An *opening* is a set of fluents such that once none holds, none holds ever again. Where it decides
what is legal, much of a circuit does nothing else:

    legal (write 3) while (line 1) or (line 2)        and one of these follows the other
    when neither holds:  never; and what was written stays as it is

So there is a circuit for after the opening, in which these fluents are constants.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.play.layout import reach

MOST = 16
"""Number of openings that are looked at; a game has few."""


def openings(circuit: Circuit) -> list[NDArray[np.int64]]:
    """The fluents of each opening that alone decides whether some move is legal."""
    found: list[NDArray[np.int64]] = []
    if circuit.num_literals < reach.MIN_LITERALS:
        return found
    for fluents in _deciding(circuit)[:MOST]:
        may = np.ones((2, len(circuit.fluents)), dtype=np.bool_)
        may[1, fluents] = False
        after = reach.following(circuit, may)
        if after is not None and not after[1, fluents].any():
            found.append(fluents)
    return found


def _deciding(circuit: Circuit) -> list[NDArray[np.int64]]:
    """Sets of fluents such that some move's legality is decided when none of them holds."""
    base, num_fluents = 1 + circuit.num_inputs, len(circuit.fluents)
    nets = np.unique(np.concatenate([each.literals for each in circuit.legal]) >> 1)
    gates = nets[nets >= base] - base
    found = [np.array([net - 1]) for net in nets[(nets > 0) & (nets <= num_fluents)].tolist()]
    for first, end in zip(circuit.offsets[gates], circuit.offsets[gates + 1], strict=True):
        literals = circuit.literals[first:end].astype(np.int64)
        if (literals & 1).all() and (literals <= 2 * num_fluents + 1).all():
            found.append((literals >> 1) - 1)
    return sorted(found, key=len, reverse=True)
