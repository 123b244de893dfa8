"""CPU time as a clock: what counts, and how copies of the process share it."""

from __future__ import annotations

import os
import time

import pytest

from ggp.machine.forks import shared
from ggp.run.clocks import (
    BACKSTOP_S,
    Clock,
    backstop_s,
    clock_of,
    cpu_seconds,
    process_cpu_seconds,
    team,
)
from ggp.search.anytime import Deadline, time_left
from tests.machine.test_forks import Counter

BURNT_S = 0.05


def burn() -> None:
    """Use CPU time, however busy the machine is."""
    until_s = time.process_time() + BURNT_S
    while time.process_time() < until_s:
        pass


def test_clocks_are_known_by_what_tells_their_time() -> None:
    assert Clock.WALL.tells is time.monotonic
    assert Clock.CPU.tells is cpu_seconds
    assert [clock_of(clock.tells) for clock in Clock] == list(Clock)
    assert clock_of(lambda: 0.0) is Clock.WALL
    assert backstop_s(0.0) == BACKSTOP_S
    assert backstop_s(2.0) > 2 * 2.0


def test_work_counts_and_sleep_does_not() -> None:
    began_s, used_s = cpu_seconds(), time.process_time()
    time.sleep(0.01)
    burn()
    took_s = cpu_seconds() - began_s
    assert BURNT_S <= took_s <= time.process_time() - used_s + 1e-3


def test_time_of_any_process_is_measured() -> None:
    start_s = process_cpu_seconds(os.getpid())
    burn()
    assert BURNT_S <= process_cpu_seconds(os.getpid()) - start_s <= 1.0


def test_cpu_time_of_copies_counts_while_they_run_and_afterwards() -> None:
    def work(piece: int) -> float:
        if piece:
            burn()
        return cpu_seconds()

    began_s, used_s = cpu_seconds(), time.process_time()
    here_s, *theirs_s = shared(Counter(3), work, 3)
    by_copies_s = (cpu_seconds() - began_s) - (time.process_time() - used_s)
    assert by_copies_s >= 2 * BURNT_S
    assert here_s is not None
    assert here_s >= began_s
    for each_s in theirs_s:  # they go on from where the clock was
        assert each_s is not None
        assert began_s + BURNT_S <= each_s <= cpu_seconds()


def test_a_copy_stops_when_the_whole_budget_is_used_whoever_used_it() -> None:
    deadline = Deadline(cpu_seconds() + BURNT_S, cpu_seconds)
    reads, writes = os.pipe()

    def work(piece: int) -> tuple[bool, float]:
        if piece:
            os.read(reads, 1)  # until the other has used all of it
        else:
            burn()
            os.write(writes, b".")
        return deadline.passed(), time.process_time()

    shares, copies_shares = shared(Counter(2), work, 2)
    for pipe in (reads, writes):
        os.close(pipe)
    assert shares is not None
    assert copies_shares is not None
    assert shares[0]
    assert copies_shares[0]
    assert copies_shares[1] < BURNT_S  # of its own it used next to nothing


def test_a_copy_that_only_sleeps_is_given_up_on_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.machine.forks.backstop_s", lambda seconds: 0.02)
    parent = os.getpid()

    def work(piece: int) -> int:
        if os.getpid() != parent:
            time.sleep(60)
        return piece

    assert shared(Counter(2), work, 2, 5.0, cpu_seconds) == [0, None]


def test_a_copy_has_its_cpu_time_to_answer() -> None:
    def work(piece: int) -> int:
        if piece:
            time.sleep(0.55)  # on the wall it would be too late
        return piece

    assert shared(Counter(2), work, 2, 0.5, cpu_seconds) == [0, 1]


def test_a_team_within_a_copy_counts_each_process_once() -> None:
    def work(piece: int) -> float:
        if not piece:
            return 0.0
        began_s, used_s = cpu_seconds(), time.process_time()
        with team(1):
            burn()
            return (cpu_seconds() - began_s) - (time.process_time() - used_s)

    _, more_s = shared(Counter(2), work, 2)
    assert more_s is not None
    assert more_s < BURNT_S  # the parent's, which waits


def test_machines_are_told_which_of_the_two_clocks_counts() -> None:
    assert time_left(None) == {"max_seconds": None, "clock": time.monotonic}
    of_cpu = time_left(Deadline(cpu_seconds() + 5.0, cpu_seconds))
    assert of_cpu["clock"] is cpu_seconds
    assert of_cpu["max_seconds"] is not None
    assert 0 < of_cpu["max_seconds"] <= 5.0
    assert time_left(Deadline(105.0, lambda: 100.0)) == {
        "max_seconds": 5.0,
        "clock": time.monotonic,
    }
