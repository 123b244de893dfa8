"""States that are interned in Prolog and known here by number."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import RLock

import numpy as np

from ggp.machine.base import FloatArray, IntArray, ShownStates, States

FREE_AFTER = 10_000
"""States that no batch holds any more are freed when there are this many."""

MOST_NOTES = 1_000
"""Batches that were made or collected are counted when there are more than this."""

_NONE = np.zeros(0, dtype=np.int64)


class PrologStates(ShownStates):
    """A batch of interned states; holds them in Prolog as long as it lives."""

    __slots__ = ("ids", "store")

    def __init__(self, store: StateStore, ids: IntArray) -> None:
        self.store = store
        self.ids = ids
        store.note(ids, held=True)

    def __del__(self) -> None:
        self.store.note(self.ids, held=False)

    def __len__(self) -> int:
        return len(self.ids)

    def first_fluents(self) -> tuple[str, ...]:
        told = self.store.fluents()
        if told is None:
            return ("of a machine that is gone",)
        return told(PrologStates(self.store, self.ids[:1]))[0]

    def take(self, lanes: IntArray) -> PrologStates:
        """The lanes with these indices, in this order, repeats allowed."""
        return PrologStates(self.store, self.ids[lanes])


class StateStore:
    """The counts of the batches that hold each interned state, and the known answers about it.

    Batches are made in any thread, and collected in whatever thread collects garbage, in the
    middle of anything. So both are only noted, by one atomic operation of Python each, and counted
    later.

    Args:
        growing: held while batches are counted.
        fluents: tells what holds in states; None once the machine is gone.
    """

    def __init__(
        self,
        growing: RLock,
        fluents: Callable[[], Callable[[States], list[tuple[str, ...]]] | None],
    ) -> None:
        self.fluents = fluents
        self._growing = growing
        self._notes: deque[tuple[IntArray, bool]] = deque()
        self._holders = np.zeros(1024, dtype=np.int64)
        self._unheld: list[IntArray] = []
        self._num_unheld = 0
        self.terminal: dict[int, bool] = {}
        self.goals: dict[int, FloatArray] = {}
        self.legal: dict[tuple[int, int], IntArray] = {}

    def note(self, ids: IntArray, *, held: bool) -> None:
        """Note that a batch holds states from now on, or no longer."""
        self._notes.append((ids, held))
        if held and len(self._notes) > MOST_NOTES and self._growing.acquire(blocking=False):
            try:
                self._count()
            finally:
                self._growing.release()

    def _count(self) -> None:
        """Count the notes. That a batch holds states is always noted before that it does not."""
        notes: dict[bool, list[IntArray]] = {True: [_NONE], False: [_NONE]}
        while self._notes:
            ids, held = self._notes.popleft()
            notes[held].append(ids)
        come, gone = np.concatenate(notes[True]), np.concatenate(notes[False])
        top = int(come.max(initial=-1))
        if top >= len(self._holders):
            grown = np.zeros(max(top + 1, 2 * len(self._holders)), dtype=np.int64)
            grown[: len(self._holders)] = self._holders
            self._holders = grown
        np.add.at(self._holders, come, 1)
        np.subtract.at(self._holders, gone, 1)
        free = gone[self._holders[gone] == 0]
        if len(free):
            self._unheld.append(free)
            self._num_unheld += len(free)

    def collect(self, num_roles: int) -> list[int]:
        """Ids to free in Prolog now, which are forgotten here; empty until there are many."""
        if len(self._notes) > MOST_NOTES:
            self._count()
        if self._num_unheld < FREE_AFTER:
            return []
        self._count()
        candidates = np.unique(np.concatenate(self._unheld))
        self._unheld, self._num_unheld = [], 0
        freed: list[int] = candidates[self._holders[candidates] == 0].tolist()
        for state in freed:
            self.terminal.pop(state, None)
            self.goals.pop(state, None)
            for role in range(num_roles):
                self.legal.pop((state, role), None)
        return freed
