"""Shares work with copies of this process, where its threads would wait for each other.

Two threads gain where kernels run for long. A simulation is many short kernels with Python between
them, which one thread at a time may run. A copy of the process (`fork`) has everything: states,
particles, machine code. So it only has to be told which pieces are its own, and only results come
back. It lives for one call.

    this process    piece 0, piece 2 ..., then it reads what the copy found
    its copy        piece 1, piece 3 ...

A copy contains only the thread that made it, and a lock that another thread holds is held in it for
ever. So a copy is made while no other thread holds a lock of ours; if that cannot be had soon, no
copy is made. Other locks that may be held are unknown to us: a copy that does nothing but wait is
given up.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import RLock
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from ggp.machine.compiling import jit
from ggp.run.clocks import TellsTime, backstop_s, team
from ggp.run.messages import Messages, framed
from ggp.run.processes import fork, state_and_cpu

_log = logging.getLogger(__name__)

_CHUNK_BYTES = 1 << 16

LOCKED_S = 0.05
"""Time to wait for each lock. Tables grow in less; to compile a kernel takes seconds."""

STILL_S = 5.0
"""A copy that slept for this long, and used no processor meanwhile, waits in vain."""

_LEAST_WAIT_S = 0.001
"""A copy that has no more time than this is not waited for again."""

_LOOKS = 10
"""Number of times to look at a copy in that time."""

_ASLEEP = "S"
"""State of a process that waits, as the system names it."""

_T = TypeVar("_T")


@runtime_checkable
class Forkable(Protocol):
    """A machine that can be used in a copy of its process.

    Attributes:
        threads: number of processors that a call, or a search, may use.
        states_visited: see `Machine`.
        growing: the lock of its tables, see `ggp.machine.threads`.
    """

    threads: int
    states_visited: int
    growing: RLock

    def use_one_thread(self) -> None:
        """Start no threads from now on: this process is a copy, which has a single one."""
        ...


def processes_for(machine: object) -> int:
    """Number of processes that may share the work of a search on a machine."""
    if isinstance(machine, Forkable) and sys.platform == "linux":
        return machine.threads
    return 1


def shared(
    machine: object,
    work: Callable[[int], _T],
    num_pieces: int,
    seconds: float | None = None,
    clock: TellsTime = time.monotonic,
) -> list[_T | None]:
    """The results of `work` for the pieces 0 .. `num_pieces` - 1; `work` may change nothing else.

    Args:
        machine: the machine that `work` uses; states that copies visit are counted in it too.
        work: called with the number of a piece; its result can be pickled.
        seconds: copies that have not answered by then are ended. Without it, the work of a copy
            that hangs is done here.
        clock: measures these seconds; CPU time (`ggp.run.clocks`) is that of all copies together.

    Returns:
        None for pieces of a copy that was ended, by the clock or by the system, or that could not
        be made in time.

    Raises:
        Exception: whatever `work` raises, here or in a copy.
    """
    processes = min(processes_for(machine), num_pieces)
    if processes < 2 or not isinstance(machine, Forkable):
        return [work(piece) for piece in range(num_pieces)]
    until = None if seconds is None else _Until(clock() + seconds, clock, _backstop(seconds))
    found: list[_T | None] = [None] * num_pieces
    shares = [range(first, num_pieces, processes) for first in range(processes)]
    copies: list[_Copy] = []
    with team(processes - 1) as working:
        try:
            with _unlocked(machine) as may_copy:
                if may_copy:
                    for pieces in shares[1:]:
                        copies.append(_copy(machine, work, pieces))
                        working.add(copies[-1].pid)
            here = [*shares[0]]
            if not copies and seconds is None:
                here = [*range(num_pieces)]
            for piece in here:
                found[piece] = work(piece)
            for copy in copies:
                if not _receive(machine, copy, until, len(copies), found):
                    for piece in copy.pieces:
                        found[piece] = work(piece)
        finally:
            for pid, pipe, _ in copies:
                os.close(pipe)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                working.wait_for(pid)
    return found


class _Until(NamedTuple):
    """The time until which copies are waited for: by a clock, and by wall time."""

    at_s: float
    clock: TellsTime
    give_up_s: float


def _backstop(seconds: float) -> float:
    """The wall time at which copies that use no CPU time are given up."""
    return time.monotonic() + backstop_s(seconds)


class _Copy(NamedTuple):
    """A copy of this process: its id, the pipe for its results, and the pieces it works on."""

    pid: int
    pipe: int
    pieces: range


@contextmanager
def _unlocked(machine: Forkable) -> Iterator[bool]:
    """Hold all locks that a copy may need; yields whether they could be had in time."""
    with ExitStack() as taken:
        for lock in (machine.growing, *jit.locks()):
            if not lock.acquire(timeout=LOCKED_S):
                yield False
                return
            taken.callback(lock.release)
        yield True


def _copy(machine: Forkable, work: Callable[[int], Any], pieces: range) -> _Copy:
    """A copy of this process that works on some pieces."""
    pipe, answers = os.pipe()
    if pid := fork():
        os.close(answers)
        return _Copy(pid, pipe, pieces)
    try:
        for each in (signal.SIGINT, signal.SIGTERM):
            with suppress(ValueError):  # not the main thread
                signal.signal(each, signal.SIG_DFL)
        os.close(pipe)
        gc.disable()  # a collection would touch, and so copy, all memory
        machine.use_one_thread()
        before = machine.states_visited
        told: Any
        try:
            told = [work(piece) for piece in pieces]
        except Exception as error:
            told = error
        text = framed(pickle.dumps((pieces, told, machine.states_visited - before)))
        while text:
            text = text[os.write(answers, text) :]
    finally:
        os._exit(0)


def _receive(
    machine: Forkable, copy: _Copy, until: _Until | None, num_copies: int, found: list[Any]
) -> bool:
    """Read the results of a copy, none if it was ended; false if it hangs."""
    messages = Messages()
    results: list[bytes] = []
    while not results:
        if until is None:
            if not _speaks(copy):
                _log.warning("a copy of this process hangs; its part is done here")
                return False
        elif not _speaks_in_time(copy, until, num_copies):
            return True
        chunk = os.read(copy.pipe, _CHUNK_BYTES)
        if not chunk:
            _log.warning("a copy of this process was ended by the system; perhaps memory is short")
            return True
        results = messages.add(chunk)
    pieces, told, visited = pickle.loads(results[0])
    machine.states_visited += visited
    if isinstance(told, Exception):
        raise told
    for piece, result in zip(pieces, told, strict=True):
        found[piece] = result
    return True


def _speaks_in_time(copy: _Copy, until: _Until, num_copies: int) -> bool:
    """Wait until a copy writes something, or ends, or its time is over."""
    while True:
        # With n copies, CPU time may pass n times as fast as wall time, or not at all.
        left_s = until.at_s - until.clock()
        left_s = min(left_s / num_copies, until.give_up_s - time.monotonic())
        if select.select([copy.pipe], [], [], max(left_s, 0.0))[0]:
            return True
        if left_s < _LEAST_WAIT_S:
            return False


def _speaks(copy: _Copy) -> bool:
    """Wait until a copy writes something, or ends; false if it hangs."""
    before, still = ("", ""), 0
    while not select.select([copy.pipe], [], [], STILL_S / _LOOKS)[0]:
        now = state_and_cpu(copy.pid)
        still = still + 1 if now == before and now[0] == _ASLEEP else 0
        before = now
        if still >= _LOOKS:
            return False
    return True
