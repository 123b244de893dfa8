"""Searching by counts or against a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from ggp.search.estimates import Estimates

ROUND_SHARE = 0.1
"""Rounds grow until one takes this share of the time that is left."""


BETWEEN_LOOKS_S = 0.05
"""A batch of work may take this long before the clock is looked at again."""


class OutOfTime(Exception):
    """The deadline passed within a round: a result, not an error."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a clock.

    Attributes:
        at_s: in the clock's seconds.
        clock: e.g. `time.monotonic`.
    """

    at_s: float
    clock: Callable[[], float]

    def passed(self) -> bool:
        return self.clock() >= self.at_s

    def left_s(self) -> float:
        return self.at_s - self.clock()


def check(deadline: Deadline | None) -> None:
    """Raise `OutOfTime` if there is a deadline and it has passed."""
    if deadline is not None and deadline.passed():
        raise OutOfTime


class Pace:
    """How many lanes to work on at once: few at first against a clock, more if they are fast.

    Without a deadline it is always the same number, so that the same seed gives the same numbers.

    Args:
        first: lanes to begin with where there is a deadline.
        most: lanes at once at most.
    """

    def __init__(self, deadline: Deadline | None, first: int, most: int) -> None:
        self._deadline = deadline
        self._most = most
        self._lanes = most if deadline is None else first

    def batches(self, num_lanes: int) -> Iterator[tuple[int, int]]:
        """Start and end of consecutive runs of lanes.

        Raises:
            OutOfTime: the deadline has passed before the next one.
        """
        start = 0
        while start < num_lanes:
            check(self._deadline)
            end = min(start + self._lanes, num_lanes)
            began_s = 0.0 if self._deadline is None else self._deadline.clock()
            yield start, end
            if self._deadline is not None and end - start == self._lanes:
                took_s = self._deadline.clock() - began_s
                if took_s < BETWEEN_LOOKS_S / 4:
                    self._lanes = min(2 * self._lanes, self._most)
                elif took_s > BETWEEN_LOOKS_S and self._lanes > 1:
                    self._lanes //= 2
            start = end


class Search(Protocol):
    """Values that improve round by round."""

    def round(self, count: int) -> None:
        """Try every candidate `count` more times.

        Raises:
            OutOfTime: not all candidates could be; `estimates` has what could be done.
        """
        ...

    def estimates(self) -> Estimates:
        """The values so far."""
        ...


Report = Callable[[Estimates], None]
"""Told the values so far, while a search goes on."""


def run_search(
    search: Search, count: int, deadline: Deadline | None, report: Report | None = None
) -> Estimates:
    """Values by count or by clock.

    Without a deadline every candidate is tried `count` times. With one, `count` does not
    matter: rounds over all candidates, growing, go on until the deadline.

    Args:
        report: told the values after each round but the last.
    """
    if deadline is None:
        search.round(count)
        return search.estimates()
    size = 1
    while not deadline.passed():
        started = deadline.clock()
        left = deadline.left_s()
        try:
            search.round(size)
        except OutOfTime:
            break
        if deadline.clock() - started < ROUND_SHARE * left:
            size *= 2
        if report is not None and not deadline.passed():
            report(search.estimates())
    return search.estimates()
