"""Takes factors that many alternatives of an OR have in common out of it."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.optimise.assembling import suits_kernels
from ggp.machine.propnet.optimise.draft import GATE_COST, Draft
from ggp.machine.propnet.optimise.kernels import find_splittable
from ggp.machine.propnet.optimise.knowledge import Knowledge


def factor(circuit: Circuit, _: Knowledge) -> Circuit:
    """Rewrite `c & d or c & e or f` as `c & (d or e) or f` where that is cheaper.

    In terms of gates: a gate with inverted gates among its literals is an OR of ANDs (or,
    equivalently, an AND of ORs), and the inner gates share literals. Every OR is split by one
    level; repeat the pass for more.
    """
    draft = Draft(circuit)
    fan_out = draft.fan_out()
    for net in splittable(circuit) if suits_kernels(circuit) else draft.free_gates():
        inner = []
        for literal in draft.gates[net - draft.first_net]:
            gate = draft.gate(literal >> 1) if literal & 1 else None
            if gate is not None:
                inner.append((literal, gate))
        if len(inner) > 1:
            _Alternatives(draft, fan_out, net, inner).split()
    return draft.finish()


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

    def split(self) -> None:
        """Take out common factors, those of the most alternatives first."""
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
            if self._gain(holders, gates, common) > 0:
                made.append(self._take_out(holders, gates, common))
        if made:
            inner = {literal for held in self._holders.values() for literal in held}
            others = [
                x for x in self._draft.gates[self._net - self._draft.first_net] if x not in inner
            ]
            self._draft.change(self._net, [*others, *self._left, *made])

    def _gain(
        self, holders: Sequence[int], gates: Sequence[tuple[int, ...]], common: set[int]
    ) -> float:
        """The cost saved; gates that others use as well count only in part."""
        size = len(common)
        gain = -3.0 - size - 2 * GATE_COST
        if len(holders) == len(self._left):
            gain += 1.0 + GATE_COST
        for literal, gate in zip(holders, gates, strict=True):
            saved = size if len(gate) > size + 1 else len(gate) + GATE_COST
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
