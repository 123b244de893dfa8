"""Step counters: fluents that go their own way, whatever is done.

A counter is found in the circuit, so that it may be written in any way. It is the largest set of
fluents whose next values depend on this set alone, and on no move. Such a set need not be a mere
counter: it may be traffic lights, which decide where one may go. States that differ only in a
counter are one for a search only where it decides nothing but when the game ends and what it is
worth.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.base import BoolArray
from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.play.layout.cones import cone


def step_counter(circuit: Circuit) -> BoolArray:
    """`[F]` fluents that change by themselves, and on which no other fluent and no move depends.

    None of them where that is not all that changes by itself.
    """
    num_fluents = len(circuit.fluents)
    needs = np.zeros((num_fluents, circuit.num_inputs), dtype=np.bool_)
    for fluent, literal in enumerate(circuit.next.tolist()):
        needs[fluent] = _inputs(circuit, literal)
    counts = ~needs[:, num_fluents:].any(axis=1)
    while True:
        # Without those that need a fluent outside.
        fewer = counts & ~needs[:, :num_fluents][:, ~counts].any(axis=1)
        if (fewer == counts).all():
            break
        counts = fewer
    decides: BoolArray = np.asarray(needs[~counts].any(axis=0))
    for literal in circuit.legal[0].literals.tolist():
        decides |= _inputs(circuit, literal)
    # What decides is no counter, nor is what moves it on.
    while True:
        kept = counts & ~decides[:num_fluents]
        if (kept == counts).all():
            return kept
        decides |= needs[counts & ~kept].any(axis=0)
        counts = kept


def _inputs(circuit: Circuit, literal: int) -> BoolArray:
    """`[inputs]` fluents and moves that a literal depends on."""
    nets = cone(circuit, np.array([literal], dtype=np.int32))
    return np.asarray(nets[1 : 1 + circuit.num_inputs])
