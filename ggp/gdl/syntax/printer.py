"""Prints terms and rules; parsing the text gives the same terms and rules again."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Literal

from ggp.gdl.source import Rulesheet
from ggp.gdl.syntax.infix import TOKEN as INFIX_TOKEN
from ggp.gdl.syntax.kif import kif_pieces
from ggp.gdl.syntax.reading import TUPLE, UNNAMED, spelled
from ggp.gdl.terms import CONNECTIVES, Rule, Symbol, Term, Variable

_INDENT = "    "
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PLAIN_CONSTANT = re.compile(r'[+-]?[0-9]+(?:\.[0-9]+)?|"[^\s"();\ufeff]*"')
_WORD = re.compile(r"\w*")

# Text to write unchanged; or a term, and whether it is a condition or head and not an argument.
_Part = str | tuple[Term, bool]


def to_kif(term: Term) -> str:
    """A term in canonical lower-case KIF, for records, messages and comparisons.

    >>> from ggp.gdl import parse_term
    >>> to_kif(parse_term("( Cell 1 2  X )"))
    '(cell 1 2 x)'
    """
    return str(term)


def print_kif(rules: Iterable[Rule]) -> str:
    """Rules as a KIF rulesheet, with a line for each fact and each condition."""
    lines = [line for rule in rules for line in kif_lines(rule)]
    return "".join(line + "\n" for line in marked_as_kif(lines))


def print_infix(rules: Iterable[Rule]) -> str:
    """Rules as a Prolog-style rulesheet, with a line for each fact and each condition."""
    return "".join(line + "\n" for rule in rules for line in infix_lines(rule))


def kif_lines(rule: Rule) -> list[str]:
    """A rule in KIF: a line for its head, and one for each condition."""
    if not rule.body:
        return [str(rule.head)]
    lines = [f"(<= {rule.head}", *(f"{_INDENT}{term}" for term in rule.body)]
    lines[-1] += ")"
    return lines


def infix_lines(rule: Rule) -> list[str]:
    """A rule in infix syntax: a line for its head, and one for each condition."""
    if not rule.body:
        return [f"{_infix(rule.head)}."]
    lines = [f"{_infix(rule.head)} :-", *(f"{_INDENT}{_infix(term)}," for term in rule.body)]
    lines[-1] = lines[-1][:-1] + "."
    return lines


def marked_as_kif(lines: list[str]) -> list[str]:
    """The lines of a rulesheet, after a comment if they would not be recognised as KIF.

    A bare name at the top looks like the beginning of an infix text.
    """
    return ["; KIF", *lines] if lines and lines[0][:1] not in ("(", ";") else lines


def _infix(condition: Term) -> str:
    """A head or condition as text; without recursion, since terms may nest deeper than Python's
    stack."""
    pieces: list[str] = []
    pending: list[_Part] = [(condition, True)]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            pieces.append(part)
        else:
            pending.extend(reversed(_parts(*part)))
    return "".join(pieces)


def _parts(term: Term, is_condition: bool) -> list[_Part]:
    """The text of a term, with parts that are still terms."""
    if isinstance(term, Variable):
        return [_variable(term.name)]
    if isinstance(term, Symbol):
        is_plain = not is_condition and _PLAIN_CONSTANT.fullmatch(term.name)
        return [term.name if is_plain else _constant(term.name)]
    if term.name == TUPLE and len(term.args) > 1 and not is_condition:
        return ["(", *_listed(term.args, ", ", False), ")"]
    if not is_condition or term.name not in CONNECTIVES:
        return [_constant(term.name), "(", *_listed(term.args, ", ", False), ")"]
    if term.name == "not" and len(term.args) == 1:
        return ["not ", (term.args[0], True)]
    if term.name == "distinct":
        return ["distinct(", *_listed(term.args, ", ", False), ")"]
    if len(term.args) == 1:
        return [term.name, "(", (term.args[0], True), ")"]
    return ["(", *_listed(term.args, ", " if term.name == "and" else " ; ", True), ")"]


def _listed(terms: Sequence[Term], separator: str, are_conditions: bool) -> list[_Part]:
    parts: list[_Part] = []
    for term in terms:
        parts += (separator, (term, are_conditions))
    return parts[1:]


def _constant(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name) and name not in CONNECTIVES:
        return name
    return _in_quotes(name)


def _variable(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return name[0].upper() + name[1:]
    return "?" + (name if _WORD.fullmatch(name) else _in_quotes(name))


def _in_quotes(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


# ------------------------------------------------------------------------
# Prints a rulesheet with its comments, in its own syntax or in the other one.
#
# A comment keeps its neighbour. One at the end of a line stays behind its head or condition. One on
# lines of its own stays in front of the next condition, of the next rule, or of the end. A blank
# line before a rule or a comment stays too, since the description of a game ends at the first one.
#
#     ; the game ends                          % the game ends
#     (<= terminal                             terminal :-
#         (true (round 4)))  ; or later            true(round(4)).  % or later
#
# Printing with comments is exact: printing in the other syntax and back gives the same text as
# printing in the first syntax directly.

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
