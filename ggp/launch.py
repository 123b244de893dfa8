"""The beginning and the end of every command of ours, before anything slow is imported.

Importing a program takes up to seconds, and Ctrl-C meanwhile would end in a traceback. So the
command's script imports this module first and nothing else: `launch` takes care of the standard
files and of interrupts, and imports the program only then.
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
"""Whether the program has done its work: an interrupt has nothing left to end."""


def launch(module: str, first: Callable[[], None] | None = None, **options: Any) -> NoReturn:
    """Import a module and call its `main`; never returns.

    An interrupt (SIGINT) ends the process at once while the module is imported and after `main`; in
    between it is the usual `KeyboardInterrupt`. A process that was started with interrupts ignored,
    as shells start background jobs, continues to ignore them.

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
        # Registered first, so called last: the rest Python does without handlers.
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


class Loading:
    """A context for imports that take long, before a command has begun anything.

    An interrupt meanwhile ends the process at once: libraries in C would swallow the exception, or
    show it with a traceback.
    """

    def __enter__(self) -> None:
        self._is_heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._is_heeded:
            signal.signal(signal.SIGINT, _end_at_once)

    def __exit__(self, *_: object) -> None:
        if self._is_heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def preload(*modules: str) -> None:
    """Import libraries that are slow to import, see `Loading`.

    Those that cannot be imported are left to the code that needs them.
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
    """Make sure that all three standard files are open, and that unreadable errors do no harm.

    If one is closed, the next file that is opened would take its place, and the output of a library
    would end up there.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # Takes the lowest free number. Standard output is opened for reading: results must
            # not be lost without notice.
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
    """Repeat an interrupt that arrived where Python drops exceptions: in a destructor or callback.

    Other exceptions there are shown as usual.
    """
    if dropped.exc_type is KeyboardInterrupt:
        _thread.start_new_thread(_interrupt_soon, (_thread.get_ident(),))
    else:
        sys.__unraisablehook__(dropped)


def _interrupt_soon(thread: int) -> None:
    time.sleep(_SOON_S)
    if _is_over:  # libraries restore signals while they are closed: it would kill without a word
        return
    signal.pthread_kill(thread, signal.SIGINT)


def _leave(code: int) -> NoReturn:
    """End without Python's own shutdown, in which libraries restore signals and drop exceptions."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(code)


def _end_at_once(*_: object) -> NoReturn:
    """End with a line and nothing else: no exception can get lost, and nothing waits."""
    _Lenient(2, "w", closefd=False).write(b"error: interrupted\n")
    os._exit(EXIT_INTERRUPTED)
