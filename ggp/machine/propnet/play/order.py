"""In which order kernels evaluate the gates of a cone.

Two things make kernels fast, and they pull in different directions:

- Long runs of gates of one shape: then nothing is guessed wrong about what comes next.
- Few rows at a time: what is read soon after it was made is still in the nearest cache.

So gates are first put in the order in which they are reached depth first: a gate comes right after
the last of its inputs. That order is cut into pieces, and within a piece gates of the same shape
are put side by side, as far as inputs allow. Cones no larger than a piece have the longest runs
there can be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.circuit import Circuit, Literals
from ggp.machine.propnet.play.tapes import I32

PIECE = 2048
"""Gates that are ordered by shape: what they drive fits the second cache."""

Gates = NDArray[np.int64]


class Run(NamedTuple):
    """Gates that come one after the other: a loop, or all of one shape."""

    gates: Gates
    loop: bool
    plus: int
    minus: int


class Orderer:
    """Puts gates of one circuit in the order in which to evaluate them.

    Attributes:
        plus: `[G]` how many literals each gate takes as they are.
        minus: `[G]` how many it takes inverted.
    """

    def __init__(self, circuit: Circuit) -> None:
        ends = np.concatenate([[0], np.cumsum(circuit.literals & 1)])
        self.minus: I32 = (ends[circuit.offsets[1:]] - ends[circuit.offsets[:-1]]).astype(np.int32)
        self.plus: I32 = (np.diff(circuit.offsets) - self.minus).astype(np.int32)
        self._circuit = circuit
        # Lists, because reading arrays item by item takes several times as long.
        self._shapes = list(zip(self.plus.tolist(), self.minus.tolist(), strict=True))
        self._offsets = circuit.offsets.tolist()
        self._sources = ((circuit.literals >> 1) - (1 + circuit.num_inputs)).tolist()

    def runs(self, gates: Gates, targets: Literals) -> list[Run]:
        """Gates in order.

        Args:
            gates: in circuit order; all others that they need are there already.
            targets: what they are needed for.
        """
        found: list[Run] = []
        for part, loop in _split_at_loops(self._circuit, gates):
            if loop:
                found.append(Run(part, True, 0, 0))
                continue
            ordered = part.tolist() if len(part) <= PIECE else self._depth_first(part, targets)
            for first in range(0, len(ordered), PIECE):
                found += self._runs_of_shapes(ordered[first : first + PIECE])
        return found

    def _inputs(self, gate: int) -> list[int]:
        """The gates that a gate reads; inputs of the circuit are below 0."""
        return self._sources[self._offsets[gate] : self._offsets[gate + 1]]

    def _depth_first(self, gates: Gates, targets: Literals) -> list[int]:
        """Gates, each after those it needs, and soon after the last of them."""
        open_ = [False] * self._circuit.num_gates
        for gate in gates.tolist():
            open_[gate] = True
        wanted = (targets >> 1) - (1 + self._circuit.num_inputs)
        # Gates that only later parts need come last.
        pending = [*gates[::-1].tolist(), *wanted[wanted >= 0][::-1].tolist()]
        found: list[int] = []
        while pending:
            gate = pending.pop()
            if gate < 0:
                found.append(~gate)
            elif open_[gate]:
                open_[gate] = False
                pending.append(~gate)
                pending += [each for each in self._inputs(gate) if each >= 0 and open_[each]]
        return found

    def _runs_of_shapes(self, gates: list[int]) -> list[Run]:
        """Runs of gates of one shape.

        Of the shapes of which gates are ready, which have all their inputs, the most frequent goes
        next. Long runs are what kernels are fast at.
        """
        place = {gate: k for k, gate in enumerate(gates)}
        missing = [0] * len(gates)
        readers: list[list[int]] = [[] for _ in range(len(gates))]
        ready: dict[tuple[int, int], list[int]] = {}
        for k, gate in enumerate(gates):
            for each in self._inputs(gate):
                if (source := place.get(each)) is not None:
                    missing[k] += 1
                    readers[source].append(k)
            if not missing[k]:
                ready.setdefault(self._shapes[gate], []).append(k)
        runs = []
        while ready:
            shape = max(ready, key=lambda s: len(ready[s]))
            run = ready.pop(shape)
            # The run grows by what becomes ready meanwhile.
            for k in run:
                for reader in readers[k]:
                    missing[reader] -= 1
                    if not missing[reader]:
                        other = self._shapes[gates[reader]]
                        (run if other == shape else ready.setdefault(other, [])).append(reader)
            runs.append(Run(np.array([gates[k] for k in run]), False, *shape))
        return runs


def _split_at_loops(circuit: Circuit, gates: Gates) -> list[tuple[Gates, bool]]:
    """Runs of gates that are in no loop, and loops, in order."""
    parts = []
    at = 0
    for loop in circuit.loops:
        first, end = np.searchsorted(gates, [loop.start, loop.end])
        if first < end:
            parts.append((gates[at:first], False))
            parts.append((gates[first:end], True))
            at = int(end)
    parts.append((gates[at:], False))
    return [(part, loop) for part, loop in parts if len(part)]
