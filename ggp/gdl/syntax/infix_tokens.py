"""The tokens of GDL in infix syntax, told apart by case, quotes and reserved words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lark import Token

from ggp.gdl.syntax.findings import Findings, quoted
from ggp.gdl.syntax.names import ARROWS, Names, is_symbol
from ggp.gdl.terms import CONNECTIVES

ANONYMOUS = " "
"""Name of the variable `_`; no text can spell it."""

# Every character is matched by some group, and none is scanned twice by two of them.
TOKEN = re.compile(
    r"""
    (?P<SPACE> [\s\ufeff]+ )
  | (?P<COMMENT> %[^\r\n]* | /\*[\s\S]*?(?:\*/|\Z) )
  | (?P<_ARROW> :- | <= | <- | ⇐ | ← )
  | (?P<_AND> &&? | ∧ )
  | (?P<_OR> ; | \|\|? | \u2228 )
  | (?P<_NEQ> \# | \\== | \\= | != | ≠ )
  | (?P<NOT> ~ | ¬ | \\\+ )
  | (?P<_LPAR> \( )
  | (?P<_RPAR> \) )
  | (?P<_COMMA> , )
  | (?P<NUMBER> [+-]?\d+(?:\.\d+)?(?!\w) )
  | (?P<FOREIGN> :: | ==> | -> | =< | >= | < | > | ==? | \.\. | \bis\b(?=\s+[\w?'(]) )
  | (?P<_DOT> \. )
  | (?P<QUOTED> \??'(?:[^'\\\r\n]|\\[^\r\n])*'? )
  | (?P<STRING> "[^"\r\n]*"? )
  | (?P<WORD> \??\w+ | \? )
  | (?P<BAD> [\s\S] )
    """,
    re.VERBOSE,
)
_EPILOG = (
    "is of Stanford's newer language of rules (Epilog: `action :: condition ==> effect`), which is "
    "not GDL: there, rules for `next` say what holds after a move"
)
COMPARES = (
    "compares numbers in Prolog and in answer set programs; GDL has no arithmetic: write a fact "
    "for each pair, like `less(1, 2).`"
)
_CALCULATES = (
    "calculates in Prolog; GDL has no arithmetic: write a fact for each pair, like `succ(1, 2).`"
)
_CHOOSES = "chooses in Prolog, not in GDL: write a rule for each case"
_EQUALS = "is of Prolog, not GDL: write the same variable twice, or `distinct` for what differs"
_FOREIGN = {
    **dict.fromkeys(("::", "==>"), _EPILOG),
    **dict.fromkeys(("<", ">", "=<", ">="), COMPARES),
    **dict.fromkeys(("=", "=="), _EQUALS),
    "is": _CALCULATES,
    "->": _CHOOSES,
    "..": "makes intervals in answer set programs, not in GDL: write a fact for each number",
}
_QUOTED = re.compile(r"(\??)'((?:[^'\\]|\\.)*)'")
_BAD_ESCAPE = re.compile(r"\\[^\\']")
_ESCAPE = re.compile(r"\\(.)")
_VARIABLE_NAME = re.compile(r"[^\s();\ufeff]*")
_WORDS = {"not": "NOT", "and": "CONNECTIVE", "or": "CONNECTIVE", "distinct": "DISTINCT"}
_AFTER_LINE_NUMBER = {"NAME", "VARIABLE", "NOT", "DISTINCT", "CONNECTIVE", "RESERVED", "_LPAR"}


def infix_tokens(text: str, names: Names, findings: Findings) -> list[Token]:
    """The tokens of an infix text, without comments and line numbers.

    Values are folded names. Tokens of type BAD cannot be part of any clause; they have been
    reported.
    """
    tokens: list[Token] = []
    for token in _classified(text, names, findings):
        if token.type in _AFTER_LINE_NUMBER and _is_line_number(tokens, token, text):
            tokens.pop()
        elif token.type == "_RPAR" and _is_empty_list(tokens):
            tokens.pop()
            name = tokens[-1]
            findings.warn(
                "empty-arguments",
                f"`{name}()` has no arguments; read as {quoted(name)}",
                start_of(name),
            )
            continue
        tokens.append(token)
    return tokens


def start_of(token: Token) -> int:
    """The character offset of a token, -1 where it has none."""
    return -1 if token.start_pos is None else token.start_pos


def _classified(text: str, names: Names, findings: Findings) -> Iterator[Token]:
    bad_end = -1
    for match in TOKEN.finditer(text):
        kind, spelled, start = str(match.lastgroup), match.group(), match.start()
        value = spelled
        if kind == "SPACE":
            continue
        if kind == "COMMENT":
            if spelled[0] == "/" and (len(spelled) < 4 or not spelled.endswith("*/")):
                findings.error("comment", "this comment has no end", start)
            continue
        if kind == "WORD":
            kind, value = _word(spelled, start, names)
        elif kind == "QUOTED":
            kind, value = _unquote(spelled, start, names, findings)
        elif kind == "NUMBER":
            value = names.constant(spelled, start)
        elif kind == "STRING":
            kind, value = _string(spelled, start, names, findings)
        elif kind == "FOREIGN":
            findings.error("other-language", f"{quoted(spelled)} {_FOREIGN[spelled]}", start)
            kind = "BAD"
        elif kind == "BAD":
            if bad_end < start:
                findings.error("syntax", f"{quoted(spelled)} has no meaning here", start)
            bad_end = match.end()
        yield Token(kind, value, start, end_pos=match.end())


def _word(spelled: str, start: int, names: Names) -> tuple[str, str]:
    first = spelled[0]
    if spelled == "_":
        return "VARIABLE", ANONYMOUS
    if first == "?":
        return "VARIABLE", names.variable(spelled[1:], start)
    if first == "_" or first.isupper() or first.istitle():
        return "VARIABLE", names.variable(spelled, start)
    if spelled in _WORDS:
        return _WORDS[spelled], spelled
    name = names.constant(spelled, start)
    return ("RESERVED" if name in CONNECTIVES else "NAME"), name


def _unquote(spelled: str, start: int, names: Names, findings: Findings) -> tuple[str, str]:
    """Token type and folded name of a quoted constant, or of a variable `?'name'`."""
    match = _QUOTED.fullmatch(spelled)
    if match is None:
        findings.error("quotes", f"the quoted name {quoted(spelled)} has no end", start)
        return "BAD", spelled
    escape = _BAD_ESCAPE.search(match[2].replace("\\\\", ""))
    name = _ESCAPE.sub(r"\1", match[2])
    if escape is not None:
        message = rf"only `\\` and `\'` can be used in a quoted name, not {quoted(escape.group())}"
        findings.error("quotes", message, start)
        return "BAD", spelled
    if match[1]:
        if _VARIABLE_NAME.fullmatch(name) is not None:
            return "VARIABLE", names.variable(name, start)
    elif is_symbol(name):
        folded = names.constant(name, start)
        if folded in ARROWS:
            return "NUMBER", folded
        return ("RESERVED" if folded in CONNECTIVES else "NAME"), folded
    findings.error(
        "quotes",
        f"{quoted(spelled)} is no name of GDL: it must not be empty, begin with `?`, or contain "
        "white space, parentheses or `;`",
        start,
    )
    return "BAD", spelled


def _string(spelled: str, start: int, names: Names, findings: Findings) -> tuple[str, str]:
    """Token type and folded name of a string, which is the constant that KIF writes the same."""
    if len(spelled) > 1 and spelled.endswith('"') and is_symbol(spelled):
        return "NUMBER", names.constant(spelled, start)
    message = "is no name of GDL: it must end on its line, without white space, parentheses and `;`"
    findings.error("quotes", f"the string {quoted(spelled)} {message}", start)
    return "BAD", spelled


def _is_line_number(tokens: list[Token], token: Token, text: str) -> bool:
    """Whether the last token is a line number in front of `token`, which begins the line."""
    if not tokens or tokens[-1].type != "NUMBER" or not tokens[-1].isdecimal():
        return False
    number, start = tokens[-1], start_of(token)
    between = text[number.end_pos : start]
    if not between or "\n" in between or "\r" in between:
        return False
    if len(tokens) < 2 or tokens[-2].type == "_DOT":
        return True
    gap = text[tokens[-2].end_pos : number.start_pos]
    return "\n" in gap or "\r" in gap


def _is_empty_list(tokens: list[Token]) -> bool:
    return (
        len(tokens) > 1 and tokens[-1].type == "_LPAR" and tokens[-2].type in ("NAME", "RESERVED")
    )
