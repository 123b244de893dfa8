"""Passes that make a circuit smaller without changing what it says about a game."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.passes.complement import complement
from ggp.machine.propnet.passes.constants import constant_nets
from ggp.machine.propnet.passes.extract import extract
from ggp.machine.propnet.passes.factor import factor
from ggp.machine.propnet.passes.implied import implied
from ggp.machine.propnet.passes.invariants import use_invariants
from ggp.machine.propnet.passes.knowledge import Knowledge
from ggp.machine.propnet.passes.simple import flatten
from ggp.machine.propnet.passes.sweep import sweep

Pass = Callable[[Circuit, Knowledge], Circuit]

PASSES: tuple[tuple[str, Pass], ...] = (
    ("factor", lambda circuit, _: factor(circuit)),
    ("constant nets", lambda circuit, _: constant_nets(circuit)),
    ("flatten", lambda circuit, _: flatten(circuit)),
    ("factor", lambda circuit, _: factor(circuit)),
    ("factor", lambda circuit, _: factor(circuit)),
    ("complement", complement),
    ("implied", implied),
    ("flatten", lambda circuit, _: flatten(circuit)),
    ("invariants", use_invariants),
    ("complement", complement),
    ("implied", implied),
    ("constant nets", lambda circuit, _: constant_nets(circuit)),
    ("factor", lambda circuit, _: factor(circuit)),
    ("implied", implied),
    ("extract", extract),
    ("flatten", lambda circuit, _: flatten(circuit)),
    ("sweep", sweep),
    ("factor", lambda circuit, _: factor(circuit)),
    ("implied", implied),
    ("extract", extract),
    ("flatten", lambda circuit, _: flatten(circuit)),
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

    For every reachable state, and every joint move that is legal there if the state is not
    terminal, it gives the same successor, percepts, legal moves and goals.

    Args:
        circuit: of a game.
        max_seconds: no pass begins later than this, and long ones stop early.
    """
    reports = []
    until_s = time.monotonic() + max_seconds
    knowledge = Knowledge(until_s)
    for name, run in PASSES:
        start_s = time.monotonic()
        if start_s >= until_s:
            break
        before, circuit = circuit, run(circuit, knowledge)
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
