"""Which version some of our code is: a digest of its files, for caches of what the code makes.

What is cached is right for the code that made it. Nobody has to remember to raise a number: whoever
changes one of the files gets everything made anew. Machine code is made of the files here, without
numba.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[2]

FILES = (
    *(
        f"machine/{name}"
        for name in (
            *("base", "mixing", "rows", "compiling/jit", "compiling/kernel_compiler"),
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
            *("block_kernels", "block_playouts", "blocks", "choice", "drawing"),
            *(
                "lanes/growing",
                "lanes/listing",
                "lanes/packing",
                "lanes/turn_parts",
                "lanes/turn_phases",
                "lanes/turning",
                "matching",
            ),
            *("narrow", "tapes"),
            *("vector_code", "vectors"),
        )
    ),
    *(
        f"machine/relational/kernels/{name}"
        for name in (
            *("call_kernels", "evaluation", "play_kernels", "playout_kernels"),
            *("records", "row_kernels", "term_kernels"),
        )
    ),
    "belief/path_rows",
    "belief/turns/open_moves",
    "belief/solving/unrolling_kernels",
    "env/kernels",
    *(f"learn/{name}" for name in ("feature_kernels", "net_kernels", "policy_kernels")),
    "respond/tree_kernels",
    "search/boards/block_boards",
    "search/boards/board_kernels",
    "search/boards/exchanges/exchange_kernels",
    "search/boards/exchanges/listing_kernels",
    "search/boards/exchanges/open_boards",
    "search/boards/lane_values",
    "search/boards/leaf_kernels",
    "search/boards/mask_kernels",
    "search/information_sets/leaf_sums",
    "search/joint_moves",
    "search/sure/sure_kernels",
    *(
        f"search/trees/{name}"
        for name in (
            *("growth_kernels", "proof_kernels", "regret_kernels", "tree_kernels", "tree_tables"),
            *("growing/grow_kernels", "keeping_kernels", "settings"),
        )
    ),
    "search/trials",
    "solve/positions/matrix_kernels",
    "solve/regret_kernels",
)
"""Modules of `ggp` that kernels are made of: those that define kernels or parts of them, those
whose constants and named tuples they read, and those that compile them. A test follows every name
that a kernel reads, and fails if a module is missing here."""


def code_version(names: Iterable[str], *others: object) -> str:
    """A hex digest.

    Args:
        names: of modules of `ggp`, with slashes, and of folders all of whose modules count.
        others: what else makes a difference, such as versions of libraries.
    """
    digest = blake2b(repr(others).encode(), digest_size=16)
    for name in names:
        folder = _PACKAGE / name
        paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [_PACKAGE / f"{name}.py"]
        for path in paths:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def kernels_version() -> str:
    """A digest that changes whenever a file changes that kernels are made of."""
    return code_version(FILES)
