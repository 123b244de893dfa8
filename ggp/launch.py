"""Start and end of every command, before anything slow is imported.

Importing a program can take seconds, and Ctrl-C would then end in a traceback. So a command's
script imports only this module: `launch` prepares the standard files and the handling of
interrupts, imports the program, and calls its `main`.
"""

from __future__ import annotations

import _thread
import atexit
import io
import os
import signal
import sys
import time
from importlib import import_module

TYPE_CHECKING = False  # without the import of `typing`, which takes longer than this module
if TYPE_CHECKING:
    from collections.abc import Callable
    from sys import UnraisableHookArgs
    from typing import Any, NoReturn

EXIT_INTERRUPTED = 130

_SOON_S = 0.01

_is_over = False
"""Whether the program has done its work, so that an interrupt has nothing left to end."""


def launch(module: str, first: Callable[[], None] | None = None, **options: Any) -> NoReturn:
    """Import a module and call its `main`; never returns.

    While the module is imported, and after `main`, an interrupt (SIGINT) ends the process
    immediately; in between it raises the usual `KeyboardInterrupt`. A process that was started with
    interrupts ignored, as shells start background jobs, keeps ignoring them.

    Args:
        module: its full name.
        first: called before the import, once the standard files are open.
        options: arguments of `main`.
    """
    _open_standard_files()
    is_heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heeded:
        signal.signal(signal.SIGINT, _end_at_once)
        sys.unraisablehook = _interrupt_again
        # Registered first, so called last: after it, Python ends without handlers.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    if first is not None:
        first()
    main = import_module(module).main
    try:
        try:
            if is_heeded:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            main(**options)
        finally:
            global _is_over
            _is_over = True
            if is_heeded:
                signal.signal(signal.SIGINT, _end_at_once)
    except KeyboardInterrupt:  # another one, while the first was handled
        _end_at_once()
    except SystemExit as end:
        if end.code == EXIT_INTERRUPTED:
            _leave(EXIT_INTERRUPTED)
        raise
    sys.exit()


def later(package: str, *modules: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package, which imports its modules when their names are asked for.

    Args:
        package: its full name; `__all__` has the names that it offers.
        modules: those that define the names, the first to be imported first.
    """

    def find(name: str) -> Any:
        if name in sys.modules[package].__all__:
            for module in map(import_module, (f"{package}.{each}" for each in modules)):
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find


class Loading:
    """A context for slow imports, before a command has begun its work.

    An interrupt within it ends the process immediately: libraries in C would swallow the exception
    or print a traceback.
    """

    def __enter__(self) -> None:
        self._is_heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._is_heeded:
            signal.signal(signal.SIGINT, _end_at_once)

    def __exit__(self, *_: object) -> None:
        if self._is_heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def preload(*modules: str) -> None:
    """Import slow libraries within `Loading`.

    A failed import is left to the code that needs the library.
    """
    with Loading():
        for module in modules:
            try:
                import_module(module)
            except ImportError:
                continue


class _Lenient(io.FileIO):
    """A file that silently drops what cannot be written."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _open_standard_files() -> None:
    """Make sure that all standard files are open, and that a broken standard error is harmless.

    The next file to be opened would take the place of a closed one and receive the output of
    libraries.
    """
    for fd, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(fd)
        except OSError:
            # Takes the lowest free number. Standard output is opened for reading: writing results
            # to it fails, so that none is lost silently.
            os.open(os.devnull, flags)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # characters its encoding lacks
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Lenient(2, "w", closefd=False)),
        encoding=None if sys.stderr is None else sys.stderr.encoding,
        errors="backslashreplace",
        line_buffering=True,
        write_through=True,
    )


def _interrupt_again(dropped: UnraisableHookArgs) -> None:
    """Repeat an interrupt that Python dropped, as it does in destructors and callbacks.

    Other dropped exceptions are printed as usual.
    """
    if dropped.exc_type is KeyboardInterrupt:
        _thread.start_new_thread(_interrupt_soon, (_thread.get_ident(),))
    else:
        sys.__unraisablehook__(dropped)


def _interrupt_soon(thread: int) -> None:
    time.sleep(_SOON_S)
    if _is_over:  # libraries restore signals when they close: SIGINT would kill without a message
        return
    signal.pthread_kill(thread, signal.SIGINT)


def _leave(code: int) -> NoReturn:
    """Exit without Python's shutdown, in which libraries restore signals and drop exceptions."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(code)


def _end_at_once(*_: object) -> NoReturn:
    """Print one line and exit: no exception can get lost, and nothing waits."""
    _Lenient(2, "w", closefd=False).write(b"error: interrupted\n")
    os._exit(EXIT_INTERRUPTED)
