"""Threads: a crew that runs pieces of work side by side, and one thread for each product.

An environment passes one piece of work for each slice of its lanes to a `Crew`, and the learner one
for each role. Pieces share nothing. Kernels and products of matrices release the interpreter's
lock, so that two roles learn at the same time on two processors. Rule: one thread does a piece from
beginning to end; so the outcome does not depend on the number of threads.

While nets are computed, numpy's products of matrices use one thread (`one_thread`). The matrices
are small, but OpenBLAS divides the products among all cores, and waits for each; where the cores
are busy, that takes a hundred times as long. Numpy has no function to prevent it, so we call the
OpenBLAS that comes with numpy. With another library nothing changes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ggp.errors import ConfigError

_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads")
"""The functions in numpy's wheels; the gap is for `get` or `set`."""


class _Threads(NamedTuple):
    get: Any
    set: Any


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute products of matrices in one thread, in the whole process, inside this context."""
    openblas = _functions()
    if openblas is None:
        yield
        return
    num_threads = openblas.get()
    openblas.set(1)
    try:
        yield
    finally:
        openblas.set(num_threads)


@cache
def _functions() -> _Threads | None:
    """The functions of OpenBLAS, None with another library."""
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


class Crew:
    """Runs pieces of work in several threads.

    Args:
        threads: number of threads, the caller's included.

    Raises:
        ConfigError: the number is below 1.
    """

    def __init__(self, threads: int = 1) -> None:
        if threads < 1:
            raise ConfigError(f"threads must be at least 1, not {threads}")
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def do(self, pieces: Iterable[Callable[[], None]]) -> None:
        """Do all pieces, wait for all of them, then raise the first error if there was one."""
        first, *rest = pieces
        if self._pool is None:
            for piece in (first, *rest):
                piece()
            return
        futures = [self._pool.submit(piece) for piece in rest]
        try:
            first()
        finally:
            wait(futures)
        for future in futures:
            future.result()
