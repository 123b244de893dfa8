"""Tapes: the gates that kernels evaluate, as arrays, and wires, the places of their results.

`layout.tape_layout` makes tapes of a circuit, and every kernel of this room reads them. A *row*
holds one bit for each lane of one net; row 0 is false. A gate is the AND of some rows as they are
and of others inverted; every formula is made of such gates. So "(a or not b) and c" is a tape of
two gates, where a, b and c have rows 1, 2 and 3:

    gate                  plus   minus   inputs   output
    g = b and not a         1      1     2, 1       4
    c and not g             1      1     3, 4       4

The second gate is the last to read row 4, so its output takes that row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import by_reference

I32 = NDArray[np.int32]
U64 = NDArray[np.uint64]


WHOLE, STRAIGHT, TURNED = range(3)
"""How a gate is written: to its own row, in all lanes; or into the row of an input, which takes
over the value as it is, or inverted, in the lanes that play on."""


@by_reference
class Tape(NamedTuple):
    """G gates of a cone in topological order, with gates of the same shape side by side.

    Attributes:
        segments: `[S, 9]` of each run of gates: the first gate, the end, whether it is a loop
            (evaluated until nothing changes), and, for others, the five numbers of the gates'
            shape (see `tape_layout.Shape`) and how they are written (see `WHOLE`).
        parts: `[P, 3]` a tape may have several parts, which are run one at a time: the first
            segment of each, the end, and where its inputs begin.
        plus: `[G]` number of single rows that each gate reads as they are.
        minus: `[G]` number of single rows that it reads inverted.
        inputs: the rows that gates read, gate by gate, in the order of their shapes.
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
    """K literals: the row of each, and the word to xor it with (all ones inverts, zeros do not)."""

    rows: I32
    inverted: U64


@by_reference
class Query(NamedTuple):
    """Literals to evaluate in every state, or after every joint move.

    Attributes:
        row_of: `[F]` row of each fluent.
        num_inputs: number of rows of false, fluents and moves, which come first.
        tape: the tape to run.
        wires: the literals; groups begin at multiples of 64.
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
        """The wires of the first literals of one group."""
        first = 64 * self.starts[group]
        return Wires(
            self.wires.rows[first : first + count], self.wires.inverted[first : first + count]
        )

    def part(self, packed: U64, group: int) -> U64:
        """The words of one group, of the packed answers to all literals."""
        return packed[:, self.starts[group] : self.starts[group + 1]]
