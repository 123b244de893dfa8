"""Splits Gambit's files into texts in quotes, numbers, braces and words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal, NamedTuple, NoReturn

from ggp.gdl.source import Source
from ggp.gdl.syntax.findings import Findings, quoted

_WORD = re.compile(
    r"""\s*(?:
        (?P<text>"[^"\\]*(?:\\[\s\S][^"\\]*)*")
      | (?P<number>[+-]?(?:\d+/\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)(?=[\s{},"]|\Z))
      | (?P<mark>[{}])
      | (?P<comma>,)
      | (?P<word>[^\s{},"]+)
      | (?P<end>\Z)
      | (?P<open>")
    )""",
    re.VERBOSE,
)

_LONGEST_NUMBER = 1_000
"""Greatest number of characters of a number."""

Kind = Literal["text", "number", "mark", "comma", "word", "end", "open"]


class Word(NamedTuple):
    """A piece of a file.

    Attributes:
        kind: what it is; `open` is a text that is never closed, `end` the end of the file.
        value: its characters, those of a text without quotes.
        start: offset of its first character.
    """

    kind: Kind
    value: str
    start: int


class GambitText:
    """The words of a file, one after the other.

    Args:
        source: the file.

    Attributes:
        findings: collects what has to be repaired.
        next: the word that is read next.
    """

    def __init__(self, source: Source) -> None:
        self.findings = Findings(source)
        self._numbers: dict[str, Fraction] = {}
        self._words = _split(source.text)
        self.next = next(self._words)

    def fail(self, rule: str, message: str, start: int | None = None) -> NoReturn:
        """Raise `GDLSyntaxError` about a place, by default that of the next word."""
        self.findings.error(rule, message, self.next.start if start is None else start)
        raise self.findings.syntax_error()

    def is_next(self, kind: Kind, value: str | None = None) -> bool:
        """Whether the next word is of a kind and, if one is given, has that value."""
        return self.next.kind == kind and value in (None, self.next.value)

    def take(self, kind: Kind, what: str, value: str | None = None) -> Word:
        """The next word, which must be of a kind and, if one is given, have that value.

        Args:
            what: words for it in the message of the error.
        """
        word = self.next
        if not self.is_next(kind, value):
            if word.kind == "open":
                self.fail("quotes", "this text in quotes is never closed")
            here = "the file ends" if word.kind == "end" else f"{quoted(word.value)} stands here"
            self.fail("gambit", f"{what} should come next, but {here}")
        self.next = next(self._words, word)
        return word

    def mark(self, mark: Literal["{", "}"], what: str) -> None:
        """Read a brace."""
        self.take("mark", what, mark)

    def text(self, what: str) -> str:
        """Read a text in quotes."""
        return self.take("text", what).value

    def texts(self, what: str) -> list[str]:
        """Read texts in quotes between braces."""
        self.mark("{", f"`{{` and {what}")
        found = []
        while self.is_next("text"):
            found.append(self.text(what))
            self.skip_comma()
        self.mark("}", f"`}}` after {what}")
        return found

    def skip_comma(self) -> None:
        """Read a comma if there is one."""
        if self.is_next("comma"):
            self.take("comma", "a comma")

    def number(self, what: str) -> Fraction:
        """Read a number: an integer, a fraction or a decimal."""
        word = self.take("number", what)
        value = self._numbers.get(word.value)
        if value is None:
            value = self._numbers[word.value] = self._value_of(word)
        return value

    def payoffs(self, num_players: int) -> tuple[Fraction, ...]:
        """Read a payoff for each player; there may be commas between them."""
        found = []
        for _ in range(num_players):
            found.append(self.number("the payoff of each player"))
            self.skip_comma()
        return tuple(found)

    def integer(self, what: str) -> int:
        """Read a number that is not negative, and an integer."""
        start, value = self.next.start, self.number(what)
        if value < 0 or value.denominator > 1:
            self.fail("gambit", f"{what} should come next, an integer of 0 or more", start)
        return int(value)

    def begin(self, kind: str, version: str) -> tuple[str, list[str]]:
        """Read the beginning of a file up to the players; return the title and their names."""
        self.take("word", kind)
        start, found = self.next.start, self.take("number", "the version of the format")
        if found.value != version:
            message = f"{kind} version {found.value} cannot be read, only version {version}"
            self.fail("version", message, start)
        start, form = self.next.start, self.take("word", "`R`")
        if form.value not in ("R", "D"):
            self.fail("version", f"`R` should come next, not {quoted(form.value)}", start)
        title = self.text("the title of the game, in quotes,")
        start, players = self.next.start, self.texts("the names of the players, in quotes,")
        if not players:
            self.fail("players", "there must be at least one player", start)
        return title, players

    def comment(self) -> str:
        """Read the comment on the game, if there is one."""
        return self.text("the comment") if self.is_next("text") else ""

    def _value_of(self, word: Word) -> Fraction:
        try:
            if len(word.value) <= _LONGEST_NUMBER:
                value = Fraction(word.value)
                float(value)
                return value
        except ZeroDivisionError:
            self.fail("number", f"{quoted(word.value)} divides by zero", word.start)
        except OverflowError:
            pass
        self.fail("number", f"the number {quoted(word.value)} is too large", word.start)


def _split(text: str) -> Iterator[Word]:
    at = 0
    while True:
        match = _WORD.match(text, at)
        assert match is not None  # every character begins one of the kinds
        kind: Kind = match.lastgroup  # type: ignore[assignment]
        value = match[kind]
        if kind == "text":
            value = value[1:-1].replace('\\"', '"')
        yield Word(kind, value, match.start(kind))
        if kind in ("end", "open"):
            return
        at = match.end()
