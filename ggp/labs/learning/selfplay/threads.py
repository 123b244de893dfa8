"""Threads: a crew that does the work of the roles side by side, and one thread for each product.

Roles share nothing. Kernels and products of matrices let other threads run, so that two roles learn
at the same time on two processors. Each piece is done by one thread from its beginning to its end,
so the result is the same however many there are.

Numpy's products of matrices use one thread while nets are computed. Ours are small. OpenBLAS
divides them among all cores all the same, and waits for each; where the cores have other things to
do, that takes a hundred times as long. Numpy has no function for it, so the one of the OpenBLAS
that comes with numpy is called. With another library nothing is changed.
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


class Crew:
    """Does pieces of work.

    Args:
        threads: that work at the same time.

    Raises:
        ConfigError: there is not even one.
    """

    def __init__(self, threads: int = 1) -> None:
        if threads < 1:
            raise ConfigError(f"threads must be at least 1, not {threads}")
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def do(self, pieces: Iterable[Callable[[], None]]) -> None:
        """Do all of them; the first error of any is raised when none is under way."""
        first, *others = pieces
        if self._pool is None:
            for piece in (first, *others):
                piece()
            return
        waiting = [self._pool.submit(piece) for piece in others]
        try:
            first()
        finally:
            wait(waiting)
        for each in waiting:
            each.result()
