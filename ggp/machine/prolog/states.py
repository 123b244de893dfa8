"""States that are interned in Prolog, and known here by number."""

from __future__ import annotations

import numpy as np

from ggp.machine.base import FloatArray, IntArray

FREE_AFTER = 10_000
"""States no batch holds any more are given back when there are this many."""


class PrologStates:
    """A batch of interned states; holds them in Prolog as long as it lives."""

    __slots__ = ("ids", "store")

    def __init__(self, store: StateStore, ids: IntArray) -> None:
        self.store = store
        self.ids = ids
        store.hold(ids)

    def __del__(self) -> None:
        self.store.release(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, lanes: IntArray) -> PrologStates:
        """The lanes with these indices, in this order, repeats allowed."""
        return PrologStates(self.store, self.ids[lanes])


class StateStore:
    """Counts the batches that hold each interned state, and what is known of it."""

    def __init__(self) -> None:
        self._holders = np.zeros(1024, dtype=np.int64)
        self._unheld: list[IntArray] = []
        self._num_unheld = 0
        self.terminal: dict[int, bool] = {}
        self.goals: dict[int, FloatArray] = {}
        self.legal: dict[tuple[int, int], IntArray] = {}

    def hold(self, ids: IntArray) -> None:
        if len(ids):
            top = int(ids.max())
            if top >= len(self._holders):
                grown = np.zeros(max(top + 1, 2 * len(self._holders)), dtype=np.int64)
                grown[: len(self._holders)] = self._holders
                self._holders = grown
            np.add.at(self._holders, ids, 1)

    def release(self, ids: IntArray) -> None:
        if np is None:  # the interpreter ends, and has taken its modules apart
            return
        np.subtract.at(self._holders, ids, 1)
        free = ids[self._holders[ids] == 0]
        if len(free):
            self._unheld.append(free)
            self._num_unheld += len(free)

    def collect(self, num_roles: int) -> list[int]:
        """Ids to free in Prolog now, forgotten here; empty until there are many."""
        if self._num_unheld < FREE_AFTER:
            return []
        candidates = np.unique(np.concatenate(self._unheld))
        self._unheld, self._num_unheld = [], 0
        freed: list[int] = candidates[self._holders[candidates] == 0].tolist()
        for state in freed:
            self.terminal.pop(state, None)
            self.goals.pop(state, None)
            for role in range(num_roles):
                self.legal.pop((state, role), None)
        return freed
