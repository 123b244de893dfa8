"""Extracts literals that several gates have in common into a gate of their own.

The four gates abc, abd, abe, abf have 12 literals. With g = ab they are gc, gd, ge, gf: 8 literals,
2 of g, and 1.5 for evaluating another gate (`GATE_COST`). The choice of shared parts decides which
are left for others, so the most frequent go first.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import combinations, pairwise

from ggp.machine.circuit import Circuit
from ggp.machine.propnet.optimise.draft import GATE_COST, Draft
from ggp.machine.propnet.optimise.knowledge import CircuitKnowledge, Work

MAX_WIDTH_ALL_PAIRS = 24
"""Width of gates above which only pairs of neighbours are considered."""

MAX_HOLDERS = 40
"""Literals that are in more gates do not help to find similar gates."""

STEPS_TO_REPLACE = 4
"""Steps of work for putting a shared gate into another."""

Pair = tuple[int, int]
"""Two literals, the smaller one first."""


def extract(circuit: Circuit, knowledge: CircuitKnowledge) -> Circuit:
    """Share common parts of gates: whole gates inside others, large parts of some, then pairs.

    A pair costs a gate and saves one literal wherever it occurs, so the most frequent pair
    goes first, and the gate that it becomes pairs with others again.
    """
    shared = _Shared(Draft(circuit), knowledge.work)
    shared.reuse_gates()
    shared.group_common()
    shared.pair()
    return shared.finish()


class _Shared:
    """Gates as sets of literals, and which gates hold each literal."""

    def __init__(self, draft: Draft, work: Work) -> None:
        self._draft = draft
        self._work = work
        self._gates: dict[int, set[int]] = {}
        self._holders: dict[int, set[int]] = {}
        # Wide gates are in order: literals that occur together are likely neighbours.
        self._wide: dict[int, list[tuple[int, int]]] = {}
        self._rank: dict[int, int] = {}
        for net in draft.free_gates():
            self._enter(net, draft.gates[net - draft.first_net])

    def reuse_gates(self) -> None:
        """Where all literals of a gate occur in another, replace them by its output."""
        for net in list(self._gates):
            gate = self._gates[net]
            # A gate with all its literals has the rarest one: so few gates are looked at.
            rarest = min(gate, key=lambda literal: (len(self._holders[literal]), literal))
            for other in sorted(self._holders[rarest]):
                if len(self._gates[other]) > len(gate) and gate <= self._gates[other]:
                    self._replace(other, gate, 2 * net)

    def group_common(self) -> None:
        """Join the literals that two gates have in common, if they are many or are often shared."""
        overlaps: dict[Pair, int] = {}
        for holders in self._holders.values():
            wide = sorted(net for net in holders if len(self._gates[net]) > 2)
            if 1 < len(wide) <= MAX_HOLDERS:
                self._work.spend(len(wide) ** 2 // 20)
                for nets in combinations(wide, 2):
                    overlaps[nets] = overlaps.get(nets, 0) + 1
        queue = [(-count, nets) for nets, count in overlaps.items() if count > 2]
        heapify(queue)
        while queue and self._work.left:
            estimate, nets = heappop(queue)
            common = self._gates[nets[0]] & self._gates[nets[1]]
            if len(common) < 3:
                continue
            # Other gates were joined meanwhile, which lowers counts and never raises them: put it
            # back in the queue with what is left.
            if len(common) < -estimate:
                heappush(queue, (-len(common), nets))
                continue
            literals = sorted(common)
            self._work.spend(len(literals))
            held = set.intersection(*(self._holders[literal] for literal in literals))
            if (len(held) - 1) * len(common) > len(held) + GATE_COST:
                self._join(held, literals)

    def pair(self) -> None:
        """Join pairs, the most frequent first."""
        ordered = sorted((sorted(held), literal) for literal, held in self._holders.items())
        self._rank = {literal: place for place, (_, literal) in enumerate(ordered)}
        counts: dict[Pair, int] = {}
        for net, gate in self._gates.items():
            if len(gate) > MAX_WIDTH_ALL_PAIRS:
                self._wide[net] = sorted((self._rank[literal], literal) for literal in gate)
                pairs: Iterable[Pair] = pairwise(literal for _, literal in self._wide[net])
            else:
                pairs = combinations(gate, 2)
            for one, other in pairs:
                pair = (one, other) if one < other else (other, one)
                counts[pair] = counts.get(pair, 0) + 1
        known = {(min(gate), max(gate)): net for net, gate in self._gates.items() if len(gate) == 2}
        queue: list[tuple[int, Pair]] = []

        def put(pair: Pair, count: int) -> None:
            if count > 2 + GATE_COST or (count > 1 and pair in known):
                heappush(queue, (-count, pair))

        for pair, count in counts.items():
            put(pair, count)
        while queue and self._work.left:
            estimate, pair = heappop(queue)
            self._work.spend(2)
            held = self._holders[pair[0]] & self._holders[pair[1]]
            # As above, counts only fall.
            if len(held) < -estimate:
                put(pair, len(held))
                continue
            if pair in known:
                made = 2 * known[pair]
                held.discard(known[pair])
                self._rank[made] = self._rank[pair[0]]
                for net in sorted(held):
                    self._replace(net, pair, made)
            else:
                made = self._join(held, pair)
                known[pair] = made >> 1
            found: dict[Pair, int] = {}
            for net in sorted(held):
                for other in self._neighbours(net, made):
                    joined = (other, made) if other < made else (made, other)
                    found[joined] = found.get(joined, 0) + 1
            for joined, count in found.items():
                put(joined, count)

    def finish(self) -> Circuit:
        for net, gate in self._gates.items():
            self._draft.change(net, sorted(gate))
        return self._draft.finish()

    def _enter(self, net: int, literals: Iterable[int]) -> None:
        self._gates[net] = set(literals)
        for literal in literals:
            self._holders.setdefault(literal, set()).add(net)

    def _join(self, nets: Iterable[int], literals: Sequence[int]) -> int:
        made = self._draft.add(literals)
        self._rank[made] = self._rank.get(literals[0], 0)
        for net in sorted(nets):
            self._replace(net, literals, made)
        self._enter(made >> 1, literals)
        return made

    def _replace(self, net: int, literals: Iterable[int], by: int) -> None:
        gate = self._gates[net]
        wide = self._wide.get(net)
        self._work.spend(STEPS_TO_REPLACE)
        for literal in list(literals):
            gate.discard(literal)
            self._holders[literal].discard(net)
            if wide is not None:
                del wide[bisect_left(wide, (self._rank[literal], literal))]
        if wide is not None and by not in gate:
            insort(wide, (self._rank[by], by))
        gate.add(by)
        self._holders.setdefault(by, set()).add(net)

    def _neighbours(self, net: int, literal: int) -> list[int]:
        """The literals of a gate that may be joined with one of its literals next."""
        wide = self._wide.get(net)
        if wide is None or len(wide) <= MAX_WIDTH_ALL_PAIRS:
            return [other for other in self._gates[net] if other != literal]
        place = bisect_left(wide, (self._rank[literal], literal))
        beside = [*wide[max(0, place - 1) : place], *wide[place + 1 : place + 2]]
        return [other for _, other in beside]
