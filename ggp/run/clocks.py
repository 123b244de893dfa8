"""The two clocks for players' time: wall time and CPU time.

On a busy machine a second of wall time may be half a second of work, so a player with a budget of
wall time gets less. CPU time is the time that its work had on processors: of all threads of this
process and of its copies (`ggp.machine.forks`), both running and ended. Other children, such as one
that grounds rules, do not count.

Processes that share work form a *team*, and one clock counts the time of them all:

    CPU time   0.10                 0.10 + what both have used since
    process    ----------- copies itself ---------------------- waits - goes on alone
    its copy                      \\--------------------------- ends

So all of them stop when they have used a budget together, however the system divides processors
among them. The time of a copy still counts after it has ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from mmap import mmap
from threading import Lock
from typing import NamedTuple

TellsTime = Callable[[], float]
"""Returns the time in seconds; only differences mean anything."""

BACKSTOP_TIMES, BACKSTOP_S = 10.0, 5.0
"""Factor and constant of the wall time that work with a budget of CPU time may take: a sleeping
process uses no CPU time, and a match must not wait for it forever."""

_BYTES = 8


class Clock(StrEnum):
    """A clock for the time of players, by its name in options and records."""

    WALL = "wall"
    CPU = "cpu"

    @property
    def tells(self) -> TellsTime:
        """The function that returns its time."""
        return cpu_seconds if self is Clock.CPU else time.monotonic

    @property
    def words(self) -> str:
        """Its name in reports."""
        return "CPU time" if self is Clock.CPU else "wall clock"

    @property
    def unit(self) -> str:
        """The unit of its time, after a number."""
        return "s of CPU time" if self is Clock.CPU else "s"


def clock_of(tells: TellsTime) -> Clock:
    """The clock with this function; any unknown function counts as wall time."""
    return Clock.CPU if tells is cpu_seconds else Clock.WALL


def backstop_s(seconds: float) -> float:
    """Wall time that work with a budget of `seconds` of CPU time may take."""
    return BACKSTOP_TIMES * seconds + BACKSTOP_S


def cpu_seconds() -> float:
    """CPU time of this process and its copies; in a copy, of its whole team.

    A copy continues from its parent's value at the time of copying.
    """
    ended_s, teams = _past
    if not teams:
        return ended_s + time.process_time()
    living = set()
    for team in teams:
        for pid, of_ended_s in team.members():
            living.add(pid)
            ended_s += of_ended_s
    living -= {0, os.getpid()}
    return ended_s + sum(map(process_cpu_seconds, living)) + time.process_time()


def process_cpu_seconds(pid: int) -> float:
    """CPU time of a process, all its threads together; 0 if unknown."""
    # Computes the clock id as clock_getcpuclockid(3) does on Linux; Python has that for threads
    # only.
    with suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)
    return 0.0


class Team:
    """Processes that share work, listed in memory that they share.

    Args:
        most: maximum number of copies.
    """

    def __init__(self, most: int) -> None:
        # Shared memory: a copy must see those made after it.
        size = _BYTES * (1 + most)
        self._pids = memoryview(mmap(-1, size)).cast("q")
        self._ended_s = memoryview(mmap(-1, size)).cast("d")
        self._places: dict[int, int] = {}
        self.add(os.getpid())

    def add(self, pid: int) -> None:
        """Record that a copy was made."""
        self._places[pid] = place = len(self._places)
        self._pids[place] = pid

    def wait_for(self, pid: int) -> None:
        """Wait for the end of a copy, and record its CPU time."""
        used_s = process_cpu_seconds(pid)
        with suppress(ChildProcessError):  # somebody waits for all children
            _, _, usage = os.wait4(pid, 0)
            used_s = usage.ru_utime + usage.ru_stime
        # A copy made just before an interrupt was never added.
        if (place := self._places.get(pid)) is not None:
            self._ended_s[place], self._pids[place] = used_s, 0

    def members(self) -> Iterator[tuple[int, float]]:
        """The process id of each copy, or 0 and its CPU time once it has ended."""
        return zip(self._pids, self._ended_s, strict=True)


@contextmanager
def team(most: int) -> Iterator[Team]:
    """A team of this process and at most `most` copies, which are made and end within the block."""
    members = Team(most)
    _change(0.0, add=members)
    try:
        yield members
    finally:
        _change(sum(used_s for _, used_s in members.members()), remove=members)


class _Past(NamedTuple):
    """Time that counts besides this process's own: of copies that have ended, and of its teams."""

    ended_s: float
    teams: tuple[Team, ...]


_past = _Past(0.0, ())
_changing = Lock()


def _change(more_s: float, add: Team | None = None, remove: Team | None = None) -> None:
    global _past
    with _changing:
        teams = tuple(team for team in (*_past.teams, add) if team not in (None, remove))
        _past = _Past(_past.ended_s + more_s, teams)


def _renew_lock() -> None:
    """Replace the lock: another thread may have held it when this copy was made."""
    global _changing
    _changing = Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew_lock)
