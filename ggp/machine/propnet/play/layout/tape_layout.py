"""Lays out the gates of some cones as tapes, and assigns rows to them.

Rows are numbered anew for each `lay_out`, so that a cone that needs few nets touches little memory.
A row is used again as soon as it will not be read: the block of a circuit of 120,000 literals takes
a tenth of the memory that a row for each net would take, and stays in the nearest caches.

A circuit is evaluated in *stages*, for example what is legal, then the next state. Stages share
rows, and gates that one has evaluated need not be evaluated by later ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.circuit import I64, Circuit, Literals, cone, suited
from ggp.machine.compiling.jit import kernel
from ggp.machine.propnet.play.kernels.tapes import I32, WHOLE, Tape, Wires
from ggp.machine.propnet.play.layout.order import Ordered, Shape, fuse, in_order

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
        cones.append(np.flatnonzero(cone(circuit, stage.targets, known=known)[base:]))
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
