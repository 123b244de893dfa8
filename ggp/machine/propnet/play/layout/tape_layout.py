"""Lays out the gates of cones as tapes for kernels, and assigns rows to nets.

In come a `Circuit` and *stages*, the literals to evaluate one after the other (for example legal
moves, then the next state); out goes a tape for each, with the rows of its literals. Three steps:
`fuse` removes gates with a single reader, `in_order` orders the rest, and `lay_out` gives rows.

Rows are numbered separately for each layout, so that a small cone touches little memory, and a row
is reused as soon as its net will not be read again: the block of a circuit of 120,000 literals
takes a tenth of the memory that one row for each net would take, and stays in the nearest caches.
Stages share rows, and a stage reads gates of earlier stages instead of evaluating them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import first_seen, offsets_of, take_segments
from ggp.machine.circuit import I64, Circuit, Literals, cone, is_large, suited
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.propnet.play.kernels.tapes import I32, STRAIGHT, TURNED, WHOLE, Tape, Wires

# ------------------------------------------------------------------------
# Orders the gates of a cone for kernels.
#
# Long runs of gates of one shape make kernels fast, since no branch is mispredicted. So gates of
# one shape are put side by side. The invariants: a gate comes after its inputs, and one that
# overwrites a fluent's row after every gate that reads the old value.

# ------------------------------------------------------------------------
# Fuses gates that only one other gate reads into it, so that they are stored nowhere.
#
# Half to nine tenths of the gates of large circuits have a single reader, and most of them have two
# inputs. A *fused* gate is the AND of single rows, plain or inverted, and of pairs of rows, each of
# which is a negated gate of two inputs:
#
#     g = not a and b
#     h = c and not g      becomes     h = c and not (b and not a)
#
# That saves the store and the load of g. It is sound only if nothing else reads g: so a gate is
# fused if it has one reader, reads two inputs, is no target, and is in no loop.

INSIDE = 2
"""Number of literals of a gate that may be fused into its reader."""


class Shape(NamedTuple):
    """The numbers of rows that a fused gate reads; kernels read them in this order.

    A gate is the AND of all its parts.

    Attributes:
        plus: rows as they are.
        minus: rows inverted.
        nands: pairs of rows (a, b) that give `not (a and b)`.
        implications: pairs that give `not (a and not b)`.
        ors: pairs that give `a or b`.

    >>> Shape(plus=1, minus=0, implications=1).reads  # c and not (b and not a)
    3
    """

    plus: int
    minus: int
    nands: int = 0
    implications: int = 0
    ors: int = 0

    @property
    def reads(self) -> int:
        """Number of rows that are read."""
        return self.plus + self.minus + 2 * (self.nands + self.implications + self.ors)


class FusedGates(NamedTuple):
    """G gates, with the gates that are fused into them.

    Attributes:
        gates: `[G]` their numbers in the circuit.
        shapes: `[G, 5]` the `Shape` of each.
        first: `[G + 1]` where the nets of each gate begin in `nets`.
        nets: the nets that gates read, gate by gate, in the order of their shapes.
    """

    gates: I64
    shapes: I64
    first: I64
    nets: I64


def fuse(circuit: Circuit, stages: Sequence[I64], targets: Sequence[Literals]) -> list[FusedGates]:
    """The gates of each stage, in circuit order, without gates that are fused into their readers.

    Args:
        stages: gates that each stage evaluates, in circuit order.
        targets: the literals to evaluate in each stage; their gates are never fused into others.
    """
    base = 1 + circuit.num_inputs
    sizes = np.diff(circuit.offsets)
    in_loop = np.zeros(circuit.num_gates, dtype=np.bool_)
    for loop in circuit.loops:
        in_loop[loop.start : loop.end] = True
    readers = np.zeros(base + circuit.num_gates, dtype=np.int64)
    count_readers = suited(_count_readers, circuit)
    for gates, literals in zip(stages, targets, strict=True):
        count_readers(circuit.offsets, circuit.literals, gates, in_loop, readers)
        readers[literals >> 1] += 2
    fits = (readers[base:] == 1) & (sizes == INSIDE) & ~in_loop
    return [_fused(circuit, gates, fits) for gates in stages]


def _fused(circuit: Circuit, gates: I64, fits: NDArray[np.bool_]) -> FusedGates:
    """Fuse as many gates of a stage as possible; `fits`: `[gates]` whether each may be fused."""
    offsets = circuit.offsets
    candidates = np.zeros(circuit.num_gates, dtype=np.bool_)
    candidates[gates] = fits[gates]
    inside = np.zeros(circuit.num_gates, dtype=np.bool_)
    shapes = np.zeros((len(gates), len(Shape._fields)), dtype=np.int64)
    nets = np.empty((offsets[gates + 1] - offsets[gates]).sum(), dtype=np.int64)
    num_nets = suited(_put_together, circuit)(
        offsets, circuit.literals, 1 + circuit.num_inputs, gates, candidates, inside, shapes, nets
    )
    is_outer = ~inside[gates]
    shapes = shapes[is_outer]
    reads = shapes @ np.array([Shape(*kind).reads for kind in np.eye(5, dtype=np.int64)])
    return FusedGates(
        gates[is_outer], shapes, np.concatenate([[0], np.cumsum(reads)]), nets[:num_nets]
    )


@kernel
def _count_readers(
    offsets: I64, literals: Literals, gates: I64, in_loop: NDArray[np.bool_], readers: I64
) -> None:
    """Add to `readers`, `[nets]`, the number of times that gates read each net."""
    for k in range(len(gates)):
        gate = gates[k]
        # The kernel for loops knows no pairs. So a gate in a loop counts as two readers, and its
        # inputs are never fused into it.
        times = 2 if in_loop[gate] else 1
        for i in range(offsets[gate], offsets[gate + 1]):
            readers[literals[i] >> 1] += times


@kernel
def _put_together(
    offsets: I64,
    literals: Literals,
    base: int,
    gates: I64,
    fits: NDArray[np.bool_],
    inside: NDArray[np.bool_],
    shapes: I64,
    nets: I64,
) -> int:
    """Decide which gates are fused into others, and which nets the others read.

    A gate is fused only into a gate that is not itself fused, and only where it is read inverted: a
    shape has one level of pairs.

    Args:
        base: net of the first gate.
        gates: `[K]` in circuit order.
        fits: `[gates]` whether each may be fused.
        inside: `[gates]` whether each is fused, filled in.
        shapes: `[K, 5]` shape of each, all 0, filled in; the shapes of fused gates stay 0.
        nets: nets read by the other gates, filled in.

    Returns:
        the number of nets that they read.
    """
    # From the last gate, so that a reader is decided before its inputs.
    for k in range(len(gates) - 1, -1, -1):
        if not inside[gates[k]]:
            for i in range(offsets[gates[k]], offsets[gates[k] + 1]):
                gate = (literals[i] >> 1) - base
                if literals[i] & 1 and gate >= 0 and fits[gate]:
                    inside[gate] = True
    at = 0
    for k in range(len(gates)):
        if inside[gates[k]]:
            continue
        # First the plain inputs, then the inverted ones, then each kind of pair.
        pairs = False
        for kind in range(5):
            if kind == 2 and not pairs:
                break
            for i in range(offsets[gates[k]], offsets[gates[k] + 1]):
                net = literals[i] >> 1
                gate = net - base
                if not literals[i] & 1 or gate < 0 or not inside[gate]:
                    if kind == literals[i] & 1:
                        shapes[k, kind] += 1
                        nets[at] = net
                        at += 1
                elif kind < 2:
                    pairs = True
                else:
                    a, b = literals[offsets[gate]], literals[offsets[gate] + 1]
                    if (a & 1) > (b & 1):
                        a, b = b, a
                    if kind == 2 + (a & 1) + (b & 1):
                        shapes[k, kind] += 1
                        nets[at] = a >> 1
                        nets[at + 1] = b >> 1
                        at += 2
    return at


_MISSING, _READERS, _NEXT = range(3)
"""Rows of `work`, for each gate: the number of its inputs that are not evaluated yet, the head of
the list of its readers, the next gate in its list of ready gates."""

_MET, _FIRST, _LAST, _SIZE, _SINCE, _SHAPES = range(3, 9)
"""Rows of `work`, for each shape: the first gate of the part it last occurred in, the first and the
last of its ready gates, their number, and the moment since when there are some. `_SHAPES` lists the
shapes of a part."""


class Ordered(NamedTuple):
    """G gates in the order of evaluation.

    Attributes:
        gates: the gates.
        segments: `[S, 9]` see `Tape`.
        straight: `[K]` whether a gate writes each target straight into the row of an input.
    """

    gates: FusedGates
    segments: I64
    straight: NDArray[np.bool_]


def in_order(
    circuit: Circuit,
    gates: FusedGates,
    targets: Literals,
    into: I64 | None = None,
    copied: NDArray[np.bool_] | None = None,
) -> Ordered:
    """Put gates in the order of evaluation.

    Args:
        gates: in circuit order; all other gates that they need are evaluated already.
        targets: the literals of the stage.
        into: `[K]` inputs that take over the targets, see `Stage`.
        copied: `[K]` targets that are copied after all gates.
    """
    sorter = _Sorter(circuit, gates)
    straight = np.zeros(len(targets), dtype=np.bool_)
    if into is not None and copied is not None:
        straight = written_straight(circuit, gates, targets, into, copied)
        sorter.write_straight(targets[straight], into[straight])
    segments = [np.zeros((0, 9), dtype=np.int64)]
    for first, end, loop in _split_at_loops(circuit, gates.gates):
        if loop:
            segments.append(np.array([(first, end, 1, *Shape(0, 0), WHOLE)]))
        else:
            segments.append(sorter.put_side_by_side(first, end))
    starts, input_indices = take_segments(gates.first, sorter.order)
    ordered = FusedGates(
        gates.gates[sorter.order], gates.shapes[sorter.order], starts, gates.nets[input_indices]
    )
    return Ordered(ordered, np.concatenate(segments), straight)


class _Sorter:
    """Puts gates in order, part by part.

    Attributes:
        order: `[G]` indices of the given gates; gates of no part stay where they are.
    """

    def __init__(self, circuit: Circuit, gates: FusedGates) -> None:
        size = len(gates.gates)
        base = 1 + circuit.num_inputs
        self._circuit = circuit
        self._gates = gates
        self._gate_of = np.full(base + circuit.num_gates, -1, dtype=np.int64)
        self._gate_of[base + gates.gates] = np.arange(size)
        # The gate that drives each net that is read.
        self._sources = self._gate_of[gates.nets]
        # The shape of each gate, and the way it is written.
        self._kinds = np.pad(gates.shapes, ((0, 0), (0, 1)), constant_values=WHOLE)
        self._side_by_side = suited(_side_by_side, circuit)
        self.order = np.arange(size)
        self._readers = np.repeat(np.arange(size), np.diff(gates.first))
        self._needs = gates.first, self._sources
        self._work = np.zeros((9, size), dtype=np.int64)
        self._work[_MET] = -1

    def _find_predecessors(self, takers: I64) -> tuple[I64, I64]:
        """The gates after which each gate comes, as offsets and gates.

        These are the gates that it reads and, if an input takes over its value, the gates that read
        that input: after them the input can be overwritten.

        Args:
            takers: for each net that is read, the gate that drives the value it takes over, or -1.
        """
        is_taken = takers >= 0
        later = np.concatenate([self._readers, takers[is_taken]])
        earlier = np.concatenate([self._sources, self._readers[is_taken]])
        counts = np.bincount(later, minlength=len(self.order))
        return offsets_of(counts), earlier[np.argsort(later, kind="stable")]

    def write_straight(self, targets: Literals, into: I64) -> None:
        """Keep gates that read some inputs before the gates that overwrite them.

        Args:
            targets: the literals that overwrite inputs.
            into: the input that each overwrites.
        """
        base = 1 + self._circuit.num_inputs
        writers = self._gate_of[targets >> 1]
        self._kinds[writers, -1] = np.where(targets & 1, TURNED, STRAIGHT)
        taker = np.full(base, -1, dtype=np.int64)
        taker[into] = writers
        nets = self._gates.nets
        takers = np.where(nets < base, taker[np.minimum(nets, base - 1)], -1)
        takers[takers == self._readers] = -1
        self._needs = self._find_predecessors(takers)

    def put_side_by_side(self, first: int, end: int) -> I64:
        """Put gates of one shape side by side, among consecutive gates; returns their segments."""
        order, kinds = self.order, self._kinds
        starts, sources = self._needs
        readers = np.repeat(np.arange(len(order)), np.diff(starts))
        ends = np.empty(end - first, dtype=np.int64)
        num_runs = self._side_by_side(
            first,
            end,
            starts,
            sources,
            _numbers(self._circuit, kinds),
            readers,
            np.empty_like(readers),
            self._work,
            order,
            ends,
        )
        bounds = np.concatenate([[first], ends[:num_runs]])
        segments = np.zeros((num_runs, 9), dtype=np.int64)
        segments[:, 0], segments[:, 1] = bounds[:-1], bounds[1:]
        segments[:, 3:] = kinds[order[bounds[:-1]]]
        return segments


def _numbers(circuit: Circuit, rows: I64) -> I64:
    """`[L]` a number for each row of `[L, K]`, equal for equal rows."""
    if is_large(circuit):
        return first_seen(rows)[1]
    number_of: dict[tuple[int, ...], int] = {}
    numbers = [number_of.setdefault(row, len(number_of)) for row in map(tuple, rows.tolist())]
    return np.array(numbers, dtype=np.int64)


def _split_at_loops(circuit: Circuit, gates: I64) -> Iterator[tuple[int, int, bool]]:
    """The first gate and the end of each run outside loops, and of each loop; whether it is one."""
    at = 0
    for loop in circuit.loops:
        first, end = np.searchsorted(gates, (loop.start, loop.end)).tolist()
        if first < end:
            if at < first:
                yield at, first, False
            yield first, end, True
            at = end
    if at < len(gates):
        yield at, len(gates), False


@kernel
def _side_by_side(
    begin: int,
    end: int,
    first: I64,
    sources: I64,
    shape_of: I64,
    readers: I64,
    next_reader: I64,
    work: I64,
    order: I64,
    ends: I64,
) -> int:
    """Put gates of one shape side by side.

    A gate is *ready* when all its sources have been put out: so it comes after them. Of the shapes
    with ready gates, the one with the most goes next, and its run takes gates that become ready
    meanwhile, because kernels are fastest on long runs; the shape that waited longest wins a tie.

    Args:
        begin, end: the gates.
        first: where the sources of each gate begin in `sources`.
        sources: the gates that are read, -1 for other nets.
        shape_of: `[G]` number of the shape of each gate.
        readers: the gate that reads each source.
        next_reader: scratch, with room for all sources.
        work: `[9, G]` scratch, see `_MISSING` and `_MET`, which is all -1.
        order: `[G]` filled in between `begin` and `end`.
        ends: where runs of one shape end, filled in.

    Returns:
        the number of runs.
    """
    at, runs = begin, 0
    for gate in range(begin, end):
        work[_READERS, gate] = -1
        work[_MISSING, gate] = 0
    # From the last gate, because each reader is put at the head of its list.
    for gate in range(end - 1, begin - 1, -1):
        for i in range(first[gate + 1] - 1, first[gate] - 1, -1):
            source = sources[i]
            if begin <= source < end:
                work[_MISSING, gate] += 1
                next_reader[i] = work[_READERS, source]
                work[_READERS, source] = i
    shapes = moment = 0
    for gate in range(begin, end):
        shape = shape_of[gate]
        if work[_MET, shape] != begin:
            work[_MET, shape] = begin
            work[_SIZE, shape] = 0
            work[_SHAPES, shapes] = shape
            shapes += 1
        if work[_MISSING, gate] == 0:
            moment = _make_ready(work, gate, shape, moment)
    while True:
        shape, max_size = -1, 0
        for k in range(shapes):
            candidate = work[_SHAPES, k]
            size = work[_SIZE, candidate]
            if size > max_size or (
                size and size == max_size and work[_SINCE, candidate] < work[_SINCE, shape]
            ):
                shape, max_size = candidate, size
        if shape < 0:
            break
        # The run grows by gates that become ready meanwhile.
        gate = work[_FIRST, shape]
        while gate >= 0:
            order[at] = gate
            at += 1
            i = work[_READERS, gate]
            while i >= 0:
                reader = readers[i]
                work[_MISSING, reader] -= 1
                if work[_MISSING, reader] == 0:
                    moment = _make_ready(work, reader, shape_of[reader], moment)
                i = next_reader[i]
            gate = work[_NEXT, gate]
        work[_SIZE, shape] = 0
        ends[runs] = at
        runs += 1
    return runs


@inlined
def _make_ready(work: I64, gate: int, shape: int, moment: int) -> int:
    """Put a gate into the list of its shape; returns the next moment."""
    if work[_SIZE, shape]:
        work[_NEXT, work[_LAST, shape]] = gate
    else:
        work[_FIRST, shape] = gate
        work[_SINCE, shape] = moment
    work[_LAST, shape] = gate
    work[_NEXT, gate] = -1
    work[_SIZE, shape] += 1
    return moment + 1


# ------------------------------------------------------------------------
# Decides which gates write the next value of a fluent straight into its row.
#
# Fluents take over their next values after all gates have been evaluated. But if every gate that
# reads a fluent comes before the gate that drives its next value, that gate can write *straight*
# into the row of the fluent, and nothing is copied:
#
#     gate 1    next of b, from a and b    writes the row of b: it is the last to read b
#     gate 2    next of a, from a          writes the row of a
#
# In the other order gate 2 would need a row of its own, for gate 1 still reads a.


def written_straight(
    circuit: Circuit,
    gates: FusedGates,
    targets: Literals,
    into: I64,
    copied: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """`[K]` which targets can be written straight into the rows of the inputs that take them over.

    Args:
        targets: `[K]` literals.
        into: `[K]` the input that takes over each.
        copied: `[K]` which targets are copied after all gates.
    """
    base = 1 + circuit.num_inputs
    writer = np.full(base + circuit.num_gates, -1, dtype=np.int64)
    writer[base + gates.gates] = np.arange(len(gates.gates))
    for loop in circuit.loops:
        writer[base + loop.start : base + loop.end] = -1
    # The last gate that reads each net.
    read = np.full(base + circuit.num_gates, -1, dtype=np.int64)
    np.maximum.at(read, gates.nets, np.repeat(np.arange(len(gates.gates)), np.diff(gates.first)))
    read[targets[copied] >> 1] = len(gates.gates)
    net = targets >> 1
    straight: NDArray[np.bool_] = writer[net] >= 0
    # A gate writes one row, and writes it inverted if its input takes over the negation. So it may
    # do so for one input only, and inverted only if nothing else reads the gate.
    is_first = np.zeros(len(targets), dtype=np.bool_)
    is_first[np.unique(net, return_index=True)[1]] = True
    is_only_reader = (read[net] < 0) & (np.bincount(net)[net] == 1)
    straight &= is_first & ((targets & 1 == 0) | is_only_reader)
    straight[straight] = read[into[straight]] <= writer[net[straight]]
    return straight


# ------------------------------------------------------------------------

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

_NEVER = 1 << 62
"""The death of rows that are never free again."""


class Stage(NamedTuple):
    """Literals to evaluate after the literals of earlier stages.

    Attributes:
        targets: the literals. Their rows are valid from the end of the stage until the next stage
            that is not optional begins.
        optional: whether the stage is sometimes skipped; later stages then ignore its gates.
        into: `[K]` inputs that take over the targets, only in the last stage; None if there are
            none. They do so after all gates, unless a gate writes straight into the input's row.
        copied: `[K]` whether a target must be copied to a row that is not an input's.
    """

    targets: Literals
    optional: bool = False
    into: I64 | None = None
    copied: NDArray[np.bool_] | None = None


class Laid(NamedTuple):
    """Tapes of stages, which share their rows.

    Attributes:
        tapes: one for each stage.
        wires: where the targets of each stage are.
        straight: of each stage, `[K]` whether a gate writes a target into the row of the input that
            takes it over.
        num_rows: of all.
    """

    tapes: list[Tape]
    wires: list[Wires]
    straight: list[NDArray[np.bool_]]
    num_rows: int


def lay_out(circuit: Circuit, inputs: Sequence[int], stages: Sequence[Stage]) -> Laid:
    """Order the gates of stages, and assign rows to the nets that they need.

    Args:
        inputs: nets that have rows 1, 2, ..., whether a stage reads them or not; no other net ever
            has these rows.
        stages: in the order in which they run, again and again.
    """
    base = 1 + circuit.num_inputs
    is_available = np.zeros(base + circuit.num_gates, dtype=np.bool_)
    is_available[0] = True
    is_available[list(inputs)] = True
    cones: list[I64] = []
    for stage in stages:
        cones.append(np.flatnonzero(cone(circuit, stage.targets, excluded=is_available)[base:]))
        if not stage.optional:
            is_available[base + cones[-1]] = True
    planned: list[_Planned] = []
    for stage, gates in zip(stages, fuse(circuit, cones, [s.targets for s in stages]), strict=True):
        ordered = in_order(circuit, gates, stage.targets, stage.into, stage.copied)
        begin = planned[-1].end if planned else 0
        planned.append(_Planned(circuit, stage, ordered, begin))
    for index, plan in enumerate(planned):
        later = [p.begin for p in planned[index + 1 :] if not p.stage.optional]
        plan.resumed = later[0] if later else planned[-1].end
    row = np.full(base + circuit.num_gates, -1, dtype=np.int32)
    row[0] = 0
    row[list(inputs)] = np.arange(1, len(inputs) + 1)
    outputs, num_rows = _rows(circuit, planned, row)
    tapes = [_tape(circuit, *plan, row) for plan in zip(planned, outputs, strict=True)]
    straight = [plan.straight for plan in planned]
    return Laid([tape for tape, _ in tapes], [wires for _, wires in tapes], straight, num_rows)


class _Planned:
    """A stage with its gates in order.

    A net's row is occupied from its birth to its death. Both are *moments*, counted through all
    stages: one for the beginning of each stage, and one for each gate.

    Attributes:
        stage: the stage.
        gates: `[G]` its gates.
        segments: `[S, 9]` see `Tape`.
        straight: `[K]` which targets gates write straight into the rows of inputs.
        into: `[G]` input into whose row a gate writes straight, -1 for none.
        copied: targets that are copied, as gates of one input, the inverted ones last.
        begin, end: moments when the stage and the next one begin.
        resumed: moment when the next stage that is not optional begins.
        births: `[G]` moment at which a gate takes its row.
        read: `[G]` moment at which a gate has read its inputs for the last time.
    """

    def __init__(self, circuit: Circuit, stage: Stage, ordered: Ordered, begin: int) -> None:
        self.stage = stage
        self.gates = gates = ordered.gates
        self.segments = segments = ordered.segments
        self.straight = straight = ordered.straight
        self.into = np.full(len(gates.gates), -1)
        self.copied = np.flatnonzero([] if stage.copied is None else stage.copied)
        self.copied = self.copied[np.argsort(stage.targets[self.copied] & 1, kind="stable")]
        if stage.into is not None:
            taker = np.full(1 + circuit.num_inputs + circuit.num_gates, -1)
            taker[stage.targets[straight] >> 1] = stage.into[straight]
            self.into = taker[1 + circuit.num_inputs + gates.gates]
        self.begin = begin
        self.end = self.resumed = begin + 1 + len(gates.gates)
        self.births = np.arange(begin + 1, self.end)
        self.read = self.births.copy()
        for first, end in segments[segments[:, 2] != 0, :2].tolist():
            # All gates of a loop run again and again: they need their rows from its beginning, and
            # their inputs until its end.
            self.births[first:end] = begin + 1 + first
            self.read[first:end] = begin + 1 + end

    def wanted_until(self) -> int:
        """Moment until which targets are read."""
        return self.resumed if self.stage.into is None else self.end


def _deaths(circuit: Circuit, planned: Sequence[_Planned]) -> I64:
    """`[G]` the moment from which on a gate is no longer read, for the gates of all stages in
    order.

    The last gate that reads a row reads before it writes, so its output may have the same row.
    """
    base = 1 + circuit.num_inputs
    index_of = np.full(base + circuit.num_gates, -1, dtype=np.int64)
    deaths = np.concatenate([plan.read + 1 for plan in planned])
    first = 0
    for plan in planned:
        gates = plan.gates
        index_of[base + gates.gates] = np.arange(first, first + len(gates.gates))
        moments = np.repeat(plan.read, np.diff(gates.first))
        read = index_of[gates.nets]
        if plan.stage.optional:
            # Rows of earlier stages stay occupied, whether this stage runs or not.
            moments = np.where(read < first, plan.resumed, moments)
        np.maximum.at(deaths, read[read >= 0], moments[read >= 0])
        wanted_gates = index_of[plan.stage.targets >> 1]
        np.maximum.at(deaths, wanted_gates[wanted_gates >= 0], plan.wanted_until())
        if plan.stage.optional:
            index_of[base + gates.gates] = -1
        first += len(gates.gates)
    return deaths


def _rows(circuit: Circuit, planned: Sequence[_Planned], row: I32) -> tuple[list[I64], int]:
    """The rows of the gates, and then of the copies, of each stage; and the number of rows.

    Args:
        row: rows of inputs and false; only gates that write straight into an input have its row.
    """
    births, deaths, fixed_rows = [], [], []
    ends = np.cumsum([len(plan.gates.gates) for plan in planned])[:-1]
    for plan, its_deaths in zip(planned, np.split(_deaths(circuit, planned), ends), strict=True):
        # Copies are born last, and keep their rows for good.
        births += [plan.births, np.full(len(plan.copied), plan.end - 1)]
        deaths += [its_deaths, np.full(len(plan.copied), _NEVER)]
        fixed_rows += [np.where(plan.into < 0, -1, row[plan.into]), np.full(len(plan.copied), -1)]
    rows = np.concatenate(fixed_rows)
    needs_row = rows < 0
    free_deaths = np.concatenate(deaths)[needs_row]
    new_rows, free = np.empty_like(free_deaths), np.empty_like(free_deaths)
    num_rows = suited(_give_rows, circuit)(
        np.concatenate(births)[needs_row],
        free_deaths,
        np.argsort(free_deaths, kind="stable"),
        free,
        new_rows,
        int(row.max()) + 1,
    )
    rows[needs_row] = new_rows
    ends = np.cumsum([len(plan.gates.gates) + len(plan.copied) for plan in planned])[:-1]
    return np.split(rows, ends), num_rows


@kernel
def _give_rows(births: I64, deaths: I64, by_death: I64, free: I64, rows: I64, num_rows: int) -> int:
    """Assign rows to gates, in order, and free them again.

    Linear-scan register allocation: no two nets share a row between birth and death. A gate dies
    after its birth, so the loop over deaths stops before it runs out of them.

    Args:
        births: `[G]` moment at which a gate takes a row.
        deaths: `[G]` moment from which on it is no longer read.
        by_death: `[G]` the gates in the order in which they die.
        free: `[G]` scratch.
        rows: `[G]` filled in.
        num_rows: the first row that can be assigned.

    Returns:
        the number of rows.
    """
    num_free = dead = 0
    for gate in range(len(births)):
        while deaths[by_death[dead]] <= births[gate]:
            free[num_free] = rows[by_death[dead]]
            num_free += 1
            dead += 1
        if num_free:
            # The row that was freed last is the likeliest to be in a cache.
            num_free -= 1
            rows[gate] = free[num_free]
        else:
            rows[gate] = num_rows
            num_rows += 1
    return num_rows


def _tape(circuit: Circuit, planned: _Planned, outputs: I64, row: I32) -> tuple[Tape, Wires]:
    """The tape of a stage, and the wires of its targets.

    Args:
        outputs: rows of its gates, and then of its copies.
        row: row of each net, -1 for none; updated with the gates of the stage.
    """
    base = 1 + circuit.num_inputs
    gates, copied, targets = planned.gates, planned.copied, planned.stage.targets
    row[base + gates.gates] = outputs[: len(gates.gates)]
    wires = Wires(row[targets >> 1], np.where(targets & 1, _ALL, np.uint64(0)))
    inverted = (targets[copied] & 1).astype(np.int32)
    first, end = len(gates.gates), len(outputs)
    straight = end - int(inverted.sum())
    copies = [(first, straight, 0, *Shape(1, 0), WHOLE), (straight, end, 0, *Shape(0, 1), WHOLE)]
    segments = np.concatenate([planned.segments, copies])
    inputs = np.concatenate([row[gates.nets], row[targets[copied] >> 1]])
    wires.rows[copied] = outputs[first:]
    wires.inverted[copied] = 0
    initial = np.zeros(circuit.num_gates, dtype=np.uint64)
    for loop in circuit.loops:
        initial[loop.start : loop.end] = np.where(loop.initial, _ALL, np.uint64(0))
    segments = segments[segments[:, 0] < segments[:, 1]]
    tape = Tape(
        segments,
        np.array([[0, len(segments), 0]]),
        np.concatenate([gates.shapes[:, 0], 1 - inverted]).astype(np.int32),
        np.concatenate([gates.shapes[:, 1], inverted]).astype(np.int32),
        inputs,
        outputs.astype(np.int32),
        np.concatenate([initial[gates.gates], np.zeros(len(copied), dtype=np.uint64)]),
    )
    if planned.stage.optional:
        # The stage may have been skipped, so later ones must not read its gates.
        row[base + gates.gates] = -1
    return tape, wires
