"""Ids of sets of percepts, the same for all roles and threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any


class PerceptTable:
    """Ids of sets of percepts; id 0 is the empty set. Roles share the ids of equal sets.

    Args:
        known: whether the game can have a percept.
        growing: held while a set gets its id; see `ggp.machine.threads`.
    """

    def __init__(self, known: Callable[[str], bool], growing: AbstractContextManager[Any]) -> None:
        self._known = known
        self.growing = growing
        self._texts: list[tuple[str, ...]] = [()]
        self._ids: dict[tuple[str, ...], int] = {(): 0}

    def __len__(self) -> int:
        return len(self._texts)

    def texts(self, percepts: int) -> tuple[str, ...]:
        """The percepts of a set, sorted; KeyError if there is no such set."""
        if not 0 <= percepts < len(self._texts):
            raise KeyError(percepts)
        return self._texts[percepts]

    def find(self, percepts: Sequence[str]) -> int | None:
        """The id of a set of percepts, None if the game cannot have one of them."""
        key = tuple(sorted(set(percepts)))
        if key not in self._ids and not all(map(self._known, key)):
            return None
        return self.number(key)

    def number(self, key: tuple[str, ...]) -> int:
        """The id of a set of percepts given in sorted order."""
        found = self._ids.get(key)
        return self._new(key) if found is None else found

    def _new(self, key: tuple[str, ...]) -> int:
        with self.growing:
            number = self._ids.get(key, len(self._texts))
            if number == len(self._texts):
                self._texts.append(key)
                self._ids[key] = number  # last, since a thread that finds it asks for its texts
            return number
