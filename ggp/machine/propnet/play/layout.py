"""From a circuit to tapes: the gates of one cone in the order in which kernels evaluate them.

A *row* holds one bit a lane of one net. Row 0 is false; other rows are numbered anew for each
`Layout`, so that a cone that needs few nets touches little memory.

A gate is the AND of some rows as they are and of others inverted; all else is made of these. So
the cone of "a or not b, and c" is a tape of two gates, where a, b and c have rows 1, 2 and 3:

    gate              plus   minus   inputs   output
    not a and b         1      1     2, 1       4
    c and not that      1      1     3, 4       5
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.circuit import Circuit, Literals

I32 = NDArray[np.int32]
U64 = NDArray[np.uint64]

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


class Tape(NamedTuple):
    """G gates of a cone, inputs before what needs them, gates of the same shape side by side.

    Attributes:
        segments: `[S, 5]` first gate, end, whether it is a loop (evaluated until nothing
            changes), and, of others, how many rows each of its gates takes as they are, and how
            many inverted.
        plus: `[G]` how many rows each gate takes as they are.
        minus: `[G]` how many it takes inverted.
        inputs: the rows of all gates, those taken as they are first.
        outputs: `[G]` row each gate drives.
        initial: `[G]` all ones or zeros: what a gate of a loop starts with.
    """

    segments: I32
    plus: I32
    minus: I32
    inputs: I32
    outputs: I32
    initial: U64


class Wires(NamedTuple):
    """K literals as rows and what to xor them with (all ones or zeros)."""

    rows: I32
    inverted: U64


class Layout:
    """Numbers the rows of the nets that some cones of a circuit need."""

    def __init__(self, circuit: Circuit, inputs: Sequence[int]) -> None:
        """`inputs`: nets that get rows 1, 2, ... whether a cone needs them or not."""
        self._circuit = circuit
        self._row = np.full(1 + circuit.num_inputs + circuit.num_gates, -1, dtype=np.int32)
        self._row[0] = 0
        self._row[list(inputs)] = np.arange(1, len(inputs) + 1)
        self.num_rows = 1 + len(inputs)

    def tape(self, targets: Literals, *, keep: bool = True) -> tuple[Tape, Wires]:
        """The gates that literals depend on and no earlier tape has, and where the literals are.

        `keep`: later tapes may rely on these gates; they then must run after this one.
        """
        circuit = self._circuit
        gates = self._missing(targets)
        segments: list[tuple[int, int, int, int, int]] = []
        order: list[NDArray[np.int64]] = []
        size = 0
        for part, loop in _split_at_loops(circuit, gates):
            runs = [(part, 0, 0)] if loop else _runs_of_shapes(circuit, part)
            for run, plus, minus in runs:
                order.append(run)
                segments.append((size, size + len(run), int(loop), plus, minus))
                size += len(run)
        ordered = np.concatenate(order) if order else np.zeros(0, dtype=np.int64)
        base = 1 + circuit.num_inputs
        self._row[base + ordered] = np.arange(self.num_rows, self.num_rows + size)
        self.num_rows += size
        made = self._tape(ordered, segments), self._wires(targets)
        if not keep:
            # This tape may not have run when others do: they must not find its gates.
            self._row[base + ordered] = -1
        return made

    def _wires(self, literals: Literals) -> Wires:
        return Wires(self._row[literals >> 1], np.where(literals & 1, _ALL, np.uint64(0)))

    def copies(self, literals: Literals) -> tuple[Tape, Wires]:
        """A tape that copies literals to rows of their own, and where these are."""
        count = len(literals)
        rows = np.arange(self.num_rows, self.num_rows + count, dtype=np.int32)
        self.num_rows += count
        order = np.argsort(literals & 1, kind="stable")
        inverted = (literals[order] & 1).astype(np.int32)
        ends = count - int(inverted.sum())
        segments = np.array([(0, ends, 0, 1, 0), (ends, count, 0, 0, 1)], dtype=np.int32)
        none = np.zeros(count, dtype=np.uint64)
        inputs = self._row[literals[order] >> 1]
        tape = Tape(segments, 1 - inverted, inverted, inputs, rows[order], none)
        return tape, Wires(rows, none)

    def _missing(self, targets: Literals) -> NDArray[np.int64]:
        """Gates in the cone of some literals that have no row yet, in circuit order."""
        reached = cone(self._circuit, targets, known=self._row >= 0)
        return np.flatnonzero(reached[1 + self._circuit.num_inputs :])

    def _tape(
        self, gates: NDArray[np.int64], segments: list[tuple[int, int, int, int, int]]
    ) -> Tape:
        circuit = self._circuit
        plus, minus = _shapes(circuit, gates)
        counts = (plus + minus).astype(np.int64)
        ends = np.cumsum(counts)
        at = np.arange(ends[-1] if len(ends) else 0)
        at += np.repeat(circuit.offsets[gates] - (ends - counts), counts)
        literals = circuit.literals[at]
        owner = np.repeat(np.arange(len(gates)), counts)
        # Inverted inputs behind the others, gate by gate, as kernels read them.
        literals = literals[np.lexsort((literals & 1, owner))]
        initial = np.zeros(circuit.num_gates, dtype=np.uint64)
        for loop in circuit.loops:
            initial[loop.start : loop.end] = np.where(loop.initial, _ALL, np.uint64(0))
        return Tape(
            np.array(segments, dtype=np.int32).reshape(-1, 5),
            plus,
            minus,
            self._row[literals >> 1],
            self._row[1 + circuit.num_inputs + gates],
            initial[gates],
        )


def cone(
    circuit: Circuit,
    targets: Literals,
    *,
    known: NDArray[np.bool_] | None = None,
    through_time: bool = False,
) -> NDArray[np.bool_]:
    """`[nets]` which nets literals depend on, directly or not.

    Args:
        known: `[nets]` where to stop; these nets are left out.
        through_time: a fluent depends on what it depended on one step before.
    """
    base, num_fluents = 1 + circuit.num_inputs, len(circuit.fluents)
    reached = [False] * (base + circuit.num_gates)
    closed = reached if known is None else known.tolist()
    offsets, nets = circuit.offsets.tolist(), (circuit.literals >> 1).tolist()
    following = (circuit.next >> 1).tolist()
    loop_of = {base + gate: loop for loop in circuit.loops for gate in range(loop.start, loop.end)}
    # Lists, because reading arrays item by item takes several times as long.
    pending: list[int] = np.unique(targets >> 1).tolist()
    while pending:
        net = pending.pop()
        if reached[net] or closed[net]:
            continue
        reached[net] = True
        if net >= base:
            pending.extend(nets[offsets[net - base] : offsets[net - base + 1]])
            if net in loop_of:
                # A loop is evaluated as a whole.
                pending.extend(range(base + loop_of[net].start, base + loop_of[net].end))
        elif through_time and 0 < net <= num_fluents:
            pending.append(following[net - 1])
    return np.array(reached, dtype=np.bool_)


def _shapes(circuit: Circuit, gates: NDArray[np.int64]) -> tuple[I32, I32]:
    """`[G]` literals as they are, and `[G]` inverted ones, of some gates."""
    ends = np.concatenate([[0], np.cumsum(circuit.literals & 1)])
    minus = ends[circuit.offsets[gates + 1]] - ends[circuit.offsets[gates]]
    counts = circuit.offsets[gates + 1] - circuit.offsets[gates]
    return (counts - minus).astype(np.int32), minus.astype(np.int32)


def _split_at_loops(
    circuit: Circuit, gates: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], bool]]:
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


def _runs_of_shapes(
    circuit: Circuit, gates: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], int, int]]:
    """Runs of gates of one shape, with their literals as they are and inverted ones, in order.

    Of the shapes of which gates are ready, which have all their inputs, the most frequent goes
    next. Long runs are what kernels are fast at.
    """
    base = 1 + circuit.num_inputs
    plus, minus = (counts.tolist() for counts in _shapes(circuit, gates))
    place = {gate: k for k, gate in enumerate(gates.tolist())}
    offsets, nets = circuit.offsets.tolist(), (circuit.literals >> 1).tolist()
    missing = [0] * len(gates)
    readers: list[list[int]] = [[] for _ in range(len(gates))]
    for gate, k in place.items():
        for net in nets[offsets[gate] : offsets[gate + 1]]:
            if (source := place.get(net - base)) is not None:
                missing[k] += 1
                readers[source].append(k)
    ready: dict[tuple[int, int], list[int]] = {}
    for k, count in enumerate(missing):
        if not count:
            ready.setdefault((plus[k], minus[k]), []).append(k)
    runs = []
    while ready:
        shape = max(ready, key=lambda s: len(ready[s]))
        run = ready.pop(shape)
        # The run grows by what becomes ready meanwhile.
        for k in run:
            for reader in readers[k]:
                missing[reader] -= 1
                if not missing[reader]:
                    other = plus[reader], minus[reader]
                    (run if other == shape else ready.setdefault(other, [])).append(reader)
        runs.append((gates[run], *shape))
    return runs
