"""Literals that several gates have in common become a gate of their own."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from itertools import combinations, pairwise

from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.passes.draft import GATE_COST, Draft
from ggp.machine.propnet.passes.knowledge import Knowledge

MAX_WIDTH_ALL_PAIRS = 24
"""In wider gates only pairs of neighbours are looked at."""


def extract(circuit: Circuit, knowledge: Knowledge) -> Circuit:
    """Share common parts of gates: large ones that occur together everywhere, then pairs.

    A pair costs a gate and saves one literal wherever it occurs, so the most frequent pair
    goes first, and the gate it has become pairs with others again.
    """
    shared = _Shared(Draft(circuit), knowledge.until_s)
    shared.reuse_gates()
    shared.group_twins()
    shared.pair()
    return shared.finish()


class _Shared:
    def __init__(self, draft: Draft, until_s: float) -> None:
        self._draft = draft
        self._until_s = until_s
        self._gates: dict[int, set[int]] = {}
        self._holders: dict[int, set[int]] = {}
        for net in draft.free_gates():
            self._enter(net, draft.gates[net - draft.first_net])

    def reuse_gates(self) -> None:
        """Where all literals of a gate occur in another, its output takes their place."""
        for net in list(self._gates):
            gate = self._gates[net]
            rarest = min(gate, key=lambda literal: (len(self._holders[literal]), literal))
            for other in sorted(self._holders[rarest]):
                if len(self._gates[other]) > len(gate) and gate <= self._gates[other]:
                    self._replace(other, gate, 2 * net)

    def group_twins(self) -> None:
        """Literals that occur in exactly the same gates are joined."""
        twins: dict[frozenset[int], list[int]] = {}
        for literal, holders in self._holders.items():
            if len(holders) > 1:
                twins.setdefault(frozenset(holders), []).append(literal)
        for held, literals in twins.items():
            size = len(literals)
            if size > 1 and len(held) * (size - 1) > size + GATE_COST:
                self._join(held, literals)

    def pair(self) -> None:
        """Join pairs, the most frequent first."""
        rank = {
            literal: place
            for place, (_, literal) in enumerate(
                sorted((sorted(held), literal) for literal, held in self._holders.items())
            )
        }
        counts: dict[tuple[int, int], int] = {}
        for gate in self._gates.values():
            for pair in self._pairs(sorted(gate, key=rank.__getitem__)):
                counts[pair] = counts.get(pair, 0) + 1
        known = {(min(gate), max(gate)): net for net, gate in self._gates.items() if len(gate) == 2}
        queue = [
            (-count, pair)
            for pair, count in counts.items()
            if count > 2 + GATE_COST or (count > 1 and pair in known)
        ]
        heapify(queue)
        while queue and time.monotonic() < self._until_s:
            estimate, pair = heappop(queue)
            held = self._holders[pair[0]] & self._holders[pair[1]]
            if len(held) < -estimate:
                if len(held) > 2 + GATE_COST or (len(held) > 1 and pair in known):
                    heappush(queue, (-len(held), pair))
                continue
            if pair in known:
                held.discard(known[pair])
                made = 2 * known[pair]
                for net in sorted(held):
                    self._replace(net, pair, made)
            else:
                made = self._join(held, pair)
                known[pair] = made >> 1
            rank[made] = rank[pair[0]]
            found: dict[tuple[int, int], int] = {}
            for net in sorted(held):
                for other in self._neighbours(net, made, rank):
                    joined = (other, made) if other < made else (made, other)
                    found[joined] = found.get(joined, 0) + 1
            for joined, count in found.items():
                if count > 2 + GATE_COST or (count > 1 and joined in known):
                    heappush(queue, (-count, joined))

    def finish(self) -> Circuit:
        for net, gate in self._gates.items():
            self._draft.change(net, sorted(gate))
        return self._draft.finish()

    def _enter(self, net: int, literals: Iterable[int]) -> None:
        self._gates[net] = set(literals)
        for literal in literals:
            self._holders.setdefault(literal, set()).add(net)

    def _join(self, nets: Iterable[int], literals: Iterable[int]) -> int:
        made = self._draft.add(tuple(literals))
        for net in sorted(nets):
            self._replace(net, literals, made)
        self._enter(made >> 1, literals)
        return made

    def _replace(self, net: int, literals: Iterable[int], by: int) -> None:
        gate = self._gates[net]
        for literal in list(literals):
            gate.discard(literal)
            self._holders[literal].discard(net)
        gate.add(by)
        self._holders.setdefault(by, set()).add(net)

    def _pairs(self, gate: list[int]) -> Iterator[tuple[int, int]]:
        pairs = combinations(gate, 2) if len(gate) <= MAX_WIDTH_ALL_PAIRS else pairwise(gate)
        for one, other in pairs:
            yield (one, other) if one < other else (other, one)

    def _neighbours(self, net: int, literal: int, rank: dict[int, int]) -> list[int]:
        """The literals of a gate that may be joined with one of its literals next."""
        gate = self._gates[net]
        if len(gate) <= MAX_WIDTH_ALL_PAIRS:
            return [other for other in gate if other != literal]
        ordered = sorted(gate, key=lambda x: (rank[x], x))
        place = ordered.index(literal)
        return [*ordered[max(0, place - 1) : place], *ordered[place + 1 : place + 2]]
