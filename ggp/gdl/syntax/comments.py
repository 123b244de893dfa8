"""Prints a rulesheet with its comments, in its own syntax or in the other one.

A comment keeps its neighbour. One at the end of a line stays behind its head or condition. One on
lines of its own stays in front of the next condition, of the next rule, or of the end. A blank line
before a rule or a comment stays too, since the description of a game ends at the first one.

    ; the game ends                          % the game ends
    (<= terminal                             terminal :-
        (true (round 4)))  ; or later            true(round(4)).  % or later

Printing with comments is exact: printing in the other syntax and back gives the same text as
printing in the first syntax directly.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Literal

from ggp.gdl.source import Rulesheet
from ggp.gdl.syntax.infix import TOKEN as INFIX_TOKEN
from ggp.gdl.syntax.kif import kif_pieces
from ggp.gdl.syntax.printer import infix_lines, kif_lines, marked_as_kif
from ggp.gdl.syntax.reading import TUPLE, UNNAMED, spelled

Syntax = Literal["kif", "infix"]

_MARKS = {"kif": ";", "infix": "%"}
_OTHER_MARKS = (";", "%")
_UNMARKED = re.compile(r"\A(?:/\*|#\|)|(?:\*/|\|#)\Z")
_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK_LINE = re.compile(r"(?:\r\n|\r|\n)[^\S\r\n]*(?:\r\n|\r|\n)[^\S\r\n]*\Z")
_INDENT = "    "
_MAX_BLANK = 1000
"""Number of characters before a rule or comment that are searched for a blank line."""

_Line = tuple[int, str]
"""A line of a comment: the number of marks at its beginning, and the rest."""

_Place = tuple[int, int]
"""The index of a rule, and 0 for its head or, from 1, the number of a condition."""


@dataclass
class _Comments:
    """The comments of a rulesheet by place; the place behind all rules is `(number of rules, 0)`.

    Attributes:
        above: comment lines before each place, None for a blank line.
        trailing: comments behind each place, on the same line.
        spaced: indices of the rules with a blank line before them.
    """

    above: dict[_Place, list[_Line | None]] = field(default_factory=lambda: defaultdict(list))
    trailing: dict[_Place, list[_Line]] = field(default_factory=lambda: defaultdict(list))
    spaced: set[int] = field(default_factory=set)


def print_sheet(sheet: Rulesheet, syntax: Syntax, *, comments: bool = True) -> str:
    """The text of a rulesheet in a syntax, with a line for each condition."""
    return _printed(sheet, syntax, _comments_of(sheet) if comments else _Comments())


def _printed(sheet: Rulesheet, syntax: Syntax, comments: _Comments) -> str:
    mark = _MARKS[syntax]
    lines: list[str] = []
    for index, rule in enumerate(sheet.rules):
        printed = kif_lines(rule) if syntax == "kif" else infix_lines(rule)
        if syntax == "kif" and sheet.spelling.get(TUPLE) == "":
            printed = [spelled(line, UNNAMED) for line in printed]
        for part, text in enumerate(printed):
            indent = _INDENT if part else ""
            lines += [_comment_line(line, mark, indent) for line in comments.above[index, part]]
            if index in comments.spaced and not part:
                lines.append("")
            lines.append(text + _trailing_text(comments.trailing[index, part], mark))
    lines += [_comment_line(line, mark) for line in comments.above[len(sheet.rules), 0]]
    while lines and not lines[0]:
        del lines[0]
    return "".join(f"{line}\n" for line in (marked_as_kif(lines) if syntax == "kif" else lines))


def _comment_line(line: _Line | None, mark: str, indent: str = "") -> str:
    return "" if line is None else indent + mark * line[0] + line[1]


def _trailing_text(lines: list[_Line], mark: str) -> str:
    if not lines:
        return ""
    text = "; ".join(line[1].strip() for line in lines)
    return f"  {mark * lines[0][0]} {text}".rstrip()


def _comments_of(sheet: Rulesheet) -> _Comments:
    text = sheet.source.text
    places: list[_Place] = []
    starts: list[int] = []
    for index, rule in enumerate(sheet.rules):
        for part, start in enumerate((rule.start, *(term.start for term in rule.body))):
            places.append((index, part))
            starts.append(max(start, starts[-1] if starts else 0))  # conditions may be repaired
    places.append((len(sheet.rules), 0))
    comments = _Comments()
    for start, comment in _comment_texts(sheet):
        at = bisect_left(starts, start)
        begins_line = not _line_before(text, start).strip(" \t\ufeff")
        if at and not begins_line:
            comments.trailing[places[at - 1]].append(_joined(comment))
            continue
        place = places[at]
        if not place[1] and _is_spaced(text, start):
            comments.above[place].append(None)
        comments.above[place] += _lines(comment)
    for index, rule in enumerate(sheet.rules):
        if not _line_before(text, rule.start).strip() and _is_spaced(text, rule.start):
            comments.spaced.add(index)
    return comments


def _comment_texts(sheet: Rulesheet) -> Iterator[tuple[int, str]]:
    """Yield the offset of each comment, and its text with its marks."""
    if sheet.syntax == "kif":
        for start, piece, is_comment in kif_pieces(sheet.source.text):
            if is_comment:
                yield start, piece
        return
    for match in INFIX_TOKEN.finditer(sheet.source.text):
        if match.lastgroup == "COMMENT":
            yield match.start(), match.group()


def _lines(comment: str) -> list[_Line]:
    if not comment.startswith(("/*", "#|")):
        rest = comment.lstrip(comment[0])
        # A mark of the other syntax would become one of this syntax on the way back.
        gap = " " if rest[:1] in _OTHER_MARKS else ""
        return [(len(comment) - len(rest), (gap + rest).rstrip())]
    first, *rest_of = _LINE_END.split(_UNMARKED.sub("", comment))
    lines = [first.strip(), *dedent("\n".join(rest_of)).split("\n")]
    while lines and not lines[0].strip():
        del lines[0]
    while lines and not lines[-1].strip():
        del lines[-1]
    return [(1, f" {line.rstrip()}" if line.strip() else "") for line in lines]


def _joined(comment: str) -> _Line:
    lines = _lines(comment) or [(1, "")]
    return lines[0][0], " ".join(line[1].strip() for line in lines)


def _line_before(text: str, start: int) -> str:
    """The text before an offset on the same line."""
    begin = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    return text[begin:start]


def _is_spaced(text: str, start: int) -> bool:
    """Whether there is a blank line before the line of an offset."""
    return _BLANK_LINE.search(text, max(0, start - _MAX_BLANK), start) is not None
