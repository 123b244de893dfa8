"""The one place that talks to SWI-Prolog: text of numbers in, text of numbers out.

SWI-Prolog lives once in a process and must be called from one thread. A call is one foreign
frame and one query that are always closed, so nothing piles up on its stacks however many
calls are made.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from importlib import resources
from pathlib import Path
from typing import Any

from ggp.errors import BackendUnavailableError, MachineError, ReasonerLimitError
from ggp.libraries import demand_library
from ggp.machine.base import Limits

MIN_VERSION = 90004
"""SWI-Prolog 9.0.4, as Debian 12 has it."""

_INSTALL = (
    "install SWI-Prolog 9.0.4 or newer: `apt-get install swi-prolog-nox` on Debian and Ubuntu, "
    "`brew install swi-prolog` on macOS, the conda-forge package `swi-prolog` without root; "
    "the command `swipl` must be on PATH"
)


RUNTIME = "runtime.pl", "memory.pl", "playouts.pl"
"""Our Prolog: a module, and more clauses of it."""

BYTES_A_CELL = 64
"""What a word of a remembered answer takes in a trie, at most."""

WATCH_EVERY_S = 0.1
"""How often the watchdog looks at the clock: how late a limit of seconds may be noticed."""


class _Watchdog:
    """Interrupts calls that take too long.

    Limits of inferences do not see everything: building ever deeper terms can take minutes
    within few of them. A thread looks at the clock and raises a signal inside Prolog, which
    runtime.pl turns into an error.
    """

    def __init__(self, core: Any) -> None:
        self._raise = core._lib.PL_thread_raise
        self._raise.argtypes = [ctypes.c_int, ctypes.c_int]
        self._prolog_thread = int(core.PL_thread_self())
        self._lock = threading.Lock()
        self._at_s: float | None = None
        self._fired = False
        threading.Thread(target=self._watch, name="ggp-prolog-watchdog", daemon=True).start()

    def start(self, seconds: float) -> None:
        """A call begins that may take so long."""
        self._at_s = time.monotonic() + seconds

    def stop(self) -> bool:
        """The call ended; returns whether it was interrupted, or is about to be."""
        with self._lock:
            fired, self._fired, self._at_s = self._fired, False, None
        return fired

    def _watch(self) -> None:
        while True:
            time.sleep(WATCH_EVERY_S)
            with self._lock:
                if self._at_s is not None and time.monotonic() > self._at_s and not self._fired:
                    self._fired = True
                    self._raise(self._prolog_thread, signal.SIGUSR1)


class Engine:
    """SWI-Prolog in this process, with our runtime loaded."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._thread = threading.get_ident()
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
        self._watchdog = _Watchdog(core)
        self._run = core.PL_predicate(b"run", 2, b"ggp_runtime")
        self._limits: Limits | None = None
        self._num_games = 0
        self._dropped: list[str] = []

    def new_game_name(self) -> str:
        """A module name no other game has in this process."""
        self._num_games += 1
        return f"ggp_game_{self._num_games}"

    def call(self, goal: str, limits: Limits, doing: str) -> str:
        """Run one goal of the runtime and return what it printed.

        Args:
            goal: a goal of runtime.pl, made of our own names and numbers.
            limits: in force during the call.
            doing: what the call is for, for error messages.

        Raises:
            ReasonerLimitError: a limit was passed.
            MachineError: anything else went wrong.
        """
        while self._dropped:
            self.drop(self._dropped.pop(), limits)
        if limits != self._limits:
            self._set_limits(limits)
        self._watchdog.start(limits.seconds)
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

    def drop(self, module: str, limits: Limits) -> None:
        """Free what a game holds.

        Garbage is collected in whatever thread is running: in another than ours the game is
        freed with the next call.
        """
        if threading.get_ident() != self._thread:
            self._dropped.append(module)
        else:
            self.call(f"drop({module})", limits, "closing a game")

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
        if threading.get_ident() != self._thread:
            raise MachineError(
                "SWI-Prolog must be called from the thread that started it; "
                "use one process for each player"
            )
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


_engine: Engine | None = None


def engine() -> Engine:
    """The engine of this process, started at the first call.

    Raises:
        BackendUnavailableError: SWI-Prolog or pyswip is missing or too old.
    """
    global _engine
    if _engine is None:
        _engine = _start()
    return _engine


def prolog_folders() -> tuple[Path, ...]:
    """Where SWI-Prolog and its library are, none if it is missing; starts it, as `engine` would."""
    try:
        core = _start_prolog()
    except BackendUnavailableError:
        return ()
    return Path(core.SWI_HOME_DIR), Path(core._path).resolve().parent


def _start_prolog() -> Any:
    """The module of pyswip that calls Prolog."""
    try:
        arguments, sys.argv = sys.argv, sys.argv[:0]  # pyswip chokes on some, needs none
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


def _start() -> Engine:
    core = _start_prolog()
    version = core._lib.PL_version_info
    version.argtypes, version.restype = [ctypes.c_int], ctypes.c_uint
    found = int(version(1))
    if found < MIN_VERSION:
        shown = f"{found // 10000}.{found // 100 % 100}.{found % 100}"
        raise BackendUnavailableError("SWI-Prolog", f"version {shown} is too old; {_INSTALL}")
    return Engine(core)
