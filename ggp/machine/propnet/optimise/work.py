"""Counts work, so that where a pass stops depends on the circuit and not on the clock.

The work that a busy machine has time for differs from run to run, and a circuit is kept for good.
So passes spend *steps* of a fixed sum: one for each literal to look at, for each atom that a solver
goes through, and so on. A step is about a microsecond on the machine of
`docs/measured/performance.md`; it does no harm that this is only approximate.
"""

from __future__ import annotations


class Work:
    """Steps that were spent, of a fixed sum."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.spent = 0

    def spend(self, steps: int) -> None:
        """Count steps as spent."""
        self.spent += steps

    @property
    def left(self) -> int:
        """Steps that may still be spent; 0 if there are none."""
        return max(self.most - self.spent, 0)

    def until(self, share: float, most: int | None = None) -> int:
        """The `spent` at which this share of the steps left is used up, or `most` steps are."""
        steps = int(share * self.left)
        return self.spent + (steps if most is None else min(steps, most))
