"""Source texts with their lines and columns, diagnostics about them, and the parsed `Rulesheet`.

`describe` reads the `Description` at the beginning of a text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import wrap
from typing import Literal

from ggp.gdl.terms import Rule

Severity = Literal["error", "warning"]

MAX_SHOWN = 20
"""Diagnostics shown for one text; a text with more is hardly a rulesheet."""

_LINE_END = re.compile(r"\r\n|\r|\n")
# Servers send a rulesheet as one line, so a message shows only this many characters on each side
# of the error.
_EXCERPT = 100


@dataclass(frozen=True)
class Source:
    """A text, and its name in messages (a path, or `<text>`)."""

    name: str
    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(end.end() for end in _LINE_END.finditer(self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """1-based line and column of a character offset; (0, 0) for a negative offset."""
        if offset < 0:
            return 0, 0
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a 1-based line without its end, "" for line 0."""
        if number < 1:
            return ""
        start, end = self._line_bounds(number)
        return self.text[start:end]

    def excerpt(self, offset: int) -> tuple[str, int]:
        """The line around a character offset, shortened if long, and the offset within it."""
        if offset < 0:
            return "", 0
        line_start, line_end = self._line_bounds(self.position(offset)[0])
        start, end = max(line_start, offset - _EXCERPT), min(line_end, offset + _EXCERPT)
        lead = "..." if start > line_start else ""
        tail = "..." if end < line_end else ""
        return lead + self.text[start:end] + tail, len(lead) + offset - start

    def _line_bounds(self, number: int) -> tuple[int, int]:
        starts, text = self._line_starts, self.text
        start, end = starts[number - 1], len(text)
        if number < len(starts):
            end = starts[number] - (2 if text.endswith("\r\n", start, starts[number]) else 1)
        return start, end


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem in a rulesheet.

    Attributes:
        severity: an "error" makes the rulesheet unusable, a "warning" was repaired.
        rule: short name of the rule that was broken, such as "unsafe-head".
        message: the problem and its repair, without the position.
        name: name of the source.
        line, column: 1-based; 0 without a position.
        context: the line of text, shortened around the column if long.
        caret: 0-based column in `context`; -1 for `column - 1`.

    >>> from ggp.gdl import parse
    >>> from ggp.gdl.normalize import validate
    >>> sheet = parse("(role red) (legal red pass) (<= terminal (true (hto 1)))", "game.kif")
    >>> print(validate(sheet)[-1])
    game.kif:1:48: warning: (hto 1) is never true: no `init` or `next` makes it [never-true]
    (role red) (legal red pass) (<= terminal (true (hto 1)))
                                                   ^
    """

    severity: Severity
    rule: str
    message: str
    name: str
    line: int
    column: int
    context: str
    caret: int = -1

    def __str__(self) -> str:
        """`file:line:column: error: text [rule]`, then the line, and a caret under the column."""
        return self.laid_out()

    def laid_out(self, width: int | None = None) -> str:
        """The text of `str`.

        Args:
            width: columns of the terminal, so that the text wraps, indented, and the line is cut on
                both sides of the caret; None for lines of any length.
        """
        place = f"{self.name}:{self.line}:{self.column}" if self.line else self.name
        text = printable(f"{place}: {self.severity}: {self.message} [{self.rule}]")
        context, caret = printable(self.context), self.caret if self.caret >= 0 else self.column - 1
        if width is not None:
            text = "\n".join(wrap(text, width, subsequent_indent="    ", break_on_hyphens=False))
            caret, context = len(context[:caret].expandtabs()), context.expandtabs()
            start = max(0, min(caret - width // 2, len(context) - width))
            context, caret = context[start : start + width], caret - start
        if not self.line:
            return text
        lead = "".join("\t" if c == "\t" else " " for c in context[:caret])
        return f"{text}\n{context}\n{lead}^"


def printable(text: str) -> str:
    """The text, with a blank for each character that could disturb a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else " " for c in text)


