"""The only module that talks to SWI-Prolog: text of numbers in, text of numbers out.

A process has one SWI-Prolog. A call opens one foreign frame and one query, and always closes them,
so its stacks do not grow with the number of calls.

Several threads may call the engine; a lock serves them one after the other. The main thread calls
Prolog directly, a helper thread calls it for all others, since Prolog keeps data about each thread
that calls it.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from importlib import resources
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from ggp.errors import BackendUnavailableError, MachineError, ReasonerLimitError
from ggp.libraries import demand_library
from ggp.machine.base import Limits

# ------------------------------------------------------------------------
# A thread that runs tasks for other threads, one after the other.


class Helper:
    """A thread that lives as long as the process, whichever thread started it."""

    def __init__(self, name: str) -> None:
        self._tasks: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def run(self, work: Callable[[], _T]) -> _T:
        """The result of a task that runs in the thread; raises the exceptions of the task."""
        return self.give(work).result()

    def give(self, work: Callable[[], _T]) -> Future[_T]:
        """Queue a task for the thread, without waiting for it."""
        future: Future[_T] = Future()
        self._tasks.put((work, future))
        return future

    def _serve(self) -> None:
        while True:
            work, future = self._tasks.get()
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
            del work, future  # keep no references while idle


_T = TypeVar("_T")

MIN_VERSION = 90004
"""SWI-Prolog 9.0.4, the version in Debian 12."""

_INSTALL = (
    "install SWI-Prolog 9.0.4 or newer: `apt-get install swi-prolog-nox` on Debian and Ubuntu, "
    "`brew install swi-prolog` on macOS, the conda-forge package `swi-prolog` without root; "
    "the command `swipl` must be on PATH"
)


BYTES_A_CELL = 64
"""Greatest number of bytes for a word of a tabled answer."""

_FIRST = 1
"""Prolog's number of the thread that started it."""

_KEEP_MEMORY = 0x10000
"""PL_CLEANUP_NO_RECLAIM_MEMORY: the process ends anyway. To free memory, SWI-Prolog would wait for
its other threads, and warn if they take long."""

LAST_CALL_S = 1.0
"""Seconds that the process waits for the helper at exit."""


