"""The words of a rulesheet: the only words that a worker's answers may contain.

A worker reads input of strangers. If they took control of it, its answers would be the only way out
of the machine, and they are moves of the game.
"""

from __future__ import annotations

import re

from ggp.gdl.syntax.tuples import TUPLE

_WORD = re.compile(r"[^\s();\ufeff]+")
_BORDERS = frozenset(" \t\r\n\v\f();,.:&|~\ufeff")
"""Characters that may stand beside a symbol, in either syntax of rules."""


class Words:
    """The symbols of a rulesheet. They are looked up in its text: splitting all of it would keep
    others waiting.

    Args:
        rules: as they were sent.
    """

    def __init__(self, rules: str) -> None:
        self._text = rules.lower()
        self._known = {TUPLE}

    def include(self, move: str) -> bool:
        """Whether a move, in canonical KIF, contains no other symbols."""
        return all(map(self._has, _WORD.findall(move)))

    def _has(self, word: str) -> bool:
        at = -1
        while word not in self._known:
            at = self._text.find(word, at + 1)
            if at < 0:
                return False
            beside = (
                self._text[max(at - 1, 0) : at],
                self._text[at + len(word) : at + len(word) + 1],
            )
            if not any(each and each not in _BORDERS for each in beside):
                self._known.add(word)
        return True
