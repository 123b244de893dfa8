"""Makes the gates of a changed circuit by a kernel, where `_Assembly` of `draft` goes one by one.

Nets are emitted depth first, each after all that it depends on, constant-folded, and found again if
an equal gate was made before. The kernel does it with arrays alone, in the same order, so that it
gives the same gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from ggp.machine.arrays import offsets_of
from ggp.machine.propnet.circuit import Circuit, Literals
from ggp.machine.propnet.compile.builder import Gate
from ggp.machine.propnet.optimise.kernels import CIRCLE, GATES, I64, LITERALS, UNMADE, emit

FOR_KERNELS = 100_000
"""Number of literals from which passes use kernels for a circuit: loading numba takes half a
second, in which a hundred thousand literals go through a few passes."""


def suits_kernels(circuit: Circuit) -> bool:
    """Whether passes process a circuit by kernels, which cannot handle loops."""
    return circuit.num_literals >= FOR_KERNELS and not circuit.loops


def assemble(
    gates: Sequence[Gate],
    becomes: Literals,
    of: Literals,
    roots: Sequence[int],
    first_made: int,
) -> tuple[I64, Literals]:
    """The gates that `roots` depend on, as offsets and literals.

    Args:
        gates: literals of each gate, which are the last nets.
        becomes: `[nets]` literals that take the place of nets, or `UNMADE`.
        of: `[nets]` literals of nets already made, or `UNMADE`; those made here are added.
        roots: literals.
        first_made: net of the first gate that is made.

    Raises:
        ValueError: a net depends on itself.
    """
    sizes = np.fromiter(map(len, gates), dtype=np.int64, count=len(gates))
    offsets = offsets_of(sizes)
    literals = np.fromiter(chain.from_iterable(gates), dtype=np.int32, count=int(offsets[-1]))
    made_offsets = np.zeros(len(gates) + 1, dtype=np.int64)
    made = np.empty(len(literals), dtype=np.int32)
    counts = np.full(3, UNMADE, dtype=np.int64)
    emit(
        offsets,
        literals,
        becomes,
        of,
        np.array(roots, dtype=np.int64) >> 1,
        first_made,
        np.empty(len(literals) + len(of) + 1, dtype=np.int64),
        np.empty(int(sizes.max(initial=1)), dtype=np.int32),
        np.full(1 << (2 * len(gates)).bit_length(), UNMADE, dtype=np.int32),
        made_offsets,
        made,
        counts,
    )
    if counts[CIRCLE] != UNMADE:
        raise ValueError(f"net {counts[CIRCLE]} depends on itself")
    return made_offsets[: counts[GATES] + 1].copy(), made[: counts[LITERALS]].copy()
