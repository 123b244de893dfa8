"""Lays out the gates of some cones as tapes, and assigns rows to them.

Rows are numbered anew for each `lay_out`, so that a cone that needs few nets touches little memory.
A row is used again as soon as it will not be read: the block of a circuit of 120,000 literals takes
a tenth of the memory that a row for each net would take, and stays in the nearest caches.

A circuit is evaluated in *stages*, for example what is legal, then the next state. Stages share
rows, and gates that one has evaluated need not be evaluated by later ones.
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
# Two things make kernels fast, and they pull in different directions:
#
# - Long runs of gates of one shape: then no branch is mispredicted. - Few rows at a time: a net
# that is read soon after it was made is still in the nearest cache.
#
# So gates are first put in depth-first order: a gate comes right after the last of its inputs, and
# the one that drives the next value of a fluent after those that read its old value, unless these
# dependences form circles. That order is cut into pieces, and within a piece gates of the same
# shape are put side by side, as far as inputs, and fluents that gates overwrite, allow. Cones no
# larger than a piece have the longest possible runs.

# ------------------------------------------------------------------------
# Fuses gates that only one other gate reads into it, so that they are stored nowhere.
#
# Half to nine tenths of the gates of large circuits have a single reader, and most of them have two
# inputs. A *fused* gate is the AND of some rows as they are, of others inverted, and of pairs of
# rows that are not both as the pair wants them:
#
# g = not a and b h = c and not g becomes h = c and not (b and not a)
#
# That takes neither a store nor a load for g.

INSIDE = 2
"""Number of literals of gates that may be inside others."""


class Shape(NamedTuple):
    """The numbers of rows that a fused gate reads; kernels read them in this order.

    Attributes:
        plus: rows taken as they are.
        minus: rows taken inverted.
        both, one, none: pairs that must not be as the pair wants them: both rows
            holding; the first holding and the second not; neither holding.
    """

    plus: int
    minus: int
    both: int = 0
    one: int = 0
    none: int = 0

    @property
    def reads(self) -> int:
        """Number of rows that are read."""
        return self.plus + self.minus + 2 * (self.both + self.one + self.none)


class FusedGates(NamedTuple):
    """G gates with the gates inside them.

    Attributes:
        gates: `[G]` their numbers in the circuit.
        shapes: `[G, 5]` the `Shape` of each.
        first: `[G + 1]` where in `nets` the nets that each reads begin.
        nets: the nets they read, each in the order of its shape.
    """

    gates: I64
    shapes: I64
    first: I64
    nets: I64


def fuse(circuit: Circuit, stages: Sequence[I64], targets: Sequence[Literals]) -> list[FusedGates]:
    """The gates of each stage, in circuit order; those that are inside others are left out.

    Args:
        stages: gates that each stage evaluates, in circuit order.
        targets: literals that are wanted from each stage; they are not inside others.
    """
    base = 1 + circuit.num_inputs
    sizes = np.diff(circuit.offsets)
    in_loop = np.zeros(circuit.num_gates, dtype=np.bool_)
    for loop in circuit.loops:
        in_loop[loop.start : loop.end] = True
    readers = np.zeros(base + circuit.num_gates, dtype=np.int64)
    count = suited(_count_readers, circuit)
    for gates, wanted in zip(stages, targets, strict=True):
        count(circuit.offsets, circuit.literals, gates, in_loop, readers)
        readers[wanted >> 1] += 2
    fits = (readers[base:] == 1) & (sizes == INSIDE) & ~in_loop
    return [_fused(circuit, gates, fits) for gates in stages]


def _fused(circuit: Circuit, gates: I64, fits: NDArray[np.bool_]) -> FusedGates:
    """Fuse as many of some gates as possible into others. `fits`: `[gates]` whether each may be."""
    offsets = circuit.offsets
    here = np.zeros(circuit.num_gates, dtype=np.bool_)
    here[gates] = fits[gates]
    inside = np.zeros(circuit.num_gates, dtype=np.bool_)
    shapes = np.zeros((len(gates), len(Shape._fields)), dtype=np.int64)
    nets = np.empty((offsets[gates + 1] - offsets[gates]).sum(), dtype=np.int64)
    num_nets = suited(_put_together, circuit)(
        offsets, circuit.literals, 1 + circuit.num_inputs, gates, here, inside, shapes, nets
    )
    alone = ~inside[gates]
    shapes = shapes[alone]
    reads = shapes @ np.array([Shape(*each).reads for each in np.eye(5, dtype=np.int64)])
    return FusedGates(
        gates[alone], shapes, np.concatenate([[0], np.cumsum(reads)]), nets[:num_nets]
    )


@kernel
def _count_readers(
    offsets: I64, literals: Literals, gates: I64, in_loop: NDArray[np.bool_], readers: I64
) -> None:
    """Add to `readers`, `[nets]`, the number of times that gates read each net."""
    for k in range(len(gates)):
        gate = gates[k]
        # Gates of loops are evaluated again and again, one by one: they count twice.
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
    """Decide which gates are inside others, and which nets the others read.

    Args:
        base: net of the first gate.
        gates: `[K]` in circuit order.
        fits: `[gates]` whether each may be inside.
        inside: `[gates]` whether each is, filled in.
        shapes: `[K, 5]` shape of each, all 0, filled in; those of gates inside others stay 0.
        nets: nets read by gates that are not inside, filled in.

    Returns:
        the number of nets they read.
    """
    # From the last, so that readers come first.
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
        # First the inputs as they are, then those inverted, then each kind of pair.
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


PIECE = 2048
"""Number of gates that are ordered by shape together: the rows they drive fit the second cache."""

SMALL_PIECE = 512
"""The same where inputs take over the values of gates: the end of a piece should not come between
reading an input and overwriting it. Single states, which have no such stage, would take longer."""

_PLACE, _MISSING, _READERS, _NEXT = range(4)
"""Data of each gate: its place in the order, the number of its inputs still missing, the list of
its readers, the next gate in the list of those that are ready."""

_MET, _FIRST, _LAST, _SIZE, _SINCE, _SHAPES = range(4, 10)
"""Data of each shape: the piece it was met in, the list of its gates that are ready, the last of
that, their number, the moment since when there are some. And the shapes met in a piece."""


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
        targets: the literals they are needed for.
        into: `[K]` inputs that take over the targets, see `Stage`.
        copied: `[K]` targets that are copied after all gates.
    """
    sorter = _Sorter(circuit, gates, targets, into)
    parts = list(_split_at_loops(circuit, gates.gates))
    for first, end, loop in parts:
        if not loop:
            sorter.put_depth_first(first, end)
    straight = np.zeros(len(targets), dtype=np.bool_)
    if into is not None and copied is not None:
        place = np.argsort(sorter.order)
        straight = written_straight(circuit, gates, place, targets, into, copied)
        sorter.write_straight(targets[straight], into[straight])
    segments = [np.zeros((0, 9), dtype=np.int64)]
    for first, end, loop in parts:
        if loop:
            segments.append(np.array([(first, end, 1, *Shape(0, 0), WHOLE)]))
        else:
            segments.append(sorter.put_side_by_side(first, end))
    starts, taken = take_segments(gates.first, sorter.order)
    ordered = FusedGates(
        gates.gates[sorter.order], gates.shapes[sorter.order], starts, gates.nets[taken]
    )
    return Ordered(ordered, np.concatenate(segments), straight)


