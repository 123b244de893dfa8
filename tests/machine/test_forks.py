"""Copies of the process that share work: what they find, and what happens when they fail."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

from ggp.errors import MachineError
from ggp.machine.forks import processes_for, shared


class Counter:
    """A machine as far as copies know it."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.states_visited = 0

    def use_one_thread(self) -> None:
        self.threads = 1


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_piece_is_done_once_whoever_does_it(threads: int) -> None:
    machine = Counter(threads)

    def work(piece: int) -> tuple[int, np.ndarray, int]:
        machine.states_visited += 10 + piece
        return piece, np.arange(piece * 20_000), machine.threads

    found = shared(machine, work, 5)
    assert [each[0] for each in found if each is not None] == list(range(5))
    assert [len(each[1]) for each in found if each is not None] == [k * 20_000 for k in range(5)]
    assert machine.states_visited == 60
    assert machine.threads == threads
    in_copies = [each[2] for each in found if each is not None and each[0] % min(threads, 5)]
    assert in_copies == [1] * len(in_copies)  # a copy starts no others


def test_other_machines_are_not_shared() -> None:
    assert processes_for(object()) == 1
    assert processes_for(Counter(3)) == 3
    here = os.getpid()
    assert shared(object(), lambda piece: os.getpid(), 3) == [here] * 3


def test_what_a_copy_raises_is_raised_here() -> None:
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
