"""Imports numba without what no kernel needs and takes long.

numba looks whether kernels could multiply matrices. None of ours does, and scipy's part for it
takes half as long to import as all of numba.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _without(module: str) -> Iterator[None]:
    """Imports inside do not find a module that has not been imported before."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


with _without("scipy.linalg"):
    import numba  # noqa: F401
