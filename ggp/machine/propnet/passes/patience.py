"""Breaking off what takes too long, in the middle of a line if need be."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator

GRACE_S = 0.25
"""How much later than asked a pass is broken off: it had better stop by itself."""


class TookTooLong(Exception):
    """Raised wherever the work happens to be; what it was making is lost."""


@contextlib.contextmanager
def patience(until_s: float) -> Iterator[None]:
    """Raise `TookTooLong` inside if it is not over some time after `until_s` (monotonic).

    By the process's timer: outside the main thread, or where somebody else uses it, nothing is
    broken off.
    """
    usable = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
        and not signal.getitimer(signal.ITIMER_REAL)[0]
    )
    if not usable:
        yield
        return

    def give_up(*_: object) -> None:
        raise TookTooLong

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, max(until_s + GRACE_S - time.monotonic(), 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
