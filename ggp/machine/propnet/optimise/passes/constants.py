"""What never changes in a game, as far as a circuit says so at once.

A fluent stays as it is initially if its next value is that constant, or itself; a move that is
never legal is not made. What then becomes constant is found by looking again:

    next a = false, a is false initially      so a is false
    legal m = a and b                         so m is never legal, and nobody makes it
    next c = m and d, c is false initially    so c is false

Fluents that only follow from each other are found by `invariants`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ggp.machine.propnet.circuit import FALSE, TRUE, Circuit
from ggp.machine.propnet.optimise.draft import Draft
from ggp.machine.propnet.optimise.knowledge import CircuitKnowledge, moves_of_roles


def fold_constants(circuit: Circuit, _: CircuitKnowledge) -> Circuit:
    """Fluents that never change become constants, and moves that are never legal go."""
    while True:
        draft = Draft(circuit)
        draft.becomes.update(_constant(circuit))
        if not draft.becomes:
            return circuit
        circuit = draft.finish()


def _constant(circuit: Circuit) -> Iterator[tuple[int, int]]:
    """Inputs, and the constants that they are."""
    values = zip(circuit.initial.tolist(), circuit.next.tolist(), strict=True)
    for net, (initial, following) in enumerate(values, 1):
        value = TRUE if initial else FALSE
        if following in (value, 2 * net):
            yield net, value
    for outputs, nets in zip(circuit.legal, moves_of_roles(circuit), strict=True):
        for net, legal in zip(nets, outputs.literals.tolist(), strict=True):
            if legal == FALSE:
                yield net, FALSE
