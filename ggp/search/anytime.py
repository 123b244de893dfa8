"""Searching by counts or against a clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ggp.search.estimates import Estimates

ROUND_SHARE = 0.1
"""Rounds grow until one takes this share of the time that is left."""


class OutOfTime(Exception):
    """The deadline passed within a round, whose work is dropped: a result, not an error."""


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


class Search(Protocol):
    """Values that improve round by round."""

    def round(self, count: int) -> None:
        """Try every candidate `count` more times."""
        ...

    def estimates(self) -> Estimates:
        """The values so far."""
        ...


def run_search(search: Search, count: int, deadline: Deadline | None) -> Estimates:
    """Values by count or by clock.

    Without a deadline every candidate is tried `count` times. With one, `count` does not
    matter: rounds over all candidates, growing, go on until the deadline.
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
    return search.estimates()
