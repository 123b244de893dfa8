"""Decorators for kernels: functions that are compiled on their first call, and cached on disk.

`@kernel` marks a function that Python calls, `@inlined` a function that only kernels call, and
`@by_reference` a class of named tuples that kernels take as one pointer. Importing a module with
kernels is cheap: the first call of a kernel imports numba, and `kernel_compiler` compiles it. If
the cache fails, kernels are compiled again.

A kernel that is called for little work is not even loaded: the function runs as plain Python until
its calls have taken `SPARED_STEPS` steps together (`Kernel.for_steps`).
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, update_wrapper
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from ggp.errors import NOTE, BackendUnavailableError
from ggp.libraries import demand_library
from ggp.machine.compiling.kernel_version import kernels_version

if TYPE_CHECKING:
    from ggp.machine.compiling.kernel_files import KernelFiles

SPARED_STEPS = 5000
"""Steps of Python in small calls of a kernel before it is loaded. Loading takes about as long as
these steps; compiling takes more than ten times as long."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_K = TypeVar("_K", bound=type)

_COMPILING = "compiling machine code, which takes some seconds; later starts find it in the cache"

_log = logging.getLogger(__name__)
_lock = RLock()
_files: list[KernelFiles] = []
_kernels: list[Kernel[..., Any]] = []
_parts: list[Callable[..., Any]] = []
_records: list[type] = []
_operations: list[str] = []


