"""Digests of source files, by which caches notice that code has changed.

A cached file is valid only for the code that made it. Its version is a digest of that code, so
nobody has to maintain a version number. `FILES` lists the modules of ggp that go into machine code;
numba has its own version.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[2]

FILES = (
    "belief/paths",
    "belief/solving/unrolling_kernels",
    "belief/turns/open_moves",
    "labs/kriegspiel/boards/block_boards",
    "labs/kriegspiel/boards/board_kernels",
    "labs/kriegspiel/boards/exchanges/exchange_kernels",
    "labs/kriegspiel/boards/exchanges/listing_kernels",
    "labs/kriegspiel/boards/exchanges/open_boards",
    "labs/kriegspiel/boards/leaf_kernels",
    "labs/kriegspiel/set_tree",
    "labs/learning/env/kernels",
    "labs/learning/respond/responders",
    "labs/learning/selfplay/features",
    "labs/learning/selfplay/nets",
    "machine/base",
    "machine/circuit",
    "machine/compiling/jit",
    "machine/compiling/kernel_compiler",
    "machine/compiling/vector_code",
    "machine/compiling/vectors",
    "machine/layers",
    "machine/mixing",
    "machine/propnet/optimise/draft",
    "machine/propnet/play/kernels/block_kernels",
    "machine/propnet/play/kernels/block_playouts",
    "machine/propnet/play/kernels/blocks",
    "machine/propnet/play/kernels/choice",
    "machine/propnet/play/kernels/lanes/growing",
    "machine/propnet/play/kernels/lanes/packing",
    "machine/propnet/play/kernels/lanes/turn_parts",
    "machine/propnet/play/kernels/lanes/turning",
    "machine/propnet/play/kernels/tapes",
    "machine/propnet/play/layout/phases",
    "machine/propnet/play/layout/tape_layout",
    "machine/relational/evaluation",
    "machine/relational/play_kernels",
    "machine/relational/records",
    "machine/rows",
    "search/estimates",
    "search/sure_wins",
    "search/trees/growing",
    "search/trees/nodes_and_worlds",
    "search/trees/resolving",
    "search/trees/selection",
    "search/trees/tree_tables",
    "solve/positions",
    "solve/regret",
)
"""Modules of `ggp` that go into machine code: they define kernels or parts of them, or constants
and named tuples that these read, or they compile kernels. A test follows every name that a kernel
reads, and fails if a module is missing here."""


def code_version(names: Iterable[str], *others: object) -> str:
    """A hex digest of source files.

    Args:
        names: modules of `ggp`, with slashes, and folders with all their modules.
        others: further values that matter, such as versions of libraries.
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
    """The digest of all files that go into machine code."""
    return code_version(FILES)
