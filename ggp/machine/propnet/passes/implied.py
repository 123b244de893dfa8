"""Literals that follow from others of the same gate, or from where a gate is used."""

from __future__ import annotations

from collections.abc import Iterable

from ggp.machine.propnet.circuit import FALSE, TRUE, Circuit
from ggp.machine.propnet.passes.draft import Draft

MAX_FOLLOWING = 256
"""Literals that are remembered to follow from one literal."""

MAX_COMPARED = 8
"""Literals of gates that are compared with each other."""

_NOTHING: frozenset[int] = frozenset()


def implied(circuit: Circuit) -> Circuit:
    """Drop literals that follow from others.

    A gate that is used once, and inverted, need only be right where the other literals of the
    gate that uses it hold. A move that is made is legal, and the role makes no other; moves
    are made only where the game is not over.
    """
    return _Implied(Draft(circuit)).run()


class _Implied:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._fan_out = draft.fan_out()
        self._following: list[frozenset[int]] = [_NOTHING] * draft.first_net
        for net, gate in enumerate(draft.gates, draft.first_net):
            self._following.append(_NOTHING if draft.in_loop(net) else self._of(gate))
        self._moves: dict[int, frozenset[int]] = {}
        net = 1 + len(draft.circuit.fluents)
        for outputs in draft.circuit.legal:
            nets = range(net, net + len(outputs.names))
            for move, legal in zip(nets, outputs.literals.tolist(), strict=True):
                follows = set(self._of([legal]))
                if len(nets) <= MAX_FOLLOWING:
                    follows.update(2 * other + 1 for other in nets if other != move)
                self._moves[2 * move] = frozenset(follows)
            net += len(nets)
        self._where: dict[int, set[int]] = {}

    def run(self) -> Circuit:
        draft = self._draft
        circuit = draft.circuit
        running = circuit.terminal ^ 1
        while_running = {running, *self._of([running])}
        for root in [*circuit.next.tolist(), *(x for o in circuit.sees for x in o.literals.tolist())]:
            if self._fan_out[root >> 1] == 1:
                self._where[root >> 1] = while_running
        for net in reversed(list(draft.free_gates())):
            self._gate(net)
        return draft.finish()

    def _of(self, literals: Iterable[int]) -> frozenset[int]:
        """The literals and what follows from them, but for what is known of moves."""
        found = set(literals)
        for literal in list(found):
            if not literal & 1:
                found |= self._following[literal >> 1]
        return frozenset(found) if len(found) <= MAX_FOLLOWING else frozenset(literals)

    def _gate(self, net: int) -> None:
        draft = self._draft
        where = self._where.pop(net, _NOTHING)
        known = set(where)
        literals: list[int] = []
        # Moves first and then from the top down: what follows from a literal comes after it,
        # so nothing is dropped for the sake of what has been dropped itself.
        for literal in sorted(draft.gates[net - draft.first_net], key=self._order):
            if literal ^ 1 in known:
                draft.change(net, [FALSE])
                return
            if literal not in known:
                literals.append(literal)
                self._learn(literal, known)
        reduced = [self._reduced(literal, known) for literal in literals]
        reduced = _without_weaker(draft, reduced)
        if reduced != literals:
            known = set(where)
            for literal in reduced:
                self._learn(literal, known)
        for literal in reduced:
            if literal & 1 and self._fan_out[literal >> 1] == 1:
                self._where[literal >> 1] = known
        draft.change(net, reduced)

    def _order(self, literal: int) -> int:
        return literal - (1 << 40) if literal in self._moves else -literal

    def _learn(self, literal: int, known: set[int]) -> None:
        """Add a literal and what follows from it."""
        known.add(literal)
        if literal in self._moves:
            known |= self._moves[literal]
        elif not literal & 1:
            known |= self._following[literal >> 1]

    def _reduced(self, literal: int, known: set[int]) -> int:
        """What is left of an inverted gate where some literals are known to hold."""
        gate = self._draft.gate(literal >> 1) if literal & 1 else None
        if gate is None:
            return literal
        rest = []
        for inner in gate:
            if inner ^ 1 in known:
                return TRUE
            if not inner & 1 and any(x ^ 1 in known for x in self._following[inner >> 1]):
                return TRUE
            if inner not in known:
                rest.append(inner)
        if len(rest) > 1:
            return literal
        return rest[0] ^ 1 if rest else FALSE


def _without_weaker(draft: Draft, literals: list[int]) -> list[int]:
    """Without `~(a & b & c)` where there is `~(a & b)`."""
    inverted = {}
    for literal in literals:
        gate = draft.gate(literal >> 1) if literal & 1 else None
        if gate is not None and len(gate) <= MAX_COMPARED:
            inverted[literal] = frozenset(gate)
    if len(inverted) < 2:
        return literals
    by_first: dict[int, list[int]] = {}
    for literal, gate in inverted.items():
        by_first.setdefault(min(gate), []).append(literal)
    weaker = set()
    for literal, gate in inverted.items():
        for inner in gate:
            for other in by_first.get(inner, ()):
                if inverted[other] < gate:
                    weaker.add(literal)
    return [literal for literal in literals if literal not in weaker]
