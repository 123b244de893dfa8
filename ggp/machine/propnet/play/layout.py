"""From a circuit to tapes: the gates of some cones, and in which rows they are.

Rows are numbered anew for each `lay_out`, so that a cone that needs few nets touches little memory.
A row is used again as soon as nobody will read it: the block of a circuit of 120,000 literals takes
a tenth of the memory that a row for each net would take, and stays in the nearest caches.

A circuit is evaluated in *stages*, for example what is legal, then the next state. Stages share
rows, and what one has evaluated the next ones need not evaluate again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.circuit import Circuit, Literals
from ggp.machine.propnet.play.fusing import Shape, fuse
from ggp.machine.propnet.play.order import Run, runs_of
from ggp.machine.propnet.play.tapes import I32, Tape, Wires

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


class Stage(NamedTuple):
    """Literals to evaluate, after those of the stages before.

    Attributes:
        targets: the literals. They can be read from the end of the stage until the next stage
            begins that is not optional.
        optional: whether the stage is left out now and then; others then cannot rely on its gates.
        apart: `[K]` whether a target must not be in the row of an input.
    """

    targets: Literals
    optional: bool = False
    apart: NDArray[np.bool_] | None = None


class Laid(NamedTuple):
    """Tapes of stages, which share their rows.

    Attributes:
        tapes: one for each stage.
        wires: where the targets of each stage are.
        num_rows: of all.
    """

    tapes: list[Tape]
    wires: list[Wires]
    num_rows: int


def lay_out(circuit: Circuit, inputs: Sequence[int], stages: Sequence[Stage]) -> Laid:
    """Number the rows of the nets that stages need, and put their gates in order.

    Args:
        inputs: nets that have rows 1, 2, ..., whether a stage needs them or not; nothing else is
            ever in these rows.
        stages: in the order in which they run, again and again.
    """
    base = 1 + circuit.num_inputs
    known = np.zeros(base + circuit.num_gates, dtype=np.bool_)
    known[0] = True
    known[list(inputs)] = True
    cones: list[NDArray[np.int64]] = []
    for stage in stages:
        cones.append(np.flatnonzero(cone(circuit, stage.targets, known=known)[base:]))
        if not stage.optional:
            known[base + cones[-1]] = True
    planned: list[_Planned] = []
    for stage, gates in zip(stages, fuse(circuit, cones, [s.targets for s in stages]), strict=True):
        runs = runs_of(circuit, gates, stage.targets)
        planned.append(_Planned(stage, runs, planned[-1].end if planned else 0))
    for number, each in enumerate(planned):
        later = [other.begin for other in planned[number + 1 :] if not other.stage.optional]
        each.resumed = later[0] if later else planned[-1].end
    rows = _Rows(len(inputs) + 1, _deaths(circuit, planned))
    row = np.full(base + circuit.num_gates, -1, dtype=np.int32)
    row[0] = 0
    row[list(inputs)] = np.arange(1, len(inputs) + 1)
    made = [_tape(circuit, each, row, rows) for each in planned]
    return Laid([tape for tape, _ in made], [wires for _, wires in made], rows.num_rows)


class _Planned:
    """A stage with its gates in order.

    Moments are counted through all stages: one when a stage begins, and one for each gate.

    Attributes:
        stage: the stage.
        runs: its gates.
        gates: `[G]` of all runs.
        plus, minus: `[G]` how many rows each takes as they are, and inverted, outside of pairs.
        nets: what they read.
        owner: place of the gate that reads each.
        begin, end: moment when the stage begins, and when the next one does.
        resumed: moment when the next stage begins that is not optional.
        read: `[G]` moment at which a gate has surely read its inputs.
    """

    def __init__(self, stage: Stage, runs: list[Run], begin: int) -> None:
        self.stage = stage
        self.runs = runs
        fused = [each for run in runs for each in run.gates]
        self.gates = np.array([each.gate for each in fused], dtype=np.int64)
        self.plus = np.array([each.shape.plus for each in fused], dtype=np.int32)
        self.minus = np.array([each.shape.minus for each in fused], dtype=np.int32)
        self.nets = np.array([net for each in fused for net in each.nets], dtype=np.int64)
        self.owner = np.repeat(np.arange(len(fused)), [len(each.nets) for each in fused])
        self.begin = begin
        self.end = self.resumed = begin + 1 + len(self.gates)
        self.read = np.arange(begin + 1, self.end)
        first = 0
        for run in runs:
            end = first + len(run.gates)
            if run.loop:
                # All of it runs again and again.
                self.read[first:end] = begin + 1 + end
            first = end


def _deaths(circuit: Circuit, planned: Sequence[_Planned]) -> NDArray[np.int64]:
    """From which moment on nobody reads what a gate drives, of the gates of all stages in order.

    The gate of that moment is the last that reads it, and can take its row.
    """
    base = 1 + circuit.num_inputs
    number = np.full(base + circuit.num_gates, -1, dtype=np.int64)
    dies = np.concatenate([each.read + 1 for each in planned])
    first = 0
    for each in planned:
        number[base + each.gates] = np.arange(first, first + len(each.gates))
        moments = each.read[each.owner]
        read = number[each.nets]
        if each.stage.optional:
            # What others made stays, whether the stage runs or not.
            moments = np.where(read < first, each.resumed, moments)
        np.maximum.at(dies, read[read >= 0], moments[read >= 0])
        shown = number[each.stage.targets >> 1]
        dies[shown[shown >= 0]] = np.maximum(dies[shown[shown >= 0]], each.resumed)
        if each.stage.optional:
            number[base + each.gates] = -1
        first += len(each.gates)
    return dies


class _Rows:
    """Gives rows to gates, in order, and takes them back.

    Attributes:
        num_rows: so far.
    """

    def __init__(self, num_rows: int, dies: NDArray[np.int64]) -> None:
        self.num_rows = num_rows
        self._free: list[int] = []
        self._given: list[int] = []
        order = np.argsort(dies, kind="stable")
        self._doomed = list(zip(dies[order].tolist(), order.tolist(), strict=True))[::-1]

    def give(self, count: int, moment: int) -> list[int]:
        """Rows for the next gates, of which the first runs at this moment."""
        while self._doomed and self._doomed[-1][0] <= moment:
            self._free.append(self._given[self._doomed.pop()[1]])
        rows = [self._any() for _ in range(count)]
        self._given += rows
        return rows

    def keep(self, count: int) -> list[int]:
        """Rows that nothing else is ever in again."""
        return [self._any() for _ in range(count)]

    def _any(self) -> int:
        # The row that was free last is the most likely to be in a cache.
        if self._free:
            return self._free.pop()
        self.num_rows += 1
        return self.num_rows - 1


def _tape(circuit: Circuit, planned: _Planned, row: I32, rows: _Rows) -> tuple[Tape, Wires]:
    """The tape of a stage, and where its targets are. `row`: of each net, -1 for none; changed."""
    base = 1 + circuit.num_inputs
    segments: list[tuple[int, ...]] = []
    outputs: list[int] = []
    for run in planned.runs:
        first, size = len(outputs), len(run.gates)
        moment = planned.begin + 1 + first
        if run.loop:
            outputs += rows.give(size, moment)
        else:
            for k in range(size):
                outputs += rows.give(1, moment + k)
        segments.append((first, first + size, int(run.loop), *run.shape))
    row[base + planned.gates] = outputs
    targets = planned.stage.targets
    wires = Wires(row[targets >> 1], np.where(targets & 1, _ALL, np.uint64(0)))
    apart = np.zeros(0, dtype=np.int64)
    if planned.stage.apart is not None:
        apart = np.flatnonzero(planned.stage.apart)
    # Copies are gates of one input, those that are inverted last.
    apart = apart[np.argsort(targets[apart] & 1, kind="stable")]
    inverted = (targets[apart] & 1).astype(np.int32)
    first, straight, end = (
        len(outputs),
        len(outputs) + int((1 - inverted).sum()),
        len(outputs) + len(apart),
    )
    segments += [(first, straight, 0, *Shape(1, 0)), (straight, end, 0, *Shape(0, 1))]
    outputs += rows.keep(len(apart))
    inputs = np.concatenate([row[planned.nets], row[targets[apart] >> 1]])
    wires.rows[apart] = outputs[first:]
    wires.inverted[apart] = 0
    initial = np.zeros(circuit.num_gates, dtype=np.uint64)
    for loop in circuit.loops:
        initial[loop.start : loop.end] = np.where(loop.initial, _ALL, np.uint64(0))
    kept = [segment for segment in segments if segment[0] < segment[1]]
    tape = Tape(
        np.array(kept, dtype=np.int64).reshape(-1, 8),
        np.array([[0, len(kept), 0]]),
        np.concatenate([planned.plus, 1 - inverted]),
        np.concatenate([planned.minus, inverted]),
        inputs,
        np.array(outputs, dtype=np.int32),
        np.concatenate([initial[planned.gates], np.zeros(len(apart), dtype=np.uint64)]),
    )
    if planned.stage.optional:
        # The tape may not have run when others do: they must not find its gates.
        row[base + planned.gates] = -1
    return tape, wires


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