class PrologEngine:
    """SWI-Prolog in this process, with runtime.pl loaded; any thread may call it."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._lock = threading.Lock()  # held while Prolog runs
        self._main = threading.main_thread().ident
        self._threads: dict[int, int] = {}  # Prolog's numbers of the threads that call it
        self._last: tuple[int, Limits] | None = None  # thread and limits of the last call
        lib = core._lib
        self._put_string = lib.PL_put_string_nchars
        self._put_string.argtypes = [core.term_t, ctypes.c_size_t, ctypes.c_char_p]
        self._get_string = lib.PL_get_string
        self._get_string.argtypes = [
            core.term_t,
            ctypes.POINTER(ctypes.c_void_p),
            ctypes.POINTER(ctypes.c_size_t),
        ]
        self._consult_runtime()
        self._watchdog = Watchdog(core)
        self._predicate = core.PL_predicate(b"run", 2, b"ggp_runtime")
        self._games = count(1)
        self._dropped: list[str] = []
        os.register_at_fork(after_in_child=self._after_fork)
        atexit.register(self._end)

    def new_game_name(self) -> str:
        """A module name that no other game in this process has."""
        return f"ggp_game_{next(self._games)}"

    def call(self, goal: str, limits: Limits, doing: str) -> str:
        """The output of a goal of the runtime.

        Args:
            goal: a goal of runtime.pl, made of our own names and numbers.
            limits: bounds on the call.
            doing: the purpose of the call, for error messages.

        Raises:
            ReasonerLimitError: a limit was exceeded.
            MachineError: anything else went wrong.
        """
        call = partial(self._call, goal, limits, doing)
        return call() if threading.get_ident() == self._main else _helper().run(call)

    def _call(self, goal: str, limits: Limits, doing: str) -> str:
        """Do the work of `call`, in a thread that may call Prolog."""
        with self._lock:
            thread = self._this_thread()
            if (thread, limits) != self._last:
                self._set_limits(limits)
                self._last = thread, limits
            while self._dropped:
                self.run(f"drop({self._dropped.pop()})")
            self._watchdog.start(thread, limits.seconds)
            try:
                answer = self.run(goal)
            finally:
                fired = self._watchdog.stop()
            if fired and not answer:  # the signal came where no handler catches it
                answer = "limit seconds"
            elif fired and answer != "limit seconds":
                # The signal came as the call ended: let an empty call receive it.
                self.run("true")
        status, _, rest = answer.partition(" ")
        if status == "ok":
            return rest
        if status in ("limit", "resource"):
            raise ReasonerLimitError(*_limit(rest, limits), doing)
        raise MachineError(f"{doing}: SWI-Prolog reports {rest or 'nothing'}")

    def _this_thread(self) -> int:
        """Prolog's number of this thread, which is attached to Prolog if it is new."""
        thread = threading.get_ident()
        if thread not in self._threads:
            number = int(self._core.PL_thread_self())
            if number < 0:
                number = int(self._core.PL_thread_attach_engine(None))
            if number < 0:
                raise MachineError("SWI-Prolog takes no more threads")
            self._threads[thread] = number
        return self._threads[thread]

    def drop(self, module: str) -> None:
        """Free the module of a game with the next call.

        Not now, because Python's garbage collector may call this in the middle of another call.
        """
        self._dropped.append(module)

    def _end(self) -> None:
        """Detach all threads at exit, since SWI-Prolog would wait for them."""
        detach = self._core._lib.PL_thread_destroy_engine
        for thread, number in self._threads.items():
            is_first = number == _FIRST
            if thread == self._main and not is_first:
                detach()
            elif thread != self._main:
                # Only the thread that started Prolog can end it.
                last = partial(self._core.PL_cleanup, _KEEP_MEMORY) if is_first else detach
                with suppress(TimeoutError):
                    _helper().give(last).result(LAST_CALL_S)

    def _after_fork(self) -> None:
        """In a forked process, forget the other threads, which do not exist there."""
        self._lock, thread = threading.Lock(), threading.get_ident()
        self._main, self._last = thread, None
        self._threads = {thread: self._threads[thread]} if thread in self._threads else {}

    def _set_limits(self, limits: Limits) -> None:
        self.run(
            f"(set_prolog_flag(stack_limit, {limits.stack_bytes}),"
            f"set_limit(cells, {limits.table_bytes // BYTES_A_CELL}),"
            f"set_limit(term_size, {limits.term_size}),"
            f"set_limit(answer_size, {limits.answer_size}),"
            f"set_limit(inferences, {limits.inferences}),"
            f"set_limit(setup_inferences, {limits.setup_inferences}),"
            f"set_limit(facts, 500000))"
        )

    def run(self, goal: str) -> str:
        """The answer of runtime.pl to a goal, empty if there is none; in a thread that may call
        Prolog."""
        core = self._core
        frame = core.PL_open_foreign_frame()
        try:
            args = core.PL_new_term_refs(2)
            data = f"ggp_runtime:({goal})".encode()
            self._put_string(args, len(data), data)
            query = core.PL_open_query(None, core.PL_Q_CATCH_EXCEPTION, self._predicate, args)
            try:
                if not core.PL_next_solution(query):
                    return ""
                start, size = ctypes.c_void_p(), ctypes.c_size_t()
                if not self._get_string(args + 1, ctypes.byref(start), ctypes.byref(size)):
                    raise MachineError("SWI-Prolog gave an answer that is not text")
                return ctypes.string_at(start.value or 0, size.value).decode("latin-1")
            finally:
                core.PL_close_query(query)
        finally:
            core.PL_discard_foreign_frame(frame)

    def _consult_runtime(self) -> None:
        core = self._core
        with resources.as_file(resources.files("ggp.machine.prolog") / "runtime.pl") as path:
            quoted = str(path).replace("\\", "\\\\").replace("'", "\\'")
            frame = core.PL_open_foreign_frame()
            try:
                goal = core.PL_new_term_ref()
                core.PL_chars_to_term(f"load_files('{quoted}', [silent(true)])".encode(), goal)
                if not core.PL_call(goal, None):
                    raise MachineError(f"SWI-Prolog could not load {path}")
            finally:
                core.PL_discard_foreign_frame(frame)


def _limit(name: str, limits: Limits) -> tuple[str, float]:
    """The name for messages, and the value, of a limit that runtime.pl reports."""
    if name in _LIMITS:
        return _LIMITS[name], getattr(limits, name)
    return "bytes of stack", limits.stack_bytes


_LIMITS = {
    "inferences": "inferences",
    "seconds": "seconds",
    "term_size": "functions in one term",
    "answer_size": "words of terms at once",
    "table_bytes": "bytes of tables",
}
"""Names for messages, by the names of limits in `Limits` and runtime.pl."""

