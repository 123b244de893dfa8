"""Tapes of gates that kernels evaluate, and wires to their results.

A *row* holds one bit for each lane of one net. Row 0 is false. A gate is the AND of some rows as
they are and of others inverted; everything else is made of these. So "a or not b, and c" is a tape
of two gates, where a, b and c have rows 1, 2 and 3:

    gate              plus   minus   inputs   output
    not a and b         1      1     2, 1       4
    c and not that      1      1     3, 4       4

The second gate is the last to read row 4, so its output takes that row (see `tape_layout`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import by_reference

I32 = NDArray[np.int32]
U64 = NDArray[np.uint64]


WHOLE, STRAIGHT, TURNED = range(3)
"""The way a gate is written: to a row of its own, in all lanes; or into the row of an input, which
takes over the value as it is or inverted, in the lanes that play on."""


@by_reference
class Tape(NamedTuple):
    """G gates of a cone in topological order, with gates of the same shape side by side.

    Attributes:
        segments: `[S, 9]` first gate, end, whether it is a loop (evaluated until nothing
            changes), and, for others, the shape of its gates (see `fusing.Shape`), and whether they
            write into rows of inputs, see below.
        parts: `[P, 3]` a tape may have several parts, which are run one at a time: the first
            segment of each, the end, and where its inputs begin.
        plus: `[G]` number of rows that each gate takes as they are.
        minus: `[G]` number that it takes inverted; neither counts rows of pairs.
        inputs: the rows of all gates, in the order of their shapes.
        outputs: `[G]` row each gate drives.
        initial: `[G]` all ones or zeros: initial value of a gate in a loop.
    """

    segments: NDArray[np.int64]
    parts: NDArray[np.int64]
    plus: I32
    minus: I32
    inputs: I32
    outputs: I32
    initial: U64


@by_reference
class Wires(NamedTuple):
    """K literals as rows and the words to xor them with (all ones or zeros)."""

    rows: I32
    inverted: U64


@by_reference
class Query(NamedTuple):
    """Literals to evaluate for every state (and joint move).

    Attributes:
        row_of: `[F]` row of each fluent.
        num_inputs: number of rows of false, fluents and moves, which are the first ones.
        tape: the tape to run.
        wires: the places of the literals; groups begin at a multiple of 64.
        num_rows: number of rows in all.
        starts: `[groups + 1]` word at which each group of literals begins.
    """

    row_of: I32
    num_inputs: int
    tape: Tape
    wires: Wires
    num_rows: int
    starts: NDArray[np.int64]

    def literals(self, group: int, count: int) -> Wires:
        """The places of the first literals of one group."""
        first = 64 * self.starts[group]
        return Wires(
            self.wires.rows[first : first + count], self.wires.inverted[first : first + count]
        )

    def part(self, packed: U64, group: int) -> U64:
        """The words of one group of literals."""
        return packed[:, self.starts[group] : self.starts[group + 1]]
