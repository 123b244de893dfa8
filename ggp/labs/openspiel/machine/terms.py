"""The terms of moves and percepts: `(act 5)`, `noop`, `your_move`, `(told x0123456789abcdef)`.

`SpielTerms` translates the ids of a machine to texts and back. Moves have the same id in every
match: 0 for `noop`, and N + 1 for `(act N)`. Percept sets get their ids when they are first seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from ggp.errors import MachineError
from ggp.gdl import canonical_term
from ggp.machine.percepts import PerceptTable

NOOP = 0
"""Move of a role whose turn it is not."""

NOOP_TEXT = "noop"
YOUR_MOVE = "your_move"
"""Percept of a role that moves next."""

_ACT = re.compile(r"\(act (0|[1-9][0-9]*)\)")
_TOLD = re.compile(r"\(told x[0-9a-f]{16}\)")
_TOLD_BEGINS = "(told x"

MAX_WORDS = 10_000
"""Number of latest percepts whose words a machine keeps."""


def told_percept(digest: str) -> str:
    """The percept that stands for a player's knowledge."""
    return f"{_TOLD_BEGINS}{digest})"


class InformationState(str):
    """A percept that stands for a player's knowledge, with OpenSpiel's words for it.

    It is a string, and equal to the same percept without words. Only players in the same process
    can use the words: no record keeps them, and no server sends them.

    Attributes:
        words: the string from which the digest is computed.
    """

    words: str

    def __new__(cls, text: str, words: str) -> InformationState:
        percept = super().__new__(cls, text)
        percept.words = words
        return percept

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class SpielTerms:
    """The moves and percepts of one machine.

    Args:
        roles: roles of the game.
        num_actions: number of actions; all of them are lower.
        is_open: whether players see joint moves, not digests.
        growing: lock for growing tables; see `ggp.machine.threads`.
    """

    def __init__(
        self,
        roles: Sequence[str],
        num_actions: int,
        *,
        is_open: bool,
        growing: AbstractContextManager[Any],
    ) -> None:
        self._num_actions, self._is_open, self._growing = num_actions, is_open, growing
        self._did = re.compile(rf"\(did ({'|'.join(roles)}) (.*)\)")
        self._percepts = PerceptTable(self._may_be_seen, growing)
        self._words: dict[str, str] = {}

    def move_id(self, text: str) -> int | None:
        # Reading terms is slow, and nearly all are canonical already.
        act = _ACT.fullmatch(text)
        if act is None:
            term = NOOP_TEXT if text == NOOP_TEXT else canonical_term(text)
            if term == NOOP_TEXT:
                return NOOP
            act = _ACT.fullmatch(term)
        if act is None or len(act[1]) > len(str(self._num_actions)):
            return None
        action = int(act[1])
        return action + 1 if action < self._num_actions else None

    def move_text(self, move: int) -> str:
        if not 0 <= move <= self._num_actions:
            raise MachineError(f"there is no move number {move}")
        return f"(act {move - 1})" if move else NOOP_TEXT

    def percept_id(self, texts: Sequence[str]) -> int | None:
        for text in texts:
            if isinstance(text, InformationState):
                self._keep(str(text), text.words)
        plain = [str(text) for text in texts]
        percept = self._percepts.find(plain)
        return self._percepts.find(list(map(canonical_term, plain))) if percept is None else percept

    def number_of(self, percepts: tuple[str, ...]) -> int:
        """The id of possible percepts, which must be canonical and sorted."""
        return self._percepts.number(percepts)

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        if not 0 <= percept < len(self._percepts):
            raise MachineError(f"there is no percept number {percept}")
        words = self._words
        with self._growing:
            return tuple(
                InformationState(text, words[text]) if text in words else text
                for text in self._percepts.texts(percept)
            )

    def digest_and_words(self, percept: int) -> tuple[str | None, str | None]:
        """The digest in a set of percepts, and its words if they are kept."""
        for text in self._percepts.texts(percept):
            if text != YOUR_MOVE:
                with self._growing:
                    return text[len(_TOLD_BEGINS) : -1], self._words.get(text)
        return None, None

    def remember(self, percept: int, words: str) -> None:
        """Keep the words of the digest in a set of percepts, if it has one."""
        for text in self._percepts.texts(percept):
            if text != YOUR_MOVE:
                self._keep(text, words)

    def _keep(self, text: str, words: str) -> None:
        with self._growing:
            # The latest percepts are the last.
            self._words.pop(text, None)
            self._words[text] = words
            if len(self._words) > MAX_WORDS:
                del self._words[next(iter(self._words))]

    def _may_be_seen(self, text: str) -> bool:
        if not self._is_open:
            return text == YOUR_MOVE or _TOLD.fullmatch(text) is not None
        did = self._did.fullmatch(text)
        move = None if did is None else self.move_id(did[2])
        return did is not None and move is not None and self.move_text(move) == did[2]
