"""The names of moves and percepts: `(act 5)`, `noop`, `your_move`, `(told x0123456789abcdef)`.

Moves have the same number in every match: 0 for `noop`, and N + 1 for `(act N)`. Percept sets are
numbered as they are first seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ggp.errors import MachineError
from ggp.gdl import canonical_term
from ggp.machine.base import NO_PERCEPTS

NOOP = 0
"""Move of those whose turn it is not."""

NOOP_TEXT = "noop"
YOUR_MOVE = "your_move"
"""Percept of those who move next."""

_ACT = re.compile(r"\(act (0|[1-9][0-9]*)\)")
_TOLD = re.compile(r"\(told x[0-9a-f]{16}\)")


def told(digest: str) -> str:
    """The percept that stands for what a player now knows."""
    return f"(told x{digest})"


class Terms:
    """The moves and percepts of one machine.

    Args:
        roles: of the game.
        num_actions: actions are numbered below it.
        is_open: whether players see joint moves, not digests.
    """

    def __init__(self, roles: Sequence[str], num_actions: int, *, is_open: bool) -> None:
        self._num_actions, self._is_open = num_actions, is_open
        self._did = re.compile(rf"\(did ({'|'.join(roles)}) (.*)\)")
        self._percepts: list[tuple[str, ...]] = [()]
        self._percept_ids: dict[tuple[str, ...], int] = {(): NO_PERCEPTS}

    def move_id(self, text: str) -> int | None:
        # Reading terms is slow, and nearly all are as they should be.
        act = _ACT.fullmatch(text)
        if act is None:
            term = NOOP_TEXT if text == NOOP_TEXT else canonical_term(text)
            if term == NOOP_TEXT:
                return NOOP
            act = _ACT.fullmatch(term)
        if act is None or len(act[1]) > len(str(self._num_actions)):
            return None
        number = int(act[1])
        return number + 1 if number < self._num_actions else None

    def move_text(self, move: int) -> str:
        if not 0 <= move <= self._num_actions:
            raise MachineError(f"there is no move number {move}")
        return f"(act {move - 1})" if move else NOOP_TEXT

    def percept_id(self, texts: Sequence[str]) -> int | None:
        key = tuple(sorted(set(texts)))
        if key in self._percept_ids:
            return self._percept_ids[key]
        if not all(map(_TOLD.fullmatch, key)):
            key = tuple(sorted({canonical_term(text) for text in texts}))
        if key not in self._percept_ids and not all(map(self._may_be_seen, key)):
            return None
        return self.number_of(key)

    def number_of(self, percepts: tuple[str, ...]) -> int:
        """The id of percepts that can be seen, canonical and sorted."""
        found = self._percept_ids.setdefault(percepts, len(self._percepts))
        if found == len(self._percepts):
            self._percepts.append(percepts)
        return found

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        if not 0 <= percept < len(self._percepts):
            raise MachineError(f"there is no percept number {percept}")
        return self._percepts[percept]

    def _may_be_seen(self, text: str) -> bool:
        if not self._is_open:
            return text == YOUR_MOVE or _TOLD.fullmatch(text) is not None
        did = self._did.fullmatch(text)
        return did is not None and self.move_id(did[2]) is not None
