"""Work shared with copies of this process, where threads of it would wait for each other.

Two threads gain where kernels run for long. A simulation is many short kernels with Python between
them, which one thread at a time may run. A copy of the process (`fork`) has all there is: states,
particles, machine code. So it is told nothing but which pieces are its own, and only results come
back. It lives for one call.

    this process    piece 0, piece 2 ..., then it reads what the copy found
    its copy        piece 1, piece 3 ...
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
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar, runtime_checkable

from ggp.children import die_with

_log = logging.getLogger(__name__)

_CHUNK_BYTES = 1 << 16

_T = TypeVar("_T")


@runtime_checkable
class Forkable(Protocol):
    """A machine that works in a copy of its process.

    Attributes:
        threads: processors that a call, or a search, may use.
        states_visited: see `Machine`.
    """

    threads: int
    states_visited: int

    def use_one_thread(self) -> None:
        """This process is a copy, in which no other threads are, and shall start none."""
        ...


def processes_for(machine: object) -> int:
    """How many processes may share the work of a search on a machine."""
    if isinstance(machine, Forkable) and sys.platform == "linux":
        return machine.threads
    return 1


def shared(
    machine: object,
    work: Callable[[int], _T],
    num_pieces: int,
    seconds: float | None = None,
) -> list[_T | None]:
    """What comes of `work` for each piece of 0 .. `num_pieces`; it may change nothing else.

    Args:
        machine: used by `work`; counts the states that copies visit too.
        work: for the number of a piece; what it returns can be pickled.
        seconds: copies that have not answered then are ended.

    Returns:
        None for pieces of a copy that was ended, by the clock or by the system.

    Raises:
        Exception: whatever `work` raises, here or in a copy.
    """
    processes = min(processes_for(machine), num_pieces)
    if processes < 2 or not isinstance(machine, Forkable):
        return [work(piece) for piece in range(num_pieces)]
    until_s = None if seconds is None else time.monotonic() + seconds
    found: list[_T | None] = [None] * num_pieces
    copies: list[tuple[int, int]] = []
    try:
        for first in range(1, processes):
            copies.append(_copy(machine, work, range(first, num_pieces, processes)))
        for piece in range(0, num_pieces, processes):
            found[piece] = work(piece)
        for _, pipe in copies:
            _receive(machine, pipe, until_s, found)
    finally:
        for pid, pipe in copies:
            os.close(pipe)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):  # somebody waits for all children
                os.waitpid(pid, 0)
    return found


def _copy(machine: Forkable, work: Callable[[int], Any], pieces: range) -> tuple[int, int]:
    """A copy of this process that does some pieces; its id, and where it tells what it found."""
    pipe, answers = os.pipe()
    parent = os.getpid()
    with warnings.catch_warnings():
        # Threads may hold locks. Copies do what is free of them: no output, no imports.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        os.close(answers)
        return pid, pipe
    try:
        for each in (signal.SIGINT, signal.SIGTERM):
            with suppress(ValueError):  # not the main thread
                signal.signal(each, signal.SIG_DFL)
        die_with(parent)
        os.close(pipe)
        gc.disable()  # to look through everything would copy everything
        machine.use_one_thread()
        before = machine.states_visited
        told: Any
        try:
            told = [work(piece) for piece in pieces]
        except Exception as error:
            told = error
        text = pickle.dumps((pieces, told, machine.states_visited - before))
        while text:
            text = text[os.write(answers, text) :]
    finally:
        os._exit(0)


def _receive(machine: Forkable, pipe: int, until_s: float | None, found: list[Any]) -> None:
    """Read what a copy found; nothing where it was ended."""
    text = bytearray()
    while True:
        left_s = None if until_s is None else max(until_s - time.monotonic(), 0.0)
        if not select.select([pipe], [], [], left_s)[0]:
            return
        chunk = os.read(pipe, _CHUNK_BYTES)
        if not chunk:
            break
        text += chunk
    try:
        pieces, told, visited = pickle.loads(text)
    except (EOFError, pickle.UnpicklingError):
        _log.warning("a copy of this process was ended by the system; perhaps memory is short")
        return
    machine.states_visited += visited
    if isinstance(told, Exception):
        raise told
    for piece, result in zip(pieces, told, strict=True):
        found[piece] = result
