"""Literals that follow from others of the same gate.

Two examples:

    does(x, left) & legal(x, left)      only legal moves are made, so the second goes
    ~does(x, left) & does(x, right)     a role makes one move, so the first goes
"""

from __future__ import annotations

from collections.abc import Sequence

from ggp.machine.propnet.circuit import FALSE, Circuit
from ggp.machine.propnet.optimise.draft import Draft
from ggp.machine.propnet.optimise.knowledge import CircuitKnowledge, moves_of_roles

MAX_FOLLOWING = 128
"""Greatest number of literals remembered to follow from one literal."""

_NOTHING: frozenset[int] = frozenset()


def drop_implied(circuit: Circuit, knowledge: CircuitKnowledge) -> Circuit:
    """Drop literals that follow from others.

    A move that is made is legal, and the role makes no other; some fluents exclude each other.
    """
    return _Implied(Draft(circuit), knowledge).run()


class _Implied:
    def __init__(self, draft: Draft, knowledge: CircuitKnowledge) -> None:
        circuit = draft.circuit
        self._draft = draft
        # The literals that follow from each literal, except itself.
        self._following: list[frozenset[int]] = [_NOTHING] * (2 * draft.first_net)
        for nets, _ in knowledge.groups_of_nets(circuit):
            if len(nets) <= MAX_FOLLOWING:
                others = frozenset(2 * net + 1 for net in nets)
                for net in nets:
                    self._following[2 * net] |= others - {2 * net + 1}
        for net, gate in enumerate(draft.gates, draft.first_net):
            if draft.in_loop(net):
                self._following += (_NOTHING, _NOTHING)
            else:
                self._following += (self._of_all(gate), self._of_any(gate))
        self._moves = set()
        for outputs, moves in zip(circuit.legal, moves_of_roles(circuit), strict=True):
            others = frozenset(2 * net + 1 for net in moves)
            for move, legal in zip(moves, outputs.literals.tolist(), strict=True):
                self._moves.add(2 * move)
                self._following[2 * move] = self._of_all([legal])
                if len(moves) <= MAX_FOLLOWING:
                    self._following[2 * move] |= others - {2 * move + 1}

    def run(self) -> Circuit:
        for net in self._draft.free_gates():
            self._shorten(net)
        return self._draft.finish()

    def _of_all(self, literals: Sequence[int]) -> frozenset[int]:
        """The literals that hold where all of some literals do."""
        found = frozenset(literals).union(*(self._following[x] for x in literals))
        return found if len(found) <= MAX_FOLLOWING else frozenset(literals)

    def _of_any(self, literals: Sequence[int]) -> frozenset[int]:
        """The literals that hold where one of some literals does not."""
        common: frozenset[int] | None = None
        for literal in literals:
            follows = self._following[literal ^ 1]
            common = follows if common is None else common & follows
            if not common:
                break
        return common or _NOTHING

    def _shorten(self, net: int) -> None:
        draft = self._draft
        known: set[int] = set()
        literals: list[int] = []
        # Whatever follows from a literal that is kept goes.
        for literal in sorted(draft.gates[net - draft.first_net], key=self._order):
            if literal in known:
                continue
            literals.append(literal)
            if any(x ^ 1 in known for x in (literal, *self._following[literal])):
                draft.change(net, [FALSE])
                return
            known.add(literal)
            known |= self._following[literal]
        if set(literals) != set(draft.gates[net - draft.first_net]):
            draft.change(net, literals)

    def _order(self, literal: int) -> tuple[int, int]:
        """Sort key: moves, then gates from the top down, then fluents."""
        if literal in self._moves:
            return 0, literal
        if literal >> 1 >= self._draft.first_net:
            return 1 + (literal & 1), -literal
        return 3 + (literal & 1), literal
