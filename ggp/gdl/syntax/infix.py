"""Parses GDL in infix syntax: Prolog-style, Stanford's HRF, and the notation of papers.

`parser` calls `read_infix` with a text and gets rules and the spelling of names. One grammar covers
all three forms, since a full stop is optional. After an error, parsing resumes after the next full
stop or at the next line that is not indented, so one run finds all errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import count
from typing import Any

from lark import Lark, Token, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from ggp.gdl.source import Source
from ggp.gdl.syntax.reading import (
    ARROWS,
    MAX_NESTING,
    TUPLE,
    Builder,
    Findings,
    FoldedNames,
    is_symbol,
    nesting,
    quoted,
    start_of,
    too_deep,
    warn_of_mixed_variables,
    warn_of_tuples,
    well_shaped,
)
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Symbol, Term, Variable, variables

_VARIABLE = re.compile(r"\?'(?:[^'\\]|\\.)*'|\??\w*")
_TOKEN_NAMES = {"_DOT": "`.`", "_COMMA": "`,`", "_LPAR": "`(`", "_RPAR": "`)`", "NAME": "a name"}


def read_infix(source: Source, findings: Findings) -> tuple[tuple[Rule, ...], dict[str, str]]:
    """The rules of an infix text, and the spelling of its names; problems go to `findings`."""
    names = FoldedNames(findings)
    tokens = infix_tokens(source.text, names, findings)
    has_anonymous = any(token == ANONYMOUS for token in tokens)
    rules = []
    for clause in _clauses(tokens, findings):
        if max(map(nesting, (clause.head, *clause.body))) > MAX_NESTING:
            too_deep(findings, clause.start)
        elif well_shaped(clause, findings):
            rules.append(_name_anonymous(clause) if has_anonymous else clause)
    if names.mixed_variables:
        warn_of_mixed_variables(rules, _VARIABLE, findings)
    warn_of_tuples(rules, {start_of(token) for token in tokens if token == TUPLE}, findings)
    return tuple(rules), names.spelling


def _clauses(tokens: list[Token], findings: Findings) -> Iterator[Rule]:
    """The clauses of all tokens, except those around a syntax error."""
    at, text = 0, findings.source.text
    while at < len(tokens):
        parser = _parser().parse_interactive()
        begin = at
        try:
            while at < len(tokens):
                parser.feed_token(tokens[at])
                at += 1
            yield from parser.feed_token(Token("$END", ""))
        except UnexpectedToken as error:
            _report(error, tokens[-1], findings)
            has_ended = tokens[at - 1].type == "_DOT" or _begins_line(error.token, text)
            yield from _clauses_before(parser, has_ended)
            at = _resume(tokens, at, begin, text)


def _clauses_before(parser: InteractiveParser, has_ended: bool) -> list[Rule]:
    """The complete clauses before the token that the parser refused.

    Args:
        has_ended: whether a full stop or the end of a line ended the last clause. Otherwise the
            token belongs to it, and it is dropped.
    """
    try:
        clauses: list[Rule] = parser.feed_token(Token("$END", ""))
        return clauses if has_ended else clauses[:-1]
    except UnexpectedToken:
        stack = parser.parser_state.value_stack
        return stack[0] if stack and isinstance(stack[0], list) else []


def _resume(tokens: list[Token], at: int, begin: int, text: str) -> int:
    """The index of the token to resume at after an error at token `at`.

    Args:
        begin: the index of the first token of the interrupted run.
    """
    for i in range(at, len(tokens)):
        if i > begin and tokens[i].type == "NAME" and _begins_line(tokens[i], text):
            return i
        if tokens[i].type == "_DOT":
            return i + 1
    return len(tokens)


def _begins_line(token: Token, text: str) -> bool:
    start = start_of(token)
    return start == 0 or text[start - 1] in "\r\n"


def _report(error: UnexpectedToken, last: Token, findings: Findings) -> None:
    token = error.token
    options = sorted(_TOKEN_NAMES[kind] for kind in error.expected if kind in _TOKEN_NAMES)
    expected = f"; expected {' or '.join(options)}" if options else ""
    if token.type == "$END":
        findings.error("syntax", f"the text ends within a clause{expected}", start_of(last))
    elif token.type in ("RESERVED", "DISTINCT", "CONNECTIVE"):
        message = f"the reserved word {quoted(token)} cannot stand here; as a constant it is "
        findings.error("reserved-word", message + f"written `'{token}'`", start_of(token))
    elif token.type != "BAD":
        spelled = findings.source.text[token.start_pos : token.end_pos]
        if spelled == "<=":
            expected += f"; where it {COMPARES}"
        findings.error("syntax", f"unexpected {quoted(spelled)}{expected}", start_of(token))


def _name_anonymous(clause: Rule) -> Rule:
    """The clause, with a new name for each `_`."""
    terms = (clause.head, *clause.body)
    names = {variable.name for term in terms for variable in variables(term)}
    fresh = (name for name in map("_{}".format, count(1)) if name not in names)

    def renamed(term: Term) -> Term:
        if isinstance(term, Variable) and term.name == ANONYMOUS:
            return Variable(next(fresh), term.start)
        if isinstance(term, Compound):
            return Compound(term.name, tuple(map(renamed, term.args)), term.start)
        return term

    head, *body = map(renamed, terms)
    return Rule(head, tuple(body), clause.start)


def _conjoined(conditions: list[Term]) -> Term:
    """One term for a conjunction of conditions."""
    if len(conditions) == 1:
        return conditions[0]
    return Compound("and", tuple(conditions), conditions[0].start)


class _Build(Builder):
    """Builds terms and rules while the parser reduces; a conjunction is a list at first."""

    def constant(self, children: list[Token]) -> Symbol:
        return Symbol(children[0].value, start_of(children[0]))

    def variable(self, children: list[Token]) -> Variable:
        return Variable(children[0].value, start_of(children[0]))

    def compound(self, children: list[Any]) -> Compound:
        name, args = children
        return Compound(name.value, args, start_of(name))

    def unnamed(self, children: list[Any]) -> Compound:
        lpar, first, _, rest, _ = children
        return Compound(TUPLE, (first, *rest), start_of(lpar))

    def arguments(self, children: list[Term]) -> tuple[Term, ...]:
        return tuple(children)

    def connective(self, children: list[Any]) -> Compound:
        name, *conditions = children
        return Compound(name.value, tuple(conditions), start_of(name))

    def negation(self, children: list[Any]) -> Compound:
        token, condition = children
        return Compound("not", (condition,), start_of(token))

    def inequality(self, children: list[Term]) -> Compound:
        return Compound("distinct", tuple(children), children[0].start)

    def conjunction(self, children: list[Term]) -> list[Term]:
        return children

    def disjunction(self, children: list[list[Term]]) -> list[Term]:
        if len(children) == 1:
            return children[0]
        return [Compound("or", tuple(map(_conjoined, children)), children[0][0].start)]

    def group(self, children: list[list[Term]]) -> Term:
        return _conjoined(children[0])

    def rule(self, children: list[Any]) -> Rule:
        head, conditions = children
        return Rule(head, tuple(conditions), head.start)


@cache
def _parser() -> Lark:
    grammar = files("ggp.gdl.syntax").joinpath("infix.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=_Build(), maybe_placeholders=False)


# ------------------------------------------------------------------------
# The tokens of GDL in infix syntax, distinguished by case, quotes and reserved words.

ANONYMOUS = " "
"""Name of the variable `_`; no text can spell it."""

# Every character is matched by exactly one group.
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


def infix_tokens(text: str, names: FoldedNames, findings: Findings) -> list[Token]:
    """The tokens of an infix text, without comments and line numbers.

    The values of tokens are folded names. A token of type BAD was reported, and fits in no clause.
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


def _classified(text: str, names: FoldedNames, findings: Findings) -> Iterator[Token]:
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


def _word(spelled: str, start: int, names: FoldedNames) -> tuple[str, str]:
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


def _unquote(spelled: str, start: int, names: FoldedNames, findings: Findings) -> tuple[str, str]:
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


def _string(spelled: str, start: int, names: FoldedNames, findings: Findings) -> tuple[str, str]:
    """Token type and folded name of a string: the constant with the same spelling in KIF."""
    if len(spelled) > 1 and spelled.endswith('"') and is_symbol(spelled):
        return "NUMBER", names.constant(spelled, start)
    message = "is no name of GDL: it must end on its line, without white space, parentheses and `;`"
    findings.error("quotes", f"the string {quoted(spelled)} {message}", start)
    return "BAD", spelled


def _is_line_number(tokens: list[Token], token: Token, text: str) -> bool:
    """Whether the last token is a line number, and `token` begins the text of that line."""
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
