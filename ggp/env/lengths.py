"""How many turns a match can have, where the rules prove it.

Where a game counts its turns, three-valued evaluation from the initial state does: a fluent holds,
does not, or may; when `terminal` surely holds, the match is over.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.abilities import OnCircuit
from ggp.machine.base import DEFAULT_MAX_STEPS, Machine
from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.play.layout.reach import following


def longest(machine: Machine) -> int | None:
    """The turns of the longest match, or more; None if nothing is proved.

    A proof does not depend on the clock, but on the circuit: without one there is none.
    """
    if not isinstance(machine, OnCircuit) or machine.circuit.loops:
        return None
    return _by_counting(machine.circuit)


def _by_counting(circuit: Circuit) -> int | None:
    held = np.stack([~circuit.initial, circuit.initial]).astype(np.bool_)
    seen = set()
    for turn in range(DEFAULT_MAX_STEPS):
        key = held.tobytes()
        if key in seen:
            return None
        seen.add(key)
        after = following(circuit, held)
        if after is None:
            return turn
        held = after
    return None
