"""The version of the code that kernels are made of: a digest of its files, without numba.

The cache of machine code is right for the code it was compiled from.
"""

from __future__ import annotations

from functools import cache

from ggp.machine.code_version import code_version

FILES = (
    *(
        f"machine/{name}"
        for name in (
            *("base", "mixing", "row_kernels", "compiling/jit", "compiling/kernel_compiler"),
            *("compiling/plain_compiler", "compiling/records", "propnet/circuit"),
            *("propnet/build/ground_rules/rule_lines", "propnet/optimise/kernels"),
        )
    ),
    *(
        f"machine/propnet/play/layout/{name}"
        for name in ("cones", "fusing", "order", "phases", "reach", "tape_layout")
    ),
    *(
        f"machine/propnet/play/kernels/{name}"
        for name in (
            *("block_kernels", "block_playouts", "blocks", "choice", "drawing", "lane_ends"),
            *("matching", "narrow", "tapes", "vector_code", "vectors"),
        )
    ),
    *(
        f"machine/relational/kernels/{name}"
        for name in (
            *("call_kernels", "evaluation", "play_kernels", "playout_kernels"),
            *("records", "row_kernels", "term_kernels"),
        )
    ),
    "belief/turns/completion_kernels",
    "belief/solving/unrolling_kernels",
    "search/boards/board_kernels",
    *(
        f"search/trees/{name}"
        for name in (
            *("growth_kernels", "proof_kernels", "regret_kernels", "tree_kernels", "tree_tables"),
        )
    ),
    "search/trial_kernels",
    "study/tree_kernels",
)
"""Modules of `ggp` that kernels are made of: those that define kernels or parts of them, those
whose constants and named tuples they read, and those that compile them. A test follows every name
that a kernel reads, and fails if a module is missing here."""


@cache
def kernels_version() -> str:
    """A digest that changes whenever a file changes that kernels are made of."""
    return code_version(FILES)
