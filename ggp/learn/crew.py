"""Threads that do pieces of work side by side: those of the roles, which share nothing.

Kernels and products of matrices let other threads run, so that two roles learn at the same time on
two processors. Each piece is done by one thread from its beginning to its end, so the result is the
same however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait

from ggp.errors import ConfigError


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