_engine: PrologEngine | None = None
_own_helper: Helper | None = None
_starting = threading.RLock()


def engine() -> PrologEngine:
    """The engine of this process, started at the first call.

    Raises:
        BackendUnavailableError: SWI-Prolog or pyswip is missing or too old.
    """
    global _engine
    with _starting:
        if _engine is None:
            _engine = _lasting(_start)
        return _engine


def stop_threads() -> None:
    """Stop the other threads of Prolog, if it runs, before the process is forked."""
    if _engine is not None:
        # This is the thread of the garbage collector, which starts again when it is needed.
        _engine.run("set_prolog_gc_thread(stop)")


def _helper() -> Helper:
    """The helper that calls Prolog for all threads except the main one."""
    global _own_helper
    with _starting:
        if _own_helper is None:
            _own_helper = Helper("ggp-prolog")
        return _own_helper


def _lasting(start: Callable[[], _T]) -> _T:
    """Call a function in a thread that lives as long as the process.

    The thread that starts Prolog must never end.
    """
    if threading.current_thread() is threading.main_thread():
        return start()
    return _helper().run(start)


def _forget_threads() -> None:
    """Forget other threads in a copy of the process, where there are none."""
    global _own_helper, _starting
    _own_helper, _starting = None, threading.RLock()


os.register_at_fork(after_in_child=_forget_threads)


def prolog_folders() -> tuple[Path, ...]:
    """Folders of SWI-Prolog and its library; none if it is missing. Starts it, like `engine`."""
    try:
        core = _lasting(_start_prolog)
    except BackendUnavailableError:
        return ()
    return Path(core.SWI_HOME_DIR), Path(core._path).resolve().parent


def _start_prolog() -> Any:
    """Start SWI-Prolog; returns the module of pyswip that calls it."""
    try:
        arguments, sys.argv = sys.argv, sys.argv[:0]  # pyswip chokes on some, and needs none
        try:
            import pyswip.core as core
            import pyswip.prolog  # noqa: F401  (starts SWI-Prolog)
        finally:
            sys.argv = arguments
    except ModuleNotFoundError as error:
        demand_library(error, "pyswip")
        raise BackendUnavailableError("pyswip", "install it with `pip install pyswip`") from error
    except ImportError as error:  # pyswip raises subclasses of it for a missing library
        raise BackendUnavailableError("SWI-Prolog", _INSTALL) from error
    except Exception as error:
        raise BackendUnavailableError("SWI-Prolog", f"{error}; {_INSTALL}") from error
    return core


def _start() -> PrologEngine:
    core = _start_prolog()
    version = core._lib.PL_version_info
    version.argtypes, version.restype = [ctypes.c_int], ctypes.c_uint
    number = int(version(1))
    if number < MIN_VERSION:
        text = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
        raise BackendUnavailableError("SWI-Prolog", f"version {text} is too old; {_INSTALL}")
    return PrologEngine(core)


# ------------------------------------------------------------------------
# A watchdog that interrupts calls of Prolog which take too long.

WATCH_EVERY_S = 0.1
"""Seconds between two looks at the clock: the greatest delay of an interrupt."""


class Watchdog:
    """Interrupts calls that take too long.

    A limit on inferences is not enough: few inferences can build deep terms for minutes. A thread
    looks at the clock and raises a signal inside Prolog, which runtime.pl turns into an error. The
    thread starts with the first call in each process.
    """

    def __init__(self, core: Any) -> None:
        self._raise = core._lib.PL_thread_raise
        self._raise.argtypes = [ctypes.c_int, ctypes.c_int]
        self._thread = 0
        self._lock = threading.Lock()
        self._at_s: float | None = None
        self._fired = False
        self._process = 0

    def start(self, thread: int, seconds: float) -> None:
        """Watch a call that begins now in a thread of Prolog, and may take `seconds`."""
        if self._process != os.getpid():
            self._process, self._lock = os.getpid(), threading.Lock()
            threading.Thread(target=self._watch, name="ggp-prolog-watchdog", daemon=True).start()
        self._thread = thread
        self._at_s = time.monotonic() + seconds

    def stop(self) -> bool:
        """Stop watching the call; returns whether a signal was sent."""
        with self._lock:
            fired, self._fired, self._at_s = self._fired, False, None
        return fired

    def _watch(self) -> None:
        while True:
            time.sleep(WATCH_EVERY_S)
            with self._lock:
                if self._at_s is not None and time.monotonic() > self._at_s and not self._fired:
                    self._fired = True
                    self._raise(self._thread, signal.SIGUSR1)
