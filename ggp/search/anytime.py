"""Deadlines, and batches of work that are small enough to meet them.

Searches take a `Deadline` from their player, split their lanes by `Pace`, and stop at `OutOfTime`.
Work without an eye for the clock gets a `timed_machine`.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, overload

import numpy as np

from ggp.machine.arrays import offsets_of
from ggp.machine.base import IntArray, Machine, Playouts, States, Stepped
from ggp.run.clocks import TellsTime, clock_of

BETWEEN_LOOKS_S = 0.05
"""Longest time that a batch of work should take, between two checks of the clock."""


class OutOfTime(Exception):
    """The deadline passed during a round: a result, not an error."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a clock, by which an answer is due.

    >>> deadline = Deadline(12.0, clock=lambda: 10.0)
    >>> deadline.left_s(), deadline.passed()
    (2.0, False)
    >>> deadline.part(0.5).at_s  # half of the remaining time
    11.0

    Attributes:
        at_s: in the clock's seconds.
        clock: e.g. `time.monotonic`, or `ggp.run.clocks.cpu_seconds`.
    """

    at_s: float
    clock: TellsTime

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline in this many seconds of wall time."""
        return cls(time.monotonic() + seconds, time.monotonic)

    def passed(self) -> bool:
        return self.clock() >= self.at_s

    def left_s(self) -> float:
        return self.at_s - self.clock()

    def part(self, share: float) -> Deadline:
        """An earlier deadline, after this share of the remaining time."""
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
    # Kernels cannot read the clocks of tests, or a clock that can be stopped.
    return {"max_seconds": deadline.left_s(), "clock": clock_of(deadline.clock).tells}


class Pace:
    """Number of lanes in a batch: few at first against a clock, more while batches are fast.

    Without a deadline the number is constant, so that the same seed gives the same results.

    >>> list(Pace(None, first=2, cap=5).batches(12))
    [(0, 5), (5, 10), (10, 12)]

    Args:
        first: lanes of the first batch if there is a deadline.
        cap: greatest number of lanes.
        min_lanes: least number of lanes; fewer would take no less time.
    """

    def __init__(self, deadline: Deadline | None, first: int, cap: int, min_lanes: int = 1) -> None:
        self._deadline = deadline
        self._min_lanes, self._max_lanes = min_lanes, cap
        self._lanes = cap if deadline is None else first

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
        start, lanes_before = 0, 0
        while start < len(ends):
            end = int(np.searchsorted(ends, lanes_before + self._lanes, side="right"))
            end = max(end, start + 1)
            lanes = int(ends[end - 1]) - lanes_before
            yield from self._timed(start, end, full=2 * lanes > self._lanes)
            start, lanes_before = end, lanes_before + lanes

    def _timed(self, start: int, end: int, *, full: bool) -> Iterator[tuple[int, int]]:
        """One run, after a check of the clock; a full run determines the size of the next."""
        check(self._deadline)
        began_s = 0.0 if self._deadline is None else self._deadline.clock()
        yield start, end
        if self._deadline is not None and full:
            took_s = self._deadline.clock() - began_s
            if took_s < BETWEEN_LOOKS_S / 4:
                self._lanes = min(2 * self._lanes, self._max_lanes)
            elif took_s > BETWEEN_LOOKS_S:
                self._lanes = max(self._lanes // 2, self._min_lanes)


# ------------------------------------------------------------------------
# Ends work that does not look at the clock: its machine does.


def timed_machine(machine: Machine, deadline: Deadline | None) -> Machine:
    """A copy of a machine whose calls raise `OutOfTime` once the deadline has passed, if any.

    Calls with many lanes are split, so that a slow machine looks at the clock often.
    """
    if deadline is None:
        return machine
    timed = copy.copy(machine)
    for name in ("terminal", "goals", "legal", "chance", "step", "playout"):
        setattr(timed, name, _split(timed, name, deadline))
    return timed


def _split(machine: Machine, name: str, deadline: Deadline) -> Callable[..., Any]:
    """A method of a machine, called for batches of lanes."""
    method = getattr(machine, name)
    pace = Pace(deadline, 1, 1 << 30)

    def call(states: States, *args: Any, **options: Any) -> Any:
        parts = []
        for start, end in pace.batches(len(states)):
            if name == "playout":
                options |= time_left(deadline)
            lanes = slice(start, end)
            parts.append(
                method(
                    states.take(np.arange(start, end)),
                    *(arg[lanes] if isinstance(arg, np.ndarray) else arg for arg in args),
                    **options,
                )
            )
        check(deadline)
        return _joined(machine, parts) if parts else method(states, *args, **options)

    return call


def _joined(machine: Machine, parts: Sequence[Any]) -> Any:
    """What a method of a machine returns for all lanes, from what it returns for batches."""
    match parts[0]:
        case np.ndarray():
            return np.concatenate(parts)
        case Stepped():
            states, percepts = zip(*parts, strict=True)
            return Stepped(machine.concatenate(states), np.concatenate(percepts))
        case Playouts():
            return Playouts(*map(np.concatenate, zip(*parts, strict=True)))
    offsets, *columns = zip(*parts, strict=True)
    counts = np.concatenate([np.diff(each) for each in offsets])
    return type(parts[0])(offsets_of(counts), *map(np.concatenate, columns))
