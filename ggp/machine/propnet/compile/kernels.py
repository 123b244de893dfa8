"""Compiles the kernels that build large circuits, ahead of time.

A process that reads strangers' rules may not write to the cache of machine code. If the kernels
were not in it already, each large game would compile them again.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.circuit import FALSE, Circuit
from ggp.machine.propnet.optimise.draft import UNMADE, assemble
from ggp.machine.propnet.optimise.passes import splittable


def compile_kernels() -> None:
    """Compile the kernels, or load them from the cache.

    Raises:
        BackendUnavailableError: numba is missing.
    """
    nothing = np.zeros(0, dtype=np.int32)
    assemble((), np.full(1, UNMADE, dtype=np.int32), np.zeros(1, dtype=np.int32), (), 1)
    no_gates = np.zeros(1, dtype=np.int64)
    circuit = Circuit(
        roles=(),
        fluents=(),
        initial=np.zeros(0, dtype=np.bool_),
        constant=(),
        offsets=no_gates,
        literals=nothing,
        loops=(),
        next=nothing,
        legal=(),
        sees=(),
        goals=(),
        terminal=FALSE,
    )
    splittable(circuit)
