"""Breaks off work that takes too long, in the middle of a line if need be.

But never inside of a library that calls back into Python: clingo ends the process if a callback
raises, and a signal's handler may run in one. Such calls are made within `unbroken`.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple


class TookTooLong(Exception):
    """Raised wherever the work happens to be; its unfinished result is lost."""


class WorkDeadline(NamedTuple):
    """The time at which work is broken off.

    Attributes:
        process_s: processor time of this process (`time.process_time`).
        clock_s: wall time (`time.monotonic`).
    """

    process_s: float = math.inf
    clock_s: float = math.inf


NEVER = WorkDeadline()
"""Work takes as long as it takes."""


@contextlib.contextmanager
def patience(until: WorkDeadline) -> Iterator[None]:
    """Raise `TookTooLong` inside if the work is not over by then.

    It uses the process's timers: outside the main thread, or where other code uses them, only work
    that has not begun by then is broken off.
    """
    with (
        _timer(signal.SIGPROF, signal.ITIMER_PROF, until.process_s - time.process_time()),
        _timer(signal.SIGALRM, signal.ITIMER_REAL, until.clock_s - time.monotonic()),
    ):
        yield


@contextlib.contextmanager
def _timer(number: signal.Signals, timer: int, left_s: float) -> Iterator[None]:
    """Raise `TookTooLong` inside after `left_s` seconds of a timer."""
    if left_s <= 0:
        raise TookTooLong
    usable = (
        left_s < math.inf
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) == signal.SIG_DFL
        and not signal.getitimer(timer)[0]
    )
    if not usable:
        yield
        return

    # It may go off after any of these calls, on a busy machine also before the work has begun or
    # after it has ended: nothing of it may be left behind then.
    try:
        try:
            signal.signal(number, _give_up)
            signal.setitimer(timer, left_s)
            yield
        finally:
            signal.setitimer(timer, 0)
    finally:
        signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def unbroken() -> Iterator[None]:
    """Keep work inside from being broken off; it is broken off right afterwards if due.

    For short calls in the main thread; does not nest.
    """
    _holding.on = True
    try:
        yield
    finally:
        _holding.on = False
        late, _holding.late = _holding.late, False
    if late:
        raise TookTooLong


class _Holding:
    """Whether the process's timer is held back, and whether it went off meanwhile."""

    on = False
    late = False


_holding = _Holding()


def _give_up(*_: object) -> None:
    if _holding.on:
        _holding.late = True
    else:
        raise TookTooLong
