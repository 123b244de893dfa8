"""Factors that many alternatives of an OR have in common are taken out of it.

What is left of the alternatives is often the same for several ORs, and then made only once. A cell
holds what it held, be it x, o or nothing, where the game is over or nobody marks it:

    next x = x & over or x & unmarked or ...      becomes      next x = x & kept or ...
    next o = o & over or o & unmarked or ...                   next o = o & kept or ...
                                                               kept = over or unmarked
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from ggp.machine.circuit import Circuit
from ggp.machine.propnet.optimise.draft import GATE_COST, Draft, find_splittable, suits_kernels
from ggp.machine.propnet.optimise.knowledge import CircuitKnowledge

MAX_ALIKE = 8
"""Where more alternatives have a factor in common, nobody looks whether others leave the same."""


def factor(circuit: Circuit, _: CircuitKnowledge) -> Circuit:
    """Rewrite `c & d or c & e or f` as `c & (d or e) or f` where that is cheaper.

    In terms of gates: a gate with inverted gates among its literals is an OR of ANDs (or,
    equivalently, an AND of ORs), and the inner gates share literals. Every OR is split by one
    level; repeat the pass for more.
    """
    draft = Draft(circuit)
    fan_out = draft.fan_out()
    nets = splittable(circuit) if suits_kernels(circuit) else draft.free_gates()
    alike = Counter(
        rest for each in _all_alternatives(draft, fan_out, nets) for rest in each.rests()
    )
    for each in _all_alternatives(draft, fan_out, nets):
        each.split(alike)
    return draft.finish()


def _all_alternatives(
    draft: Draft, fan_out: Sequence[int], nets: Iterable[int]
) -> Iterator[_Alternatives]:
    """The ORs among some gates, as far as they have several ANDs."""
    for net in nets:
        inner = []
        for literal in draft.gates[net - draft.first_net]:
            gate = draft.gate(literal >> 1) if literal & 1 else None
            if gate is not None:
                inner.append((literal, gate))
        if len(inner) > 1:
            yield _Alternatives(draft, fan_out, net, inner)


def splittable(circuit: Circuit) -> list[int]:
    """The nets of gates that may be split, in a circuit without loops."""
    may_be_split = np.zeros(circuit.num_gates, dtype=np.bool_)
    first_net = 1 + circuit.num_inputs
    holder = np.full(2 * (first_net + circuit.num_gates), -1, dtype=np.int64)
    find_splittable(circuit.offsets, circuit.literals, first_net, may_be_split, holder)
    nets: list[int] = (first_net + np.flatnonzero(may_be_split)).tolist()
    return nets


class _Alternatives:
    """The ANDs below one OR."""

    def __init__(
        self,
        draft: Draft,
        fan_out: Sequence[int],
        net: int,
        inner: Sequence[tuple[int, tuple[int, ...]]],
    ) -> None:
        self._draft = draft
        self._fan_out = fan_out
        self._net = net
        self._left = dict(inner)
        self._holders: dict[int, list[int]] = {}
        for literal, gate in inner:
            for shared in gate:
                self._holders.setdefault(shared, []).append(literal)

    def rests(self) -> Iterator[int]:
        """What is left of alternatives (`_rest_of`), for each factor that some have in common."""
        for held in self._holders.values():
            if 1 < len(held) <= MAX_ALIKE:
                gates = [self._left[literal] for literal in held]
                yield _rest_of(gates, set(gates[0]).intersection(*gates[1:]))

    def split(self, alike: Mapping[int, int]) -> None:
        """Take out common factors, those of most alternatives first.

        Args:
            alike: of how many ORs the same may be left.
        """
        queue = [(-len(held), shared) for shared, held in self._holders.items() if len(held) > 1]
        if not queue:
            return
        heapify(queue)
        made: list[int] = []
        while queue:
            estimate, shared = heappop(queue)
            holders = [literal for literal in self._holders[shared] if literal in self._left]
            if len(holders) < 2:
                continue
            # Another factor took some alternatives: put it back in the queue with what is left.
            if len(holders) < -estimate:
                heappush(queue, (-len(holders), shared))
                continue
            gates = [self._left[literal] for literal in holders]
            common = set(gates[0]).intersection(*gates[1:])
            few = len(holders) <= MAX_ALIKE
            shared_by = alike.get(_rest_of(gates, common), 1) if few else 1
            if self._gain(holders, gates, common, shared_by) > 0:
                made.append(self._take_out(holders, gates, common))
        if made:
            inner = {literal for held in self._holders.values() for literal in held}
            others = [
                x for x in self._draft.gates[self._net - self._draft.first_net] if x not in inner
            ]
            self._draft.change(self._net, [*others, *self._left, *made])

    def _gain(
        self,
        holders: Sequence[int],
        gates: Sequence[tuple[int, ...]],
        common: set[int],
        shared_by: int,
    ) -> float:
        """What it saves: gates others use as well only in part.

        Args:
            shared_by: how many ORs make what is left, each of which pays for its share.
        """
        size, spared = len(common), 1 - 1 / shared_by
        gain = spared * (len(holders) + GATE_COST) - 3.0 - size - 2 * GATE_COST
        if len(holders) == len(self._left):
            gain += 1.0 + GATE_COST
        for literal, gate in zip(holders, gates, strict=True):
            rest = len(gate) - size
            saved = size + spared * (rest + GATE_COST) if rest > 1 else len(gate) + GATE_COST
            gain += saved / self._fan_out[literal >> 1]
        return gain

    def _take_out(
        self, holders: Sequence[int], gates: Sequence[tuple[int, ...]], common: set[int]
    ) -> int:
        """Make `~(common & ~(~rest & ~rest ...))` of the alternatives; returns its literal."""
        draft = self._draft
        rests = []
        for literal, gate in zip(holders, gates, strict=True):
            del self._left[literal]
            rest = [x for x in gate if x not in common]
            rests.append(rest[0] ^ 1 if len(rest) == 1 else draft.add(rest) ^ 1)
        return draft.add([*sorted(common), draft.add(rests) ^ 1]) ^ 1


def _rest_of(gates: Sequence[tuple[int, ...]], common: set[int]) -> int:
    """A digest of what is left of alternatives, in any order. Only an estimate depends on it."""
    return hash(frozenset(frozenset(gate).difference(common) for gate in gates))
