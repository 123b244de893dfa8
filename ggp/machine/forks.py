"""Divides the work of a search among forked copies of this process, where threads do not help.

Threads run in parallel only inside long kernels. A simulation is many short kernels with Python
between them, which only one thread at a time can run. A copy of the process (`fork`) has all data:
states, particles, machine code. So it needs no input except the indices of its pieces of the work,
and sends back only the results. It lives for one call.

    this process    piece 0, piece 2 ..., then it reads the results of the copy
    its copy        piece 1, piece 3 ...

A copy has only the thread that forked it, and a lock that another thread holds stays locked for
ever in the copy. So this process forks only while it holds all of ggp's own locks; if it cannot get
them soon, it does the work alone. The locks of other libraries are unknown to us, so a copy that
just waits is given up.
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

LOCK_TIMEOUT_S = 0.05
"""Time to wait for each lock: enough for a table to grow, but not for a kernel to compile."""

STILL_S = 5.0
"""A copy that sleeps for this long without using the processor counts as hanging."""

_MIN_WAIT_S = 0.001
"""If less time than this is left, a copy is given up."""

_NUM_CHECKS = 10
"""Number of checks of a copy within `STILL_S`."""

_ASLEEP = "S"
"""The system's name for the state of a waiting process."""

_T = TypeVar("_T")


@runtime_checkable
class Forkable(Protocol):
    """A machine that can be used in a copy of its process.

    Attributes:
        threads: number of processors that a call may use, and of processes for a search.
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
    """The results of `work` for the pieces 0 .. `num_pieces` - 1; `work` must have no side effects.

    Args:
        machine: the machine that `work` uses; its `states_visited` includes those of copies.
        work: called with the number of a piece; its result must be picklable.
        seconds: time after which copies that have not answered are killed. If None, this process
            does the work of a copy that hangs.
        clock: measures these seconds; a CPU clock (`ggp.run.clocks`) counts all copies together.

    Returns:
        the results; None for pieces of a copy that was killed, because time was up or by the
        operating system, or that could not be forked in time.

    Raises:
        Exception: whatever `work` raises, here or in a copy.
    """
    processes = min(processes_for(machine), num_pieces)
    if processes < 2 or not isinstance(machine, Forkable):
        return [work(piece) for piece in range(num_pieces)]
    limit = None if seconds is None else _TimeLimit(clock() + seconds, clock, _backstop(seconds))
    outcomes: list[_T | None] = [None] * num_pieces
    shares = [range(first, num_pieces, processes) for first in range(processes)]
    copies: list[_Copy] = []
    with team(processes - 1) as working:
        try:
            with _holding_locks(machine) as may_copy:
                if may_copy:
                    for pieces in shares[1:]:
                        copies.append(_fork_copy(machine, work, pieces))
                        working.add(copies[-1].pid)
            own_pieces = [*shares[0]]
            if not copies and seconds is None:
                own_pieces = [*range(num_pieces)]
            for piece in own_pieces:
                outcomes[piece] = work(piece)
            for copy in copies:
                if not _receive(machine, copy, limit, len(copies), outcomes):
                    for piece in copy.pieces:
                        outcomes[piece] = work(piece)
        finally:
            for pid, pipe, _ in copies:
                os.close(pipe)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                working.wait_for(pid)
    return outcomes


class _TimeLimit(NamedTuple):
    """The time when copies are given up: on a given clock, and in wall time."""

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
def _holding_locks(machine: Forkable) -> Iterator[bool]:
    """Hold all locks that a copy may need; yields whether this process got them in time."""
    with ExitStack() as stack:
        for lock in (machine.growing, *jit.locks()):
            if not lock.acquire(timeout=LOCK_TIMEOUT_S):
                yield False
                return
            stack.callback(lock.release)
        yield True


def _fork_copy(machine: Forkable, work: Callable[[int], Any], pieces: range) -> _Copy:
    """A copy of this process that works on some pieces."""
    pipe, answers = os.pipe()
    if pid := fork():
        os.close(answers)
        return _Copy(pid, pipe, pieces)
    try:
        for signum in (signal.SIGINT, signal.SIGTERM):
            with suppress(ValueError):  # not the main thread
                signal.signal(signum, signal.SIG_DFL)
        os.close(pipe)
        gc.disable()  # a collection would write to all memory, and so copy it
        machine.use_one_thread()
        visited = machine.states_visited
        outcome: Any
        try:
            outcome = [work(piece) for piece in pieces]
        except Exception as error:
            outcome = error
        message = framed(pickle.dumps((pieces, outcome, machine.states_visited - visited)))
        while message:
            message = message[os.write(answers, message) :]
    finally:
        os._exit(0)


def _receive(
    machine: Forkable, copy: _Copy, limit: _TimeLimit | None, num_copies: int, outcomes: list[Any]
) -> bool:
    """Read the results of a copy; false only if it hangs. A killed one leaves its outcomes None."""
    messages = Messages()
    results: list[bytes] = []
    while not results:
        if limit is None:
            if not _answers(copy):
                _log.warning("a copy of this process hangs; its pieces are done here")
                return False
        elif not _answers_in_time(copy, limit, num_copies):
            return True
        chunk = os.read(copy.pipe, _CHUNK_BYTES)
        if not chunk:
            _log.warning("the system killed a copy of this process; perhaps memory is short")
            return True
        results = messages.add(chunk)
    pieces, answer, visited = pickle.loads(results[0])
    machine.states_visited += visited
    if isinstance(answer, Exception):
        raise answer
    for piece, result in zip(pieces, answer, strict=True):
        outcomes[piece] = result
    return True


def _answers_in_time(copy: _Copy, limit: _TimeLimit, num_copies: int) -> bool:
    """Wait until a copy writes or ends; false if its time is over."""
    while True:
        # With n copies, CPU time may pass n times as fast as wall time, or not at all.
        left_s = limit.at_s - limit.clock()
        left_s = min(left_s / num_copies, limit.give_up_s - time.monotonic())
        if select.select([copy.pipe], [], [], max(left_s, 0.0))[0]:
            return True
        if left_s < _MIN_WAIT_S:
            return False


def _answers(copy: _Copy) -> bool:
    """Wait until a copy writes or ends; false if it hangs."""
    last, num_idle = ("", ""), 0
    while not select.select([copy.pipe], [], [], STILL_S / _NUM_CHECKS)[0]:
        now = state_and_cpu(copy.pid)
        num_idle = num_idle + 1 if now == last and now[0] == _ASLEEP else 0
        last = now
        if num_idle >= _NUM_CHECKS:
            return False
    return True
