"""A growing list of states of one machine, from which any can be taken."""

from __future__ import annotations

import numpy as np

from ggp.machine.base import IntArray, Machine, States


class StateStore:
    """States by number, in the order in which they were added.

    They are held in parts, of which the last ones are merged when they are of similar size: a state
    is copied about as often as its number has digits, and there are few parts.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._parts: list[States] = []
        self._ends: list[int] = []

    def __len__(self) -> int:
        """Number of states."""
        return self._ends[-1] if self._ends else 0

    def add(self, states: States) -> None:
        """Add states after those there are."""
        if not len(states):
            return
        size = len(self) + len(states)
        joined = [states]
        total = len(states)
        while self._parts and len(self._parts[-1]) <= 2 * total:
            total += len(self._parts[-1])
            joined.append(self._parts.pop())
            self._ends.pop()
        self._parts.append(self._machine.concatenate(joined[::-1]) if joined[1:] else states)
        self._ends.append(size)

    def take(self, numbers: IntArray) -> States:
        """The states with these numbers, in this order, repeats allowed."""
        if not len(numbers):
            return self._machine.initial(0)
        part_of = np.searchsorted(self._ends, numbers, side="right")
        used = np.flatnonzero(np.bincount(part_of))
        if len(used) == 1:
            part = int(used[0])
            return self._parts[part].take(numbers - self._start(part))
        order = np.argsort(part_of, kind="stable")
        bounds = np.searchsorted(part_of[order], used, side="left").tolist()
        found = [
            self._parts[part].take(numbers[order[first:end]] - self._start(part))
            for part, first, end in zip(
                used.tolist(), bounds, [*bounds[1:], len(order)], strict=True
            )
        ]
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        return self._machine.concatenate(found).take(back)

    def only(self, numbers: IntArray) -> StateStore:
        """A list of the states with these numbers, in this order."""
        kept = StateStore(self._machine)
        kept.add(self.take(numbers))
        return kept

    def _start(self, part: int) -> int:
        return self._ends[part - 1] if part else 0
