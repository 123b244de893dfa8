"""Passes that make a circuit smaller without changing what it says about a game.

They may rely on it that states are reachable, and that every role makes one legal move in a
state that is not terminal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.passes.complements import complement
from ggp.machine.propnet.passes.constants import fold_constants
from ggp.machine.propnet.passes.extraction import extract
from ggp.machine.propnet.passes.factoring import factor
from ggp.machine.propnet.passes.flattening import flatten
from ggp.machine.propnet.passes.implications import drop_implied
from ggp.machine.propnet.passes.invariants import use_invariants
from ggp.machine.propnet.passes.knowledge import Knowledge
from ggp.machine.propnet.passes.patience import TookTooLong, patience
from ggp.machine.propnet.passes.resubstitution import resubstitute
from ggp.machine.propnet.passes.sweeping import sweep

Pass = Callable[[Circuit, Knowledge], Circuit]

LARGE = 30_000
"""Literals of a circuit that is made smaller before its fluents are looked into."""


def _extract_early(circuit: Circuit, knowledge: Knowledge) -> Circuit:
    # It hides some of what `complement` looks for, so it waits where that costs little.
    return extract(circuit, knowledge) if circuit.num_literals > LARGE else circuit


PASSES: tuple[tuple[str, Pass], ...] = (
    ("factor", factor),
    ("constants", fold_constants),
    ("flatten", flatten),
    ("factor", factor),
    ("factor", factor),
    ("complement", complement),
    ("extract early", _extract_early),
    ("implied", drop_implied),
    ("flatten", flatten),
    ("invariants", use_invariants),
    ("complement", complement),
    ("implied", drop_implied),
    ("constants", fold_constants),
    ("factor", factor),
    ("implied", drop_implied),
    ("extract", extract),
    ("flatten", flatten),
    ("sweep", sweep),
    ("resubstitute", resubstitute),
    ("factor", factor),
    ("implied", drop_implied),
    ("extract", extract),
    ("flatten", flatten),
)
"""In the order in which they run."""


class PassReport(NamedTuple):
    """What a pass did."""

    name: str
    gates_before: int
    literals_before: int
    gates_after: int
    literals_after: int
    seconds: float


def optimise(circuit: Circuit, max_seconds: float) -> tuple[Circuit, list[PassReport]]:
    """A smaller circuit of the same game.

    In every reachable state it gives the same legal moves and goals, and for every legal joint
    move in one that is not terminal the same successor and percepts.

    Args:
        circuit: of a game.
        max_seconds: no pass begins later than this, long ones stop early, and one that does
            not is broken off and counts for nothing.
    """
    reports = []
    knowledge = Knowledge(time.monotonic() + max_seconds)
    for name, run in PASSES:
        start_s = time.monotonic()
        if start_s >= knowledge.until_s:
            break
        before = circuit
        try:
            with patience(knowledge.until_s):
                circuit = run(circuit, knowledge)
        except TookTooLong:
            break
        reports.append(
            PassReport(
                name,
                before.num_gates,
                before.num_literals,
                circuit.num_gates,
                circuit.num_literals,
                time.monotonic() - start_s,
            )
        )
    return circuit, reports
