"""How many threads numpy's products of matrices may use: one, while nets are computed.

Ours are small. OpenBLAS divides them among all cores all the same, and waits for each; where the
cores have other things to do, that takes a hundred times as long. Numpy has no function for it, so
the one of the OpenBLAS that comes with numpy is called. With another library nothing is changed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np

_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads")
"""The functions in numpy's wheels, with `get` and `set`."""


class _Threads(NamedTuple):
    get: Any
    set: Any


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute products of matrices in one thread, in the whole process, until this ends."""
    found = _functions()
    if found is None:
        yield
        return
    before = found.get()
    found.set(1)
    try:
        yield
    finally:
        found.set(before)


@cache
def _functions() -> _Threads | None:
    """The functions of OpenBLAS, None if there is none."""
    try:
        library = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
    except (AttributeError, OSError):
        return None
    for name in _NAMES:
        if hasattr(library, name.format("set")) and hasattr(library, name.format("get")):
            return _Threads(
                getattr(library, name.format("get")), getattr(library, name.format("set"))
            )
    return None
