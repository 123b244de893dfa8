"""The only module that talks to SWI-Prolog: text of numbers in, text of numbers out.

There is one SWI-Prolog in a process. A call is one foreign frame and one query that are always
closed, so nothing piles up on its stacks however many calls are made.

Several threads may call it, and they are served one after the other. What Prolog remembers belongs
to a thread, and a thread that ends leaves it behind. So there are two *places* where Prolog runs:

    the main thread     calls it directly, without going through another thread
    a helper            calls for all other threads, one call after the other

A game is at home in one of them. It moves to the helper for good when a thread other than the main
one first asks about it. From then on the main thread, too, calls through the helper.
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
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from ggp.errors import BackendUnavailableError, MachineError, ReasonerLimitError
from ggp.libraries import demand_library
from ggp.machine.base import Limits

# ------------------------------------------------------------------------
# A thread that does the work other threads give it, one piece after the other.


class Helper:
    """A thread that only ends with the process, whichever thread started it."""

    def __init__(self, name: str) -> None:
        self._given: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def run(self, work: Callable[[], _T]) -> _T:
        """The result of work done in the thread; raises whatever the work raises."""
        return self.give(work).result()

    def give(self, work: Callable[[], _T]) -> Future[_T]:
        """Have work done in the thread, without having to wait for it."""
        future: Future[_T] = Future()
        self._given.put((work, future))
        return future

    def _serve(self) -> None:
        while True:
            work, future = self._given.get()
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
            del work, future  # hold nothing while there is nothing to do


_T = TypeVar("_T")

MIN_VERSION = 90004
"""SWI-Prolog 9.0.4, as Debian 12 has it."""

_INSTALL = (
    "install SWI-Prolog 9.0.4 or newer: `apt-get install swi-prolog-nox` on Debian and Ubuntu, "
    "`brew install swi-prolog` on macOS, the conda-forge package `swi-prolog` without root; "
    "the command `swipl` must be on PATH"
)


RUNTIME = "runtime.pl", "memory.pl", "playouts.pl"
"""Our Prolog files: a module, and more clauses of it."""

BYTES_A_CELL = 64
"""Bytes that a word of a remembered answer takes in a trie, at most."""

_FIRST = 1
"""Prolog's number of the thread that started it."""

LAST_CALL_S = 1.0
"""Seconds that the process waits at its end for a call of the helper."""


@dataclass(eq=False, slots=True)
class _Place:
    """A thread that runs Prolog.

    Attributes:
        thread: Prolog's number of it.
        left: games that moved away, of which something is still remembered here.
    """

    thread: int
    left: list[str] = field(default_factory=list)


