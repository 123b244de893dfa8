"""numba's compiler, with a cache on disk that can fail without anyone noticing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba
from numba.extending import register_jitable

_P = ParamSpec("_P")
_R = TypeVar("_R")
_log = logging.getLogger(__name__)


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile on first use for the types it is called with; releases the GIL.

    Machine code is cached on disk where that is possible. A full disk, a folder that cannot
    be written or a broken file mean compiling again, not an error.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError as error:  # there is no folder to cache in
        _log.info("machine code is not cached: %s", error)
        uncached: Callable[_P, _R] = numba.njit(**options)(function)
        return uncached
    cache = compiled._cache
    cache.load_overload = _or_none(cache.load_overload)
    cache.save_overload = _or_none(cache.save_overload)
    result: Callable[_P, _R] = compiled
    return result


def inlined(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A part of kernels, compiled with them."""
    options = {"nogil": True, "error_model": "numpy"}
    result: Callable[_P, _R] = register_jitable(**options)(function)
    return result


def _or_none(method: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*args: Any) -> Any:
        try:
            return method(*args)
        except Exception as error:  # whatever a broken pickle or a broken disk raises
            _log.info("the cache of machine code fails: %r", error)
            return None

    return guarded
