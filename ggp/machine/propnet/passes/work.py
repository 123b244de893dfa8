"""Counting work, so that where a pass stops depends on the circuit and not on the clock.

What a busy machine has time for differs from run to run, and a circuit is kept for good. So
passes spend *steps* of a fixed sum: as many as there are literals to look at, atoms for a solver
to go through, and so on. A step is about a microsecond on the machine of
`docs/performance.md`; that it is only about that does no harm.
"""

from __future__ import annotations


class Work:
    """Steps that were spent, of those there are."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.spent = 0

    def spend(self, steps: int) -> None:
        """Count some steps."""
        self.spent += steps

    @property
    def left(self) -> int:
        """Steps that may still be spent; 0 if there are none."""
        return max(self.most - self.spent, 0)

    def until(self, share: float, most: int | None = None) -> int:
        """The `spent` at which this share of what is left is used up, or `most` steps are."""
        steps = int(share * self.left)
        return self.spent + (steps if most is None else min(steps, most))
