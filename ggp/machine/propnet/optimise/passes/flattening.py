"""Flattens ANDs of ANDs into one."""

from __future__ import annotations

from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.optimise.draft import Draft
from ggp.machine.propnet.optimise.knowledge import CircuitKnowledge


def flatten(circuit: Circuit, _: CircuitKnowledge) -> Circuit:
    """Merge gates that only one other AND uses, not inverted, into that one."""
    draft = Draft(circuit)
    fan_out = draft.fan_out()
    # In order, so that merged gates have been flattened themselves.
    for net in draft.free_gates():
        literals: list[int] = []
        for literal in draft.gates[net - draft.first_net]:
            inner = None if literal & 1 or fan_out[literal >> 1] > 1 else draft.gate(literal >> 1)
            literals.extend((literal,) if inner is None else inner)
        draft.change(net, literals)
    return draft.finish()
