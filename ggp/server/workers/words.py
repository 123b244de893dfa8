"""The words of a rulesheet: what a worker answers consists of these and nothing else.

A worker reads what strangers wrote. If they got the better of it, its answers are the way out of
the machine that is left, and they are moves of the game.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\s();\ufeff]+")
_BORDERS = frozenset(" \t\r\n\v\f();,.:&|~\ufeff")
"""What may stand beside a symbol, in either syntax of rules."""


class Words:
    """The symbols of a rulesheet. They are looked up in its text: taking all of it apart would
    keep others waiting.

    Args:
        rules: as they were sent.
    """

    def __init__(self, rules: str) -> None:
        self._text = rules.lower()
        self._known: set[str] = set()

    def include(self, move: str) -> bool:
        """Whether a move, which is canonical KIF, has no other symbols."""
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