def diagnose(
    source: Source, severity: Severity, rule: str, message: str, offset: int
) -> Diagnostic:
    """A diagnostic at a character offset of the source (-1: about the text as a whole)."""
    line, column = source.position(offset)
    context, caret = source.excerpt(offset)
    return Diagnostic(severity, rule, message, source.name, line, column, context, caret)


def joined(diagnostics: Sequence[Diagnostic]) -> str:
    """The message of an error with several causes: the first diagnostics, and how many follow."""
    num_more = len(diagnostics) - MAX_SHOWN
    end = [f"{num_more:,} more errors"] if num_more > 0 else []
    return "\n".join([*map(str, diagnostics[:MAX_SHOWN]), *end])


def gravest(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics to show: errors rather than warnings, at most `MAX_SHOWN`, in text order."""
    graves = sorted(range(len(diagnostics)), key=lambda i: diagnostics[i].severity)
    return [diagnostics[i] for i in sorted(graves[:MAX_SHOWN])]


def errors(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics that are errors, in order."""
    return [d for d in diagnostics if d.severity == "error"]


@dataclass(frozen=True)
class Rulesheet:
    """A parsed rulesheet: rules in text order, before any normalisation.

    Attributes:
        source: the text that was parsed.
        syntax: the syntax of that text.
        rules: facts and rules.
        spelling: folded name -> its first spelling in the text, for names that are not in lower
            case there (servers expect answers in their own spelling); and "" for `tuple` if a KIF
            text has terms without a name (see `ggp.gdl.syntax.reading`).
        diagnostics: warnings about repairs made by the parser.

    >>> from ggp.gdl import parse
    >>> sheet = parse("role(white). terminal :- true(won(X)).")
    >>> sheet.syntax
    'infix'
    >>> print(*sheet.rules)
    (role white) (<= terminal (true (won ?x)))
    """

    source: Source
    syntax: Literal["kif", "infix"]
    rules: tuple[Rule, ...]
    spelling: Mapping[str, str] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


# ------------------------------------------------------------------------
# Reads the description of a game: the comment block at the beginning of its rulesheet.
#
#     ; Title
#     ;
#     ; What the game is about, in sentences.
#     ;
#     ; Moves     what each role may do,
#     ;           over several lines
#     ; Percepts  ...
#
# In infix syntax it begins with `%`.

_SECTION = re.compile(r"([A-Z]\w+) {2,}(\S.*)")
_INDENT = 10


@dataclass(frozen=True, slots=True)
class Description:
    """A game in words.

    Attributes:
        title: one line; empty without a comment block.
        text: the introduction, one line for each paragraph.
        sections: Moves, Percepts, Scores and so on, each with its lines as they are set.
    """

    title: str = ""
    text: str = ""
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def describe(rulesheet: str) -> Description:
    """The description at the beginning of the text of a rulesheet.

    >>> describe("; Coin\\n;\\n; Guess a coin.\\n;\\n; Moves     heads or tails").title
    'Coin'
    """
    lines = []
    for line in rulesheet.lstrip("\ufeff").splitlines():
        if not line.lstrip().startswith((";", "%")):
            break
        lines.append(line.lstrip().lstrip(";%").removeprefix(" ").rstrip())
    if not lines:
        return Description()
    paragraphs: list[str] = []
    sections: dict[str, list[str]] = {}
    section: list[str] | None = None
    fresh = True
    for line in lines[1:]:
        match = _SECTION.fullmatch(line)
        if match is not None:
            section = sections.setdefault(match[1], [])
            section.append(match[2])
        elif not line:
            section, fresh = None, True
        elif section is not None:
            section.append(line[_INDENT:] if not line[:_INDENT].strip() else line)
        elif fresh:
            paragraphs.append(line)
            fresh = False
        else:
            paragraphs[-1] += f" {line}"
    return Description(
        lines[0], "\n".join(paragraphs), {name: tuple(s) for name, s in sections.items()}
    )
