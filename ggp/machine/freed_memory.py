"""Memory that was freed is kept for the next arrays, as far as the C library can be told.

Results of a batch of playouts are some megabytes, which glibc asks the system for and gives back at
once. To have them anew, page by page, takes up to as long as the playouts.
"""

from __future__ import annotations

import ctypes
from functools import cache

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Of malloc.h."""

ARRAY_BYTES = 32 << 20
"""Larger arrays go back to the system, as does what is free beyond four times as much."""


@cache
def keep_freed_memory() -> None:
    """Tell the C library, once; others than glibc know nothing of it."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, ARRAY_BYTES)
        mallopt(_M_TRIM_THRESHOLD, 4 * ARRAY_BYTES)
