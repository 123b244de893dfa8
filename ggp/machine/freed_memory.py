"""Keeps freed memory for the next arrays, as far as the C library can be told to.

Results of a batch of playouts are some megabytes, which glibc takes from the system and gives back
at once. To get them anew, page by page, takes up to as long as the playouts.
"""

from __future__ import annotations

import ctypes
from functools import cache

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Parameters of `mallopt`, from malloc.h."""

ARRAY_BYTES = 32 << 20
"""Larger arrays go back to the system, as does free memory beyond four times as much."""


@cache
def keep_freed_memory() -> None:
    """Tell the C library to keep freed memory, once; only glibc knows how."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, ARRAY_BYTES)
        mallopt(_M_TRIM_THRESHOLD, 4 * ARRAY_BYTES)
