"""Gates in layers: all gates of a layer depend on earlier layers only.

Gates of a layer with about as many inputs are a *group*: a table of literals, padded with *true*,
whose rows are all evaluated at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.circuit import TRUE, Circuit, Literals
from ggp.machine.propnet.optimise.proofs.sampling import net_levels
from ggp.machine.propnet.play.layout.cones import cone


class Group(NamedTuple):
    """Gates that are evaluated at once.

    Attributes:
        start: place of the first gate; the others follow.
        literals: `[G, K]` inputs, `2 * place + inverted`.
    """

    start: int
    literals: NDArray[np.int32]


class Layered(NamedTuple):
    """A part of a circuit: N places, of which the first are *false* and the inputs.

    Attributes:
        num_places: N.
        groups: in order.
        outputs: literals of places, one for each literal that was asked for.
    """

    num_places: int
    groups: tuple[Group, ...]
    outputs: tuple[NDArray[np.int32], ...]


def layered(circuit: Circuit, asked: Sequence[Literals]) -> Layered:
    """The gates that some literals depend on; circuits with loops have no layers.

    Args:
        asked: several lists of literals.
    """
    base = 1 + circuit.num_inputs
    together = np.concatenate([np.asarray(each, dtype=np.int32) for each in asked])
    needed = np.flatnonzero(cone(circuit, together)[base:]).tolist()
    offsets, literals = circuit.offsets.tolist(), circuit.literals.tolist()
    depth = net_levels(circuit)
    members: dict[tuple[int, int], list[int]] = {}
    for gate in needed:
        inputs = literals[offsets[gate] : offsets[gate + 1]]
        # Twice as many inputs make another group: less than half of a table is padding.
        size = (len(inputs) - 1).bit_length()
        members.setdefault((depth[base + gate], size), []).append(gate)
    place = np.full(base + circuit.num_gates, -1, dtype=np.int64)
    place[:base] = np.arange(base)
    at = base
    order = sorted(members)
    for key in order:
        for gate in members[key]:
            place[base + gate] = at
            at += 1
    groups = []
    for key in order:
        gates = members[key]
        rows = [literals[offsets[gate] : offsets[gate + 1]] for gate in gates]
        table = np.full((len(gates), max(map(len, rows))), TRUE, dtype=np.int32)
        for k, row in enumerate(rows):
            table[k, : len(row)] = _placed(np.array(row, dtype=np.int32), place)
        groups.append(Group(int(place[base + gates[0]]), table))
    return Layered(at, tuple(groups), tuple(_placed(np.asarray(each), place) for each in asked))


def _placed(literals: Literals, place: NDArray[np.int64]) -> NDArray[np.int32]:
    found: NDArray[np.int32] = (2 * place[literals >> 1] + (literals & 1)).astype(np.int32)
    return found
