"""Knowledge about a game that passes share."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ggp.machine.circuit import Circuit


class ExclusiveFluents(NamedTuple):
    """Fluents of which at most one holds in every reachable state; exactly one if `exact`."""

    members: tuple[str, ...]
    exact: bool


@dataclass
class CircuitKnowledge:
    """Facts about a game that do not depend on the form of its circuit.

    Attributes:
        work: the work that may be done, and how much of it was.
        groups: fluents that exclude each other.
    """

    work: Work
    groups: tuple[ExclusiveFluents, ...] = ()

    def groups_of_nets(self, circuit: Circuit) -> Iterator[tuple[list[int], bool]]:
        """The groups as nets of a circuit, and whether exactly one of each holds."""
        net_of = {name: net for net, name in enumerate(circuit.fluents, 1)}
        constant = frozenset(circuit.constant)
        for group in self.groups:
            nets = [net_of[name] for name in group.members if name in net_of]
            if nets and constant.isdisjoint(group.members):
                yield nets, group.exact


def moves_of_roles(circuit: Circuit) -> list[range]:
    """The nets of the moves of each role."""
    first = 1 + len(circuit.fluents)
    ranges = []
    for outputs in circuit.legal:
        ranges.append(range(first, first + len(outputs.names)))
        first += len(outputs.names)
    return ranges


# ------------------------------------------------------------------------
# Counts work, so that where a pass stops depends on the circuit and not on the clock.
#
# The work that a busy machine has time for differs from run to run, and a circuit is kept for good.
# So passes spend *steps* of a fixed sum: one for each literal to look at, for each atom that a
# solver goes through, and so on. A step is about a microsecond on the machine of
# `docs/measured/performance.md`; it does no harm that this is only approximate.


class Work:
    """Steps that were spent, of a fixed sum."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.spent = 0

    def spend(self, steps: int) -> None:
        """Count steps as spent."""
        self.spent += steps

    @property
    def left(self) -> int:
        """Steps that may still be spent; 0 if there are none."""
        return max(self.most - self.spent, 0)

    def until(self, share: float, most: int | None = None) -> int:
        """The `spent` at which this share of the steps left is used up, or `most` steps are."""
        steps = int(share * self.left)
        return self.spent + (steps if most is None else min(steps, most))


# ------------------------------------------------------------------------
# Breaks off work that takes too long, in the middle of a line if need be.
#
# But never inside of a library that calls back into Python: clingo ends the process if a callback
# raises, and a signal's handler may run in one. Such calls are made within `unbroken`.


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


# ------------------------------------------------------------------------
# Reports of how a circuit was made smaller, stored with it.


class PassReport(NamedTuple):
    """The report of a pass."""

    name: str
    gates_before: int
    literals_before: int
    gates_after: int
    literals_after: int
    seconds: float
