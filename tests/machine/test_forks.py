"""Copies of the process that share work: their results, and their failures."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from ggp.errors import MachineError
from ggp.machine import forks
from ggp.machine.compiling import jit
from ggp.machine.forks import processes_for, shared


class Counter:
    """A machine as far as copies know it."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.states_visited = 0
        self.growing = threading.RLock()

    def use_one_thread(self) -> None:
        self.threads = 1


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_piece_is_done_once_whoever_does_it(threads: int) -> None:
    machine = Counter(threads)

    def work(piece: int) -> tuple[int, np.ndarray, int]:
        machine.states_visited += 10 + piece
        return piece, np.arange(piece * 20_000), machine.threads

    answers = shared(machine, work, 5)
    assert [answer[0] for answer in answers if answer is not None] == list(range(5))
    assert [len(answer[1]) for answer in answers if answer is not None] == [
        k * 20_000 for k in range(5)
    ]
    assert machine.states_visited == 60
    assert machine.threads == threads
    in_copies = [
        answer[2] for answer in answers if answer is not None and answer[0] % min(threads, 5)
    ]
    assert in_copies == [1] * len(in_copies)  # a copy starts no others


def test_other_machines_are_not_shared() -> None:
    assert processes_for(object()) == 1
    assert processes_for(Counter(3)) == 3
    pid = os.getpid()
    assert shared(object(), lambda piece: os.getpid(), 3) == [pid] * 3


def test_an_exception_in_a_copy_is_raised_here() -> None:
    def work(piece: int) -> int:
        if piece == 1:
            raise MachineError("no such move")
        return piece

    with pytest.raises(MachineError, match="no such move"):
        shared(Counter(2), work, 2)
    with pytest.raises(ChildProcessError):  # and nobody is left
        os.waitpid(-1, os.WNOHANG)


def test_a_copy_that_is_killed_costs_its_own_pieces_only() -> None:
    parent = os.getpid()

    def work(piece: int) -> int:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return piece

    assert shared(Counter(2), work, 4) == [0, None, 2, None]


def test_a_copy_that_takes_too_long_is_not_waited_for() -> None:
    parent = os.getpid()

    def work(piece: int) -> int:
        if os.getpid() != parent:
            time.sleep(60)
        return piece

    began_s = time.monotonic()
    assert shared(Counter(2), work, 2, 0.05) == [0, None]
    assert time.monotonic() - began_s < 30
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@contextmanager
def held_elsewhere(lock: Any, until: threading.Event) -> Iterator[None]:
    """Another thread holds a lock, until something happens or the test is over."""
    holds = threading.Event()

    def hold() -> None:
        with lock:
            holds.set()
            until.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    holds.wait()
    yield
    until.set()
    holder.join()


@pytest.mark.parametrize("lock_of", ["ours", "numba's", "the machine's"])
def test_nothing_is_copied_while_another_thread_holds_a_lock(
    lock_of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "STILL_S", 600.0)
    jit.load_compiler()
    machine, free = Counter(2), threading.Event()
    lock = {"ours": jit.locks()[-1], "numba's": jit.locks()[0]}.get(lock_of, machine.growing)

    def work(piece: int) -> int:
        free.set()  # as the other thread would be done in a while
        with lock:
            return os.getpid()

    answers: list[object] = []
    with held_elsewhere(lock, free):
        sharing = threading.Thread(target=lambda: answers.extend(shared(machine, work, 3)))
        sharing.daemon = True  # it would wait for its copy for ever
        sharing.start()
        sharing.join(20)
    assert answers == [os.getpid()] * 3
    assert os.getpid() not in shared(machine, work, 3)[1::2]  # and now copies are made again


def test_with_a_clock_nobody_does_what_a_copy_was_to_do() -> None:
    machine = Counter(2)
    with held_elsewhere(machine.growing, threading.Event()):
        assert shared(machine, lambda piece: piece, 4, 10.0) == [0, None, 2, None]


def test_the_work_of_a_copy_that_hangs_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "STILL_S", 0.2)
    parent, never = os.getpid(), threading.Lock()

    def work(piece: int) -> int:
        if os.getpid() != parent:
            with never:  # held by a thread that is not there
                pass
        return piece

    with held_elsewhere(never, threading.Event()):
        assert shared(Counter(2), work, 4) == [0, 1, 2, 3]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
