"""Evaluates a query for single states without kernels, which would take longer to load."""

from __future__ import annotations

import numpy as np

from ggp.machine.propnet.play.kernels.packed import Packed, unpack
from ggp.machine.propnet.play.kernels.tapes import TURNED, Query, Tape


def evaluate(asked: Query, packed: Packed) -> Packed:
    """Evaluate K literals of every state, one state after the other: `[L, ceil(K / 64)]`."""
    held = unpack(packed, len(asked.row_of))
    inverted = asked.wires.inverted != 0
    found = [_rows(asked, lane.tolist()) for lane in held]
    bits = np.array(found, dtype=np.bool_)[:, asked.wires.rows] ^ inverted
    packed_bytes = np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little"))
    return packed_bytes.view("<u8").astype(np.uint64)


def _rows(asked: Query, held: list[bool]) -> list[bool]:
    """The values of all rows, given the fluents that hold."""
    rows = [False] * asked.num_rows
    for row, value in zip(asked.row_of.tolist(), held, strict=True):
        rows[row] = value
    run_plainly(asked.tape, rows)
    return rows


def run_plainly(tape: Tape, rows: list[bool]) -> None:
    """Evaluate the gates of a tape of one part, in a lane that plays on."""
    plus, minus, outputs = tape.plus.tolist(), tape.minus.tolist(), tape.outputs.tolist()
    inputs, initial = tape.inputs.tolist(), (tape.initial != 0).tolist()
    at = 0
    for first, end, loop, _, _, both, one, none, written in tape.segments.tolist():
        if loop:
            for gate in range(first, end):
                rows[outputs[gate]] = initial[gate]
        wanted = [(True, True)] * both + [(True, False)] * one + [(False, False)] * none
        changes, start = True, at
        while changes:
            changes, at = False, start
            for gate in range(first, end):
                middle = at + plus[gate]
                last = middle + minus[gate]
                value = all(rows[row] for row in inputs[at:middle])
                value = value and not any(rows[row] for row in inputs[middle:last])
                at = last
                for pair in wanted:
                    value = value and (rows[inputs[at]], rows[inputs[at + 1]]) != pair
                    at += 2
                changes |= bool(loop) and value != rows[outputs[gate]]
                rows[outputs[gate]] = value != (written == TURNED)
