"""A watchdog that ends calls of Prolog which take too long."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from typing import Any

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
