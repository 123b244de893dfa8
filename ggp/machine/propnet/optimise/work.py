"""State that passes share: counted work, and the deadline.

Work is counted in steps, so that equal rules give equal circuits on every machine; the deadline in
seconds is a last resort, and breaks a pass off wherever it is.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from ggp.machine.circuit import Circuit


def moves_of_roles(circuit: Circuit) -> list[range]:
    """The nets of the moves of each role."""
    first = 1 + len(circuit.fluents)
    ranges = []
    for outputs in circuit.legal:
        ranges.append(range(first, first + len(outputs.names)))
        first += len(outputs.names)
    return ranges


# ------------------------------------------------------------------------
# Counts work, so that a pass stops at a point that depends on the circuit and not on the clock.
#
# A busy machine does less work in a second, but its circuit would be stored for good. So passes
# spend *steps* of a fixed sum: one for each literal that they read, for each atom of a solver, and
# so on. A step is about a microsecond on the machine of `docs/measured/performance.md`; this need
# not be exact.


class Work:
    """A fixed sum of steps, and the number spent.

    Attributes:
        shared: literals of the circuit in which `extract` last found hardly anything to share;
            infinite if it found more.

    >>> work = Work(most=100)
    >>> work.spend(30)
    >>> work.remaining, work.until(share=0.5)
    (70, 65)
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.spent = 0
        self.shared = math.inf

    def spend(self, steps: int) -> None:
        """Count steps as spent."""
        self.spent += steps

    @property
    def remaining(self) -> int:
        """Number of steps that may still be spent, at least 0."""
        return max(self.most - self.spent, 0)

    def until(self, share: float, most: int | None = None) -> int:
        """The `spent` at which a share of the remaining steps, at most `most`, is used up."""
        steps = int(share * self.remaining)
        return self.spent + (steps if most is None else min(steps, most))


# ------------------------------------------------------------------------
# Breaks off work that takes too long, at any point, by raising an exception from a timer's signal.
#
# It must never raise inside a library that calls back into Python: clingo ends the process if a
# callback raises, and a signal's handler may run in one. Such calls are made within `unbroken`.


class TookTooLong(Exception):
    """Raised at any point of the work, whose unfinished result is lost."""


class WorkDeadline(NamedTuple):
    """The time at which work is broken off.

    Attributes:
        process_s: processor time of this process (`time.process_time`).
        clock_s: wall time (`time.monotonic`).
    """

    process_s: float = math.inf
    clock_s: float = math.inf


NEVER = WorkDeadline()
"""No deadline."""


@contextlib.contextmanager
def patience(until: WorkDeadline) -> Iterator[None]:
    """Raise `TookTooLong` in the block if it is not over by then.

    It uses the process's timers. Outside the main thread, or if other code uses the timers, it only
    raises at the beginning, if the time is over already.
    """
    with (
        _timer(signal.SIGPROF, signal.ITIMER_PROF, until.process_s - time.process_time()),
        _timer(signal.SIGALRM, signal.ITIMER_REAL, until.clock_s - time.monotonic()),
    ):
        yield


@contextlib.contextmanager
def _timer(signum: signal.Signals, timer: int, left_s: float) -> Iterator[None]:
    """Raise `TookTooLong` in the block after `left_s` seconds of a timer."""
    if left_s <= 0:
        raise TookTooLong
    usable = (
        left_s < math.inf
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signum) == signal.SIG_DFL
        and not signal.getitimer(timer)[0]
    )
    if not usable:
        yield
        return

    # The timer may go off after any of these calls, on a busy machine also before the work begins
    # or after it ends. Two nested `finally` make sure that timer and handler are reset in every
    # case.
    try:
        try:
            signal.signal(signum, _give_up)
            signal.setitimer(timer, left_s)
            yield
        finally:
            signal.setitimer(timer, 0)
    finally:
        signal.signal(signum, signal.SIG_DFL)


@contextlib.contextmanager
def unbroken() -> Iterator[None]:
    """Hold `TookTooLong` back in the block, and raise it afterwards if it is due.

    For short calls in the main thread; it does not nest.
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
    """Whether the exception is held back, and whether the timer went off meanwhile."""

    on = False
    late = False


_holding = _Holding()


def _give_up(*_: object) -> None:
    if _holding.on:
        _holding.late = True
    else:
        raise TookTooLong


# ------------------------------------------------------------------------
# Reports of passes, which are stored with the circuit.
