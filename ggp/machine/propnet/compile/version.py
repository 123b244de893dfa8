"""The version of the code that makes circuits: a digest of its files.

A circuit in the cache is right for the code that made it: after a change of one of these files, or
with another clingo or numpy, circuits are made anew.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import metadata

import numpy as np

from ggp.machine.compiling.kernel_version import code_version

FOLDERS = (
    "gdl",
    "machine/propnet/compile/rewriting",
    "machine/propnet/compile/ground_rules",
    "machine/propnet/optimise",
)
"""Folders of `ggp` all of whose files count, with those in their subfolders."""

FILES = (
    "machine/arrays",
    "machine/mixing",
    "machine/propnet/circuit",
    "machine/propnet/compile/builder",
    "machine/propnet/compile/circuit_file",
    "machine/propnet/compile/circuits",
    "machine/propnet/compile/gates",
    "machine/propnet/parts",
    "machine/propnet/reports",
)
"""Other modules of `ggp` that take part; those that only play or store circuits do not. A test
follows every name that is read on the way to a circuit, and fails if a module is missing."""


@cache
def makers_version() -> str:
    """Hex digest of the code that makes circuits, and of the libraries it makes them with."""
    return code_version(
        (*FILES, *FOLDERS), *sys.version_info[:2], np.__version__, _clingo_version()
    )


def _clingo_version() -> str:
    """The package's version: importing clingo takes long, and a stored circuit does not need it."""
    try:
        return metadata.version("clingo")
    except metadata.PackageNotFoundError:
        return ""
