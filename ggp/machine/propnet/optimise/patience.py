"""Breaking off what takes too long, in the middle of a line if need be.

But never inside of a library that calls back into Python: clingo ends the process if a callback
raises, and a signal's handler may run in one. Such calls are made `unbroken`.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator


class TookTooLong(Exception):
    """Raised wherever the work happens to be; what it was making is lost."""


@contextlib.contextmanager
def patience(until_s: float | None) -> Iterator[None]:
    """Raise `TookTooLong` inside if it is not over at `until_s` (monotonic); None: never.

    By the process's timer: outside the main thread, or where somebody else uses it, only what
    has not begun by then is broken off.
    """
    if until_s is None:
        yield
        return
    left_s = until_s - time.monotonic()
    if left_s <= 0:
        raise TookTooLong
    usable = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
        and not signal.getitimer(signal.ITIMER_REAL)[0]
    )
    if not usable:
        yield
        return

    # It may go off after any of these calls, also on a busy machine before the work has begun or
    # after it has ended: nothing of it may be left behind then.
    try:
        try:
            signal.signal(signal.SIGALRM, _give_up)
            signal.setitimer(signal.ITIMER_REAL, left_s)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


@contextlib.contextmanager
def unbroken() -> Iterator[None]:
    """Nothing inside is broken off; what should have been is right afterwards.

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
