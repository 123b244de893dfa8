"""Makes gates: constants are folded, and no gate is made twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.analysis.dependencies import strong_components
from ggp.machine.arrays import distinct, offsets_of, take_segments
from ggp.machine.base import IntArray
from ggp.machine.circuit import FALSE, TRUE, Literals, Loop

Gate = tuple[int, ...]
"""The literals of a gate, ascending."""


class Gates(NamedTuple):
    """The gates of a `Circuit`, and the new nets of a builder's gates.

    Attributes:
        offsets: as in `Circuit`.
        literals: as in `Circuit`.
        loops: as in `Circuit`.
        net_of: new net of each net of the builder, 0 for gates that were left out.
    """

    offsets: NDArray[np.int64]
    literals: Literals
    loops: tuple[Loop, ...]
    net_of: list[int]


class Builder:
    """Gates on top of some inputs, in an order in which they can be evaluated.

    Attributes:
        first_net: net of the first gate.
        gates: the literals of each gate.
        loops: gates that depend on each other.
    """

    def __init__(self, num_inputs: int) -> None:
        self.first_net = 1 + num_inputs
        self.gates: list[Gate] = []
        self.loops: list[Loop] = []
        self._nets: dict[Gate, int] = {}

    def all_of(self, literals: Iterable[int]) -> int:
        """The literal that holds where all of `literals` hold."""
        distinct = set(literals)
        distinct.discard(TRUE)
        if len(distinct) < 2:
            return distinct.pop() if distinct else TRUE
        if FALSE in distinct:
            return FALSE
        gate = tuple(sorted(distinct))
        net = self._nets.get(gate)
        if net is None:
            # Ascending: the two literals of a net are neighbours.
            for lower, upper in pairwise(gate):
                if lower ^ 1 == upper:
                    return FALSE
            net = self._append(gate)
            self._nets[gate] = net
        return 2 * net

    def all_of_each(self, sizes: IntArray, literals: Literals) -> Literals:
        """`[N]` literals, each of which holds where all of its own hold (see `all_of`).

        Args:
            sizes: `[N]` number of literals of each.
            literals: the literals of all, one after the other.
        """
        made = np.full(len(sizes), TRUE, dtype=np.int32)
        # Sorted within each gate, because the owner's number comes first.
        owned = (np.repeat(np.arange(len(sizes)) << 32, sizes) | literals)[literals != TRUE]
        owned.sort()
        new = np.ones(len(owned), dtype=np.bool_)
        new[1:] = owned[1:] != owned[:-1]
        owned = owned[new]
        owners, literals = owned >> 32, owned.astype(np.int32)
        # Ascending: the two literals of a net are neighbours.
        opposite = (owned[1:] == owned[:-1] + 1) & (owned[1:] & 1 == 1)
        never = owners[literals == FALSE], owners[1:][opposite]
        counts = np.bincount(owners, minlength=len(sizes))
        ends = np.cumsum(counts)
        single = counts == 1
        made[single] = literals[ends[single] - 1]
        counts[np.concatenate(never)] = 0
        made[np.concatenate(never)] = FALSE
        several = np.flatnonzero(counts > 1)
        values = literals.tolist()
        nets, gates = self._nets, self.gates
        next_net = self.first_net + len(gates)
        found = []
        for end, count in zip(ends[several].tolist(), counts[several].tolist(), strict=True):
            gate = tuple(values[end - count : end])
            net = nets.setdefault(gate, next_net)
            if net == next_net:
                gates.append(gate)
                next_net += 1
            found.append(2 * net)
        made[several] = found
        return made

    def any_of(self, literals: Iterable[int]) -> int:
        """The literal that holds where one of `literals` holds."""
        return self.all_of([literal ^ 1 for literal in literals]) ^ 1

    def least_fixpoint(
        self, definitions: Mapping[int, Sequence[int]], initial: Mapping[int, bool]
    ) -> dict[int, int]:
        """Add gates that may depend on each other.

        Args:
            definitions: the literals of each gate. The keys are the caller's numbers for the gates,
                all negative; -2n and -2n + 1 are the two literals of gate -n, and literals from 0
                up are nets of this builder.
            initial: value of each gate where iteration starts.

        Returns:
            The literal that each gate has become.
        """
        gates = {net: list(literals) for net, literals in definitions.items()}
        known: dict[int, int] = {}
        _fold(gates, initial, known)

        # Gate -1 is node 0, gate -2 node 1, and so on.
        edges = {
            -1 - net: [-1 - (literal >> 1) for literal in literals if literal < 0]
            for net, literals in gates.items()
        }
        for nodes in strong_components(edges, -min(definitions)):
            component = [-1 - node for node in sorted(nodes)]
            net = component[0]
            if net not in gates:
                continue
            if len(component) == 1 and nodes[0] not in edges[nodes[0]]:
                known[net] = self.all_of([_known(literal, known) for literal in gates[net]])
                continue
            start = len(self.gates)
            for place, net in enumerate(component):
                known[net] = 2 * (self.first_net + start + place)
            for net in component:
                self._append(tuple(sorted({_known(literal, known) for literal in gates[net]})))
            values = np.array([initial[net] for net in component], dtype=np.bool_)
            self.loops.append(Loop(start, len(self.gates), values))
        return {net: _known(2 * net, known) for net in definitions}

    def needed(self, roots: Iterable[int]) -> Gates:
        """The gates that `roots` depend on."""
        sizes = np.fromiter(map(len, self.gates), dtype=np.int64, count=len(self.gates))
        offsets = offsets_of(sizes)
        flat = chain.from_iterable(self.gates)
        literals = np.fromiter(flat, dtype=np.int32, count=int(offsets[-1]))
        return needed_gates(self.first_net, offsets, literals, self.loops, roots)

    def _append(self, gate: Gate) -> int:
        self.gates.append(gate)
        return self.first_net + len(self.gates) - 1


def needed_gates(
    first: int, offsets: IntArray, literals: Literals, loops: Sequence[Loop], roots: Iterable[int]
) -> Gates:
    """The gates that `roots` depend on, among given ones.

    Args:
        first: net of the first gate.
        offsets: `[G + 1]` of all gates, as in `Circuit`.
        literals: literals of all gates, as in `Circuit`.
        loops: loops of the gates, as in `Circuit`.
        roots: literals.
    """
    nets = np.fromiter(roots, dtype=np.int64) >> 1
    live = _live(first, nets, offsets, literals >> 1, loops)
    kept = np.flatnonzero(live[first:])
    net_of = np.zeros(len(live), dtype=np.int32)
    net_of[:first] = np.arange(first)
    net_of[first + kept] = first + np.arange(len(kept))
    kept_offsets, places = take_segments(offsets, kept)
    literals = literals[places]
    return Gates(
        offsets=kept_offsets,
        literals=2 * net_of[literals >> 1] + (literals & 1),
        loops=tuple(
            _moved(loop, int(net_of[first + loop.start]) - first)
            for loop in loops
            if live[first + loop.start]
        ),
        net_of=net_of.tolist(),
    )


def _live(
    first: int,
    roots: IntArray,
    offsets: IntArray,
    inputs: NDArray[np.int32],
    loops: Sequence[Loop],
) -> NDArray[np.bool_]:
    """`[nets]` whether `roots` depend on each net, directly or indirectly."""
    num_gates = len(offsets) - 1
    live = np.zeros(first + num_gates, dtype=np.bool_)
    loop_of = np.full(num_gates, -1, dtype=np.int64)
    for number, loop in enumerate(loops):
        loop_of[loop.start : loop.end] = number
    new = distinct(roots, len(live))
    while len(new):
        live[new] = True
        gates = new[new >= first] - first
        # Gates of a loop are needed together.
        for number in np.unique(loop_of[gates]).tolist() if loops else ():
            if number >= 0:
                loop = loops[number]
                live[first + loop.start : first + loop.end] = True
                gates = np.union1d(gates, np.arange(loop.start, loop.end))
        found = inputs[take_segments(offsets, gates)[1]]
        new = distinct(found[~live[found]], len(live))
    return live


def _moved(loop: Loop, start: int) -> Loop:
    return Loop(start, start + loop.end - loop.start, loop.initial)


def _known(literal: int, known: Mapping[int, int]) -> int:
    """The literal that a literal has become, following gates that became others several times."""
    while literal < 0 and literal >> 1 in known:
        literal = known[literal >> 1] ^ (literal & 1)
    return literal


def _fold(gates: dict[int, list[int]], initial: Mapping[int, bool], known: dict[int, int]) -> None:
    """Move gates that are constant or equal to a literal from `gates` to `known`."""
    changed = True
    while changed:
        changed = False
        for net in list(gates):
            literals = {_known(literal, known) for literal in gates[net]} - {TRUE}
            if FALSE in literals or any(x ^ 1 in literals for x in literals if x >= 0):
                known[net] = FALSE
            elif not literals:
                known[net] = TRUE
            elif literals == {2 * net}:
                known[net] = TRUE if initial[net] else FALSE
            elif len(literals) == 1:
                known[net] = literals.pop()
            else:
                gates[net] = sorted(literals)
                continue
            del gates[net]
            changed = True
