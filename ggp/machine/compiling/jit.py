"""Kernels: functions that are compiled when they are first called, and cached on disk.

Importing a module with kernels costs nothing: numba, which compiles them, is imported by the first
call of one. `kernel_compiler` says how they are compiled, `records` which tuples are pointers.
The cache can fail without anyone noticing.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial, update_wrapper
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

from ggp.errors import NOTE, BackendUnavailableError
from ggp.libraries import demand_library
from ggp.machine.compiling.kernel_version import kernels_version

NUMBA_BELOW = (0, 69)
"""First version of numba that `kernel_compiler` was not tried with; pyproject.toml excludes it."""

SPARED_STEPS = 5000
"""Steps of Python that all small calls of a kernel together may take before it is loaded, which
takes about as long; compiling it takes ten times as long and more."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_K = TypeVar("_K", bound=type)

_COMPILING = "compiling machine code, which takes some seconds; later starts find it in the cache"

_log = logging.getLogger(__name__)
_lock = RLock()
_files: list[Path] = []
_kernels: list[Kernel[..., Any]] = []
_parts: list[Callable[..., Any]] = []
_records: list[type] = []
_operations: list[str] = []


class Kernel(Generic[_P, _R]):
    """A function that is compiled, or loaded from the cache, when it is first called.

    Attributes:
        py_func: the function as it was written.
    """

    def __init__(self, function: Callable[_P, _R]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._compiled: Callable[_P, _R] | None = None
        self._spared = 0
        self._codes: dict[tuple[FunctionType, ...], Callable[_P, _R]] = {}
        _kernels.append(self)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return (self._compiled or self.dispatcher)(*args, **kwargs)

    def code_for(self, *args: _P.args, **kwargs: _P.kwargs) -> Callable[_P, _R]:
        """The machine code for such arguments, which does not check their types again.

        Finding the types of all arrays of a record takes five times as long as calling the code.
        The caller answers for them: the code reads arrays of another dtype, number of dimensions or
        order as if they were of these.
        """
        assert not kwargs, "machine code takes arguments by position"
        dispatcher = self.dispatcher
        code: Callable[_P, _R] = dispatcher.compile(tuple(map(dispatcher.typeof_pyval, args)))
        return code

    def alike(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call it where the arguments of all calls with the same parts have the same types: see
        `code_for`."""
        parts = tuple(each for each in args if isinstance(each, FunctionType))
        if parts not in self._codes:
            self._codes[parts] = self.code_for(*args, **kwargs)
        return self._codes[parts](*args, **kwargs)

    def for_steps(self, steps: int) -> Callable[_P, _R]:
        """The function to call for that many steps: this kernel, or the function as it was written.

        Args:
            steps: approximate number of passes through the innermost loops.
        """
        return self._as_written if self.is_spared(steps) else self

    def is_spared(self, steps: int) -> bool:
        """Whether to do without the kernel: it is not loaded, and there was little to do so far.

        So first moves are made without most kernels. `load_at_once` ends that.
        """
        if self._compiled is not None or self._spared + steps > SPARED_STEPS:
            return False
        self._spared += steps
        return True

    @property
    def is_cached(self) -> bool:
        """Whether machine code of it is loaded or in the cache, for arguments of any types."""
        dispatcher = self.dispatcher
        if dispatcher.signatures:
            return True
        try:
            return bool(dispatcher._cache._cache_file._load_index())
        except Exception as error:  # as in `load_cached`; or there is no cache
            _log.info("cached machine code is not found: %r", error)
            return False

    def on_views(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """The function as it was written, on views of arrays, whose items Python reads several
        times as fast. Not for kernels that rely on the overflow of numbers."""
        from numpy import ndarray

        views: list[Any] = [
            memoryview(each) if isinstance(each, ndarray) else each  # type: ignore[arg-type]
            for each in args
        ]
        return self.py_func(*views, **kwargs)

    def _as_written(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        import numpy as np

        with np.errstate(over="ignore"):  # as in machine code
            return self.py_func(*args, **kwargs)

    @property
    def dispatcher(self) -> Any:
        """The dispatcher that numba makes of the function."""
        with _lock:
            if self._compiled is None:
                load_compiler()
                self._compiled = _dispatcher(self.py_func)
            return self._compiled


def kernel(function: Callable[_P, _R]) -> Kernel[_P, _R]:
    """Compile a function on first use for the types it is called with; it releases the GIL.

    Machine code is cached on disk where that is possible. A full disk, a folder that cannot
    be written or a broken file mean compiling again, not an error. A kernel cannot allocate
    arrays: it is given those that it needs.
    """
    return Kernel(function)


def inlined(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A part of kernels, compiled with them; they may also take it as an argument."""
    _parts.append(function)
    return function


def by_reference(record: _K) -> _K:
    """Hand a class of named tuples to kernels as one pointer, not as single arrays.

    Its fields are arrays, numbers and other such tuples. Kernels can only read them, by name.
    """
    _records.append(record)
    return record


def operations_in(module: str) -> None:
    """Have a module imported before kernels are compiled: it defines operations for them."""
    _operations.append(module)


def cache_files() -> tuple[Path, ...]:
    """The index file of the cache for each kernel that was called; kernels that were never compiled
    have none. The machine code is in the same folders."""
    return tuple(_files)


def num_loaded() -> int:
    """Number of pieces of machine code that were loaded or compiled."""
    made = (each._compiled for each in _kernels)
    return sum(len(getattr(dispatcher, "signatures", ())) for dispatcher in made)


def load_at_once() -> None:
    """Load or compile kernels when they are first called from now on, however little there is to
    do: a clock may run when they are needed later."""
    global SPARED_STEPS
    SPARED_STEPS = -1


def demand_compiler() -> None:
    """Check that kernels can be compiled, without importing numba.

    Raises:
        BackendUnavailableError: they cannot.
    """
    try:
        found = "numba" in sys.modules or find_spec("numba") is not None
    except ValueError:  # something other than a module has its name
        found = False
    if not found:
        raise BackendUnavailableError("numba", "install it with `pip install numba`")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        raise BackendUnavailableError("numba", "unset NUMBA_DISABLE_JIT")


def locks() -> tuple[Any, ...]:
    """The locks held while kernels are loaded or compiled; numba's own is taken before ours."""
    module = sys.modules.get("numba.core.compiler_lock")
    compiling = getattr(getattr(module, "global_compiler_lock", None), "_lock", None)
    return (_lock,) if compiling is None else (compiling, _lock)


def load_compiler() -> None:
    """Import numba, and register all parts of kernels so far with it.

    Raises:
        BackendUnavailableError: it cannot be imported, or is told not to compile.
        InstallationError: the module that tells it how to compile is missing.
    """
    with _lock:
        demand_compiler()
        compiler = _compiler()
        while _operations:
            import_module(_operations.pop())
        while _parts:
            compiler.register_part(_parts.pop())
        while _records:
            compiler.register_record(_records.pop())


def prepare() -> None:
    """Do all that kernels need rights for beyond reading files, before the process gives them up.

    Raises:
        BackendUnavailableError: see `load_compiler`.
    """
    for each in _kernels:
        each.dispatcher  # noqa: B018


def load_cached() -> None:
    """Load all cached machine code, for arguments of any types; nothing is compiled.

    Kernels must have been prepared. Code that cannot be read is left to the first call.
    """
    for each in _kernels:
        disk: Any = getattr(each.dispatcher, "_cache", None)
        if not hasattr(disk, "_cache_file"):
            continue
        try:
            for signature, *_ in disk._cache_file._load_index():
                each.dispatcher.compile(signature)
        except Exception as error:  # whatever a broken pickle or a broken disk raises
            _log.info("cached machine code is not loaded: %r", error)


@cache
def _compiler() -> Any:
    """The module that has kernels compiled: `kernel_compiler`, or `plain_compiler`, which uses
    nothing of numba's inside.

    Raises:
        BackendUnavailableError: numba cannot be imported.
        InstallationError: the module that tells it how to compile is missing.
    """
    try:
        from numba import __version__ as found

        if tuple(map(int, re.findall(r"\d+", found)[:2])) < NUMBA_BELOW:
            import ggp.machine.compiling.kernel_compiler as kernel_compiler

            return kernel_compiler
        unknown = f"numba {found} is newer than what is known here"
    except (ImportError, AttributeError) as error:
        if isinstance(error, ImportError):
            demand_library(error, "numba", "llvmlite")
        unknown = f"numba is not as it is known here ({error})"
    try:
        import ggp.machine.compiling.plain_compiler as plain_compiler
    except ImportError as error:
        raise BackendUnavailableError(
            "numba", f"it cannot be imported: {error}; `--backend prolog` plays without it"
        ) from error
    _log.warning("%s: machine code is compiled in its own way, which takes longer", unknown)
    return plain_compiler


def _dispatcher(function: Callable[..., Any]) -> Any:
    compiler = _compiler()
    compiled = compiler.compiled
    try:
        try:
            made = compiled(function, cache=True)
        except RuntimeError:  # there is no folder that can be written
            with _reading_only():
                made = compiled(function, cache=True)
    except RuntimeError as error:  # nor one that was written before
        _log.info("machine code is not cached: %s", error)
        _say_that_it_compiles()
        return compiled(function, cache=False)
    disk: Any = getattr(made, "_cache", None)
    file: Any = getattr(disk, "_cache_file", None)
    if not all(hasattr(file, name) for name in ("_index_path", "_source_stamp", "_version")):
        _say_that_it_compiles()
        return compiled(function, cache=False)  # the cache might hold other code
    is_ours = compiler.__name__.endswith("kernel_compiler")
    made_by = kernels_version() if is_ours else f"{kernels_version()} plain"
    _files.append(Path(file._index_path))
    # numba only checks the kernel's own file, but parts of others are compiled into it.
    file._source_stamp = made_by
    # Files of another version of numba are not read: they may name classes that are gone, and would
    # neither be read nor replaced.
    file._version += f" {made_by}"
    load = partial(_loaded, disk) if is_ours else disk.load_overload
    disk.load_overload = partial(_found_or_said, _or_none(load))
    disk.save_overload = _or_none(disk.save_overload)
    return made


def _loaded(disk: Any, signature: Any, target: Any) -> Any:
    """The same as numba's own `load_overload`, without all that is only needed to compile.

    That one first imports what numba knows of lists, dictionaries, polynomials and so on, which
    takes longer than loading all our kernels, and prepares to count references, which they do not.
    Before it compiles, numba does that itself.
    """
    return disk._load_overload(signature, target)


def _found_or_said(load: Callable[..., Any], *args: Any) -> Any:
    """The machine code that is loaded; where there is none, says that it will be compiled now."""
    found = load(*args)
    if found is None:
        _say_that_it_compiles()
    return found


def _say_that_it_compiles() -> None:
    """Log that compiling takes some time, once in a process."""
    global _COMPILING
    if _COMPILING:
        _log.log(NOTE, _COMPILING)
        _COMPILING = ""


@contextmanager
def _reading_only() -> Iterator[None]:
    """Make kernels made inside use an existing cache folder as it is; numba wants to write to it.

    A process that gave up its rights may still call kernels.
    """
    from numba.core import caching

    def demand_folder(locator: Any) -> None:
        if not os.path.isdir(locator.get_cache_path()):
            raise OSError("there is no such folder")

    before = caching._CacheLocator.ensure_cache_path
    caching._CacheLocator.ensure_cache_path = demand_folder  # type: ignore[method-assign]
    try:
        yield
    finally:
        caching._CacheLocator.ensure_cache_path = before  # type: ignore[method-assign]


def _or_none(method: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*args: Any) -> Any:
        try:
            return method(*args)
        except Exception as error:  # whatever a broken pickle or a broken disk raises
            _log.info("the cache of machine code fails: %r", error)
            return None

    return guarded
