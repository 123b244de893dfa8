"""Reads GDL in infix syntax: Prolog-style, Stanford's HRF, and as printed in papers.

One grammar covers them, since a full stop is optional. After an error, reading goes on behind the
next full stop or at the next line that is not indented, so one run finds all errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import count
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from ggp.gdl.source import Source
from ggp.gdl.syntax.findings import Findings, quoted
from ggp.gdl.syntax.infix_tokens import ANONYMOUS, COMPARES, infix_tokens, start_of
from ggp.gdl.syntax.names import Names, warn_of_mixed_variables
from ggp.gdl.syntax.shape import MAX_NESTING, nesting, too_deep, well_shaped
from ggp.gdl.syntax.tuples import TUPLE, warn_of_tuples
from ggp.gdl.terms import Compound, Rule, Symbol, Term, Variable, variables

_VARIABLE = re.compile(r"\?'(?:[^'\\]|\\.)*'|\??\w*")
_SHOWN = {"_DOT": "`.`", "_COMMA": "`,`", "_LPAR": "`(`", "_RPAR": "`)`", "NAME": "a name"}


def read_infix(source: Source, findings: Findings) -> tuple[tuple[Rule, ...], dict[str, str]]:
    """The rules of an infix text and its spelling; problems go to `findings`."""
    names = Names(findings)
    tokens = infix_tokens(source.text, names, findings)
    has_anonymous = any(token == ANONYMOUS for token in tokens)
    rules = []
    for clause in _clauses(tokens, findings):
        if max(map(nesting, (clause.head, *clause.body))) > MAX_NESTING:
            too_deep(findings, clause.start)
        elif well_shaped(clause, findings):
            rules.append(_name_anonymous(clause) if has_anonymous else clause)
    if names.mixed_variables:
        warn_of_mixed_variables(rules, lambda v: _spelled_variable(source, v), findings)
    warn_of_tuples(rules, {start_of(each) for each in tokens if each == TUPLE}, findings)
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
        has_ended: whether the last one has, by a period or a line: else the token was part of it.
    """
    try:
        clauses: list[Rule] = parser.feed_token(Token("$END", ""))
        return clauses if has_ended else clauses[:-1]
    except UnexpectedToken:
        stack = parser.parser_state.value_stack
        return stack[0] if stack and isinstance(stack[0], list) else []


def _resume(tokens: list[Token], at: int, begin: int, text: str) -> int:
    """The token to go on at after an error at token `at` of the run that began at `begin`."""
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
    shown = sorted(_SHOWN[kind] for kind in error.expected if kind in _SHOWN)
    expected = f"; expected {' or '.join(shown)}" if shown else ""
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
    """The clause, with each `_` given a name of its own."""
    terms = (clause.head, *clause.body)
    used = {variable.name for term in terms for variable in variables(term)}
    fresh = (name for name in map("_{}".format, count(1)) if name not in used)

    def renamed(term: Term) -> Term:
        if isinstance(term, Variable) and term.name == ANONYMOUS:
            return Variable(next(fresh), term.start)
        if isinstance(term, Compound):
            return Compound(term.name, tuple(map(renamed, term.args)), term.start)
        return term

    head, *body = map(renamed, terms)
    return Rule(head, tuple(body), clause.start)


def _spelled_variable(source: Source, variable: Variable) -> str:
    match = _VARIABLE.match(source.text, variable.start)
    return match.group() if match else str(variable)


def _conjoined(conditions: list[Term]) -> Term:
    """One term for the conditions between two `;`."""
    if len(conditions) == 1:
        return conditions[0]
    return Compound("and", tuple(conditions), conditions[0].start)


class _Build(Transformer[Token, object]):
    """Makes terms and rules while the parser reduces; a conjunction is a list until then."""

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

    def different(self, children: list[Term]) -> Compound:
        return Compound("distinct", tuple(children), children[0].start)

    def conjunction(self, children: list[Term]) -> list[Term]:
        return children

    def disjunction(self, children: list[list[Term]]) -> list[Term]:
        if len(children) == 1:
            return children[0]
        return [Compound("or", tuple(map(_conjoined, children)), children[0][0].start)]

    def group(self, children: list[list[Term]]) -> Term:
        return _conjoined(children[0])

    def fact(self, children: list[Term]) -> Rule:
        return Rule(children[0], (), children[0].start)

    def rule(self, children: list[Any]) -> Rule:
        head, conditions = children
        return Rule(head, tuple(conditions), head.start)

    def first(self, children: list[Rule]) -> list[Rule]:
        return children

    def more(self, children: list[Any]) -> list[Rule]:
        rules: list[Rule] = children[0]
        rules.append(children[1])
        return rules


@cache
def _parser() -> Lark:
    grammar = files("ggp.gdl.syntax").joinpath("infix.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=_Build(), maybe_placeholders=False)
