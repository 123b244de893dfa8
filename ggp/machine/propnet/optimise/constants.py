"""What never changes in a game."""

from __future__ import annotations

from ggp.machine.propnet.circuit import FALSE, TRUE, Circuit
from ggp.machine.propnet.optimise.draft import Draft
from ggp.machine.propnet.optimise.knowledge import Knowledge

UNKNOWN = 2


def fold_constants(circuit: Circuit, _: Knowledge) -> Circuit:
    """Nets that have one value in all reachable states become that value.

    Fluents among them are dropped, and so are moves that are never legal.
    """
    draft = Draft(circuit)
    for net, value in enumerate(_values_reached(draft)):
        if net and value != UNKNOWN:
            draft.becomes[net] = TRUE if value else FALSE
    return draft.finish()


def _values_reached(draft: Draft) -> list[int]:
    """The value of each net, `UNKNOWN` if there may be several.

    Begins with the initial state and no moves. A fluent becomes unknown when its next value
    is unknown or differs, a move when it may be legal, and a gate when none of its literals
    is known to be false any more; a loop as a whole when anything that comes in is unknown.
    So every net changes once at most, and moves never become known to be made.
    """
    circuit, first_net = draft.circuit, draft.first_net
    num_fluents = len(circuit.fluents)
    values = [0] * (first_net + len(draft.gates))
    values[1 : 1 + num_fluents] = [int(value) for value in circuit.initial]
    for loop in circuit.loops:
        values[first_net + loop.start : first_net + loop.end] = [int(v) for v in loop.initial]
    num_false = _evaluate(draft, values)

    users: list[list[int]] = [[] for _ in values]
    for net, gate in enumerate(draft.gates, first_net):
        for literal in gate:
            users[literal >> 1].append(2 * net + (literal & 1))
    # A fluent depends on its next value, a move on being legal.
    inputs: dict[int, list[int]] = {}
    pending: list[int] = []
    sources = draft.roots[:num_fluents] + [
        literal for outputs in circuit.legal for literal in outputs.literals.tolist()
    ]
    for net, literal in enumerate(sources, 1):
        inputs.setdefault(literal >> 1, []).append(net)
        if values[literal >> 1] ^ (literal & 1) != values[net]:
            pending.append(net)
    while pending:
        net = pending.pop()
        value = values[net]
        if value == UNKNOWN:
            continue
        values[net] = UNKNOWN
        pending += inputs.get(net, ())
        for user in users[net]:
            gate_net = user >> 1
            loop_of = draft.loop_of(gate_net)
            if loop_of is not None:
                pending += range(first_net + loop_of.start, first_net + loop_of.end)
                continue
            if value == (user & 1):
                num_false[gate_net - first_net] -= 1
            if num_false[gate_net - first_net] == 0:
                pending.append(gate_net)
    return values


def _evaluate(draft: Draft, values: list[int]) -> list[int]:
    """Set the values of all gates; how many literals of each gate are false."""
    first_net = draft.first_net
    num_false = [0] * len(draft.gates)

    def settle(start: int, end: int) -> bool:
        changed = False
        for place in range(start, end):
            false = 0
            for literal in draft.gates[place]:
                if values[literal >> 1] == literal & 1:
                    false += 1
            num_false[place] = false
            changed |= values[first_net + place] != (false == 0)
            values[first_net + place] = int(false == 0)
        return changed

    done = 0
    for loop in draft.circuit.loops:
        settle(done, loop.start)
        while settle(loop.start, loop.end):
            pass
        done = loop.end
    settle(done, len(draft.gates))
    return num_false
