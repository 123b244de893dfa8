"""Tapes, which list the gates that kernels evaluate, and wires, which say where the results are.

`layout.tape_layout` makes tapes of a circuit, and every kernel of this package reads them. A *row*
holds the value of one net (an input, or the output of a gate) in all lanes (states), one bit each;
row 0 is false. A gate is the AND of some rows as they are and of others inverted; every formula can
be built of such gates. So "(a or not b) and c" is a tape of two gates, where a, b and c have rows
1, 2 and 3:

    gate                  plus   minus   inputs (plus first)   output
    g = b and not a         1      1     2, 1                    4
    c and not g             1      1     3, 4                    4

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
"""How the value of a gate is written. `WHOLE`: to the gate's own row, in all lanes; `STRAIGHT` and
`TURNED`: into the row of an input, as it is or inverted, only in the lanes that play on."""


@by_reference
class Tape(NamedTuple):
    """G gates, those that some literals depend on, in topological order, with gates of the same
    shape side by side.

    Attributes:
        segments: `[S, 9]` of each run of gates: the first gate; the end; whether it is a loop
            (evaluated until nothing changes); and, unless it is, five numbers for the gates' shape
            (see `tape_layout.Shape`), and how their values are written (see `WHOLE`).
        parts: `[P, 3]` the first segment, the end and the first input of each part of the tape;
            parts are run one at a time.
        plus: `[G]` number of rows, apart from pairs, that each gate reads as they are.
        minus: `[G]` number of rows, apart from pairs, that it reads inverted.
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
        num_inputs: number of the first rows, those of false, fluents and moves.
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
        """The wires of the first `count` literals of a group."""
        first = 64 * self.starts[group]
        return Wires(
            self.wires.rows[first : first + count], self.wires.inverted[first : first + count]
        )

    def part(self, packed: U64, group: int) -> U64:
        """The words of one group within the packed answers to all literals."""
        return packed[:, self.starts[group] : self.starts[group + 1]]
