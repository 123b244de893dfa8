"""numba's compiler, with a cache on disk that can fail without anyone noticing."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ggp.errors import BackendUnavailableError
from ggp.machine.kernel_version import kernels_version


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


# numba looks whether kernels could multiply matrices. None of ours does, and scipy's part for
# it takes half as long to import as all of numba.
with _without("scipy.linalg"):
    import numba
    from numba.core import caching
    from numba.core.runtime.nrt import rtsys
    from numba.extending import register_jitable

_P = ParamSpec("_P")
_R = TypeVar("_R")

_log = logging.getLogger(__name__)
_files: list[Path] = []


def cache_files() -> tuple[Path, ...]:
    """Where it is said, for each kernel that is imported, what is cached of it; those that were
    never compiled have no such file. The machine code is in the same folders."""
    return tuple(_files)


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile on first use for the types it is called with; releases the GIL.

    Machine code is cached on disk where that is possible. A full disk, a folder that cannot
    be written or a broken file mean compiling again, not an error.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        try:
            compiled = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # there is no folder that may be written
            with _reading_only():
                compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError as error:  # nor one that was written before
        _log.info("machine code is not cached: %s", error)
        uncached: Callable[_P, _R] = numba.njit(**options)(function)
        return uncached
    disk = getattr(compiled, "_cache", None)
    if disk is None:  # numba is told not to compile
        raise BackendUnavailableError("numba", "unset NUMBA_DISABLE_JIT")
    # numba looks at the file of the kernel only, but parts of others are compiled into it.
    if hasattr(disk, "_cache_file"):
        _files.append(Path(disk._cache_file._index_path))
        disk._cache_file._source_stamp = kernels_version()
    disk.load_overload = _or_none(partial(_loaded, disk))
    disk.save_overload = _or_none(disk.save_overload)
    result: Callable[_P, _R] = compiled
    return result


@contextmanager
def _reading_only() -> Iterator[None]:
    """Kernels made inside use a folder of cached code that is there; numba wants to write to it.

    A process that gave up its rights may import kernels late.
    """

    def demand_folder(locator: Any) -> None:
        if not os.path.isdir(locator.get_cache_path()):
            raise OSError("there is no such folder")

    before = caching._CacheLocator.ensure_cache_path
    caching._CacheLocator.ensure_cache_path = demand_folder  # type: ignore[method-assign]
    try:
        yield
    finally:
        caching._CacheLocator.ensure_cache_path = before  # type: ignore[method-assign]


def _loaded(disk: Any, signature: Any, target: Any) -> Any:
    """What numba's own `load_overload` gives, without all that is needed to compile.

    That one first imports what numba knows of lists, dictionaries, polynomials and so on, which
    takes longer than loading all our kernels. Before it compiles, numba does that again.
    """
    rtsys.initialize(target)
    return disk._load_overload(signature, target)


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