class Kernel(Generic[_P, _R]):
    """A function that is compiled, or loaded from the cache, on its first call.

    Attributes:
        py_func: the Python function.
    """

    def __init__(self, function: Callable[_P, _R]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._compiled: Callable[_P, _R] | None = None
        self._spared = 0
        self._codes: dict[tuple[FunctionType, ...], Callable[_P, _R]] = {}
        self._code: Callable[_P, _R] | None = None
        self._typed: dict[object, Callable[_P, _R]] = {}
        _kernels.append(self)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return (self._compiled or self.dispatcher)(*args, **kwargs)

    def code_for(self, *args: _P.args, **kwargs: _P.kwargs) -> Callable[_P, _R]:
        """The machine code for arguments of these types, which does not check types again.

        Finding the types of all arrays of a record takes five times as long as calling the code.
        The caller must guarantee them: the code misreads arrays of another dtype, number of
        dimensions or order.
        """
        assert not kwargs, "machine code takes arguments by position"
        kind = _kind_of(args)
        if kind not in self._typed:  # numba's types take a hundred times as long to find
            dispatcher = self.dispatcher
            self._typed[kind] = dispatcher.compile(tuple(map(dispatcher.typeof_pyval, args)))
        return self._typed[kind]

    def unchecked(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call the kernel without checks of types (see `code_for`).

        All calls with the same functions among their arguments must have the same types.
        """
        if self._code is not None:
            return self._code(*args, **kwargs)
        parts = tuple(arg for arg in args if isinstance(arg, FunctionType))
        if parts not in self._codes:
            self._codes[parts] = self.code_for(*args, **kwargs)
            self._code = None if parts else self._codes[parts]
        return self._codes[parts](*args, **kwargs)

    def for_steps(self, steps: int) -> Callable[_P, _R]:
        """The function to call for so many steps: this kernel, or the plain Python function.

        Args:
            steps: approximate number of passes through the innermost loops.
        """
        return self._as_written if self.is_spared(steps) else self

    def is_spared(self, steps: int) -> bool:
        """Whether to run plain Python: the kernel is not loaded, and has had little work so far.

        So first moves need few kernels. `load_at_once` ends this.
        """
        if self._compiled is not None or self._spared + steps > SPARED_STEPS:
            return False
        self._spared += steps
        return True

    @property
    def is_cached(self) -> bool:
        """Whether machine code is loaded or in the cache, for arguments of any types."""
        dispatcher = self.dispatcher
        return bool(dispatcher.signatures or dispatcher._cache.signatures())

    def on_views(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call the Python function with memoryviews of the arrays, which are several times as fast
        to read in Python. Not for kernels that rely on integer overflow."""
        from numpy import ndarray

        views: list[Any] = [
            memoryview(arg) if isinstance(arg, ndarray) else arg  # type: ignore[arg-type]
            for arg in args
        ]
        return self.py_func(*views, **kwargs)

    def _as_written(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        import numpy as np

        with np.errstate(over="ignore"):  # as in machine code
            return self.py_func(*args, **kwargs)

    @property
    def dispatcher(self) -> Any:
        """numba's dispatcher for the function."""
        with _lock:
            if self._compiled is None:
                load_compiler()
                self._compiled = _dispatcher(self.py_func)
            return self._compiled


def _kind_of(argument: Any) -> object:
    """What numba's type of an argument depends on."""
    if isinstance(argument, tuple):
        return type(argument), *map(_kind_of, argument)
    if hasattr(argument, "flags"):
        return argument.dtype.str, argument.ndim, argument.flags.num
    if isinstance(argument, int):
        return type(argument), argument.bit_length() > 63
    return argument if isinstance(argument, FunctionType) else type(argument)


def kernel(function: Callable[_P, _R]) -> Kernel[_P, _R]:
    """Compile a function on first use for the types of its arguments; it releases the GIL.

    Machine code is cached on disk if possible. A full disk, a read-only folder or a broken file
    means compiling again, not an error. A kernel cannot allocate arrays: its caller passes all
    arrays that it needs.
    """
    return Kernel(function)


def inlined(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Mark a function as a part of kernels: compiled with them, and allowed as their argument."""
    _parts.append(function)
    return function


def by_reference(record: _K) -> _K:
    """Pass a class of named tuples to kernels as one pointer, not as single arrays.

    Its fields are arrays, numbers and other such tuples. Kernels read fields by name, and cannot
    assign them.
    """
    _records.append(record)
    return record


def operations_in(module: str) -> None:
    """Register a module that defines operations, to be imported before kernels are compiled."""
    _operations.append(module)


def cache_files() -> tuple[Path, ...]:
    """Paths of the index files of all kernels that were called; not all exist. Machine code is in
    the same folders."""
    return tuple(path for files in _files for path in files.index_paths)


def num_loaded() -> int:
    """Number of pieces of machine code that are loaded."""
    dispatchers = (kernel._compiled for kernel in _kernels)
    return sum(len(getattr(dispatcher, "signatures", ())) for dispatcher in dispatchers)


def load_at_once() -> None:
    """From now on, load or compile each kernel on its first call, however little work it has.

    Otherwise it might be loaded later, when a clock runs.
    """
    global SPARED_STEPS
    SPARED_STEPS = -1


def demand_compiler() -> None:
    """Check that kernels can be compiled, without importing numba.

    Raises:
        BackendUnavailableError: they cannot.
    """
    try:
        is_installed = "numba" in sys.modules or find_spec("numba") is not None
    except ValueError:  # something other than a module has its name
        is_installed = False
    if not is_installed:
        raise BackendUnavailableError("numba", "install it with `pip install numba`")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        raise BackendUnavailableError("numba", "unset NUMBA_DISABLE_JIT")


def locks() -> tuple[Any, ...]:
    """The locks held while kernels are loaded or compiled: numba's own comes before ours."""
    module = sys.modules.get("numba.core.compiler_lock")
    compiling = getattr(getattr(module, "global_compiler_lock", None), "_lock", None)
    return (_lock,) if compiling is None else (compiling, _lock)


def load_compiler() -> None:
    """Import numba, and register all parts of kernels so far with it.

    Raises:
        BackendUnavailableError: numba cannot be imported, or compiling is disabled.
        InstallationError: a module of ggp is missing.
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
    """Do everything for kernels that needs privileges, before the process drops them; afterwards
    it only reads files.

    Raises:
        BackendUnavailableError: see `load_compiler`.
    """
    for kernel in _kernels:
        kernel.dispatcher  # noqa: B018


def load_cached() -> None:
    """Load all cached machine code, for arguments of any types that are imported; nothing is
    compiled.

    Call `prepare` first. Code that cannot be read is compiled by the first call.
    """
    for kernel in _kernels:
        for signature in kernel.dispatcher._cache.signatures():
            if all(getattr(part, "is_imported", True) for part in signature):
                kernel.dispatcher.compile(signature)


@cache
def _compiler() -> Any:
    """The module that compiles kernels.

    Raises:
        BackendUnavailableError: numba cannot be imported, or has another inside than the versions
            that pyproject.toml allows.
        InstallationError: a module of ggp is missing.
    """
    try:
        import ggp.machine.compiling.kernel_compiler as kernel_compiler
    except (ImportError, AttributeError) as error:
        if isinstance(error, ImportError):
            demand_library(error, "numba", "llvmlite")
        raise BackendUnavailableError(
            "numba",
            f"it cannot be used: {error}; see docs/understand/numba.md, `--backend prolog` plays "
            "without it",
        ) from error
    return kernel_compiler


def _dispatcher(function: Callable[..., Any]) -> Any:
    from ggp.machine.compiling.kernel_files import KernelFiles

    dispatcher = _compiler().compiled(function)
    files = KernelFiles(function, _disk_of(function, kernels_version()), _announce_compiling)
    _files.append(files)
    dispatcher._cache = files
    return dispatcher


def _disk_of(function: Callable[..., Any], made_by: str) -> Any:
    """numba's cache for a function; None if nothing can be kept, or if it is of an unknown kind."""
    try:
        from numba.core.caching import FunctionCache

        try:
            disk = FunctionCache(function)
        except RuntimeError:  # there is no folder that can be written
            with _reading_only():
                disk = FunctionCache(function)
    except (ImportError, RuntimeError) as error:  # nor one that was written before
        _log.info("machine code is not cached: %s", error)
        return None
    file: Any = getattr(disk, "_cache_file", None)
    if not all(hasattr(file, name) for name in ("_index_path", "_source_stamp", "_version")):
        return None  # the cache might hold other code
    # numba only checks the kernel's own file, but parts of others are compiled into it.
    file._source_stamp = made_by
    # Files of another version of numba are not read: they may name classes that are gone, and would
    # neither be read nor replaced.
    file._version += f" {made_by}"
    return disk


def _announce_compiling() -> None:
    """Log that compiling takes some time, once for each process."""
    global _COMPILING
    if _COMPILING:
        _log.log(NOTE, _COMPILING)
        _COMPILING = ""


@contextmanager
def _reading_only() -> Iterator[None]:
    """Within this context, new kernels may use a cache folder that cannot be written.

    numba insists on a folder that can. A process that has dropped its privileges still calls
    kernels.
    """
    from numba.core import caching

    def demand_folder(locator: Any) -> None:
        if not os.path.isdir(locator.get_cache_path()):
            raise OSError("there is no such folder")

    original = caching._CacheLocator.ensure_cache_path
    caching._CacheLocator.ensure_cache_path = demand_folder  # type: ignore[method-assign]
    try:
        yield
    finally:
        caching._CacheLocator.ensure_cache_path = original  # type: ignore[method-assign]