class PrologEngine:
    """SWI-Prolog in this process, with our runtime loaded; any thread may call it."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._lock = threading.Lock()  # held while Prolog runs
        self._naming = threading.Lock()
        self._main = threading.main_thread().ident
        self._here: _Place | None = None  # the main thread
        self._there: _Place | None = None  # the helper
        self._homes: dict[str, _Place] = {}
        self._last: _Place | None = None
        self._has_ended = False
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
        self._run = core.PL_predicate(b"run", 2, b"ggp_runtime")
        self._limits: Limits | None = None
        self._num_games = 0
        self._dropped: list[str] = []
        os.register_at_fork(after_in_child=self._after_fork)
        atexit.register(self._end)

    def new_game_name(self) -> str:
        """A module name that no other game in this process has."""
        with self._naming:
            self._num_games += 1
            return f"ggp_game_{self._num_games}"

    def call(self, game: str, goal: str, limits: Limits, doing: str) -> str:
        """Run one goal of the runtime about a game and return what it printed.

        Args:
            game: its module.
            goal: a goal of runtime.pl, made of our own names and numbers.
            limits: bounds in force during the call.
            doing: the purpose of the call, for error messages.

        Raises:
            ReasonerLimitError: a limit was exceeded.
            MachineError: anything else went wrong.
        """
        if threading.get_ident() == self._main:
            with self._lock:
                if self._there is None or self._homes.get(game) is not self._there:
                    if self._here is None:
                        self._here = self._place()
                    if self._dropped:
                        self._drop_all(limits)
                    return self._call(self._here, game, goal, limits, doing)
        return _helper().run(partial(self._call_there, game, goal, limits, doing))

    def _call_there(self, game: str, goal: str, limits: Limits, doing: str) -> str:
        """Make a call (see `call`) in the helper."""
        with self._lock:
            if self._there is None:
                self._there = self._place()
            return self._call(self._there, game, goal, limits, doing)

    def _place(self) -> _Place:
        """This thread, which may call Prolog from now on."""
        thread = int(self._core.PL_thread_self())
        if thread < 0:
            thread = int(self._core.PL_thread_attach_engine(None))
        if thread < 0:
            raise MachineError("SWI-Prolog takes no more threads")
        return _Place(thread)

    def _call(self, place: _Place, game: str, goal: str, limits: Limits, doing: str) -> str:
        """Make a call (see `call`) in a thread that may, while no other does."""
        while place.left:
            self._move(f"leave({place.left.pop()})")
        if place is not self._last or (limits is not self._limits and limits != self._limits):
            self._set_limits(limits)
            self._last = place
        home = self._homes.setdefault(game, place)
        if home is not place:
            self._move(f"adopt({game})")
            self._homes[game] = place
            home.left.append(game)
        self._watchdog.start(place.thread, limits.seconds)
        try:
            answer = self._query(f"ggp_runtime:({goal})")
        finally:
            fired = self._watchdog.stop()
        if fired and answer != "limit seconds":
            # The signal came as the call ended: let it hit a call that does nothing.
            self._query("ggp_runtime:true")
        status, _, rest = answer.partition(" ")
        if status == "ok":
            return rest
        if status == "limit":
            if rest == "seconds":
                raise ReasonerLimitError("seconds", limits.seconds, doing)
            if rest == "term_size":
                raise ReasonerLimitError("functions in one term", limits.term_size, doing)
            if rest == "answer_size":
                raise ReasonerLimitError("words of terms at once", limits.answer_size, doing)
            raise ReasonerLimitError("inferences", limits.inferences, doing)
        if status == "resource":
            if "table" in rest:
                raise ReasonerLimitError("bytes of tables", limits.table_bytes, doing)
            raise ReasonerLimitError("bytes of stack", limits.stack_bytes, doing)
        raise MachineError(f"{doing}: SWI-Prolog reports {rest}")

    def _move(self, goal: str) -> None:
        answer = self._query(f"ggp_runtime:{goal}")
        if answer.strip() != "ok":
            raise MachineError(f"playing on in another thread: SWI-Prolog reports {answer}")

    def drop(self, module: str, limits: Limits) -> None:
        """Free what a game holds.

        Garbage is collected in whatever thread is running, whatever it is doing: if the game cannot
        be freed at once, it is freed with the next call.
        """
        if self._has_ended:
            return
        if self._there is not None and self._homes.get(module) is self._there:
            _helper().give(partial(self._drop_there, module, limits))
            return
        self._dropped.append(module)
        if threading.get_ident() == self._main and self._lock.acquire(blocking=False):
            try:
                self._drop_all(limits)
            finally:
                self._lock.release()

    def _drop_all(self, limits: Limits) -> None:
        while self._dropped and self._here is not None:
            self._drop(self._here, self._dropped.pop(), limits)

    def _drop_there(self, module: str, limits: Limits) -> None:
        with self._lock:
            if self._there is not None:
                self._drop(self._there, module, limits)

    def _drop(self, place: _Place, module: str, limits: Limits) -> None:
        self._call(place, module, f"drop({module})", limits, "closing a game")
        del self._homes[module]

    def _end(self) -> None:
        """End SWI-Prolog as the process ends, which would wait for threads that may call it."""
        self._has_ended = True
        detach = self._core._lib.PL_thread_destroy_engine
        if self._here is not None and self._here.thread != _FIRST:
            detach()
        if self._there is not None:
            # Only the thread that started Prolog can end it.
            is_first = self._there.thread == _FIRST
            last = partial(self._core.PL_cleanup, 0) if is_first else detach
            with suppress(TimeoutError):
                _helper().give(last).result(LAST_CALL_S)

    def stop_threads(self) -> None:
        """End the thread in which Prolog collects garbage; it starts again when it is needed."""
        self._query("ggp_runtime:set_prolog_gc_thread(stop)")

    def _after_fork(self) -> None:
        """Forget other threads in a copy of the process, where there are none."""
        self._lock, self._naming = threading.Lock(), threading.Lock()
        self._there = None
        if threading.get_ident() != self._main:
            self._main, self._here = threading.get_ident(), None

    def _set_limits(self, limits: Limits) -> None:
        self._query(
            f"ggp_runtime:(set_prolog_flag(stack_limit, {limits.stack_bytes}),"
            f"set_prolog_flag(table_space, {limits.table_bytes}),"
            f"set_prolog_flag(max_table_answer_size, {limits.term_size}),"
            f"set_prolog_flag(max_table_answer_size_action, error),"
            f"set_prolog_flag(max_table_subgoal_size, {limits.term_size}),"
            f"set_prolog_flag(max_table_subgoal_size_action, error),"
            f"set_limit(term_size, {limits.term_size}),"
            f"set_limit(answer_size, {limits.answer_size}),"
            f"set_limit(inferences, {limits.inferences}),"
            f"set_limit(setup_inferences, {limits.setup_inferences}),"
            f"set_limit(facts, 500000),"
            f"set_limit(remembered, {limits.table_bytes // BYTES_A_CELL}))"
        )
        self._limits = limits

    def _query(self, text: str) -> str:
        core = self._core
        frame = core.PL_open_foreign_frame()
        try:
            args = core.PL_new_term_refs(2)
            data = text.encode()
            self._put_string(args, len(data), data)
            query = core.PL_open_query(None, core.PL_Q_CATCH_EXCEPTION, self._run, args)
            try:
                if not core.PL_next_solution(query):
                    raise MachineError("SWI-Prolog gave no answer")
                start, size = ctypes.c_void_p(), ctypes.c_size_t()
                if not self._get_string(args + 1, ctypes.byref(start), ctypes.byref(size)):
                    raise MachineError("SWI-Prolog gave an answer that is not text")
                return ctypes.string_at(start.value or 0, size.value).decode("latin-1")
            finally:
                core.PL_close_query(query)
        finally:
            core.PL_discard_foreign_frame(frame)

    def _consult_runtime(self) -> None:
        for name in RUNTIME:
            with resources.as_file(resources.files("ggp.machine.prolog") / name) as path:
                self._consult(path)

    def _consult(self, path: Path) -> None:
        quoted = str(path).replace("\\", "\\\\").replace("'", "\\'")
        load = f"'@'(load_files('{quoted}', [silent(true)]), ggp_runtime)"
        core = self._core
        frame = core.PL_open_foreign_frame()
        try:
            goal = core.PL_new_term_ref()
            core.PL_chars_to_term(load.encode(), goal)
            if not core.PL_call(goal, None):
                raise MachineError(f"SWI-Prolog could not load {path}")
        finally:
            core.PL_discard_foreign_frame(frame)


_engine: PrologEngine | None = None
_own_helper: Helper | None = None
_starting = threading.Lock()
_starting_helper = threading.Lock()


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
    """Make Prolog, if it was started, run in this thread only, before the process is forked."""
    if _engine is not None:
        _engine.stop_threads()


def _helper() -> Helper:
    """The helper that calls Prolog for all threads except the main one."""
    global _own_helper
    if _own_helper is not None:
        return _own_helper
    with _starting_helper:
        if _own_helper is None:
            _own_helper = Helper("ggp-prolog")
        return _own_helper


def _lasting(start: Callable[[], _T]) -> _T:
    """Start something in a thread that ends with the process, as Prolog needs its first one."""
    if threading.current_thread() is threading.main_thread():
        return start()
    return _helper().run(start)


def _forget_threads() -> None:
    """Forget other threads in a copy of the process, where there are none."""
    global _own_helper, _starting, _starting_helper
    _own_helper, _starting, _starting_helper = None, threading.Lock(), threading.Lock()


os.register_at_fork(after_in_child=_forget_threads)


def prolog_folders() -> tuple[Path, ...]:
    """Folders of SWI-Prolog and its library, none if it is missing; starts it as `engine` does."""
    try:
        core = _lasting(_start_prolog)
    except BackendUnavailableError:
        return ()
    return Path(core.SWI_HOME_DIR), Path(core._path).resolve().parent


def _start_prolog() -> Any:
    """The module of pyswip that calls Prolog."""
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
    found = int(version(1))
    if found < MIN_VERSION:
        shown = f"{found // 10000}.{found // 100 % 100}.{found % 100}"
        raise BackendUnavailableError("SWI-Prolog", f"version {shown} is too old; {_INSTALL}")
    return PrologEngine(core)


# ------------------------------------------------------------------------
# A watchdog that ends calls of Prolog which take too long.

WATCH_EVERY_S = 0.1
"""Seconds between two looks at the clock: the delay with which a time limit may be noticed."""


class Watchdog:
    """Interrupts calls that take too long.

    Limits of inferences do not cover everything: building ever deeper terms can take minutes
    with few of them. A thread looks at the clock and raises a signal inside Prolog, which
    runtime.pl turns into an error. It starts with the first call, and in a copy of the process
    with the first call there.
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
        """Watch a call that begins in a thread of Prolog, and may take so long."""
        if self._process != os.getpid():
            self._process, self._lock = os.getpid(), threading.Lock()
            threading.Thread(target=self._watch, name="ggp-prolog-watchdog", daemon=True).start()
        self._thread = thread
        self._at_s = time.monotonic() + seconds

    def stop(self) -> bool:
        """Stop watching the call; returns whether it was interrupted, or is about to be."""
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
