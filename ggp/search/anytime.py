"""Working against a clock: deadlines, and the amount of work between two looks at the clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypedDict, overload

import numpy as np

from ggp.machine.base import IntArray
from ggp.run.clocks import TellsTime, clock_of

BETWEEN_LOOKS_S = 0.05
"""Longest time that a batch of work may take before the clock is looked at again."""


class OutOfTime(Exception):
    """The deadline passed during a round: a result, not an error."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a clock.

    Attributes:
        at_s: in the clock's seconds.
        clock: e.g. `time.monotonic`, or `ggp.run.clocks.cpu_seconds`.
    """

    at_s: float
    clock: TellsTime

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """So many seconds from now, on the wall."""
        return cls(time.monotonic() + seconds, time.monotonic)

    def passed(self) -> bool:
        return self.clock() >= self.at_s

    def left_s(self) -> float:
        return self.at_s - self.clock()

    def part(self, share: float) -> Deadline:
        """An earlier deadline: when this share of the remaining time is over."""
        now_s = self.clock()
        return Deadline(now_s + share * (self.at_s - now_s), self.clock)


@overload
def part_of(deadline: None, share: float) -> None: ...


@overload
def part_of(deadline: Deadline, share: float) -> Deadline: ...


def part_of(deadline: Deadline | None, share: float) -> Deadline | None:
    """`Deadline.part`, if there is a deadline."""
    return None if deadline is None else deadline.part(share)


def check(deadline: Deadline | None) -> None:
    """Raise `OutOfTime` if there is a deadline and it has passed."""
    if deadline is not None and deadline.passed():
        raise OutOfTime


class TimeLeft(TypedDict):
    """Arguments of `Machine.playout` that come from a deadline."""

    max_seconds: float | None
    clock: TellsTime


def time_left(deadline: Deadline | None) -> TimeLeft:
    """The seconds until a deadline, if there is one, and which clock counts them."""
    if deadline is None:
        return {"max_seconds": None, "clock": time.monotonic}
    # Clocks of tests, and one that can be stopped, are not for kernels.
    return {"max_seconds": deadline.left_s(), "clock": clock_of(deadline.clock).tells}


class Pace:
    """Number of lanes to work on at once: few at first against a clock, more if they are fast.

    Without a deadline it is always the same, so that the same seed gives the same numbers.

    Args:
        first: lanes to begin with if there is a deadline.
        most: most lanes at once.
        least: fewest lanes at once; fewer would take no less time.
    """

    def __init__(self, deadline: Deadline | None, first: int, most: int, least: int = 1) -> None:
        self._deadline = deadline
        self._least, self._most = least, most
        self._lanes = most if deadline is None else first

    def batches(self, num_lanes: int) -> Iterator[tuple[int, int]]:
        """Start and end of consecutive runs of lanes.

        Raises:
            OutOfTime: the deadline has passed before the next one.
        """
        start = 0
        while start < num_lanes:
            end = min(start + self._lanes, num_lanes)
            yield from self._timed(start, end, full=end - start == self._lanes)
            start = end

    def runs(self, sizes: IntArray) -> Iterator[tuple[int, int]]:
        """Start and end of consecutive runs of elements with the given numbers of lanes, at least
        one.

        Raises:
            OutOfTime: as for `batches`.
        """
        ends = np.cumsum(sizes)
        start, before = 0, 0
        while start < len(ends):
            end = int(np.searchsorted(ends, before + self._lanes, side="right"))
            end = max(end, start + 1)
            lanes = int(ends[end - 1]) - before
            yield from self._timed(start, end, full=2 * lanes > self._lanes)
            start, before = end, before + lanes

    def _timed(self, start: int, end: int, *, full: bool) -> Iterator[tuple[int, int]]:
        """One run, after a look at the clock; a full run determines how large the next may be."""
        check(self._deadline)
        began_s = 0.0 if self._deadline is None else self._deadline.clock()
        yield start, end
        if self._deadline is not None and full:
            took_s = self._deadline.clock() - began_s
            if took_s < BETWEEN_LOOKS_S / 4:
                self._lanes = min(2 * self._lanes, self._most)
            elif took_s > BETWEEN_LOOKS_S:
                self._lanes = max(self._lanes // 2, self._least)
