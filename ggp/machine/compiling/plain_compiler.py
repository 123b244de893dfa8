"""Compiles kernels by numba's own `njit`, for versions that `kernel_compiler` does not know.

The results are the same. Compiling takes longer, because every part is compiled by itself, and
again into every function that calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.extending import register_jitable

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def compiled(function: Callable[..., Any], *, cache: bool) -> Any:
    """A kernel that is compiled when it is called.

    Raises:
        RuntimeError: there is no place for the cache.
    """
    return numba.njit(cache=cache, **OPTIONS)(function)


def register_part(function: Callable[..., Any]) -> None:
    """Let kernels call a function."""
    register_jitable(**OPTIONS)(function)


def register_record(kind: type) -> None:
    """Let kernels take a class of named tuples, which numba hands over field by field."""