class _Sorter:
    """Puts gates in order, part by part.

    Attributes:
        order: `[G]` places among the given gates; those that are in no part stay where they are.
    """

    def __init__(
        self, circuit: Circuit, gates: FusedGates, targets: Literals, into: I64 | None
    ) -> None:
        size = len(gates.gates)
        base = 1 + circuit.num_inputs
        self._circuit = circuit
        self._gates = gates
        self._gate_of = np.full(base + circuit.num_gates, -1, dtype=np.int64)
        self._gate_of[base + gates.gates] = np.arange(size)
        # The gate that drives each net that is read, or wanted.
        self._sources = self._gate_of[gates.nets]
        self._wanted = self._gate_of[targets >> 1]
        # The shape of each gate, and the way it is written.
        self._kinds = np.pad(gates.shapes, ((0, 0), (0, 1)), constant_values=WHOLE)
        self._depth_first = suited(_depth_first, circuit)
        self._side_by_side = suited(_side_by_side, circuit)
        self.order = np.arange(size)
        self._readers = np.repeat(np.arange(size), np.diff(gates.first))
        self._after = self._needs = gates.first, self._sources
        self._piece = PIECE if into is None else min(PIECE, SMALL_PIECE)
        if into is not None:
            taker = np.full(base + circuit.num_gates, -1, dtype=np.int64)
            taker[into] = self._wanted
            self._after = self._after_readers(taker[gates.nets])
        self._stack = np.empty(len(self._after[1]) + size + 1, dtype=np.int64)
        self._work = np.zeros((10, size), dtype=np.int64)
        self._work[[_PLACE, _MET]] = -1

    def _after_readers(self, takers: I64) -> tuple[I64, I64]:
        """The gates after which each gate comes in depth-first order, as offsets and gates.

        These are the gates that it reads. And if an input takes over its value, they are those that
        read that input: then it can be overwritten soon.

        Args:
            takers: for each net that is read, the gate that drives the value it takes over, or -1.
        """
        some = takers >= 0
        later = np.concatenate([self._readers, takers[some]])
        earlier = np.concatenate([self._sources, self._readers[some]])
        counts = np.bincount(later, minlength=len(self.order))
        return offsets_of(counts), earlier[np.argsort(later, kind="stable")]

    def put_depth_first(self, first: int, end: int) -> None:
        """Put some consecutive gates in depth-first order; few stay where they are."""
        if end - first > self._piece:
            self._search(first, end, self._after, self._wanted)
            if self._after is not self._needs:
                # Readers of old values may form circles with the gates' inputs, and a search that
                # comes back to a gate goes on without it. Inputs come first.
                self._search(first, end, self._needs, self.order[first:end].copy())

    def _search(self, first: int, end: int, after: tuple[I64, I64], wanted: I64) -> None:
        waiting = np.ones(len(self.order), dtype=np.bool_)
        self._depth_first(first, end, *after, wanted, waiting, self._stack, self.order)

    def write_straight(self, targets: Literals, into: I64) -> None:
        """Keep gates that read some inputs before those that overwrite them.

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
        self._needs = self._after_readers(takers)

    def put_side_by_side(self, first: int, end: int) -> I64:
        """Put gates of one shape side by side, among consecutive gates; returns their segments."""
        order, kinds = self.order, self._kinds
        starts, sources = self._needs
        readers = np.repeat(np.arange(len(order)), np.diff(starts))
        before = order.copy()
        ends = np.empty(end - first, dtype=np.int64)
        size = min(self._piece, end - first)
        num_runs = self._side_by_side(
            first,
            end,
            size,
            starts,
            sources,
            _numbers(self._circuit, kinds),
            readers,
            np.empty_like(readers),
            self._work,
            before,
            order,
            ends,
        )
        bounds = np.concatenate([[first], ends[:num_runs]])
        segments = np.zeros((num_runs, 9), dtype=np.int64)
        segments[:, 0], segments[:, 1] = bounds[:-1], bounds[1:]
        segments[:, 3:] = kinds[order[bounds[:-1]]]
        return segments


def _numbers(circuit: Circuit, rows: I64) -> I64:
    """`[L]` a number for each row of `[L, K]`, the same for equal rows."""
    if is_large(circuit):
        return first_seen(rows)[1]
    known: dict[tuple[int, ...], int] = {}
    found = [known.setdefault(row, len(known)) for row in map(tuple, rows.tolist())]
    return np.array(found, dtype=np.int64)


def _split_at_loops(circuit: Circuit, gates: I64) -> Iterator[tuple[int, int, bool]]:
    """Where runs of gates in no loop, and loops, begin and end, and whether they are loops."""
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
def _depth_first(
    begin: int,
    end: int,
    first: I64,
    sources: I64,
    wanted: I64,
    waiting: NDArray[np.bool_],
    stack: I64,
    order: I64,
) -> None:
    """Order gates `begin .. end`, each after those it needs, and soon after the last of them.

    Args:
        first: where in `sources` those of each gate begin.
        sources: the gates after which each comes, -1 for none.
        wanted: gates that are wanted, -1 for other nets.
        waiting: `[G]` all true.
        stack: scratch, with room for all gates and sources.
        order: filled in from `begin` on.
    """
    at = begin
    # Gates that only later parts need come last.
    for k in range(len(wanted) + end - begin):
        stack[0] = wanted[k] if k < len(wanted) else begin + k - len(wanted)
        top = 1
        if stack[0] < 0:
            top = 0
        while top:
            top -= 1
            gate = stack[top]
            if gate < 0:
                order[at] = -1 - gate
                at += 1
            elif begin <= gate < end and waiting[gate]:
                waiting[gate] = False
                stack[top] = -1 - gate
                top += 1
                for i in range(first[gate], first[gate + 1]):
                    if sources[i] >= 0:
                        stack[top] = sources[i]
                        top += 1


@kernel
def _side_by_side(  # noqa: C901
    begin: int,
    end: int,
    piece: int,
    first: I64,
    sources: I64,
    shape_of: I64,
    readers: I64,
    before: I64,
    work: I64,
    order: I64,
    found: I64,
    ends: I64,
) -> int:
    """Put gates of one shape side by side, within each piece.

    Of the shapes with ready gates, which have all their inputs, the most frequent one goes
    next. Kernels are fastest on long runs.

    Args:
        begin, end: places of the gates in the order.
        piece: number of gates of a piece.
        first: where in `sources` those of each gate begin.
        sources: the gates that are read, -1 for other nets.
        shape_of: `[G]` number of the shape of each gate.
        readers: the gate that reads each source.
        before: scratch, with room for all sources.
        work: `[10, G]` scratch, see `_PLACE` and `_MET`, which are all -1.
        order: `[G]` the gates.
        found: `[G]` filled in between `begin` and `end`.
        ends: where runs of one shape end, filled in.

    Returns:
        the number of runs.
    """
    at, runs = begin, 0
    for start in range(begin, end, piece):
        stop = start + piece
        if stop > end:
            stop = end
        for k in range(start, stop):
            work[_PLACE, order[k]] = k
            work[_READERS, order[k]] = -1
            work[_MISSING, order[k]] = 0
        # From the last, since the reader that is found last becomes the first of the list.
        for k in range(stop - 1, start - 1, -1):
            gate = order[k]
            for i in range(first[gate + 1] - 1, first[gate] - 1, -1):
                source = sources[i]
                if source >= 0 and work[_PLACE, source] >= start:
                    work[_MISSING, gate] += 1
                    before[i] = work[_READERS, source]
                    work[_READERS, source] = i
        shapes = moment = 0
        for k in range(start, stop):
            shape = shape_of[order[k]]
            if work[_MET, shape] != start:
                work[_MET, shape] = start
                work[_SIZE, shape] = 0
                work[_SHAPES, shapes] = shape
                shapes += 1
            if work[_MISSING, order[k]] == 0:
                moment = _make_ready(work, order[k], shape, moment)
        while True:
            shape, most = -1, 0
            for k in range(shapes):
                other = work[_SHAPES, k]
                size = work[_SIZE, other]
                if size > most or (
                    size and size == most and work[_SINCE, other] < work[_SINCE, shape]
                ):
                    shape, most = other, size
            if shape < 0:
                break
            # The run grows by gates that become ready meanwhile.
            gate = work[_FIRST, shape]
            while gate >= 0:
                found[at] = gate
                at += 1
                i = work[_READERS, gate]
                while i >= 0:
                    reader = readers[i]
                    work[_MISSING, reader] -= 1
                    if work[_MISSING, reader] == 0:
                        moment = _make_ready(work, reader, shape_of[reader], moment)
                    i = before[i]
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
# Which fluents are overwritten by the gate that drives their next value.
#
# Fluents take over their next values after all gates have been evaluated. But where all gates that
# read a fluent come before the one that drives its next value, that one can write *straight* into
# the row of the fluent, and nothing is copied:
#
# gate 1    next of b, from a and b    writes the row of b: it is the last to read b
#     gate 2    next of a, from a          writes the row of a
#
# In the other order gate 2 would need a row of its own, for gate 1 still reads a.


def written_straight(
    circuit: Circuit,
    gates: FusedGates,
    place: I64,
    targets: Literals,
    into: I64,
    copied: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """`[K]` which targets can be written straight into the rows of the inputs that take them over.

    Args:
        place: `[G]` where in the order each gate comes; gates of a loop follow each other.
        targets: `[K]` literals.
        into: `[K]` the input that takes over each.
        copied: `[K]` which targets are copied after all gates.
    """
    base = 1 + circuit.num_inputs
    writer = np.full(base + circuit.num_gates, -1, dtype=np.int64)
    writer[base + gates.gates] = np.arange(len(gates.gates))
    for loop in circuit.loops:
        writer[base + loop.start : base + loop.end] = -1
    # The place of the last gate that reads each net.
    read = np.full(base + circuit.num_gates, -1, dtype=np.int64)
    np.maximum.at(read, gates.nets, np.repeat(place, np.diff(gates.first)))
    read[targets[copied] >> 1] = len(gates.gates)
    net = targets >> 1
    straight: NDArray[np.bool_] = writer[net] >= 0
    # A gate writes into one row, and whoever else reads that row finds it as the input wants it:
    # other gates, and other inputs that take over what it drives.
    once = np.zeros(len(targets), dtype=np.bool_)
    once[np.unique(net, return_index=True)[1]] = True
    alone = (read[net] < 0) & (np.bincount(net)[net] == 1)
    straight &= once & ((targets & 1 == 0) | alone)
    straight[straight] = read[into[straight]] <= place[writer[net[straight]]]
    return straight


# ------------------------------------------------------------------------

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

_NEVER = 1 << 62
"""The moment of something that never happens."""


class Stage(NamedTuple):
    """Literals to evaluate, after those of the stages before.

    Attributes:
        targets: the literals. They can be read from the end of the stage until the next stage
            begins that is not optional.
        optional: whether the stage is left out now and then; others then cannot rely on its gates.
        into: `[K]` inputs that take over the targets, of the last stage; none if they do not. They
            do so after all gates, or a gate writes the target straight into the row of the input.
        apart: `[K]` whether a target must not be in the row of an input.
    """

    targets: Literals
    optional: bool = False
    into: I64 | None = None
    apart: NDArray[np.bool_] | None = None


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
    """Number the rows of the nets that stages need, and put their gates in order.

    Args:
        inputs: nets that have rows 1, 2, ..., whether a stage needs them or not; no other net is
            ever in these rows.
        stages: in the order in which they run, again and again.
    """
    base = 1 + circuit.num_inputs
    known = np.zeros(base + circuit.num_gates, dtype=np.bool_)
    known[0] = True
    known[list(inputs)] = True
    cones: list[I64] = []
    for stage in stages:
        cones.append(np.flatnonzero(cone(circuit, stage.targets, excluded=known)[base:]))
        if not stage.optional:
            known[base + cones[-1]] = True
    planned: list[_Planned] = []
    for stage, gates in zip(stages, fuse(circuit, cones, [s.targets for s in stages]), strict=True):
        ordered = in_order(circuit, gates, stage.targets, stage.into, stage.apart)
        begin = planned[-1].end if planned else 0
        planned.append(_Planned(circuit, stage, ordered, begin))
    for number, each in enumerate(planned):
        later = [other.begin for other in planned[number + 1 :] if not other.stage.optional]
        each.resumed = later[0] if later else planned[-1].end
    row = np.full(base + circuit.num_gates, -1, dtype=np.int32)
    row[0] = 0
    row[list(inputs)] = np.arange(1, len(inputs) + 1)
    outputs, num_rows = _rows(circuit, planned, row)
    made = [_tape(circuit, *each, row) for each in zip(planned, outputs, strict=True)]
    straight = [each.straight for each in planned]
    return Laid([tape for tape, _ in made], [wires for _, wires in made], straight, num_rows)


class _Planned:
    """A stage with its gates in order.

    Moments are counted through all stages: one at the beginning of a stage, and one for each gate.

    Attributes:
        stage: the stage.
        gates: `[G]` its gates.
        segments: `[S, 9]` see `Tape`.
        straight: `[K]` which targets gates write straight into the rows of inputs.
        into: `[G]` input into whose row a gate writes straight, -1 for none.
        copied: targets that are copied, as gates of one input, those that are inverted last.
        begin, end: moment when the stage begins, and when the next one does.
        resumed: moment when the next stage begins that is not optional.
        taken: `[G]` moment at which a gate takes its row.
        read: `[G]` moment at which it has surely read its inputs.
    """

    def __init__(self, circuit: Circuit, stage: Stage, ordered: Ordered, begin: int) -> None:
        self.stage = stage
        self.gates = gates = ordered.gates
        self.segments = segments = ordered.segments
        self.straight = straight = ordered.straight
        self.into = np.full(len(gates.gates), -1)
        self.copied = np.flatnonzero([] if stage.apart is None else stage.apart)
        self.copied = self.copied[np.argsort(stage.targets[self.copied] & 1, kind="stable")]
        if stage.into is not None:
            taker = np.full(1 + circuit.num_inputs + circuit.num_gates, -1)
            taker[stage.targets[straight] >> 1] = stage.into[straight]
            self.into = taker[1 + circuit.num_inputs + gates.gates]
        self.begin = begin
        self.end = self.resumed = begin + 1 + len(gates.gates)
        self.taken = np.arange(begin + 1, self.end)
        self.read = self.taken.copy()
        for first, end in segments[segments[:, 2] != 0, :2].tolist():
            # All gates of a loop run again and again.
            self.taken[first:end] = begin + 1 + first
            self.read[first:end] = begin + 1 + end

    def shown(self) -> int:
        """Moment until which targets are read."""
        return self.resumed if self.stage.into is None else self.end


def _deaths(circuit: Circuit, planned: Sequence[_Planned]) -> I64:
    """The moment from which on each gate is no longer read, for the gates of all stages in order.

    The gate of that moment is the last that reads it, and can take its row.
    """
    base = 1 + circuit.num_inputs
    number = np.full(base + circuit.num_gates, -1, dtype=np.int64)
    dies = np.concatenate([each.read + 1 for each in planned])
    first = 0
    for each in planned:
        gates = each.gates
        number[base + gates.gates] = np.arange(first, first + len(gates.gates))
        moments = np.repeat(each.read, np.diff(gates.first))
        read = number[gates.nets]
        if each.stage.optional:
            # Gates of other stages stay, whether the stage runs or not.
            moments = np.where(read < first, each.resumed, moments)
        np.maximum.at(dies, read[read >= 0], moments[read >= 0])
        shown = number[each.stage.targets >> 1]
        np.maximum.at(dies, shown[shown >= 0], each.shown())
        if each.stage.optional:
            number[base + gates.gates] = -1
        first += len(gates.gates)
    return dies


def _rows(circuit: Circuit, planned: Sequence[_Planned], row: I32) -> tuple[list[I64], int]:
    """The rows driven by the gates, and then the copies, of each stage; and the number of rows.

    Args:
        row: rows of inputs and false; only gates that write straight into them get these.
    """
    taken, dies, found = [], [], []
    ends = np.cumsum([len(each.gates.gates) for each in planned])[:-1]
    for each, its_deaths in zip(planned, np.split(_deaths(circuit, planned), ends), strict=True):
        # Copies are the last to take rows, and no other net is ever in these again.
        taken += [each.taken, np.full(len(each.copied), each.end - 1)]
        dies += [its_deaths, np.full(len(each.copied), _NEVER)]
        found += [np.where(each.into < 0, -1, row[each.into]), np.full(len(each.copied), -1)]
    rows = np.concatenate(found)
    own = rows < 0
    all_dies = np.concatenate(dies)[own]
    given, free = np.empty_like(all_dies), np.empty_like(all_dies)
    num_rows = suited(_give_rows, circuit)(
        np.concatenate(taken)[own],
        all_dies,
        np.argsort(all_dies, kind="stable"),
        free,
        given,
        int(row.max()) + 1,
    )
    rows[own] = given
    ends = np.cumsum([len(each.gates.gates) + len(each.copied) for each in planned])[:-1]
    return np.split(rows, ends), num_rows


@kernel
def _give_rows(taken: I64, dies: I64, by_death: I64, free: I64, rows: I64, num_rows: int) -> int:
    """Assign rows to gates, in order, and free them again.

    Args:
        taken: `[G]` moment at which a gate takes a row.
        dies: `[G]` moment from which on it is no longer read.
        by_death: `[G]` the gates in the order in which they die.
        free: `[G]` scratch.
        rows: `[G]` filled in.
        num_rows: the first row that can be assigned.

    Returns:
        the number of rows.
    """
    num_free = dead = 0
    for gate in range(len(taken)):
        while dies[by_death[dead]] <= taken[gate]:
            free[num_free] = rows[by_death[dead]]
            num_free += 1
            dead += 1
        if num_free:
            # The row that was freed last is the most likely to be in a cache.
            num_free -= 1
            rows[gate] = free[num_free]
        else:
            rows[gate] = num_rows
            num_rows += 1
    return num_rows


def _tape(circuit: Circuit, planned: _Planned, outputs: I64, row: I32) -> tuple[Tape, Wires]:
    """The tape of a stage, and the places of its targets.

    Args:
        outputs: rows that its gates, and then its copies, drive.
        row: of each net, -1 for none; changed.
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
        # The tape may not have run when others do, so they must not use its gates.
        row[base + gates.gates] = -1
    return tape, wires
